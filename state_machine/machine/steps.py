"""The steps that rules are made of: stay, say, show the summary, enter a state, go where the data lead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from state_machine.catalogue import announcement as anuncio
from state_machine.catalogue import questions
from state_machine.catalogue.choices import mostra_leituras
from state_machine.catalogue.texts import memory as memory_texts
from state_machine.invoice.doubtful_amount import com_unica
from state_machine.invoice.draft import difere
from state_machine.invoice.fields import Campo
from state_machine.invoice.sanity import cautela
from state_machine.invoice.service_choice import com_servico
from state_machine.invoice.summary import CONFERE, ESCOLHE, TITULO_MAX, resumo
from state_machine.machine.effects import Decision, Efeito, Mensagem, Responder
from state_machine.machine.states import REASON_ON_ENTRY, Estado
from state_machine.values.text.length import tamanho

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from state_machine.invoice.draft import Rascunho
    from state_machine.invoice.known_clients import Costume
    from state_machine.machine.session import Sessao

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
