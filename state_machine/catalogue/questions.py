"""The questions of the conversation: what is asked for a missing or doubtful field, in pt-BR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.catalogue.announcement import anotado
from state_machine.catalogue.choices import OU_PESSOA, botao_pessoa, opcoes, pergunta_leituras
from state_machine.invoice.draft import ESCOLHA, Rascunho
from state_machine.invoice.field_table import FIELDS, obrigatorios
from state_machine.invoice.fields import Campo, Motivo
from state_machine.invoice.summary import legivel
from state_machine.machine.effects import Mensagem
from state_machine.values.money import formata_brl
from state_machine.values.text.length import TEXTO_COM_BOTOES_MAX, apara, tamanho

if TYPE_CHECKING:
    from collections.abc import Iterable

    from state_machine.invoice.draft import Lido
    from state_machine.machine.session import Sessao

DETALHE_MAX = 200  # UTF-16 units; a detail is a hint, not a quotation
TRECHO_MAX = 80  # UTF-16 units of what is quoted back
_COM_PESSOA = 2  # the wording that offers a person beside

# What is asked first, and what, shorter and with an example, when the same doubt still stands.
_DUVIDA = {
    Motivo.DIGITO_NAO_BATE: (
        "O dígito verificador não bate: pode ter trocado um número.{li}{detalhe} {confere} e me manda de novo?",
        "Ainda não bate.{li} {confere}, número por número. {exemplo}",
    ),
    Motivo.INCOMPLETO: (
        "Esse número está incompleto.{li}{detalhe} Me manda o CNPJ (14 caracteres) ou CPF (11) inteiro?",
        "Continua incompleto.{li}{detalhe} {exemplo}",
    ),
    Motivo.PROPRIO_DOCUMENTO: (
        "Esse é o CNPJ da sua própria empresa.{li} Qual é o CNPJ ou CPF do cliente?",
        "Esse ainda é o da sua empresa.{li} Para quem é a nota? {exemplo}",
    ),
    Motivo.VARIOS: (
        "Vi mais de uma opção para {campo}.{li}{detalhe} Qual delas vale?",
        "Ainda vi mais de uma.{li} Qual vale? {exemplo}",
    ),
    Motivo.TELEFONE_OU_CPF: (
        (
            "Esse número pode ser um telefone ou um CPF.{li} Se for o CPF do cliente, me manda de novo "
            "com a palavra CPF na frente."
        ),
        "Telefone ou CPF?{li} Se for CPF, escreve assim: _CPF 123.456.789-09_.",
    ),
    Motivo.PARCELADO: (
        "Entendi que é parcelado.{li}{detalhe} Qual é o valor total desta nota?",
        "Me manda só o valor total.{li} {exemplo}",
    ),
    Motivo.POR_UNIDADE: (
        "Entendi um preço por hora ou unidade.{li}{detalhe} Qual é o valor total da nota?",
        "Me manda só o valor total, já multiplicado.{li} {exemplo}",
    ),
    Motivo.DESCONTO: (
        "Entendi que tem desconto.{li}{detalhe} Qual é o valor final da nota?",
        "Me manda só o valor final, já com o desconto.{li} {exemplo}",
    ),
    Motivo.MOEDA_ESTRANGEIRA: (
        "A nota sai em reais.{li}{detalhe} Qual é o valor em reais?",
        "Me manda o valor já em reais.{li} {exemplo}",
    ),
    Motivo.NAO_POSITIVO: (
        "O valor da nota precisa ser maior que zero e menor que R$ 10 bilhões.{li} Qual é o valor?",
        "Esse valor também não pode sair em uma nota.{li} {exemplo}",
    ),
    Motivo.AMBIGUO: (
        "Não tive certeza sobre {campo}.{li}{detalhe} Me manda de novo, por favor?",
        "Ainda não tive certeza.{li}{detalhe} {exemplo}",
    ),
    Motivo.DUAS_NOTAS: (
        (
            "Parece que são duas notas. Faço uma de cada vez: me manda só os dados da primeira "
            "(CNPJ ou CPF, valor e serviço). Quando ela sair, fazemos a outra."
        ),
        "Só uma de cada vez: escolhe uma e me manda o CNPJ ou CPF, o valor e o serviço dela.",
        "Ainda vejo mais de uma nota. Me manda o CNPJ ou CPF, o valor e o serviço de uma delas.",
    ),
    Motivo.DISCORDANCIA: (
        "Fiquei em dúvida sobre {campo}.{li}{detalhe} Me manda só essa informação, por favor?",
        "Ainda estou em dúvida.{li} {exemplo}",
    ),
    Motivo.RECUSADO: (
        "Não foi aceito na nota anterior: {campo}.{detalhe} Me manda a informação certa?",
        "Para enviar de novo, preciso de outra informação para {campo}. {exemplo}",
    ),
    Motivo.NAO_CABE: (
        "Antes do resumo, preciso acertar {campo}.{detalhe} Nada foi emitido. Me manda de outro jeito?",
        "Ainda não dá para emitir com {campo} assim.{detalhe} {exemplo}",
    ),
}
_TERCEIRA = "Ainda preciso {do_campo}. {exemplo}"
_CONFERE = {11: "Confere no CPF do cliente", 14: "Confere no cartão CNPJ do cliente"}


def _lista(partes: Iterable[str]) -> str:
    *inicio, fim = partes
    return f"{', '.join(inicio)} e {fim}" if inicio else fim


def _de(nome: str) -> str:
    """Contract "de" with the article that a field's name begins with: "do valor", "da data"."""
    return f"d{nome}"


