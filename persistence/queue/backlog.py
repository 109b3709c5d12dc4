"""Counts and lists what waits in the inbox, what is quarantined, and which wake-ups were missed.

Reads which confirmed invoices have no final answer yet, for how long, and what each of them waits for.

Finds orders to the authority that take long and whose people have not heard so, and marks them as told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people.retention import forget_ticks
from persistence.queue.inbox import CHANNEL
from persistence.tables import EstadoEntrega, StatusSaida
from persistence.tables.base import literals
from state_machine.cancellation.machine import EstadoCancelamento
from state_machine.cancellation.reconciliation import Envio
from state_machine.protocol.channel import CONVERSA
from state_machine.protocol.emission import COM_PESSOAS, EM_CURSO, StatusEmissao

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
    """For metrics, staff and the sweep."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pending(self) -> Counts:
        """Count."""
        return Counts(**await self._database.pool.fetchrow(_COUNTS))

    async def emissions(self) -> list[EmissionCount]:
        """Count emissions that are not settled, by status."""
        return [EmissionCount(**record) for record in await self._database.pool.fetch(_EMISSIONS)]

    async def held(self) -> dict[str, int]:
        """Count emissions that wait without a call, by why."""
        return {row["retida"]: row["count"] for row in await self._database.pool.fetch(_HELD)}

    async def prune(self) -> int:
        """Delete ticks and hints older than Meta's redelivery, and their idle lanes; returns how many rows."""
        forgotten = await forget_ticks(self._database)
        await self._database.pool.execute(_PRUNE_LANES)
        return forgotten

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


# What is under way is found by the index over it. After a 429 or 503 the next call keeps to their Retry-After.
_WAITING = sa.text(f"""
SELECT p.razao_social, p.cnpj, e.id_integracao, e.status, e.retida, e.criado_em, e.proxima_acao_em,
    extract(epoch FROM now() - e.criado_em)::float8 AS idade,
    coalesce(e.lease_until > now(), false) AS em_maos,
    e.proxima_acao_em <= now() AS na_vez,
    coalesce(u.http_status IN (429, 503), false) AS pausa_pedida
FROM nfse_emissao e JOIN empresa p ON p.id = e.prestador_id
LEFT JOIN LATERAL (
    SELECT t.http_status FROM gateway_tentativas t WHERE t.emissao_id = e.id ORDER BY t.id DESC LIMIT 1
) u ON true
WHERE e.status IN ({literals(EM_CURSO)})
ORDER BY p.razao_social, p.id, e.criado_em
""")  # noqa: S608 - our own constants


@dataclass(frozen=True, slots=True)
class Espera:
    """One emission under way; ``idade`` in seconds.

    ``em_maos``: a worker is at it now; ``na_vez``: it is due, and waits for a slot; ``pausa_pedida``: the gateway
    answered 429 or 503 last, so nothing is called before ``proxima_acao_em``; ``retida`` as in ``nfse_emissao``.
    """

    razao_social: str
    cnpj: str
    id_integracao: str
    status: str
    retida: str | None
    criado_em: datetime
    proxima_acao_em: datetime | None
    idade: float
    em_maos: bool
    na_vez: bool | None
    pausa_pedida: bool


async def under_way(connection: Connection) -> list[Espera]:
    """List them, company by company, the oldest first."""
    return [Espera(**row) for row in await connection.execute(_WAITING)]


BATCH: Final = 200  # of each kind at once: the next look is a second later
# Of each queue what is due first, by its index; "notices": what waits for the authority, of whom people hear in $1.
_QUEUES = f"""
SELECT fila, momento <= now() AS vence FROM (
    SELECT 'lanes' AS fila, (SELECT min(ready_at) FROM lanes WHERE ready_at IS NOT NULL) AS momento
    UNION ALL SELECT 'deliveries', (SELECT min(run_at) FROM outbox WHERE run_at IS NOT NULL)
    UNION ALL SELECT 'emissions', (SELECT min(proxima_acao_em) FROM nfse_emissao WHERE proxima_acao_em IS NOT NULL)
    UNION ALL SELECT 'cancellations',
        (SELECT min(proxima_acao_em) FROM cancelamento WHERE proxima_acao_em IS NOT NULL)
    UNION ALL SELECT 'webhooks',
        (SELECT min(a_partir_de) FROM webhook_entrega WHERE estado = '{EstadoEntrega.PENDENTE}')
    UNION ALL SELECT 'mailing', (SELECT min(a_partir_de) FROM lote_fila)
    UNION ALL SELECT 'notices', make_interval(secs => $1) + least(
        (SELECT min(criado_em) FROM nfse_emissao WHERE avisado_em IS NULL AND status IN ({literals(EM_CURSO)})),
        (SELECT criado_em FROM nfse_emissao WHERE avisado_em IS NOT NULL AND proxima_acao_em IS NOT NULL LIMIT 1),
        (SELECT min(confirmado_em) FROM cancelamento WHERE proxima_acao_em IS NOT NULL))
) f WHERE momento IS NOT NULL
"""  # noqa: S608 - our own constants


