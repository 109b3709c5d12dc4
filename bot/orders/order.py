"""Carries orders to the authority: the protocol of one kind of order, and the engine that runs every kind.

To add a kind of order: its policy, a pure module in ``state_machine``; its call in ``bot/ports.py`` and the adapters,
with a ``CallKind`` in ``gateway/lines.py``; its table and statements in ``persistence/fiscal``, with ``Leases`` of
``persistence/claims.py``; a class here with the methods of ``Order``, and a row in ``ORDERS``
(``bot/wiring/handlers.py``). ``claim`` or ``prepare`` stores as being sent what may be sent, so that after a crash it
is asked about. Log events are rows of ``docs/runbook.md``, its name one of ``OPERACOES`` of the console. Test a lost
answer, a crash between claim and call, a late commit; ``tests/bot/orders/test_order.py`` has the smallest kind.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import structlog

from bot.orders.origins import Origins
from gateway.http.recording import Recorded, recording
from gateway.lines import CallKind
from gateway.registry import Channels
from persistence.claims import Leases, OrderLeaseLostError, Taken
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import attempts, emissions
from persistence.fiscal.emissions import Chamada
from persistence.queue.lanes import InboxRow, Lanes, Lease
from persistence.rows import GatewayRow
from persistence.witness import Witness
from state_machine.protocol.emission import CannotTell, Unknown
from state_machine.protocol.retry import Politica
from telemetry.metrics import Metrics

SHORTEST_PAUSE = 0.1  # seconds, when the circuit is just being probed
SEND_WITHIN = 1 / 3  # of the lease: a worker frozen for longer than this after claiming must not send any more
MOST_FAILURES = 5  # exceptions of our own in a row, a lease apart: then people look
ASKING = "find"  # the operation of a question, in the attempts and the logs

log = structlog.get_logger(__name__)


class Step(Protocol):
    """What follows: a decision of ``state_machine``."""

    @property
    def status(self) -> str:
        """Where the order stands then."""

    @property
    def daqui(self) -> float | None:
        """Seconds until the next look, ``None`` for none."""

    @property
    def motivo(self) -> str | None:
        """Why, for the record."""

    @property
    def retida(self) -> str | None:
        """Why it waits without a call."""


T = TypeVar("T", bound=Taken)
A = TypeVar("A")
P = TypeVar("P", bound=Step)


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """One call to the gateway: what was asked, its answer, milliseconds, and what was recorded of it."""

    operation: str
    answer: A
    latency_ms: int
    tape: Recorded

    @property
    def told(self) -> str | None:
        """The JSON received; ``None`` where the answer tells nothing, so that it does not overwrite what told more."""
        return None if isinstance(self.answer, Unknown | CannotTell) else self.tape.recebido


@dataclass(frozen=True, slots=True)
class Instead(Generic[P]):
    """What follows for an order that may not be sent now."""

    passo: P


@dataclass(frozen=True, slots=True)
class OrderParts:
    """What every kind of order is made with."""

    database: Database
    origins: Origins
    channels: Channels
    politica: Politica
    witness: Witness = field(default_factory=Witness)
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True, slots=True)
class Events:
    """The names of a kind's log events, written out, so that whoever reads one in a log finds it here."""

    step: str
    waits: str
    given_back: str
    lease_lost: str
    failed: str