def _guardados(antes: Rascunho | None, rascunho: Rascunho) -> str:
    """Say what is kept, so that nobody types it twice, in the turn that kept something new."""
    tem = [c for c in obrigatorios() if rascunho.validado(c)]
    lidos = rascunho.valor.leituras if Campo.VALOR not in rascunho.a_pedir else ()
    novo = antes is not None and lidos and lidos != antes.valor.leituras
    if antes is None or not (novo or any(antes.validado(c) != rascunho.validado(c) for c in tem)):
        return ""
    ditos = [apara(legivel(c, rascunho.validado(c)) or "", TRECHO_MAX) for c in tem]
    if lidos:
        ditos.append(f"{' ou '.join(formata_brl(lido) for lido in lidos[:ESCOLHA])} (a conferir)")
    return f"Já guardei: {' · '.join(ditos)}." if ditos else ""


def _duvida(campo: Campo, lido: Lido, degrau: int) -> str:
    motivo = lido.motivo or Motivo.AMBIGUO
    wordings = FIELDS[campo].doubts.get(motivo) or _DUVIDA[motivo]
    detalhe = apara(lido.detalhe or "", DETALHE_MAX).rstrip(".")
    detalhe = f" {detalhe[0].upper()}{detalhe[1:]}." if detalhe else ""
    escrito = apara(lido.escrito or "", TRECHO_MAX)
    texto = (*wordings, _TERCEIRA)[degrau].format(
        campo=FIELDS[campo].name,
        do_campo=_de(FIELDS[campo].name),
        detalhe=detalhe,
        li=f" Li “{escrito}”." if escrito else "",
        confere=_CONFERE.get(sum(map(str.isalnum, escrito)), "Confere o CNPJ ou CPF com o cliente"),
        exemplo=FIELDS[campo].example,
    )
    return f"{texto} {OU_PESSOA}" if degrau == _COM_PESSOA else texto


def mesmo_assunto(antes: Rascunho, depois: Rascunho) -> bool:
    """Tell whether the question about ``depois`` is the one that was asked about ``antes``."""
    return antes != Rascunho() and _assunto(antes) == _assunto(depois)


def _assunto(rascunho: Rascunho) -> tuple[object, ...]:
    campo = rascunho.duvida
    if campo is None:
        return rascunho.a_pedir
    motivo = rascunho.campo(campo).motivo
    return (motivo,) if motivo is Motivo.DUAS_NOTAS else (campo, motivo)


def _degrau(sessao: Sessao) -> int:
    """Return which wording is due: the first, the short one, the one with a person; from then on the last two in turn.

    No two that follow each other are equal.
    """
    return sessao.insistencias if sessao.insistencias < _COM_PESSOA else _COM_PESSOA - sessao.insistencias % 2


