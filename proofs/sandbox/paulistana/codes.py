"""What the city says of a call: codes and texts of its manual 3.3.5, and those that only its production has shown.

Of 223, 640, 641 and 1651 there is no sheet: 641 and 1651 are words of production, 223 and 640 are told in ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

from lxml import etree

_TEXTS: Final = {
    "107": "A Data Final de emissão das Notas Fiscais enviadas não pode ser superior a {}.",
    "108": "A Data Final de emissão das Notas Fiscais enviadas deverá ser superior a Data Inicial.",
    "207": "Data de Emissão do RPS não está compreendida entre {} e {} conforme especificado no cabeçalho da mensagem "
    "XML.",
    "208": "Alíquota informada ({}) difere da alíquota vigente ({}) para o código de serviço informado ({}). O sistema "
    "irá adotar a alíquota vigente.",
    "215": "RPS em duplicidade na mensagem XML enviada. RPS: {} Série: {}.",
    "216": "RPS já foi convertido individualmente em NF-e através do site e não será processado novamente.",
    "217": "RPS reenviado. A NF-e ({}) referente ao RPS (Número: {}, Série: {}) foi cancelada e uma nova NF-e foi "
    "emitida.",
    "218": "RPS não poderá ser enviado novamente, pois está incluído em Guia de Recolhimento.",
    "219": "O campo Inscrição Municipal do Tomador ({}) só deverá ser preenchido para tomadores estabelecidos no "
    "município de São Paulo.",
    "223": "RPS já processado. A NF-e emitida foi cancelada.",
    "225": "O Valor da Alíquota deverá estar entre 2% e 5%.",
    "268": "Código NBS informado inválido",
    "273": "Classificação tributária do IBS e da CBS inválida.",
    "301": "O tomador de serviços informado é o próprio prestador.",
    "302": "CNPJ do Tomador de Serviços inválido (dígitos verificadores não conferem).",
    "303": "O Valor dos serviços deverá ser superior a R$ 0,00 (zero).",
    "304": "O Valor das deduções deverá ser inferior ao valor dos serviços.",
    "306": "Código do Serviço Prestado {} do RPS inexistente.",
    "313": "A data da emissão do RPS não poderá ser superior a data de hoje.",
    "314": "A data da emissão do RPS não poderá ser inferior a 01/06/2006.",
    "317": "Campo Endereço não preenchido (obrigatório para tomador com CNPJ).",
    "318": "Campo Cidade/UF não preenchido (obrigatório para tomador com CNPJ).",
    "322": "O campo discriminação dos serviços não foi preenchido.",
    "323": "Nota não pode ser cancelada. Ver detalhes no Manual.",
    "324": "Operação não autorizada por meio eletrônico em razão de ter sido ultrapassado o prazo permitido.",
    "337": "Dígitos verificadores do CPF do Tomador de Serviços não conferem. Não haverá geração de crédito.",
    "338": "RPS não poderá ser enviado novamente. A NFS-e ({}) não pôde ser cancelada",
    "359": "Emissão por prestadores MEI não permitida desde 03/04/2023. Utilizar a Nota Fiscal de Serviços Eletrônica "
    "– NFS-e de padrão nacional.",
    "361": "Código do Serviço Prestado não permitido.",
    "367": "Código do Serviço não pode ser utilizado pelo prestador de serviço.",
    "372": "RPS já convertido em NFS-e aceita pelo tomador ou intermediário.",
    "373": "RPS já convertido em NFS-e rejeitada com emissão de NFTS pelo tomador ou intermediário.",
    "386": "NFS-e a ser cancelada foi selecionada para deduções de subempreitadas.",
    "394": "Regime de tributação cadastrado pelo contribuinte foi substituído pelo Simples Nacional e não pode ser "
    "utilizado na emissão de NFS-e. Previamente à emissão, deve-se escolher o regime de tributação adequado.",
    "630": "Código indicador da operação inexistente.",
    "631": "Emissões com fato gerador a partir de {} deverão utilizar o leiaute 2.",
    "640": "O campo Valor Inicial Cobrado não pode ser utilizado.",
    "641": "Contribuinte cadastrado como Simples Nacional na data informada. Deverá ser utilizado o leiaute 1.",
    "1001": "XML não compatível com Schema.",
    "1002": "Versão do Schema XML Incorreto.",
    "1050": "Rejeição: Certificado Assinatura Inválido.",
    "1051": "Rejeição: Certificado Assinatura Data Validade.",
    "1052": "Rejeição: Certificado Assinatura sem CNPJ.",
    "1053": "Rejeição: Certificado Assinatura – Erro Cadeia de Certificação.",
    "1054": "Rejeição: Certificado Assinatura revogado.",
    "1055": "Rejeição: Certificado Assinatura difere ICP-Brasil.",
    "1056": "Rejeição: Assinatura – Digest difere do calculado.",
    "1057": "Rejeição: Assinatura difere do calculado.",
    "1100": "O CNPJ do usuário autorizado a enviar a mensagem XML não confere com o CNPJ usado na comunicação.",
    "1101": "Tamanho da mensagem XML ultrapassou o limite máximo permitido de 500 Kbytes.",
    "1102": "Mensagem XML de Pedido do serviço sem conteúdo.",
    "1106": "NF-e não encontrada.",
    "1107": "O CPF/CNPJ da assinatura da mensagem XML não corresponde ao CPF/CNPJ do Prestador de Serviços.",
    "1109": "CPF/CNPJ inválido.",
    "1201": "Só é permitido o envio de RPS emitidos por um único Prestador de Serviços (mesma inscrição municipal).",
    "1202": "Prestador de Serviços não encontrado no Cadastro Municipal (CCM).",
    "1203": "Total de RPS não confere com o enviado ({}).",
    "1204": "Valor Total de Serviços não confere com o enviado ({}).",
    "1205": "Valor Total de Dedução não confere com o enviado ({}).",
    "1206": "Assinatura Digital do RPS incorreta. String verificada ({})",
    "1207": "Prestador de Serviços não autorizado a emitir NF-e.",
    "1208": "A Inscrição Municipal do Prestador de Serviços consta como cancelada. Emissão de NFS-e não autorizada.",
    "1222": "Obrigatório informar o município onde o serviço foi prestado.",
    "1223": "Para serviço tributado em São Paulo ou exportação de serviços não informe o município onde o serviço foi "
    "prestado.",
    "1228": "Exportação de serviços não permite a indicação de retenção pelo tomador ou pelo intermediário.",
    "1301": "NF-e já cancelada em {}.",
    "1302": "NF-e em duplicidade na mensagem XML enviada.",
    "1303": "Só é permitido o cancelamento de NF-e emitidas por um único Prestador de Serviços (mesma inscrição "
    "municipal).",
    "1304": "Erro ao cancelar NF-e.",
    "1305": "Assinatura de cancelamento da NF-e incorreta.",
    "1306": "A NF-e que se deseja cancelar não foi gerada via Web Service.",
    "1401": "Só é permitido consultar NF-e emitidas por um único Prestador de Serviços (mesma inscrição municipal).",
    "1403": "As datas informadas compreendem um período maior que o permitido. O período não pode abranger mais que 31 "
    "dias.",
    "1405": "Não há nenhuma Inscrição Municipal vinculada ao CPF/CNPJ informado.",
    "1651": "O Sistema da NFS-e não faz a restrição de leiaute de emissão",
}
_LONGEST: Final = 300  # characters of a text


@dataclass(frozen=True, slots=True)
class Evento:
    """One ``Alerta`` or ``Erro``; ``chave`` is the element that names the RPS or the note."""

    codigo: str
    descricao: str = ""
    chave: Any = None

    @classmethod
    def told(cls, codigo: str, *parts: object, chave: Any = None) -> Self:
        """Return one with the sheet's text: ``parts`` are what stands in its gaps, or what is said after it."""
        text = _TEXTS[codigo]
        whole = text.format(*parts) if "{}" in text else " ".join((text, *map(str, parts)))
        return cls(codigo, whole, chave)

    @classmethod
    def forced(cls, words: str | None, otherwise: str, chave: Any = None) -> Self:
        """Return what a switch asks for: ``306`` or ``306: its text``; ``otherwise`` is a code."""
        codigo, _, text = (words or otherwise).partition(":")
        return cls(codigo.strip(), text.strip(), chave)

    def element(self, name: str) -> Any:
        """Return it as the answer has it."""
        made = etree.Element(name)
        etree.SubElement(made, "Codigo").text = self.codigo
        text = self.descricao or _TEXTS.get(self.codigo, "Rejeição sem descrição.").replace("{}", "")
        etree.SubElement(made, "Descricao").text = text[:_LONGEST]
        if self.chave is not None:
            made.append(self.chave)
        return made


class RefusedError(Exception):
    """The city takes nothing of what was sent."""

    def __init__(self, *erros: Evento) -> None:
        super().__init__(", ".join(erro.codigo for erro in erros))
        self.erros = erros
