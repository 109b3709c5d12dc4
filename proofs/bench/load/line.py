"""The cheapest possible WhatsApp: posts signed webhooks, answers Graph's calls, remembers who was told what when."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import secrets
import time
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from proofs.bench.machine.environment import APP_SECRET, META

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

PATH = "/webhooks/whatsapp"
STATUSES = ("sent", "delivered", "read")
CONNECTIONS = 16  # to the web process; Meta keeps several open too
TRIES = 3  # of one webhook
LOST = 0  # the status of what got no answer
ANSWER_SECONDS = 60.0


@dataclass(slots=True)
class Phone:
    """One person's phone: what came in, and when (``perf_counter``)."""

    who: str
    messages: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    async def hear(self, after: int) -> tuple[float, dict[str, Any]]:
        """Return message number ``after`` (from 0), waiting for it; raises ``TimeoutError``."""
        async with asyncio.timeout(ANSWER_SECONDS):
            while len(self.messages) <= after:
                self.bell.clear()
                await self.bell.wait()
        return self.messages[after]


class Line:
    """``async with Line() as line``: Graph at ``line.url``; ``connect`` names the web that gets the webhooks.

    ``statuses`` are told for each message that it accepts. ``sent`` counts messages, ``calls`` every request,
    ``told`` every webhook.
    """

    def __init__(self, statuses: Sequence[str] = STATUSES) -> None:
        self.statuses = tuple(statuses)
        self.url = ""
        self.sent = self.calls = self.told = self.refused = 0
        self._phones: defaultdict[str, Phone] = defaultdict(lambda: Phone(""))
        self._numbers = itertools.count()
        self._run = secrets.token_hex(6)
        self._queue: deque[tuple[bytes, asyncio.Future[int]]] = deque()
        self._idle: list[_Poster] = []
        self._posters: list[_Poster] = []
        self._redials: set[asyncio.Task[None]] = set()
        self._closing = False
        self._web = ("", 0)
        self._head = b""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Graph(self), "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        for poster in tuple(self._posters):
            poster.close()
        if self._redials:
            await asyncio.gather(*self._redials, return_exceptions=True)
        if self._server is not None:
            self._server.close()

    async def connect(self, web: str) -> None:
        """Open the connections to the web process that takes our webhooks."""
        self._web = host, port = address(web)
        self._head = f"POST {PATH} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n".encode()
        for _ in range(CONNECTIONS):
            await self._dial()

    async def _dial(self) -> None:
        _, poster = await asyncio.get_running_loop().create_connection(lambda: _Poster(self), *self._web)
        self._posters.append(poster)
        self.free(poster)

    async def _redial(self) -> None:
        with suppress(OSError):  # the web has ended before the line: nobody is left to call
            await self._dial()

    def phone(self, who: str) -> Phone:
        """The phone of a person."""
        phone = self._phones[who]
        phone.who = who
        return phone

    async def say(self, who: str, message: dict[str, Any]) -> float:
        """Send one message of ``who``; returns when it was handed over, after the 200."""
        began = time.perf_counter()
        number = next(self._numbers)
        message = {"from": who, "id": f"wamid.{self._run}{number:012d}", "timestamp": f"{time.time():.0f}", **message}
        contact = {"profile": {"name": "Ana"}, "wa_id": who}
        await self._post({"contacts": [contact], "messages": [message]})
        return began

    async def text(self, who: str, words: str) -> float:
        """Write ``words``."""
        return await self.say(who, {"type": "text", "text": {"body": words}})

    async def tap(self, who: str, button: dict[str, str]) -> float:
        """Tap a button of a message of ours."""
        return await self.say(
            who, {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": button}}
        )

    async def _post(self, value: dict[str, Any]) -> None:
        account = META.account
        metadata = {
            "display_phone_number": account.display_phone_number,
            "phone_number_id": account.phone_number_id,
        }
        change = {"value": {"messaging_product": "whatsapp", "metadata": metadata, **value}, "field": "messages"}
        body = json.dumps({"entry": [{"id": account.waba_id, "changes": [change]}]}).encode()
        digest = hmac.digest(APP_SECRET.encode(), body, "sha256").hex()
        head = f"X-Hub-Signature-256: sha256={digest}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        self.told += 1
        status = LOST
        for _ in range(TRIES):  # the house closes a connection that rests, perhaps just now; Meta sends again too
            answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._queue.append((self._head + head + body, answered))
            self._next()
            if (status := await answered) != LOST:
                break
        if status != 200:  # noqa: PLR2004 - HTTP
            self.refused += 1

    def _next(self) -> None:
        while self._idle and self._queue:
            request, answered = self._queue.popleft()
            self._idle.pop().send(request, answered)

    def free(self, poster: _Poster) -> None:
        """A connection has its answer."""
        self._idle.append(poster)
        self._next()

    def lost(self, poster: _Poster) -> None:
        """A connection was closed by the other side: another takes its place."""
        self._posters.remove(poster)
        if poster in self._idle:
            self._idle.remove(poster)
        if not self._closing:
            redial = asyncio.get_running_loop().create_task(self._redial())
            self._redials.add(redial)
            redial.add_done_callback(self._redials.discard)

    def graph(self, path: bytes, body: bytes) -> bytes:
        """Answer one call of the house."""
        self.calls += 1
        if path.endswith(b"/media"):
            return b'{"id":"%d"}' % next(self._numbers)
        payload = json.loads(body)
        if payload.get("status") == "read":
            return b'{"success":true}'
        self.sent += 1
        who, wamid = payload["to"].lstrip("+"), f"wamid.out{self._run}{next(self._numbers)}"
        phone = self._phones[who]
        phone.messages.append((time.perf_counter(), payload))
        phone.bell.set()
        if self.statuses:
            callback = payload.get("biz_opaque_callback_data")
            asyncio.get_running_loop().create_task(self._tell(who, wamid, callback))
        return json.dumps({"contacts": [{"input": who, "wa_id": who}], "messages": [{"id": wamid}]}).encode()

    async def _tell(self, who: str, wamid: str, callback: str | None) -> None:
        for status in self.statuses:
            told = {"id": wamid, "status": status, "timestamp": f"{time.time():.0f}", "recipient_id": who}
            await self._post({"statuses": [told | ({"biz_opaque_callback_data": callback} if callback else {})]})


class _Poster(asyncio.Protocol):
    """One connection of ours to the web process."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._answered: asyncio.Future[int] | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def send(self, request: bytes, answered: asyncio.Future[int]) -> None:
        self._answered = answered
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, mark, body = self._buffer.partition(b"\r\n\r\n")
        if not mark or len(body) < content_length(head):
            return
        self._buffer = b""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(int(head[9:12]))
        self._line.free(self)

    def connection_lost(self, _: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(LOST)
        self._line.lost(self)

    def close(self) -> None:
        self._transport.close()


class _Graph(asyncio.Protocol):
    """One connection of the product to Graph."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            head, mark, rest = self._buffer.partition(b"\r\n\r\n")
            length = content_length(head) if mark else 0
            if not mark or len(rest) < length:
                return
            self._buffer = rest[length:]
            answer = self._line.graph(head.split(b" ", 2)[1], rest[:length])
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (len(answer), answer)
            )


def address(url: str) -> tuple[str, int]:
    """Return host and port of an address that has both."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


def content_length(head: bytes) -> int:
    """Return the length that a head of HTTP gives; 0 for none."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
