"""Carries one request over aiohttp's connections, and says whether it may have been taken where no answer came.

Owns the reading of the header by which a service says when it wants to be asked again.

Owns the reading of JSON answers: exact decimals, storable texts; refuses NaN and bottomless nesting.

Owns the masking of secrets and personal numbers in what the outside answered; refuses to guess at anything else.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final

import aiohttp
import httpx
from yarl import URL

from state_machine.values.errors import ProsaError
from state_machine.values.text import read_json
from telemetry.logs import CNPJ_SHAPE

_MAX_WAIT: Final = 3600.0  # one call an hour burdens nobody, and a mistaken header must not cost a day


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``Retry-After`` asks for (RFC 9110 §10.2.3: seconds or a date), or ``None``."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        return min(float(value), _MAX_WAIT)
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the parser itself fails on a zone or a year of too many digits
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max((aware - datetime.now(UTC)).total_seconds(), 0.0), _MAX_WAIT)


MOST: Final = 4000  # characters of one text; a city's explanation is shorter, and so is every id and name


def parse_json(body: bytes) -> Any:
    """Return the JSON value of ``body`` with exact decimals; raises ``ValueError`` for everything that is not JSON.

    Its texts, keys and integers can be stored as they are; a number out of every range is its own text.
    """
    return read_json(body, exact=True)


def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of ``body``; an empty one for anything else."""
    try:
        return as_dict(parse_json(body))
    except ValueError:
        return {}


def as_dict(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any, most: int = MOST) -> str | None:
    """Return at most ``most`` characters of a non-empty text, or ``None``.

    Whole numbers count as text, since APIs differ about ids and numbers.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip()[:most] or None


# Names under which APIs echo secrets: PlugNotas repeats the certificate's password in ``data.senha``.
_NAMES = "senha|password|passwd|(?:access_)?token|(?:x-)?api[-_]?key|authorization|(?:client_)?secret|segredo"
_NAME = re.compile(_NAMES, re.IGNORECASE)
_QUOTED = re.compile(rf'("(?:{_NAMES})"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^,}}\]\s]+)', re.IGNORECASE)
_LOOSE = re.compile(rf"\b((?:{_NAMES})\s*[=:]\s*)(?!\")(?:bearer\s+)?[^\s,;&\"'<>{{}}]+", re.IGNORECASE)
_BEARER = re.compile(r"\bbearer\s+[\w.~+/=-]+", re.IGNORECASE)
# A mailbox has 64 characters at most (RFC 5321); unbounded, a long word is read again from each of its letters.
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_LONG_NUMBER = re.compile(rf"{CNPJ_SHAPE}|\d(?:[ ./()-]{{0,2}}\d){{6,}}")  # phones, CPF, CNPJ, masked or bare
_WAMID = re.compile(r"wamid\.[\w+/=-]+")  # holds the phone number in base64


def is_secret(name: str) -> bool:
    """Tell whether what stands under this name in an answer is a password, a token or a key."""
    return _NAME.fullmatch(name) is not None


def scrub(text: str) -> str:
    """Return ``text`` without passwords, tokens and keys; safe to store."""
    text = _QUOTED.sub(r'\1"***"', text)
    text = _LOOSE.sub(r"\1***", text)
    return _BEARER.sub("Bearer ***", text)


def mask(text: str) -> str:
    """Return ``text`` without secrets, e-mail addresses, long numbers and wamids; safe to log."""
    text = _WAMID.sub("wamid.***", scrub(text))
    return _LONG_NUMBER.sub("***", _EMAIL.sub("***", text))


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
        self._trust = tls or trust()  # now: the first message must not wait for it
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
def trust() -> ssl.SSLContext:
    """Return the certificates that we trust; reading them takes a while, so all destinations share them."""
    return httpx.create_ssl_context(trust_env=False)
