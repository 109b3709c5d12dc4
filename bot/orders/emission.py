"""Carries confirmed invoices to the gateway and asks after them, never twice blind; decides nothing by itself."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import structlog

from bot.orders.preflight import Clearance
from bot.orders.settlement import Settlement
from gateway.http.recording import recording
from gateway.lines import Kind
from persistence.fiscal import cancellation_work, emissions
from persistence.fiscal.emissions import LEASE_SECONDS, EmissionLeaseLostError
from state_machine.protocol.emission import Found, StatusEmissao
from state_machine.protocol.reconciliation import Passo, deve_enviar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gateway.registry import Channels
    from persistence.db.engine import Database
    from persistence.fiscal.emissions import Tarefa
    from persistence.queue.inbox import Inbox
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.protocol.reconciliation import Politica

log = structlog.get_logger(__name__)

CONCURRENCY = 40  # slots for emissions per worker, of which one company has half at most: gateways throttle
SHORTEST_PAUSE = 0.1  # seconds, when the circuit is just being probed
SEND_WITHIN = LEASE_SECONDS / 3  # a worker frozen for longer than this after claiming must not send any more

_UNANSWERED = frozenset({StatusEmissao.ENVIANDO, StatusEmissao.DESCONHECIDO})


class Emissions:
    """Moves emissions on; any number of replicas, each emission with one of them at a time."""

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        lanes: Lanes,
        channels: Channels,
        politica: Politica,
        *,
        ring: Callable[[], None],
    ) -> None:
        self._ring = ring
        self._database = database
        self._lanes = lanes
        self._channels = channels
        self._held: Counter[int] = Counter()  # slots of this worker, by company
        self._clearance = Clearance(database, channels, politica)
        self._settlement = Settlement(database, inbox, channels, politica)

    async def claim(self, limit: int) -> list[Tarefa]:
        """Take emissions that are due, each company its share; ``limit`` slots are free."""
        known = {"quietas": self._channels.quiet(Kind.SUBMISSION), "canais": self._channels.names}
        async with self._database.transaction() as connection:
            tarefas = await emissions.claim(connection, limit, LEASE_SECONDS, ocupadas=self._held, **known)
        self._held.update(tarefa.prestador_id for tarefa in tarefas)
        return tarefas

    async def renew(self, tarefa: Tarefa) -> bool:
        """Keep an emission whose gateway call takes long."""
        async with self._database.alone() as connection:
            return await emissions.renew(connection, tarefa, LEASE_SECONDS)

    async def work(self, tarefa: Tarefa) -> None:
        """Send or ask once, and settle what came of it; never raises."""
        with structlog.contextvars.bound_contextvars(
            correlacao=tarefa.correlacao, id_integracao=tarefa.andamento.id_integracao, sessao_id=tarefa.sessao_id
        ):
            try:
                await self._advance(tarefa)
            except EmissionLeaseLostError:
                log.warning("emission_lease_lost", emissao_id=tarefa.id)
            except Exception as error:
                log.exception("emission_failed", emissao_id=tarefa.id, error=type(error).__name__)
            finally:
                self._held -= Counter((tarefa.prestador_id,))  # companies without any are dropped

    async def _advance(self, tarefa: Tarefa) -> None:
        sending = deve_enviar(tarefa.andamento)
        lines = self._channels.of(tarefa.canal).lines
        breaker = lines.breaker(tarefa.andamento.prestador, Kind.SUBMISSION if sending else Kind.QUESTION)
        if not breaker.allows():
            # Nothing is called, and nothing counts as an attempt.
            await self._settlement.put_off(tarefa, max(breaker.pause(), SHORTEST_PAUSE))
        elif not sending:
            await self._ask(tarefa)
        elif tarefa.pronta:
            await self._send(tarefa)
        else:
            cleared = await self._clearance.clear(tarefa)
            if isinstance(cleared, Passo):
                await self._settlement.without_call(tarefa, cleared)
            else:
                await self._send(cleared)

    async def _send(self, tarefa: Tarefa) -> None:
        started = time.monotonic()
        if started - tarefa.tomada_em > SEND_WITHIN:
            await self._give_back(tarefa)
            return
        with recording() as tape:
            outcome = await self._channels.of(tarefa.canal).submit(tarefa.payload)
        await self._settlement.heard(tarefa, "submit", outcome, _since(started), tape)

    async def _ask(self, tarefa: Tarefa) -> None:
        started = time.monotonic()
        gateway, prestador = self._channels.of(tarefa.canal), tarefa.andamento.prestador
        with recording() as tape:
            finding = await gateway.find(gateway.key(prestador, tarefa.andamento.texto_da_chave))
        if isinstance(finding, Found) and tarefa.era in _UNANSWERED:  # it did arrive: the gateway takes our orders
            gateway.lines.breaker(prestador, Kind.SUBMISSION).succeeded()
        await self._settlement.heard(tarefa, "find", finding, _since(started), tape)

    async def _give_back(self, tarefa: Tarefa) -> None:
        """We were frozen before sending: nothing left the house; the epoch tells if somebody took it over."""
        log.warning("emission_given_back", emissao_id=tarefa.id)
        async with self._database.transaction() as connection:
            await emissions.give_back(connection, tarefa)

    async def on_hint(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """A gateway webhook: a hint to look at those notes now, nothing more."""
        ids = [row.id for row in rows]
        concerned = 0
        async with self._database.transaction() as connection:
            for row in rows:
                for hinted in row.payload.get("hints", ()):
                    await cancellation_work.hint(connection, hinted.get("id_integracao"), hinted.get("id_externo"))
                    concerned += await emissions.hint(
                        connection, hinted.get("id_integracao"), hinted.get("id_externo"), row.payload.get("corpo")
                    )
            await self._lanes.done(connection, lease, ids)
        self._ring()
        log.info("gateway_hint", rows=len(rows), count=concerned)
        return ids


def _since(started: float) -> int:
    """Milliseconds."""
    return round((time.monotonic() - started) * 1000)
