"""The questions of the conversation: what is asked for a missing or doubtful field, in pt-BR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.efeitos import Mensagem
from state_machine.fields import Campo, Motivo
from state_machine.rascunho import StatusCampo
from state_machine.texto import apara

if TYPE_CHECKING:
    from collections.abc import Iterable

    from state_machine.rascunho import Lido, Rascunho

DETALHE_MAX = 200  # UTF-16 units; a detail is a hint, not a quotation

NOME_DO_CAMPO = {
    Campo.DOCUMENTO: "o CNPJ ou CPF do cliente",
    Campo.VALOR: "o valor",
    Campo.DESCRICAO: "o serviço prestado",
    Campo.NOME: "o nome do cliente",
    Campo.EMAIL: "o e-mail do cliente",
    Campo.COMPETENCIA: "o mês de competência",
    Campo.DATA: "a data do serviço",
}
_PERGUNTA = {
    Campo.DOCUMENTO: "Qual é o CNPJ ou CPF do cliente?",
    Campo.VALOR: "Qual é o valor da nota?",
    Campo.DESCRICAO: "Qual serviço foi prestado? Escreve como deve sair na nota.",
    Campo.NOME: "Qual é o nome do cliente?",
    Campo.EMAIL: "Qual é o e-mail do cliente?",
    Campo.COMPETENCIA: "Qual é o mês de competência? Por exemplo: 10/2026.",
    Campo.DATA: "Qual é a data do serviço? Por exemplo: 15/10/2026.",
}
_DUVIDA = {
    Motivo.DIGITO_NAO_BATE: "O dígito verificador não bate: pode ter trocado um número.{detalhe} "
    "Confere no cartão do cliente e me manda de novo?",
    Motivo.INCOMPLETO: "Esse número está incompleto.{detalhe} Me manda o CNPJ (14 caracteres) ou CPF (11) inteiro?",
    Motivo.PROPRIO_DOCUMENTO: "Esse é o CNPJ da sua própria empresa. Qual é o CNPJ ou CPF do cliente?",
    Motivo.VARIOS: "Vi mais de uma opção para {campo}.{detalhe} Qual delas vale para esta nota?",
    Motivo.TELEFONE_OU_CPF: "Esse número pode ser um telefone ou um CPF. Se for o CPF do cliente, "
    "me manda de novo com a palavra CPF na frente.",
    Motivo.PARCELADO: "Entendi que é parcelado.{detalhe} Qual é o valor total desta nota?",
    Motivo.POR_UNIDADE: "Entendi um preço por hora ou unidade.{detalhe} Qual é o valor total da nota?",
    Motivo.DESCONTO: "Entendi que tem desconto.{detalhe} Qual é o valor final da nota?",
    Motivo.MOEDA_ESTRANGEIRA: "A nota sai em reais.{detalhe} Qual é o valor em reais?",
    Motivo.NAO_POSITIVO: "O valor da nota precisa ser maior que zero e menor que R$ 10 bilhões. Qual é o valor?",
    Motivo.AMBIGUO: "Não tive certeza sobre {campo}.{detalhe} Me manda de novo, por favor?",
    Motivo.DUAS_NOTAS: "Parece que são duas notas. Faço uma de cada vez: me manda só os dados da primeira.",
    Motivo.DISCORDANCIA: "Fiquei em dúvida sobre {campo}.{detalhe} Me manda só essa informação, por favor?",
    Motivo.RECUSADO: "A prefeitura não aceitou {campo} da nota anterior.{detalhe} Me manda a informação certa?",
}


def _lista(partes: Iterable[str]) -> str:
    *inicio, fim = partes
    return f"{', '.join(inicio)} e {fim}" if inicio else fim


def _guardados(rascunho: Rascunho) -> str:
    """Say what is kept, so that nobody types it twice."""
    tem = [c for c in (Campo.DOCUMENTO, Campo.VALOR, Campo.DESCRICAO) if rascunho.validado(c)]
    return f"\n\nJá guardei {_lista(NOME_DO_CAMPO[c] for c in tem)}." if tem else ""


def _duvida(campo: Campo, lido: Lido) -> str:
    motivo = lido.motivo or Motivo.AMBIGUO
    detalhe = apara(lido.detalhe or "", DETALHE_MAX).rstrip(".")
    detalhe = f" {detalhe[0].upper()}{detalhe[1:]}." if detalhe else ""
    return _DUVIDA[motivo].format(campo=NOME_DO_CAMPO[campo], detalhe=detalhe)


def duvidosos(rascunho: Rascunho) -> tuple[Campo, ...]:
    """Fields about which something was said that can't be taken as it stands."""
    return tuple(c for c in Campo if rascunho.campo(c).status is StatusCampo.INVALID)


def pergunta(rascunho: Rascunho) -> Mensagem:
    """Ask for what is missing and only for that; a doubtful field first, with its reason."""
    em_duvida = duvidosos(rascunho)
    if em_duvida:
        campo = em_duvida[0]
        outros = [c for c in dict.fromkeys((*em_duvida, *rascunho.faltam)) if c is not campo]
        falta = "faltam" if len(outros) > 1 else "falta"
        resto = f"\n\nDepois disso {falta} {_lista(NOME_DO_CAMPO[c] for c in outros)}." if outros else ""
        return Mensagem(_duvida(campo, rascunho.campo(campo)) + resto + _guardados(rascunho))
    faltam = rascunho.faltam
    if len(faltam) == 1:
        return Mensagem(_PERGUNTA[faltam[0]] + _guardados(rascunho))
    faltando = _lista(NOME_DO_CAMPO[c] for c in faltam)
    return Mensagem(f"Faltam {faltando}. Pode mandar tudo junto ou um de cada vez.{_guardados(rascunho)}")
