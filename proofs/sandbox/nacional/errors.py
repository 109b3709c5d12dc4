"""What SEFIN refuses with: its codes and texts, and the four shapes in which its errors have been seen.

Codes and texts: Anexo I (rules of the DPS: ``anexo1.json``, and of its reception) and Anexo II (events) of the national
NFS-e manual, version 1.01 of 2026. E1217, E2401 and E2404 are in neither; their texts are ours. How an absence looks:
captures that clients of the real one keep among their tests, of 2026-08-07, 2026-08-29 and 2026-09-30.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.nacional.annex import annex

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXTS: Final = {
    "E0039": "O município emissor informado na DPS deve estar parametrizado para utilizar os emissores públicos "
    "nacionais, conforme parametrização do município no Sistema Nacional NFS-e.",
    "E0312": "O código de tributação nacional informado não está administrado pelo município de incidência do ISSQN "
    "na data de competência informada na DPS, conforme a lista de serviços nacional do Sistema Nacional NFS-e.",
    "E0713": "Para Não Optante do SN os campos, indicador de informação de valor total de tributos e percentual "
    "aproximado do total dos tributos da alíquota do Simples Nacional (%), não podem ser informado.",
    "E0802": "Já existe um documento fiscal eletrônico identificado com este id no Sistema Nacional NFS-e.",
    "E0812": "O CNPJ do autor do pedido de registro de evento não corresponde à base do CNPJ informada no certificado "
    "digital da assinatura do pedido.",
    "E0813": "O CNPJ autor informado no pedido de registro de evento não corresponde ao autor indicado na planilha "
    "Tipo Eventos.",
    "E0822": "O prazo para o cancelamento da NFS-e expirou, conforme parametrização do município emissor da NFS-e.",
    "E0840": "O Sistema Nacional NFS-e não pode recepcionar o EVENTO DE CANCELAMENTO DE NFS-e pois, o evento de "
    "CANCELAMENTO DE NFS-e já está vinculado à NFS-e indicada no evento enviado, impedindo sua recepção.",
    "E1203": "Certificado de Transmissão expirado",
    "E1206": "Certificado de Transmissão - Erro de acesso a LCR",
    "E1209": "Certificado de Transmissão sem CNPJ ou CPF.",
    "E1217": "Sistema em manutenção. Tente novamente mais tarde.",
    "E1225": "Falha na decodificação da base 64 da área de dados",
    "E1226": "Estrutura descompactada mal formada.",
    "E1228": "Uso de prefixo de namespace não permitido na área de dados descompactada.",
    "E1229": "XML não está utilizando codificação UTF8.",
    "E1235": "Falha no esquema XML do DF-e.",
    "E1242": "Tipo DF-e não tratado pelo Sistema Nacional NFS-e.",
    "E1827": "Conteúdo do identificador informado no identificador do Pedido de Registro de Evento difere da "
    "concatenação dos campos correspondentes.",
    "E1831": "O pedido de registro de evento não pode ser validado pois a NFS-e indicada não existe no Ambiente de "
    "Dados Nacional NFS-e.",
    "E1843": "A data de emissão do pedido do registro do evento não pode ser posterior à data de recebimento pelo "
    "Sistema Nacional NFS-e.",
    "E1845": "Ambiente informado diverge do ambiente de recebimento para o qual o emitente está enviando o evento.",
    "E1980": "Arquivo enviado com erro na assinatura.",
    "E1989": "A assinatura é obrigatória quando for enviado para o Web Service.",
    "E2401": "NFS-e não encontrada para a chave informada.",
    "E2404": "Nenhuma NFS-e foi gerada a partir da DPS informada.",
}


class Shape(StrEnum):
    """How the body of a refusal looks; the real one has been seen in each."""

    ERROS = "erros"  # {"erros": [{"Codigo", "Descricao", "Complemento"}]}
    ERRO = "erro"  # {"erro": {"codigo", "descricao"}}, a list where there are several
    LISTA = "lista"  # the list alone
    ANTIGA = "antiga"  # {"codigo", "mensagem"}: the first error and nothing of the others


class Absence(StrEnum):
    """How ``GET /dps/{id}`` says that there is no note; the last one, without a code, in no capture."""

    NOWHERE = "sem ambiente"  # E2404 with ``tipoAmbiente`` 0
    CODE = "codigo"  # E2404 with the environment's number
    ENVELOPE = "envelope"


@dataclass(frozen=True, slots=True)
class Erro:
    """One broken rule."""

    codigo: str
    complemento: str | None = None
    palavras: str | None = None  # instead of the annex's text

    @property
    def descricao(self) -> str:
        """The annex's text."""
        return self.palavras or {**_TEXTS, **annex().mensagens}.get(self.codigo, "Rejeição sem descrição.")

    def lower(self) -> dict[str, str]:
        """Return names in small letters; an absent ``complemento`` is left out."""
        said = {"codigo": self.codigo, "descricao": self.descricao}
        return said | ({"complemento": self.complemento} if self.complemento else {})

    def upper(self) -> dict[str, str | None]:
        """Return names that begin with a capital."""
        return {"Codigo": self.codigo, "Descricao": self.descricao, "Complemento": self.complemento}


class RefusedError(Exception):
    """The authority takes nothing of what was sent; ``status`` is that of the answer."""

    def __init__(self, *erros: Erro, status: int = 400) -> None:
        super().__init__(", ".join(erro.codigo for erro in erros))
        self.erros = erros
        self.status = status


def forced(words: str | None, otherwise: str) -> Erro:
    """Return the error that a switch asks for: ``E0427`` or ``E0427: its text``; ``otherwise`` is a code."""
    codigo, _, text = (words or otherwise).partition(":")
    return Erro(codigo.strip(), palavras=text.strip() or None)


def body(erros: Sequence[Erro], shape: Shape, envelope: dict[str, Any]) -> Any:
    """Return the JSON of a refusal; ``envelope`` is what stands around it where something does."""
    match shape:
        case Shape.ERROS:
            return {**envelope, "erros": [erro.upper() for erro in erros]}
        case Shape.ERRO:
            found = [erro.lower() for erro in erros]
            return {**envelope, "erro": found[0] if len(found) == 1 else found}
        case Shape.LISTA:
            return [erro.upper() for erro in erros]
        case Shape.ANTIGA:
            return {"codigo": erros[0].codigo, "mensagem": erros[0].descricao}
