"""What is done to a batch that was read: a yes to its revision, a stop, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from persistence.audit import records as audit
from persistence.batches import listing, records
from state_machine.mailing.states import ENCERRADOS, EstadoLinha, EstadoLote
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from persistence.batches.listing import FirstMail
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found
    from persistence.db.engine import Database

    Also = Callable[[Connection, Found, bool], Awaitable[None]]
    """What a transaction stores besides: of which batch, and whether it changed."""


LARGEST_ID: Final = 2**63 - 1  # of a ``bigint``


class UnknownBatchError(ProsaError):
    """There is no such batch."""

    code = "lote_desconhecido"


class AnotherRevisionError(ProsaError):
    """The yes was to other rows than those that stand there, or the batch waits for none."""

    code = "revisao_diferente"


@dataclass(frozen=True, slots=True)
class BatchStanding:
    """A batch and its rows by their state; ``incertas``: mails of which an answer was lost.

    ``primeiro``: the first mail as it will look, while the batch waits for a yes.
    """

    lote: Found
    linhas: dict[EstadoLinha, int]
    incertas: int
    primeiro: FirstMail | None

    @property
    def prontas(self) -> int:
        """Rows that a mail goes to, or has gone to."""
        return sum(self.linhas.values()) - self.problemas

    @property
    def problemas(self) -> int:
        """Rows that no mail goes to."""
        return self.linhas.get(EstadoLinha.INVALID, 0)


async def nothing_more(_: Connection, __: Found, ___: bool) -> None:
    """Store nothing besides."""


async def standing(database: Database, lote_id: int) -> BatchStanding:
    """Return how a batch stands. Raises ``UnknownBatchError``."""
    async with database.transaction() as connection:
        lote = await _known(connection, lote_id)
        linhas = await records.counts(connection, lote_id)
        first = await listing.first_mails(connection, [lote])
        return BatchStanding(lote, linhas, await records.uncertain(connection, lote_id), first.get(lote_id))


async def confirm(
    database: Database,
    lote_id: int,
    *,
    revisao: str,
    quem: str,
    also: Also = nothing_more,
    staff_id: int | None = None,
) -> None:
    """Let a batch be sent, audited; the same yes again changes nothing. ``also``: what its transaction stores besides.

    Raises ``UnknownBatchError`` and ``AnotherRevisionError``; nothing is sent then.
    """
    async with database.transaction() as connection:
        lote = await _known(connection, lote_id)
        if await records.confirm(connection, lote_id, revisao, quem):
            await _audited(connection, lote, quem=quem, staff_id=staff_id, acao="confirmou lote")
            await also(connection, lote, True)  # noqa: FBT003 - an ``Also``
            return
        lote = await _known(connection, lote_id)  # a yes at the same moment may have come first
        if lote.revisao != revisao or lote.confirmado_em is None:
            raise AnotherRevisionError(f"o lote {lote_id} está {lote.estado}, na revisão {lote.revisao}")
        await also(connection, lote, False)  # noqa: FBT003 - an ``Also``


async def stop(database: Database, lote_id: int, quem: str, *, staff_id: int | None = None) -> int:
    """Cancel what was not sent, audited; returns how many rows, 0 where the batch has ended already.

    Raises ``UnknownBatchError``.
    """
    async with database.transaction() as connection:
        return await stop_in(connection, await _known(connection, lote_id), quem, staff_id=staff_id) or 0


async def stop_in(connection: Connection, lote: Found, quem: str, *, staff_id: int | None = None) -> int | None:
    """Do the same in a transaction that is open; ``None`` where the batch has ended already."""
    cancelled = await records.stop(connection, lote.id)
    if cancelled is not None:
        await _audited(connection, lote, quem=quem, staff_id=staff_id, acao="parou lote")
    return cancelled


def has_ended(lote: Found) -> bool:
    """Say whether nothing more of a batch is sent."""
    return EstadoLote(lote.estado) in ENCERRADOS


async def _known(connection: Connection, lote_id: int) -> Found:
    lote = await records.by_id(connection, lote_id) if 0 < lote_id <= LARGEST_ID else None
    if lote is None:
        raise UnknownBatchError(f"não existe o lote {lote_id}")
    return lote


async def _audited(connection: Connection, lote: Found, *, quem: str, staff_id: int | None, acao: str) -> None:
    await audit.write(
        connection, staff_id=staff_id, quem=quem, acao=acao, alvo=f"lote {lote.id}", empresa_id=lote.empresa_id
    )
