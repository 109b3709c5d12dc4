"""What the webhooks need, handed in by the composition root; refuses to exist without secrets.

What the webhooks tell their operator: metrics, and one line ``arrived`` per moment.

The last step of every webhook: 200 once its arrivals are stored, 503 when they cannot be.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any, Protocol

import structlog
from aiohttp import web

from persistence.db.connection import DatabaseAwayError
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Arrival, Inbox
from telemetry.metrics import Metrics
from webhooks.bodies import Bodies

APART = 0.05  # seconds between two tellings at least; what comes after a pause is told at once
REFUSALS_APART = 60.0  # seconds between two lines about refused requests: they must not fill the log's disk
IDS_PER_LINE = 200  # such a line has 3.2 kB: a pipe takes up to 4,096 bytes whole, whoever else writes to it

log = structlog.get_logger()


class Figures:
    """Takes notes of each webhook, and counts and logs together what comes within a moment.

    Told one by one they cost a webhook 100 of its 270 µs, most of it for code that had left the processor's caches.
    Instruments are looked up once: their ``labels`` takes longer than counting.
    """

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seconds = cache(metrics.webhook_seconds.labels)
        self._requests = cache(metrics.webhook_requests.labels)
        self._messages = cache(metrics.messages.labels)
        self._kinds = cache(metrics.arrivals.labels)
        self._new = cache(metrics.arrivals_stored.labels)
        self._answers: list[tuple[str, int, float]] = []
        self._types: list[str] = []
        self._stored: list[tuple[str, int, Sequence[Arrival]]] = []
        self._refused: Counter[tuple[str, str]] = Counter()
        self._refusals_told_at: dict[tuple[str, str], float] = {}
        self._ids = 0
        self._due = False
        self._told_at = -APART

    def answered(self, origem: str, status: int, seconds: float) -> None:
        """Note one webhook and the time that it took."""
        self._answers.append((origem, status, seconds))
        self._soon()

    def messages(self, types: Iterable[str]) -> None:
        """Note messages by Meta's type."""
        self._types.extend(types)
        self._soon()

    def stored(self, origem: str, new: int, arrivals: Sequence[Arrival]) -> None:
        """Note what is stored, ``new`` of it for the first time."""
        if self._ids + len(arrivals) > IDS_PER_LINE:
            self.tell()
        self._stored.append((origem, new, arrivals))
        self._ids += len(arrivals)
        self._soon()

    def refused(self, event: str, origem: str) -> None:
        """Note a request that does not come from whom it says; its line has the count since the one before."""
        self._refused[event, origem] += 1
        self._tell_refused()

    def _soon(self) -> None:
        if not self._due:
            self._due = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(self._told_at + APART, loop.time()), self.tell)

    def tell(self) -> None:
        """Count and log what was noted; the loop does it."""
        self._due = False
        self._told_at = asyncio.get_running_loop().time()
        self._tell_answers()
        self._tell_stored()
        self._tell_refused()

    def close(self) -> None:
        """Tell what is left, as the application ends."""
        self.tell()
        self._tell_refused(last=True)

    def _tell_refused(self, *, last: bool = False) -> None:
        now = self._clock()
        for kind, count in list(self._refused.items()):
            told_at = self._refusals_told_at.get(kind)
            if last or told_at is None or now >= told_at + REFUSALS_APART:
                event, origem = kind
                log.warning(event, origem=origem, count=count)
                self._refusals_told_at[kind] = now
                del self._refused[kind]

    def _tell_answers(self) -> None:
        answers, self._answers = self._answers, []
        types, self._types = self._types, []
        for (origem, status), count in Counter((origem, status) for origem, status, _ in answers).items():
            self._requests(origem, str(status)).inc(count)
        for origem, _, seconds in answers:
            self._seconds(origem).observe(seconds)
        for name, count in Counter(types).items():
            self._messages(name).inc(count)

    def _tell_stored(self) -> None:
        stored, self._stored, self._ids = self._stored, [], 0
        for origem in dict.fromkeys(origem for origem, _, _ in stored):
            new = sum(count for whose, count, _ in stored if whose == origem)
            arrivals = [arrival for whose, _, found in stored if whose == origem for arrival in found]
            self._new(origem).inc(new)
            for tipo, count in Counter(arrival.tipo for arrival in arrivals).items():
                self._kinds(tipo).inc(count)
            log.info("arrived", origem=origem, novas=new, correlacoes=[arrival.correlacao for arrival in arrivals])


class NamedNote(Protocol):
    """A note that a gateway's webhook names."""

    @property
    def id_externo(self) -> str | None:
        """The gateway's id."""

    @property
    def id_integracao(self) -> str:
        """Ours."""

    @property
    def protocolo(self) -> str | None:
        """The gateway's receipt."""

    @property
    def parte(self) -> Any:
        """The part of the body that names it, as JSON."""


@dataclass(slots=True)
class Doors:
    """Whether the process takes requests; closed when it is about to stop, so that senders try again elsewhere."""

    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeps:
    """Secrets are bytes, two of a kind while they are rotated.

    ``gateway_headers`` is empty where the gateway cannot send ``X-Prosa-Secret``. Without ``gateway_paths``, where no
    gateway is used, its door opens to nobody.
    ``ping_redis`` raises when Redis is away. ``metrics_token`` opens ``/metrics``; without it only a probe port does.
    ``bodies`` is the process's one budget for what has not been authenticated yet.
    """

    inbox: Inbox
    backlog: Backlog
    database: Database
    metrics: Metrics
    whatsapp_secrets: Sequence[bytes]
    whatsapp_verify_token: bytes
    gateway_paths: Sequence[bytes]
    gateway_headers: Sequence[bytes]
    read_hints: Callable[[bytes], Sequence[NamedNote]]
    ping_redis: Callable[[], Awaitable[object]]
    metrics_token: bytes | None = None
    bodies: Bodies = field(default_factory=Bodies)
    doors: Doors = field(default_factory=Doors)
    figures: Figures = field(init=False)

    def __post_init__(self) -> None:
        needed = (self.whatsapp_verify_token, *self.whatsapp_secrets, *self.gateway_paths, *self.gateway_headers)
        half = self.gateway_headers and not self.gateway_paths
        if not self.whatsapp_secrets or half or not all(needed):
            raise ValueError(
                "webhooks need a WhatsApp app secret, a verify token and whole gateway secrets, none empty"
            )
        object.__setattr__(self, "figures", Figures(self.metrics))  # once, as any field of a frozen class


DEPS = web.AppKey("DEPS", WebhookDeps)


STORED = b'{"status": "ok"}'
RETRY_AFTER = "5"  # seconds; a restarting database is back by then


async def store(deps: WebhookDeps, origem: str, arrivals: Sequence[Arrival]) -> web.Response:
    """Store and answer. Raises ``UnstorableError``, and what the database objects to in the arrivals."""
    try:
        new = await deps.inbox.put(arrivals)
    except DatabaseAwayError as error:
        log.warning("arrival_refused", origem=origem, quantos=len(arrivals), erro=type(error).__name__)
        return unavailable()
    deps.figures.stored(origem, new, arrivals)
    return web.Response(body=STORED, content_type="application/json")


def unavailable() -> web.Response:
    """Ask the sender to keep it and come back."""
    return web.json_response({"erro": "indisponivel"}, status=503, headers={"Retry-After": RETRY_AFTER})


def refused() -> web.Response:
    """Tell a stranger nothing."""
    return web.json_response({"erro": "nao autorizado"}, status=401)
