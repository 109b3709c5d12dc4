"""Counts and lists what waits in the inbox, what is quarantined, and which wake-ups were missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from persistence.claims import slots
from persistence.queue import outbox
from persistence.queue.entrance import CHANNEL
from persistence.rows.inbox_rows import TIPOS
from persistence.tables import StatusSaida
from persistence.versions import literals
from state_machine.protocol.channel import PRIMEIRO
from state_machine.protocol.emission import COM_PESSOAS
from state_machine.protocol.origin import CONVERSA

if TYPE_CHECKING:
    from collections.abc import Collection

    from persistence.db.connection import Connection
    from persistence.db.engine import Database

_COUNTS = f"""
SELECT
    (SELECT count(*) FROM inbox WHERE estado = 0) AS open,
    (SELECT count(*) FROM inbox WHERE estado = 2) AS quarantined,
    (SELECT count(*) FROM lanes WHERE ready_at <= now() AND lease_until IS NULL) AS due_lanes,
    (SELECT count(*) FROM lanes WHERE ready_at IS NOT NULL AND lease_until > now()) AS leased_lanes,
    (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM lanes
        WHERE ready_at <= now() AND lease_until IS NULL) AS lag_seconds,
    (SELECT count(*) FROM outbox WHERE run_at IS NOT NULL) AS outbox_open,
    (SELECT count(*) FROM outbox
        WHERE erro IS NOT NULL AND status = '{StatusSaida.FALHOU}'
            AND criado_em > now() - interval '1 day') AS outbox_failed,
    (SELECT count(*) FROM empresa WHERE envio_suspenso IS NOT NULL) AS suspended
"""  # noqa: S608 - our own constants
_EMISSIONS = f"""
SELECT status, count(*) AS count, extract(epoch FROM now() - min(criado_em))::float8 AS oldest_seconds
FROM nfse_emissao
WHERE proxima_acao_em IS NOT NULL OR (status IN ({literals(COM_PESSOAS)}) AND criado_em > now() - interval '30 days')
GROUP BY status
"""  # noqa: S608 - our own constants
_WAKE = """
INSERT INTO lanes AS l (lane, ready_at, pending_since) VALUES ($1, now(), now())
ON CONFLICT (lane) DO UPDATE SET ready_at = now(), pending_since = now(), backoff_until = NULL
"""
_REOPEN = """
UPDATE inbox SET estado = 0, tentativas = 0, interpretacao = NULL WHERE id = $1 AND estado = 2 RETURNING lane
"""
# Meta repeats webhooks for seven days: until then a row's key is what keeps a repetition from being new.
_PRUNE_ROWS = """
DELETE FROM inbox WHERE id IN (
    SELECT id FROM inbox WHERE estado = 1 AND tipo IN ('status', 'gateway', 'aviso_meta')
        AND recebido_em < now() - interval '8 days' ORDER BY id LIMIT 20000
)
"""
# Only lanes whose work is idempotent: a lane made anew starts its fencing epochs again.
_PRUNE_LANES = """
DELETE FROM lanes WHERE lane IN (
    SELECT lane FROM lanes WHERE ready_at IS NULL AND owner IS NULL
        AND (lane LIKE 'entrega:%' OR lane LIKE 'emissao:%' OR lane LIKE 'ilegivel:%') LIMIT 20000
    FOR NO KEY UPDATE SKIP LOCKED
)
"""
_SLEEPERS = """
WITH adormecidas AS (
    SELECT lane FROM lanes WHERE ready_at IS NULL AND lane IN (SELECT lane FROM inbox WHERE estado = 0)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE lanes AS l SET ready_at = now(), pending_since = now() FROM adormecidas WHERE l.lane = adormecidas.lane
"""


# What is due and stays where it is: only another version knows its status or kind (``persistence.versions``).
_UNKNOWN = f"""
SELECT 'inbox' AS tabela, count(*) AS count FROM inbox WHERE estado = 0 AND tipo NOT IN ({literals(TIPOS)})
UNION ALL SELECT 'nfse_emissao', count(*) FROM nfse_emissao n
    WHERE proxima_acao_em <= now() AND {slots.alheia("$1", "$2")}
UNION ALL SELECT 'cancelamento', count(*) FROM cancelamento n
    WHERE proxima_acao_em <= now() AND {slots.alheio("$1", "$2")}
UNION ALL SELECT 'outbox', count(*) FROM outbox o WHERE run_at <= now() AND ({outbox.ALHEIA})
"""  # noqa: S608 - our own constants
_HELD = """
SELECT retida, count(*) AS count FROM nfse_emissao
WHERE proxima_acao_em IS NOT NULL AND retida IS NOT NULL GROUP BY retida
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What waits now. ``lag_seconds``: for how long the most patient due lane has waited for a worker."""

    open: int
    quarantined: int
    due_lanes: int
    leased_lanes: int
    lag_seconds: float
    outbox_open: int
    outbox_failed: int
    suspended: int


@dataclass(frozen=True, slots=True)
class EmissionCount:
    """Emissions of one status that are not settled, or that people must look at."""

    status: str
    count: int
    oldest_seconds: float


class Backlog:
    """For metrics, staff and the sweep; ``canais`` and ``origens`` are those that this process knows."""

    def __init__(
        self,
        database: Database,
        canais: Collection[str] = (PRIMEIRO,),
        origens: Collection[str] = (CONVERSA,),
    ) -> None:
        self._database = database
        self._known = list(canais), list(origens)

    async def pending(self) -> Counts:
        """Count."""
        return Counts(**await self._database.pool.fetchrow(_COUNTS))

    async def emissions(self) -> list[EmissionCount]:
        """Count emissions that are not settled, by status."""
        return [EmissionCount(**record) for record in await self._database.pool.fetch(_EMISSIONS)]

    async def held(self) -> dict[str, int]:
        """Count emissions that wait without a call, by why."""
        return {row["retida"]: row["count"] for row in await self._database.pool.fetch(_HELD)}

    async def unknown(self) -> dict[str, int]:
        """Count, by table, what is due and waits for another version of us."""
        return {row["tabela"]: row["count"] for row in await self._database.pool.fetch(_UNKNOWN, *self._known)}

    async def prune(self) -> int:
        """Delete ticks and hints older than Meta's redelivery, and their idle lanes; returns how many rows."""
        status: str = await self._database.pool.execute(_PRUNE_ROWS)
        await self._database.pool.execute(_PRUNE_LANES)
        return int(status.removeprefix("DELETE "))

    async def replay(self, row_id: int) -> bool:
        """Give a quarantined row five new attempts and a fresh interpretation; False when it is not quarantined."""
        async with self._database.pool.acquire() as connection, connection.transaction():
            lane = await connection.fetchval(_REOPEN, row_id)
            if lane is None:
                return False
            await connection.execute(_WAKE, lane)
            await connection.execute("SELECT pg_notify($1, '')", CHANNEL)
        return True

    async def replay_in(self, connection: Connection, row_id: int) -> bool:
        """Do the same inside an open transaction."""
        lane = (await connection.exec_driver_sql(_REOPEN, (row_id,))).scalar_one_or_none()
        if lane is None:
            return False
        await connection.exec_driver_sql(_WAKE, (lane,))
        await connection.exec_driver_sql("SELECT pg_notify($1, '')", (CHANNEL,))
        return True

    async def wake_sleepers(self) -> int:
        """Wake lanes that hold open rows and wait for nothing; there are none unless somebody edits by hand."""
        status: str = await self._database.pool.execute(_SLEEPERS)
        return int(status.removeprefix("UPDATE "))
