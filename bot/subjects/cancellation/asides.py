"""What is asked while a cancellation waits for its person: the answer ends with what it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from extractor.requests.acts import MISTAKE, is_aside, only_asks
from extractor.text.folding import read
from persistence.fiscal import cancellations
from state_machine.catalogue import knowledge, messages
from state_machine.catalogue.texts import cancellation as textos
from state_machine.machine.events import Abriu, Conversou, PediuAjuda

if TYPE_CHECKING:
    from bot.subjects.invoice.plan import Plano
    from persistence.db.engine import Database
    from state_machine.machine.effects import Mensagem


def asks_aside(texto: str) -> bool:
    """Say whether the words are a request or a question, and so neither a reason nor an answer."""
    plain = read(texto).plain
    known = knowledge.find(plain) is not None and not MISTAKE.search(plain)
    return is_aside(texto) or (known and ("?" in plain or only_asks(texto)))


async def open_question(database: Database, conversa: str) -> Mensagem | None:
    """Return in one line what the conversation's cancellation waits for, ``None`` where none waits."""
    async with database.transaction() as connection:
        talking = await cancellations.talking(connection, conversa)
        atual = await cancellations.locked(connection, talking[0], conversa) if talking else None
    return textos.pergunta_de_novo(atual) if atual else None


def with_question(plano: Plano, falta: Mensagem) -> Plano:
    """Return a plan whose answer ends with what a cancellation waits for: the next words are said to that.

    A plan without an answer has this one.
    """
    eventos = plano.eventos
    if not eventos or all(isinstance(evento, Abriu | Conversou) for evento in eventos):
        return replace(plano, eventos=(), resposta=_ending(plano.resposta, falta))
    ajudas = (
        replace(evento, resposta=_ending(evento.resposta or messages.ajuda(), falta), aberto=False)
        if isinstance(evento, PediuAjuda)
        else evento
        for evento in eventos
    )
    return replace(plano, eventos=tuple(ajudas))


def _ending(resposta: Mensagem | None, falta: Mensagem) -> Mensagem:
    if resposta is None:
        return falta
    botoes = resposta.botoes if resposta.botoes or resposta.lista else falta.botoes
    return replace(resposta, texto=f"{resposta.texto}\n\n{falta.texto}", botoes=botoes, outras=())
