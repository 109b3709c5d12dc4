"""The company's certificate: who issues for it gets a one-time link, and news of what became of it.

A certificate that comes as an attachment is left where it is, and answered with the link.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

import structlog

from bot.budgets import Voice
from bot.conversation.inbound import Outro, Palavras
from bot.conversation.subject import Resources, RowHandler, Turn, one_row
from bot.loops.jobs import Deadline
from bot.subjects.invoice.acts import begun
from extractor.requests.yes_no import wants_certificate
from persistence.conversations import conversations, snapshots
from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.people import certificate_links
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lease
from persistence.rows import CertificateRow, MessageRow
from state_machine.catalogue import messages
from state_machine.catalogue.texts import certificate as textos
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import EnviarLink, Mensagem
from state_machine.values.certificate import is_certificate_file
from state_machine.values.local_time import SAO_PAULO

log = structlog.get_logger(__name__)


class Certificate:
    """Takes the turns that are about sending the company's certificate."""

    shows_reading = True
    actions: frozenset[str] = frozenset()
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources
        self._offers = bool(resources.public_url) and bool(resources.cofre)

    def handlers(self) -> Sequence[RowHandler]:
        """News: one was accepted by a link, of this person or another's, or the one that is kept ends soon."""
        return (one_row(CertificateRow, self._on_news),)

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Take the wish to send one, or one that was sent as an attachment."""
        arquivo = _is_file(turn)
        if not arquivo and not await self._is_wanted(turn):
            return None
        # Beside a draft an answer is owed: else a yes that follows is one to the draft's summary.
        voz = await turn.voice(owed="arquivo" if arquivo else "rascunho" if turn.conversa.ativa is not None else None)
        async with self._r.committing(turn) as connection:
            if voz is not Voice.SILENT:
                answer = messages.devagar() if voz is Voice.NOTICE else await self._answer(connection, turn, arquivo)
                outbox.enqueue(
                    connection, conversa=turn.lease.lane, mensagem=answer, correlacao=turn.chegada.correlacao
                )
        self._r.ring_delivery()
        log.info("certificate_asked", attached=arquivo)
        return turn.chegada.ids

    async def _is_wanted(self, turn: Turn) -> bool:
        if not isinstance(turn.chegada.entrada, Palavras):
            return False
        texto = turn.chegada.entrada.decidem
        if not wants_certificate(texto, drafting=False):
            return False
        if turn.conversa.ativa is None:
            return True
        async with self._r.database.transaction() as connection:
            ativa = await snapshots.active(connection, turn.lease.lane)
        if ativa is None or not begun(ativa):
            return True
        return wants_certificate(texto, drafting=True) and ativa.pendente is not Campo.DESCRICAO  # it is the service

    async def _answer(self, connection: Connection, turn: Turn, arquivo: bool) -> Mensagem | EnviarLink:
        empresa = await conversations.issuer(connection, turn.chegada.contato)
        if empresa is None or turn.conversa.telefone is None:
            return textos.sem_direito(arquivo=arquivo)
        if self._r.door.certificate_elsewhere(empresa):
            return textos.kept_elsewhere(empresa.razao_social, arquivo=arquivo)
        if not self._offers:
            return textos.sem_link(arquivo=arquivo)
        made = await certificate_links.make(
            connection, self._r.cofre, telefone=turn.conversa.telefone, conversa=turn.lease.lane
        )
        if made is None:
            return textos.sem_direito(arquivo=arquivo)
        return EnviarLink(textos.link(empresa.razao_social, made.minutos, arquivo=arquivo), made.id, made.selado)

    async def _on_news(self, lease: Lease, row: InboxRow, news: CertificateRow) -> None:
        """Tell it; a warning that comes after the last day is not given any more."""
        vence = date.fromisoformat(news.vence)
        async with self._r.database.transaction() as connection:
            dias = (vence - (await database_now(connection)).astimezone(SAO_PAULO).date()).days
            match news.aviso:
                case "guardado":
                    mensagem = textos.guardado(news.empresa, vence)
                case "trocado":
                    mensagem = textos.trocado(news.empresa, vence)
                case "vence":
                    mensagem = textos.vence_em(news.empresa, vence, dias, com_link=self._offers)
            if news.aviso != "vence" or dias >= 0:
                outbox.enqueue(
                    connection, conversa=lease.lane, mensagem=mensagem, chave=row.chave, correlacao=row.correlacao
                )
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring_delivery()


def _is_file(turn: Turn) -> bool:
    return isinstance(turn.chegada.entrada, Outro) and any(
        is_certificate_file(MessageRow.of(row.payload).mensagem) for row in turn.chegada.rows
    )
