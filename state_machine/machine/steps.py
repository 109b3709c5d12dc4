"""The steps that rules are made of: stay, say, show the summary, enter a state, go where the data lead.

What becomes of an amount of which only one doubtful reading is left: the summary shows it.

What is said above a summary whose data are unlikely: a date far away, or an amount out of all proportion.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from state_machine.catalogue import announcement as anuncio
from state_machine.catalogue import questions
from state_machine.catalogue.questions import mostra_leituras
from state_machine.catalogue.texts import memory as memory_texts
from state_machine.invoice.choices import Costume, com_local, com_modelo, com_retencao, com_servico
from state_machine.invoice.draft import Rascunho, com_leitura, difere
from state_machine.invoice.fields import Campo, Confianca
from state_machine.invoice.session import REASON_ON_ENTRY, Decision, Efeito, Estado, Mensagem, Responder, Sessao
from state_machine.invoice.summary import CONFERE, ESCOLHE, TITULO_MAX, resumo
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import formata_brl
from state_machine.values.text import tamanho


def com_unica(antes: Rascunho, rascunho: Rascunho) -> Rascunho:
    """Return the draft with the only reading of a doubtful amount in its place, once nothing else is to be asked.

    It stays doubtful: the summary marks it, and what is said of it later stands in its place. The amount that stood
    in ``antes`` is no worse a reading: both are left to choose from, ``conta`` being how the second was reckoned.
    """
    duvida, stood = rascunho.valor, antes.validado(Campo.VALOR)
    if len(duvida.leituras) != 1:
        return rascunho
    if stood is not None:
        outra = replace(duvida, leituras=(stood, *duvida.leituras))
        return rascunho.com(Campo.VALOR, antes.valor if stood in duvida.leituras else outra)
    if rascunho.a_pedir != (Campo.VALOR,):
        return rascunho
    tomado = com_leitura(rascunho, Campo.VALOR, duvida.leituras[0])
    marcado = replace(tomado.valor, confianca=Confianca.DUVIDOSA, conta=duvida.conta)
    return tomado.com(Campo.VALOR, marcado)


LONG_AGO: Final = timedelta(days=366)  # an older date is a birth, a contract's, or a slip of a year
TOO_MUCH: Final = Decimal(100)  # times the usual: two zeros too many, or a comma that was not seen


def cautela(rascunho: Rascunho, agora: datetime, comum: Decimal | None = None) -> str | None:
    """Return what to look at twice before a yes, ``None`` where nothing stands out.

    ``agora`` is aware UTC; ``comum`` is the company's usual amount in BRL, ``None`` where it is not known.
    """
    return _data(rascunho, agora.astimezone(SAO_PAULO).date()) or _valor(rascunho, comum)


def _data(rascunho: Rascunho, hoje: date) -> str | None:
    dia, mes = rascunho.validado(Campo.DATA), rascunho.validado(Campo.COMPETENCIA)
    if dia:
        quando, oque = date.fromisoformat(dia), f"a data do serviço é {'/'.join(reversed(dia.split('-')))}"
    elif mes:
        quando, oque = date.fromisoformat(f"{mes}-01"), f"a competência é {'/'.join(reversed(mes.split('-')))}"
    else:
        return None
    if quando > hoje:
        return f"⚠️ *Atenção: {oque}, no futuro.*"
    return f"⚠️ *Atenção: {oque}, há mais de um ano.*" if hoje - quando > LONG_AGO else None


def _valor(rascunho: Rascunho, comum: Decimal | None) -> str | None:
    if comum is None or rascunho.valor_servico < comum * TOO_MUCH:
        return None
    valor = formata_brl(rascunho.valor_servico)
    return f"⚠️ *Atenção: {valor} é muito mais que o seu comum ({formata_brl(comum)}).*"


# States in which ``pendente`` says something; elsewhere it is empty, so that a session taken up again starts clean.
_PEDEM_CAMPO = frozenset({Estado.DADOS_INCOMPLETOS, Estado.AGUARDANDO_CONFIRMACAO, Estado.REJEITADO})


def permanece(sessao: Sessao) -> Decision:
    """Leave everything as it is: a deliberate no-op."""
    return Decision(sessao, aplicado=False)


def diz(sessao: Sessao, mensagem: Mensagem) -> Decision:
    """Answer without changing the data. What we said last is what a yes in words answers: no summary any more."""
    return Decision(replace(sessao, mostrado_em=None), (Responder(mensagem),))


def mostra(sessao: Sessao, mensagem: Mensagem, agora: datetime) -> Decision:
    """Show what a yes in words answers once more: the summary of the same revision, or the only reading of a field."""
    return Decision(replace(sessao, mostrado_em=sessao.mostrado_em or agora), (Responder(mensagem),))


def entra(sessao: Sessao, estado: Estado, *efeitos: Efeito) -> Decision:
    """Enter ``estado``: the session takes the state's reason, which its snapshot is saved with."""
    pendente = sessao.pendente if estado in _PEDEM_CAMPO else None
    return Decision(_em(sessao, estado, pendente=pendente), efeitos)


