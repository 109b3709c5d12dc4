"""Carries one request over aiohttp's connections and says, with httpx's errors, how far it came when no answer did."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import aiohttp
import httpx

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from yarl import URL

# Seconds that an unused connection is kept; a server that closes it in the very moment in which a request leaves makes
# that request's fate unknown, so we are the first to close.
KEEP_SECONDS = 5.0
CHUNK = 64 * 1024


class BodyTooLargeError(ProsaError, httpx.RemoteProtocolError):
    """The answer is longer than we are willing to read."""

    code = "body_too_large"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer: ``headers`` with lower-case names, ``body`` decoded from its transfer encoding."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Up to ``connections`` at once; no cookies, no redirects, no proxies, and no second try of what may have effects.

    ``connect_seconds`` bounds name, TCP and TLS together, ``pool_seconds`` the wait for a free connection: both end
    before the caller's deadline, so that "certainly not sent" is seen before that hides it.
    """

    def __init__(
        self, headers: Mapping[str, str], *, connections: int, connect_seconds: float, pool_seconds: float
    ) -> None:
        # no decompression bombs; and Meta's media host refuses who does not say who it is
        self._headers = {"accept-encoding": "identity", "user-agent": "prosa", **headers}
        self._places = asyncio.Semaphore(connections)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds)
        self._pool_seconds = pool_seconds
        self._trust = _trust()  # now: the first message must not wait for it
        self._session: aiohttp.ClientSession | None = None

    async def exchange(
        self, method: str, url: URL, content: bytes | None, headers: Mapping[str, str] | None, max_body: int
    ) -> Answer:
        """Send one request and read the whole answer, however long it takes.

        ``httpx.ConnectError``, ``ConnectTimeout`` and ``PoolTimeout`` mean that no byte of it left;
        ``httpx.RemoteProtocolError``, ``ReadError`` and ``BodyTooLargeError``, that it may have been taken.
        """
        await self._place()
        try:
            return await self._exchange(method, url, content, headers, max_body)
        except aiohttp.ConnectionTimeoutError as error:
            raise httpx.ConnectTimeout(type(error).__name__) from error
        except aiohttp.ClientConnectorError as error:
            raise httpx.ConnectError(type(error).__name__) from error
        except aiohttp.InvalidURL as error:
            raise httpx.InvalidURL(type(error).__name__) from error
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
            raise httpx.RemoteProtocolError(type(error).__name__) from error
        except (aiohttp.ClientError, OSError) as error:
            raise httpx.ReadError(type(error).__name__) from error
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
            raise httpx.PoolTimeout("all our connections are busy") from error

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
                        raise BodyTooLargeError(f"more than {max_body} bytes")
                    chunks.append(chunk)
                body = b"".join(chunks)
            if len(body) > max_body:
                raise BodyTooLargeError(f"more than {max_body} bytes")
            told = {name.lower(): value for name, value in response.headers.items()}
            if body and not told.keys() & {"content-length", "transfer-encoding"}:
                raise httpx.RemoteProtocolError("nothing tells whether this is the whole answer")
            return Answer(response.status, told, body)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:  # within the loop that will use it
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._trust, keepalive_timeout=KEEP_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=self._timeout,
                trust_env=False,  # no proxy and no .netrc by accident
            )
            self._session._retry_connection = False  # noqa: SLF001 - it has no public name; a test watches over it
        return self._session


@cache
def _trust() -> ssl.SSLContext:
    """Return the certificates that we trust; reading them takes a while, so all destinations share them."""
    return httpx.create_ssl_context(trust_env=False)