class Order(Protocol[T, A, P]):
    """One kind of order: claim, prepare, send or ask, classify, settle, conclude.

    ``operation`` is its sending in the attempts, and ``kind`` the line (breaker, places) of its sendings;
    ``leases`` are those on its rows, renewed while a call lasts; ``concurrency`` its slots per worker.

    ``classify``, ``settle`` and ``conclude`` run in one transaction, in this order. ``claim``, ``settle`` and
    ``prepare`` raise ``OrderLeaseLostError`` for an order that somebody else took over.
    """

    events: Events
    operation: str
    kind: CallKind
    leases: Leases[T]
    concurrency: int

    async def claim(self, connection: Connection, free: int, held: Mapping[int, int]) -> list[T]:
        """Take what is due, each company its share of the ``free`` slots; what may be sent is stored as being sent."""

    async def hint(self, connection: Connection, id_integracao: str | None, id_externo: str | None, corpo: Any) -> int:
        """A webhook spoke of a note: its orders are looked at now; returns how many that were."""

    def context(self, piece: T) -> Mapping[str, str | None]:
        """Return what every log line about it carries."""

    def sends(self, piece: T) -> bool:
        """Tell whether it is to be sent; else it is asked about."""

    async def prepare(self, piece: T) -> T | Instead[P]:
        """Make it ready: bytes, record and credentials committed before the first byte leaves; or say what follows."""

    async def send(self, piece: T) -> A:
        """Send the stored bytes once."""

    async def ask(self, piece: T) -> A:
        """Ask once what the authority has."""

    async def classify(self, connection: Connection, piece: T, answer: A) -> P:
        """Decide what follows from an answer."""

    async def postpone(self, connection: Connection, piece: T, seconds: float) -> P:
        """Decide what follows while the gateway is left alone for so long: nothing counts as an attempt."""

    def give_up(self, piece: T, motivo: str) -> P:
        """Hand it to people: our own work on it raised again and again."""

    async def settle(self, connection: Connection, piece: T, passo: P, call: Call[A] | None) -> None:
        """Store what followed, and give the lease back. Raises ``OrderLeaseLostError`` for a late commit."""

    async def conclude(self, connection: Connection, piece: T, passo: P, call: Call[A] | None) -> None:
        """Store what else follows: records, credentials, the news to whoever ordered it."""

    def alarms(self, passo: P, *, called: bool) -> bool:
        """Tell whether the log line about this step is an error; ``called``: the gateway was."""


