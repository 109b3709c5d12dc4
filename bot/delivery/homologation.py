"""Says in every message to a company's people that it issues for practice, while it does."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never

from gateway.whatsapp import limits
from gateway.whatsapp.messages import ComBotoes, DocumentoMidia, ListMessage, Mensagem, Template, Texto
from persistence.people.channels import environment_of
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from collections.abc import Callable

    from persistence.db.engine import Database
    from persistence.queue.outbox import Saida

AVISO: Final = "Homologação: nota sem valor fiscal"
KNOWN_FOR: Final = 60.0  # seconds for which a company's environment is believed, in what is about no session
MOST: Final = 10_000  # conversations remembered


class Homologation:
    """Marks the messages of companies that issue in homologation; ``usual`` is where a company without a word issues.

    Somebody of no company has no notes, and no mark.
    """

    def __init__(self, database: Database, usual: Ambiente, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._usual = usual
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, bool]] = OrderedDict()  # by conversation: until when, whether

    async def mark(self, saida: Saida, mensagem: Mensagem) -> Mensagem:
        """Return the message as it must be sent: one about a session as that one issues, others as the company does."""
        if saida.canal is not None:
            return with_mark(mensagem) if saida.canal.endswith(f"/{Ambiente.HOMOLOGACAO}") else mensagem
        conversa = saida.conversa
        until, practice = self._known.get(conversa, (0.0, False))
        if until <= self._clock():
            practice = await self._asked(conversa)
            self._known[conversa] = (self._clock() + KNOWN_FOR, practice)
            self._known.move_to_end(conversa)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return with_mark(mensagem) if practice else mensagem

    async def _asked(self, conversa: str) -> bool:
        async with self._database.alone() as connection:
            found = await environment_of(connection, conversa)
        return found is not None and (found.ambiente or self._usual) is Ambiente.HOMOLOGACAO


def with_mark(mensagem: Mensagem) -> Mensagem:
    """Return the message with the words; in one without room for them they take the place of its last characters."""
    match mensagem:
        case Texto(body):
            return Texto(_under(body, limits.TEXT_BODY))
        case ComBotoes() | ListMessage():
            return replace(mensagem, footer=AVISO)
        case DocumentoMidia(caption=caption):
            return replace(mensagem, caption=_under(caption, limits.CAPTION) if caption else AVISO)
        case Template():
            return mensagem  # its words are Meta's to approve
        case _:
            assert_never(mensagem)


def _under(text: str, most: int) -> str:
    under = f"\n\n_{AVISO}._"
    return text[: most - len(under)] + under
