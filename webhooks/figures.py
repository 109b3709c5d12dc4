"""What the webhooks tell their operator: metrics, and one line ``arrived`` per moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from persistence.queue.arrival import Arrival
    from telemetry.metrics import Metrics

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