def pergunta(sessao: Sessao, antes: Rascunho | None = None) -> Mensagem:
    """Ask for what is missing and only for that; a doubtful field first, with what it may mean or why it is in doubt.

    ``antes`` is the draft before this turn: what the turn changed is said first.
    """
    rascunho, degrau = sessao.rascunho, _degrau(sessao)
    inicio = anotado(antes, rascunho) if antes else ""
    campo = rascunho.duvida
    if campo is None:
        return _mensagem(sessao, degrau, inicio, _falta(rascunho, degrau), _guardados(antes, rascunho))
    lido = rascunho.campo(campo)
    depois = (_resto(rascunho, campo), _guardados(antes, rascunho))
    if not lido.leituras:
        return _mensagem(sessao, degrau, inicio, _duvida(campo, lido, degrau), *depois)
    botoes, lista = opcoes(sessao, campo, com_pessoa=degrau == _COM_PESSOA)
    return Mensagem(_junto(inicio, pergunta_leituras(campo, lido, degrau), *depois), botoes, lista)


def insiste(sessao: Sessao, *, negou: bool = False) -> Mensagem:
    """Ask once more after words that told nothing; ``negou``: they were a no, which may mean that no answer comes."""
    if not negou:
        return pergunta(sessao)
    rascunho, degrau = sessao.rascunho, _degrau(sessao)
    pede = _lista(FIELDS[c].name for c in rascunho.a_pedir)
    if degrau == _COM_PESSOA:
        texto = f"Sem pressa: fico esperando {pede}, ou escreve _cancela_. {OU_PESSOA}"
    else:
        texto = f"Tudo bem. Quando tiver, me manda {pede}. Para desistir desta nota, escreve _cancela_."
    return _mensagem(sessao, degrau, "", texto)


def nao_cabe(porque: str) -> Mensagem:
    """The company's channel could never send this invoice, and nothing that the user says repairs it."""
    return Mensagem(
        f"*Esta nota ainda não pode sair, e não emiti nada:* {porque}.\n\n"
        "Seus dados continuam guardados. Depois do acerto, escreve _resumo_ para eu conferir de novo.",
        outras=(f"Ainda não pode sair: {porque}. Guardei tudo; depois do acerto, escreve _resumo_.",),
    )


def outro(sessao: Sessao, campo: Campo) -> Mensagem:
    """Ask for the value of a field of which no reading was right."""
    return Mensagem(_junto("", f"Certo. {FIELDS[campo].question}", _resto(sessao.rascunho, campo)))


def _mensagem(sessao: Sessao, degrau: int, inicio: str, *partes: str) -> Mensagem:
    return Mensagem(_junto(inicio, *partes), (botao_pessoa(sessao),) if degrau == _COM_PESSOA else ())


def _junto(inicio: str, texto: str, *depois: str) -> str:
    """Return the parts with an empty line between; what comes last is left out where buttons would have no room."""
    partes = [inicio + texto, *filter(None, depois)]
    while len(partes) > 1 and tamanho("\n\n".join(partes)) > TEXTO_COM_BOTOES_MAX:
        partes.pop()
    return "\n\n".join(partes)


def _resto(rascunho: Rascunho, campo: Campo) -> str:
    outros = [c for c in rascunho.a_pedir if c is not campo]
    if not outros or rascunho.campo(campo).motivo is Motivo.DUAS_NOTAS:  # that question names all that is needed
        return ""
    falta = "faltam" if len(outros) > 1 else "falta"
    return f"Depois disso {falta} {_lista(FIELDS[c].name for c in outros)}."


def _falta(rascunho: Rascunho, degrau: int) -> str:
    faltam = rascunho.a_pedir
    faltando, primeiro = _lista(FIELDS[c].name for c in faltam), FIELDS[faltam[0]]
    match degrau:
        case 0 if len(faltam) == 1:
            return primeiro.question
        case 0:
            return f"Faltam {faltando}."
        case 1:
            return f"Ainda {'faltam' if len(faltam) > 1 else 'falta'} {faltando}. {primeiro.example}"
        case _:
            return f"Para fazer a nota, preciso {_lista(_de(FIELDS[c].name) for c in faltam)}. {OU_PESSOA}"
