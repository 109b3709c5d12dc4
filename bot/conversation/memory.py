"""What a conversation remembers, asked of the database as a turn needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from persistence.conversations import edits, person_asked, snapshots
from persistence.fiscal import attempts, cancellations, history, issued, notes
from persistence.fiscal.notes import Quais
from persistence.people import clients
from state_machine.catalogue.texts.cancellation import o_errado

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from datetime import date, datetime

    from persistence.conversations.edits import Mudanca, Ouvida
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from state_machine.catalogue.records import Emitidas
    from state_machine.catalogue.requests import NotaListada
    from state_machine.invoice.known_clients import Cliente, Costume
    from state_machine.machine.session import Sessao
    from state_machine.values.period import MesOuAno
    from state_machine.values.yearly_limit import Medidor

    Meter = Callable[[Empresa, date], Awaitable[Medidor | None]]


class ConversationMemory:
    """What ``plan`` may ask about a conversation, one statement each."""

    def __init__(
        self,
        database: Database,
        conversa: str,
        empresa: Empresa,
        ativa: Sessao | None,
        mei: Meter,
        *,
        mails: bool,
    ) -> None:
        self._database = database
        self._conversa = conversa
        self.empresa = empresa
        self._empresa_id = empresa.id
        self._mei = mei
        self.ativa = ativa
        self.mails = mails

    async def load(self, sessao_id: str) -> Sessao | None:
        """One session of this conversation."""
        async with self._database.alone() as connection:
            return await snapshots.load(connection, self._conversa, sessao_id)

    async def latest(self) -> tuple[Sessao, datetime] | None:
        """The newest session and when it last changed."""
        async with self._database.alone() as connection:
            return await snapshots.latest(connection, self._conversa)

    async def repaired(self, sessao_id: str) -> bool:
        """Whether a later session took this one's data up."""
        async with self._database.alone() as connection:
            return await snapshots.repaired(connection, sessao_id)

    async def stopped(self, sessao: Sessao) -> bool:
        """Whether the session's invoice waits for its person's word."""
        async with self._database.transaction() as connection:
            return await attempts.waits_for_person(connection, sessao.sessao_id, sessao.revisao)

    async def cancelled(self, sessao: Sessao) -> bool:
        """Whether the session's invoice was issued, and is cancelled."""
        async with self._database.alone() as connection:
            return await issued.is_cancelled(connection, sessao.sessao_id)

    async def refused_instead(self, sessao: Sessao) -> Sessao | None:
        """The newest session of which a refused invoice should have taken the place of this one's note."""
        async with self._database.alone() as connection:
            found = await issued.refused_instead(connection, sessao.sessao_id)
        return await self.load(found) if found else None

    async def wrong(self, sessao: Sessao) -> str | None:
        """What its person said to be wrong with the session's cancelled note, ``None`` where nothing was told."""
        async with self._database.alone() as connection:
            motivo = await cancellations.reason(connection, sessao.sessao_id)
        return o_errado(motivo) if motivo else None

    async def notes(
        self,
        limit: int,
        *,
        numero: str | None = None,
        autorizadas: bool = True,
        emissao_id: int | None = None,
        documento: str | None = None,
        valem: bool = False,
    ) -> list[NotaListada]:
        """This conversation's newest invoices of the company for which it issues now, newest first; nobody else's.

        Only those of a number, an emission or a client, where one is given; with ``valem`` no cancelled ones.
        """
        quais = Quais(numero, emissao_id, documento, autorizadas=autorizadas or valem, valem=valem)
        async with self._database.alone() as connection:
            return await notes.listed(connection, self._conversa, self._empresa_id, limit, quais)

    async def clients(self) -> list[Cliente]:
        """The clients of the company for which the conversation issues now."""
        async with self._database.alone() as connection:
            return await clients.of_company(connection, self._empresa_id)

    async def email_of(self, documento: str) -> str | None:
        """The address that a client of the company is known by."""
        async with self._database.alone() as connection:
            return await clients.email_of(connection, self._empresa_id, documento)

    async def issued(self, periodo: MesOuAno, documento: str | None = None) -> Emitidas:
        """The company's authorised notes of a period that stand, by their day of issue; one client's, or all."""
        async with self._database.alone() as connection:
            return await history.issued(connection, self._empresa_id, periodo, documento)

    async def called(self) -> bool:
        """Whether somebody of the staff was asked for, and nobody came yet."""
        async with self._database.alone() as connection:
            return await person_asked.is_asked(connection, self._conversa)

    async def mei(self, hoje: date) -> Medidor | None:
        """How much of a MEI's limit the company used this year, ``None`` if it is none."""
        return await self._mei(self.empresa, hoje)

    async def usual(self, documento: str) -> Costume | None:
        """What the company usually invoices to a client."""
        async with self._database.alone() as connection:
            return await history.usual(connection, self._empresa_id, documento)

    async def heard(self, wamid: str) -> Ouvida:
        """What is known of a message that came before."""
        async with self._database.transaction() as connection:
            return await edits.heard(connection, self._conversa, wamid)

    async def changes(self, wamids: Collection[str]) -> list[Mudanca]:
        """Every notice so far that one of these messages was edited or deleted."""
        async with self._database.alone() as connection:
            return await edits.changes(connection, self._conversa, wamids)
