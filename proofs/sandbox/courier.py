"""Delivers webhooks over real HTTP, persistently: what is not answered 2xx is tried again, also after a restart."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import aiohttp

from proofs.sandbox.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proofs.sandbox.faults import Faults
    from proofs.sandbox.ledger import Ledger

QUEUED: Final = "webhook.queued"
FAILED: Final = "webhook.failed"
DELIVERED: Final = "webhook.delivered"
ABANDONED: Final = "webhook.abandoned"
BULKY: Final = frozenset({QUEUED, FAILED})  # bodies and failed tries: on disk, not in memory

_TIMEOUT = aiohttp.ClientTimeout(total=10)  # Meta gives no figure; peers report 3 to 20 s
_AWAY = frozenset({0, 503})  # nobody listens, or asks to come back: order in the lane is kept meanwhile


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a sender insists: waits ``first`` seconds, ``factor`` times longer each time, at most ``cap``."""

    first: float
    factor: float
    cap: float
    attempts: int | None  # None: until ``lifetime``
    lifetime: float  # seconds since it was queued

    def wait(self, attempt: int) -> float:
        """Return the pause in seconds after the ``attempt``-th try (from 1)."""
        return min(self.cap, self.first * self.factor ** min(attempt - 1, 32))


META = Patience(first=0.2, factor=2, cap=5, attempts=None, lifetime=7 * 86400)  # 7 days as Meta, pauses shortened
PLUGNOTAS = Patience(first=2, factor=1, cap=15, attempts=4, lifetime=3600)  # few and short, as its sibling product


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook on its way; ``refs`` say what it is about; deliveries of one ``lane`` start in order."""

    id: str
    lane: str
    body: str
    refs: tuple[str, ...]


class Courier:
    """Carries bodies to ``url``; holds them while there is none.

    A lane waits for its head while the bot is away (no connection, 503), so an outage alone does not reorder a
    conversation; any other refusal lets the next one pass, as Meta does.
    """

    def __init__(
        self,
        ledger: Ledger,
        faults: Faults,
        *,
        headers: Callable[[bytes], dict[str, str]],
        patience: Patience,
        concurrency: int = 32,  # Meta delivers concurrently; enough to fill two cores
    ) -> None:
        self.patience = patience
        self._ledger = ledger
        self._faults = faults
        self._headers = headers
        self._url: str | None = None
        self._has_url = asyncio.Event()
        self._slots = asyncio.Semaphore(concurrency)
        self._lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._session: aiohttp.ClientSession | None = None

    @property
    def url(self) -> str | None:
        """Where the bot listens."""
        return self._url

    @url.setter
    def url(self, url: str | None) -> None:
        self._url = url
        (self._has_url.set if url else self._has_url.clear)()

    @property
    def pending(self) -> int:
        """How many deliveries are not settled."""
        return len(self._pending)

    async def open(self) -> None:
        """Take up what an earlier process left undelivered."""
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        left: dict[str, Delivery] = {}
        for record in self._ledger.replay():
            if record.kind == QUEUED:
                data = record.data
                left[data["id"]] = Delivery(data["id"], data["lane"], data["body"], tuple(data["refs"]))
            elif record.kind in {DELIVERED, ABANDONED}:
                left.pop(record.data["id"], None)
        for delivery in left.values():
            self._start(delivery)

    async def close(self) -> None:
        """Stop trying; what is undelivered stays in the ledger."""
        for task in tuple(self._pending.values()):
            task.cancel()
        await asyncio.gather(*self._pending.values(), return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def send(self, body: bytes, *, lane: str, refs: Sequence[str] = (), lossy: bool = True) -> None:
        """Queue one webhook, subject to the webhook faults; ``lossy`` ones may be dropped by ``sem_webhook``."""
        key = refs[0] if refs else lane
        if lossy and self._faults.strike(Fault.NO_WEBHOOK, key):
            return
        copies = setting.copies if (setting := self._faults.strike(Fault.WEBHOOK_DUPLICATED, key)) else 1
        for _ in range(copies):
            delivery = Delivery(uuid.uuid4().hex, lane, body.decode(), tuple(refs))
            self._ledger.append(QUEUED, id=delivery.id, lane=lane, refs=list(refs), body=delivery.body)
            self._start(delivery)

    async def drained(self, timeout: float = 60.0) -> None:  # noqa: ASYNC109 - test helper
        """Return when nothing is pending; raises ``TimeoutError``."""
        async with asyncio.timeout(timeout):
            while self._pending:
                await asyncio.wait(tuple(self._pending.values()))

    def _start(self, delivery: Delivery) -> None:
        task = asyncio.get_running_loop().create_task(self._deliver(delivery))
        self._pending[delivery.id] = task
        task.add_done_callback(lambda _: self._pending.pop(delivery.id, None))

    async def _deliver(self, delivery: Delivery) -> None:
        key = delivery.refs[0] if delivery.refs else delivery.lane
        lane = delivery.lane
        if setting := self._faults.strike(Fault.WEBHOOK_SHUFFLED, delivery.id):
            lane = delivery.id  # its own lane: no order kept
            await asyncio.sleep(setting.seconds * self._faults.fraction(Fault.WEBHOOK_SHUFFLED, delivery.id))
        if setting := self._faults.strike(Fault.WEBHOOK_LATE, key):
            await asyncio.sleep(setting.seconds)
        lock = self._lanes.setdefault(lane, asyncio.Lock())
        started = time.monotonic()
        attempt = 0
        async with contextlib.AsyncExitStack() as held:
            await held.enter_async_context(lock)
            while True:
                await self._has_url.wait()
                attempt += 1
                status = await self._post(delivery)
                if 200 <= status < 300:  # noqa: PLR2004 - the HTTP success class
                    self._ledger.append(
                        DELIVERED, id=delivery.id, refs=list(delivery.refs), attempt=attempt, status=status
                    )
                    return
                self._ledger.append(FAILED, id=delivery.id, attempt=attempt, status=status)
                spent = time.monotonic() - started > self.patience.lifetime
                if spent or (self.patience.attempts is not None and attempt >= self.patience.attempts):
                    self._ledger.append(
                        ABANDONED, id=delivery.id, refs=list(delivery.refs), attempt=attempt, status=status
                    )
                    return
                if status not in _AWAY:
                    await held.aclose()  # poison must not hold the lane
                await asyncio.sleep(self.patience.wait(attempt))

    async def _post(self, delivery: Delivery) -> int:
        """Return the HTTP status, 0 when there was no answer."""
        if self._url is None or self._session is None:
            return 0
        body = delivery.body.encode()
        headers = {"Content-Type": "application/json", **self._headers(body)}
        async with self._slots:
            try:
                async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                    await response.read()
                    return response.status
            except (aiohttp.ClientError, TimeoutError, OSError):
                return 0