async def waiting(database: Database, seconds: float) -> dict[str, bool]:
    """Return the queues in which anything is open, each with whether something of it is due (database clock).

    ``notices`` are due ``seconds`` after their orders.
    """
    return {row["fila"]: row["vence"] for row in await database.pool.fetch(_QUEUES, seconds)}


# Whoever works on one right now tells by itself; the key of the news keeps it from being told twice.
_SLOW_EMISSIONS = sa.text(f"""
WITH demoradas AS (
    SELECT id, session_id FROM nfse_emissao
    WHERE avisado_em IS NULL AND status IN ({literals(EM_CURSO)})
      AND criado_em <= now() - make_interval(secs => :seconds)
      AND NOT (status = '{StatusEmissao.PENDENTE}' AND em_duvida IS FALSE
        AND criado_em <= now() - make_interval(secs => :asked))
    ORDER BY criado_em LIMIT :batch FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE nfse_emissao e SET avisado_em = now()
FROM demoradas d LEFT JOIN session_snapshot s ON s.id = d.session_id WHERE e.id = d.id
RETURNING e.id, e.origem, s.conversa, e.sessao_id, e.correlacao, e.id_integracao
""")  # noqa: S608 - our own constants
# A Retry-After of hours must not keep back the question to the person; looking at it calls nobody.
_FORWARD = sa.text(f"""
UPDATE nfse_emissao SET proxima_acao_em = now()
WHERE proxima_acao_em > now() AND status = '{StatusEmissao.PENDENTE}' AND em_duvida IS FALSE
  AND retida IS DISTINCT FROM 'pessoa' AND coalesce(desejado_em, criado_em) <= now() - make_interval(secs => :seconds)
""")  # noqa: S608 - our own constants
_CANCELLATIONS = sa.text(f"""
WITH demorados AS (
    SELECT id FROM cancelamento c
    WHERE proxima_acao_em IS NOT NULL AND estado = '{EstadoCancelamento.PENDENTE}'
      AND envio <> '{Envio.COM_GENTE}' AND avisado_em IS NULL
      AND confirmado_em <= now() - make_interval(secs => :seconds)
    ORDER BY confirmado_em LIMIT :batch FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE cancelamento c SET avisado_em = now()
FROM demorados, nfse_emissao e WHERE c.id = demorados.id AND e.id = c.emissao_id
RETURNING c.id, c.conversa, c.emissao_id, c.correlacao, e.id_integracao, e.origem, e.sessao_id
""")  # noqa: S608 - our own constants


@dataclass(frozen=True, slots=True)
class Demorada:
    """An order under way since longer than people wait without a word, and whose it is.

    ``id`` is the emission's or, where one is asked for, the cancellation's.
    """

    id: int
    emissao_id: int
    origem: str
    sessao_id: str
    conversa: str | None
    correlacao: str


async def slow_emissions(connection: Connection, seconds: float, asked: float) -> list[Demorada]:
    """Mark emissions older than so many seconds (database clock) as told, each once, and return them.

    What nobody accepted for ``asked`` seconds
    is left out: its person is asked whether it is still wanted.
    """
    rows = await connection.execute(_SLOW_EMISSIONS, {"seconds": seconds, "batch": BATCH, "asked": asked})
    return [Demorada(r.id, r.id, r.origem, r.sessao_id, r.conversa, r.correlacao or r.id_integracao) for r in rows]


async def bring_forward(connection: Connection, seconds: float) -> int:
    """Make due what nobody accepted for so many seconds: its person is asked before anything is sent."""
    return (await connection.execute(_FORWARD, {"seconds": seconds})).rowcount


async def slow_cancellations(connection: Connection, seconds: float) -> list[Demorada]:
    """Mark cancellations that were confirmed so many seconds ago as told, each once, and return them."""
    rows = await connection.execute(_CANCELLATIONS, {"seconds": seconds, "batch": BATCH})
    return [
        Demorada(
            r.id,
            r.emissao_id,
            r.origem if r.conversa is None else CONVERSA,
            r.sessao_id,
            r.conversa,
            r.correlacao or r.id_integracao,
        )
        for r in rows
    ]
