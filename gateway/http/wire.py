"""Carries one request over aiohttp's connections, and says whether it may have been taken where no answer came."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import aiohttp
import httpx

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarl import URL

# Seconds that an unused connection is kept; a server that closes it in the very moment in which a request leaves makes
# that request's fate unknown, so we are the first to close.
KEEP_SECONDS = 5.0
CHUNK = 64 * 1024


class NoAnswerError(ProsaError):
    """No whole answer came: ``NotSentError`` or ``MaybeSentError``; ``reason`` is the word that is recorded."""

    code = "no_answer"

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


class NotSentError(NoAnswerError):
    """No byte of the request has left: sending it again is safe."""

    code = "not_sent"


class MaybeSentError(NoAnswerError):
    """The request may have been taken."""

    code = "maybe_sent"


class BodyTooLargeError(MaybeSentError):
    """The answer is longer than we are willing to read."""

    code = "body_too_large"

    def __init__(self, most: int) -> None:
        super().__init__("BodyTooLargeError", f"more than {most} bytes")


class InvalidAddressError(ProsaError, ValueError):
    """An address that nothing can be sent to."""

    code = "invalid_address"


BUSY = "PoolTimeout"  # the reason when our own connections are all in use
REFUSED_BY_TLS = "TlsRefused"  # the reason when the other side ended the handshake: our certificate is not welcome
_FAILURES: Final = (  # the first that fits
    (aiohttp.ConnectionTimeoutError, NotSentError, "ConnectTimeout"),
    (aiohttp.ClientConnectorError, NotSentError, "ConnectError"),
    (aiohttp.ServerDisconnectedError, MaybeSentError, "RemoteProtocolError"),
    (aiohttp.ClientPayloadError, MaybeSentError, "RemoteProtocolError"),
    (aiohttp.ClientResponseError, MaybeSentError, "RemoteProtocolError"),
    (Exception, MaybeSentError, "ReadError"),
)

# RFC 8446, section 6.2, and RFC 5246, section 7.2.2: alerts that a server sends only before the handshake is complete.
_HANDSHAKE_ALERTS: Final = frozenset(
    f"{version}_ALERT_{alert}"
    for version in ("SSLV3", "TLSV1", "TLSV13")
    for alert in (
        "HANDSHAKE_FAILURE",
        "BAD_CERTIFICATE",
        "UNSUPPORTED_CERTIFICATE",
        "CERTIFICATE_REVOKED",
        "CERTIFICATE_EXPIRED",
        "CERTIFICATE_UNKNOWN",
        "CERTIFICATE_REQUIRED",
        "UNKNOWN_CA",
        "ACCESS_DENIED",
    )
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer: ``headers`` with lower-case names, ``body`` decoded from its transfer encoding."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Up to ``connections`` at once; no cookies, no redirects, no proxies, and no second try of what may have effects.

    ``connect_seconds`` bounds name, TCP and TLS together, ``pool_seconds`` the wait for a free connection: both end
    before the caller's deadline, so that "certainly not sent" is seen before that hides it. ``tls`` replaces the common
    trust, where a certificate of ours is shown.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        connections: int,
        connect_seconds: float,
        pool_seconds: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        # no decompression bombs; and Meta's media host refuses who does not say who it is
        self._headers = {"accept-encoding": "identity", "user-agent": "prosa", **headers}
        self._places = asyncio.Semaphore(connections)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds)
        self._pool_seconds = pool_seconds
        self._trust = tls or _trust()  # now: the first message must not wait for it
        self._session: aiohttp.ClientSession | None = None

    async def exchange(
        self, method: str, url: URL, content: bytes | None, headers: Mapping[str, str] | None, max_body: int
    ) -> Answer:
        """Send one request and read the whole answer, however long it takes.

        Raises ``NotSentError``, ``MaybeSentError``, or ``InvalidAddressError``.
        """
        await self._place()
        try:
            return await self._exchange(method, url, content, headers, max_body)
        except aiohttp.InvalidURL as error:
            raise InvalidAddressError(type(error).__name__) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error) from error
        finally:
            self._places.release()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(self._pool_seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise NotSentError(BUSY, "all our connections are in use") from error

    async def _exchange(
        self, method: str, url: URL, content: bytes | None, headers: Mapping[str, str] | None, max_body: int
    ) -> Answer:
        async with self._open().request(method, url, data=content, headers=headers, allow_redirects=False) as response:
            body = await response.content.read(CHUNK)
            if not response.content.at_eof():
                chunks, size = [body], len(body)
                async for chunk in response.content.iter_chunked(CHUNK):
                    size += len(chunk)
                    if size > max_body:
                        raise BodyTooLargeError(max_body)
                    chunks.append(chunk)
                body = b"".join(chunks)
            if len(body) > max_body:
                raise BodyTooLargeError(max_body)
            told = {name.lower(): value for name, value in response.headers.items()}
            if body and not told.keys() & {"content-length", "transfer-encoding"}:
                raise MaybeSentError("RemoteProtocolError", "nothing tells whether this is the whole answer")
            return Answer(response.status, told, body)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:  # within the loop that will use it
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._trust, keepalive_timeout=KEEP_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=self._timeout,
                trust_env=False,  # no proxy and no .netrc by accident
                middlewares=(_once,),
            )
        return self._session


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send a request once: aiohttp would send a GET, PUT or DELETE again when a connection that it had kept breaks."""
    try:
        return await send(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _failure(error) from error


def _failure(error: Exception) -> NoAnswerError:
    if _refused_by_tls(error):
        return NotSentError(REFUSED_BY_TLS, type(error).__name__)
    kind, reason = next((kind, reason) for fits, kind, reason in _FAILURES if isinstance(error, fits))
    return kind(reason, type(error).__name__)


def _refused_by_tls(error: BaseException | None) -> bool:
    """Tell whether the other side sent an alert that ends a handshake.

    With TLS 1.3 our side of the handshake ends first, and the request may have left: the alert about our certificate is
    then the first thing to be read. The server has given nothing of the request to its program.
    """
    while error is not None:  # aiohttp's own errors are SSLErrors too, without a reason
        if isinstance(error, ssl.SSLError) and getattr(error, "reason", None) in _HANDSHAKE_ALERTS:
            return True
        error = error.__cause__ or error.__context__
    return False


@cache
def _trust() -> ssl.SSLContext:
    """Return the certificates that we trust; reading them takes a while, so all destinations share them."""
    return httpx.create_ssl_context(trust_env=False)
