"""Owns the way out, one bounded client per destination; refuses other hosts, redirects, and open transactions."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import TracebackType
from typing import Self

from yarl import URL

from gateway.http.wire import BUSY, Answer, InvalidAddressError, MaybeSentError, NoAnswerError, Wire
from state_machine.protocol.retry import Breaker
from state_machine.values.errors import ProsaError

CONNECT_SECONDS = 5.0  # a healthy TLS handshake takes well under one second, also from a poor line
POOL_SECONDS = 5.0  # longer means that we are the bottleneck, and nothing was sent: say so early
MAX_CONNECTIONS = 40  # per destination and process: as many as ``gateway.lines`` lets be under way of one kind
SERVER_ERROR = 500
ADDRESSES = 64  # parsed ones kept: most calls go to the same few
MAX_BODY = 1024 * 1024  # of JSON, which is parsed on the event loop; a note has some kB
MAX_FILE = 8 * 1024 * 1024  # of a rendered note, which is only kept; a runaway body must not eat the memory


class ForbiddenDestinationError(ProsaError):
    """A request was about to leave for a host that this client was not made for."""

    code = "forbidden_destination"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call as it happened, for records and metrics: ``path`` and ``body`` may be personal, so mask before logging.

    ``status`` is ``None`` and ``error`` an exception's name when no whole answer came; ``seconds`` is the time it took.
    """

    method: str
    path: str
    status: int | None
    body: bytes
    error: str | None
    seconds: float
    sent: bytes = b""


def origin(url: URL) -> str:
    """Return ``scheme://host:port`` with the port always written, so that two spellings compare equal."""
    return f"{url.scheme}://{url.host}:{url.port}"


class Destination:
    """One outside service at ``base_url``.

    ``timeout`` bounds every whole call in seconds; ``guard`` is called before each request leaves and raises if a
    database transaction is open in this task; ``observe`` is told each exchange, in the caller's own task. ``tls`` is
    given where a certificate of ours is shown (``gateway.certificate.connections``).
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float,
        guard: Callable[[], None],
        headers: Mapping[str, str] | None = None,
        also_allowed: frozenset[str] = frozenset(),
        observe: Callable[[Exchange], None] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        url = URL(base_url)
        known = url.scheme in {"http", "https"} and url.host
        if not known or url.user or url.password or url.query_string or url.fragment:
            msg = "a destination is http(s)://host[:port][/path], without credentials, query or fragment"
            raise ValueError(msg)
        for name, value in (headers or {}).items():
            if not value.isascii() or not value.isprintable() or value != value.strip():
                raise ValueError(
                    f"the value of header {name} has characters that HTTP cannot carry (a pasted line end?)"
                )
        self._address = lru_cache(ADDRESSES)(partial(_address, base_url.rstrip("/")))
        self._allowed = frozenset({origin(url), *(origin(URL(other)) for other in also_allowed)})
        self._guard = guard
        self._timeout = timeout
        self._observe = observe
        self._wire = Wire(
            headers or {},
            connections=MAX_CONNECTIONS,
            connect_seconds=min(CONNECT_SECONDS, timeout / 4),
            pool_seconds=min(POOL_SECONDS, timeout / 4),
            tls=tls,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._wire.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        max_body: int = MAX_BODY,
        breaker: Breaker | None = None,
    ) -> Answer:
        """Send one request and read the whole answer.

        ``breaker`` hears how the service fares: no whole answer, or a 5xx, is a failure; that our own connections are
        busy says nothing of it. Whoever calls asks it first.

        Raises ``NotSentError`` or ``MaybeSentError`` for everything that the network does (at the deadline of the whole
        call the second), ``ForbiddenDestinationError``, ``InvalidAddressError`` and the guard's own error for what we
        did wrong.
        """
        started = time.monotonic()
        status, body, failure = None, b"", None
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._exchange(method, self._address(path), content, headers, max_body)
            status, body = answer.status, answer.body
        except TimeoutError as error:
            failure = "Deadline"
            raise MaybeSentError("ReadTimeout", "the whole call took too long") from error
        except NoAnswerError as error:
            failure = error.reason
            raise
        else:
            return answer
        finally:
            if breaker is not None:
                _tell(breaker, status, failure)
            if self._observe is not None:
                seconds = time.monotonic() - started
                self._observe(Exchange(method, path, status, body, failure, seconds, content or b""))

    async def _exchange(
        self, method: str, url: URL, content: bytes | None, headers: Mapping[str, str] | None, max_body: int
    ) -> Answer:
        if origin(url) not in self._allowed:
            raise ForbiddenDestinationError(origin(url))
        self._guard()
        return await self._wire.exchange(method, url, content, headers, max_body)


def _tell(breaker: Breaker, status: int | None, failure: str | None) -> None:
    if (failure and failure != BUSY) or (status is not None and status >= SERVER_ERROR):
        breaker.failed()
    elif status is not None:  # neither: we were cancelled, or the call never left us
        breaker.succeeded()


def _address(base: str, path: str) -> URL:
    """Join the two; an absolute address stays what it is, and is refused later if it leads elsewhere."""
    whole = path if "://" in path else f"{base}/{path.lstrip('/')}" if path.strip("/") else f"{base}/"
    try:
        url = URL(whole, encoded=whole.isascii() and whole.isprintable() and " " not in whole)  # nothing rewritten
        origin(url)  # a port that is none shows only when it is asked for
    except ValueError as error:
        raise InvalidAddressError(str(error)) from error
    return url