class OrderWorker(Generic[T, A, P]):
    """Moves the orders of one kind on; any number of replicas, each order with one of them at a time."""

    def __init__(self, order: Order[T, A, P], database: Database, channels: Channels) -> None:
        self._order = order
        self._database = database
        self._channels = channels
        self._held: Counter[int] = Counter()  # slots of this worker, by company
        self._ready: dict[int, T] = {}  # what was made ready, by the identity of what was claimed
        self.lease_seconds = order.leases.seconds
        self.send_within = order.leases.seconds * SEND_WITHIN
        self.concurrency = order.concurrency

    async def claim(self, limit: int) -> list[T]:
        """Take orders that are due, each company its share; ``limit`` slots are free."""
        async with self._database.transaction() as connection:
            taken = await self._order.claim(connection, limit, self._held)
        self._held.update(piece.prestador_id for piece in taken)
        return taken

    async def renew(self, piece: T) -> bool:
        """Keep an order whose gateway call takes long, with the record that was made when it was made ready."""
        return await self._order.leases.keep(self._database, self._ready.get(id(piece), piece))

    async def work(self, piece: T) -> bool:
        """Send or ask once, and settle what came of it; never raises. False: nothing became due by it."""
        with structlog.contextvars.bound_contextvars(**self._order.context(piece)):
            try:
                follows = await self._advance(piece)
                return follows or 2 * self._held.total() >= self.concurrency  # its company may have had to wait for it
            except OrderLeaseLostError:
                log.warning(self._order.events.lease_lost, emissao_id=piece.emissao_id)
            except Exception as error:
                log.exception(self._order.events.failed, emissao_id=piece.emissao_id, error=type(error).__name__)
                await self._failed(self._ready.get(id(piece), piece), type(error).__name__)
            finally:
                self._ready.pop(id(piece), None)
                self._held -= Counter((piece.prestador_id,))  # companies without any are dropped
        return True

    async def _failed(self, piece: T, error: str) -> None:
        """Record that our own work on it raised; people get what does so again and again."""
        operation = self._order.operation if self._order.sends(piece) else ASKING
        try:
            async with self._database.transaction() as connection:
                before = await attempts.failures(connection, piece.emissao_id, MOST_FAILURES - 1)
                emissions.record_attempt(connection, piece.emissao_id, Chamada(operation, attempts.RAISED, error, 0))
                if before + 1 < MOST_FAILURES:
                    return
                passo = self._order.give_up(piece, f"our own work on it raised {MOST_FAILURES} times: {error}")
                await self._order.settle(connection, piece, passo, None)
                await self._order.conclude(connection, piece, passo, None)
        except Exception as again:  # noqa: BLE001 - the lease ends, and it is tried again
            log.warning("failure_not_recorded", emissao_id=piece.emissao_id, error=type(again).__name__)

    async def _advance(self, piece: T) -> bool:
        order, sending = self._order, self._order.sends(piece)
        lines = self._channels.of(piece.canal).lines
        breaker = lines.breaker(piece.prestador, order.kind if sending else CallKind.QUESTION)
        if not breaker.allows():
            await self._wait(piece, max(breaker.pause(), SHORTEST_PAUSE))
        elif not sending:
            return await self._call(piece, ASKING, order.ask)
        elif isinstance(ready := await order.prepare(piece), Instead):
            await self._wait(piece, ready)
        elif time.monotonic() - ready.tomada_em > self.send_within:
            await self._give_back(ready)
        else:
            self._ready[id(piece)] = ready
            return await self._call(ready, order.operation, order.send)
        return True

    async def _wait(self, piece: T, why: float | Instead[P]) -> None:
        """Store what follows where nothing was called: ``why`` is a decision, or for how long nobody may call."""
        async with self._database.transaction() as connection:
            if isinstance(why, Instead):
                passo = why.passo
            else:
                passo = await self._order.postpone(connection, piece, why)
            await self._order.settle(connection, piece, passo, None)
            await self._order.conclude(connection, piece, passo, None)
        write = log.error if self._order.alarms(passo, called=False) else log.info
        write(self._order.events.waits, emissao_id=piece.emissao_id, reason=passo.retida, status=passo.status)

    async def _give_back(self, piece: T) -> None:
        """We were frozen before sending: nothing was sent; the epoch tells if somebody took it over."""
        log.warning(self._order.events.given_back, emissao_id=piece.emissao_id)
        async with self._database.transaction() as connection:
            await self._order.leases.give_back(connection, piece)

    async def _call(self, piece: T, operation: str, call: Callable[[T], Awaitable[A]]) -> bool:
        started = time.monotonic()
        with recording() as tape:
            answer = await call(piece)
        return await self.heard(piece, Call(operation, answer, round((time.monotonic() - started) * 1000), tape))

    async def heard(self, piece: T, call: Call[A]) -> bool:
        """Store what an answer means and what follows; say whether it is due. Raises ``OrderLeaseLostError``."""
        result = type(call.answer).__name__
        async with self._database.transaction() as connection:
            passo = await self._order.classify(connection, piece, call.answer)
            await self._order.settle(connection, piece, passo, call)
            chamada = Chamada(call.operation, result, passo.motivo, call.latency_ms, **call.tape.masked())
            emissions.record_attempt(connection, piece.emissao_id, chamada)
            await self._order.conclude(connection, piece, passo, call)
        write = log.error if self._order.alarms(passo, called=True) else log.info
        write(
            self._order.events.step,
            emissao_id=piece.emissao_id,
            operation=call.operation,
            resultado=result,
            status=passo.status,
            latency_ms=call.latency_ms,
        )
        return passo.daqui == 0


class Hints:
    """Takes a gateway's webhook: a hint to look at the orders of those notes now, nothing more."""

    def __init__(
        self, database: Database, lanes: Lanes, orders: Mapping[str, Order[Any, Any, Any]], ring: Callable[..., None]
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._orders = orders
        self._ring = ring

    async def on_hint(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Make the orders due that the rows speak of."""
        ids = [row.id for row in rows]
        concerned: Counter[str] = Counter()
        async with self._database.transaction() as connection:
            for row in rows:
                told = GatewayRow.of(row.payload)
                for hint in told.hints:
                    note = hint.id_integracao, hint.id_externo, told.corpo
                    for name, order in self._orders.items():
                        concerned[name] += await order.hint(connection, *note)
            await self._lanes.done(connection, lease, ids)
        self._ring(*(+concerned or self._orders))
        log.info("gateway_hint", rows=len(rows), count=max(concerned.values(), default=0))
        return ids