def _em(sessao: Sessao, estado: Estado, **campos: Any) -> Sessao:
    reason = REASON_ON_ENTRY[estado] or sessao.snapshot_reason
    return replace(sessao, estado=estado, snapshot_reason=reason, **campos)


def com_rascunho(
    sessao: Sessao,
    rascunho: Rascunho,
    agora: datetime,
    *,
    titulo: str | None = None,
    comum: Decimal | None = None,
    costume: Costume | None = None,
    atraso: str | None = None,
) -> Decision:
    """Go where the data lead: to the summary when all stands, else to the next question.

    ``comum``: the company's usual amount in BRL, beside which a far greater one is pointed out. ``costume``: what is
    usually invoiced to the client, offered beside the question. ``atraso``: that the words came late, said above the
    summary.
    """
    antes = sessao.rascunho
    rascunho = com_servico(antes, com_unica(antes, rascunho), sessao.servicos)
    rascunho = com_retencao(antes, com_local(rascunho, sessao.cidade, costume), costume)
    rascunho = com_modelo(rascunho, sessao.mercado)
    mudou = difere(antes, rascunho)
    campos: dict[str, Any] = {
        "rascunho": rascunho,
        "revisao": sessao.revisao + mudou,
        "igual": None if mudou else sessao.igual,  # other data are like another invoice, or like none
    }
    mostrado_em = agora if mudou else sessao.mostrado_em or agora
    if not rascunho.completo:
        resumida = bool(rascunho.valores_a_escolher) and mudou
        sessao = _em(
            sessao,
            Estado.DADOS_INCOMPLETOS,
            pendente=rascunho.a_pedir[0],
            mostrado_em=mostrado_em if mostra_leituras(rascunho) else None,
            insistencias=sessao.insistencias + 1 if not resumida and questions.mesmo_assunto(antes, rascunho) else 0,
            **campos,
        )
        if resumida:
            resposta = resumo(sessao, titulo or anuncio.titulo(antes, rascunho) or ESCOLHE)
            return Decision(sessao, (Responder(resposta),))
        pergunta = questions.pergunta(sessao, antes)
        pergunta = memory_texts.de_sempre(sessao, pergunta, costume) if costume else pergunta
        return Decision(sessao, (Responder(pergunta),))
    sessao = _em(
        sessao,
        Estado.AGUARDANDO_CONFIRMACAO,
        pendente=None if rascunho.tomador_nome else Campo.NOME,  # nothing waits for it, but it may just be sent
        mostrado_em=mostrado_em,
        insistencias=0,
        resumos=sessao.resumos + (mudou or not sessao.resumos),
        **campos,
    )
    titulo = titulo or anuncio.titulo(antes, rascunho) or CONFERE
    aviso = cautela(rascunho, agora, comum)
    if aviso:
        junto = f"{aviso}\n{titulo}"
        titulo = junto if tamanho(junto) <= TITULO_MAX else f"{aviso}\n{CONFERE}"
    titulo = f"{atraso}\n{titulo}" if atraso else titulo
    return Decision(sessao, (Responder(resumo(sessao, titulo)),))
