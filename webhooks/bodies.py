"""Reads request bodies within bounds: a length, a deadline, and one budget of unauthenticated bytes for the process.

Reads a form with a file, at whichever door it comes: known names, each once, within bounds of size and time.

Decides whether a webhook comes from whom it says; without a secret it admits nobody.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from webhooks.whatsapp_payload import Network, client_address

READ_SECONDS: Final = 10.0  # 3 MiB on a slow line; a sender that stalls must not hold a connection
SMALL: Final = 64 * 1024  # bytes; an ordinary notification has 1 to 5 kB, the longest form 64 kB
SMALL_BUDGET: Final = 8 * 1024 * 1024  # 128 of the small ones at once, each for READ_SECONDS at most
LARGE_BUDGET: Final = 13 * 1024 * 1024  # four of Meta's largest; more of them come again
SHARES: Final = {True: 4, False: 2}  # of small and large ones; one address has one of them, Meta's two of the largest
FULL: Final = "no room for this body"


class Bodies:
    """Counts the bytes of the bodies that are being waited for, as they arrive; what is announced counts nothing.

    A body that came whole with its headers is not counted: nobody waits for it. Small ones have a budget of their own,
    so that large ones, however many are withheld, keep none of them out; and no address has more than its share of
    either. ``trusted``: whose word about the client's address is believed.
    """

    def __init__(
        self,
        small_budget: int = SMALL_BUDGET,
        large_budget: int = LARGE_BUDGET,
        trusted: Sequence[Network] = (),
    ) -> None:
        self._most = {True: small_budget, False: large_budget}
        self._held = {True: 0, False: 0}
        self._by_address: dict[tuple[bool, str], int] = {}
        self._trusted = trusted

    @contextmanager
    def room(self, request: web.BaseRequest, size: int) -> Iterator[Callable[[int], None]]:
        """Give what counts the bytes of one body of ``size`` as they arrive; they are free again at the end.

        It raises 503 where the budget, or the share of the sender's address, is used up.
        """
        small, held = size <= SMALL, 0
        who = (small, client_address(request, self._trusted))

        def take(count: int) -> None:
            nonlocal held
            mine = self._by_address.get(who, 0)
            if self._held[small] + count > self._most[small] or mine + count > self._most[small] // SHARES[small]:
                raise web.HTTPServiceUnavailable(text=FULL)
            held += count
            self._held[small] += count
            self._by_address[who] = mine + count

        take(1)  # a budget of which nothing is left waits for nobody
        try:
            yield take
        finally:
            self._held[small] -= held
            self._by_address[who] -= held
            if not self._by_address[who]:
                del self._by_address[who]


async def read_body(request: web.Request, bodies: Bodies, limit: int) -> bytes:
    """Return the whole body of at most ``limit`` bytes, as it was sent.

    Raises 413 beyond the limit (at once, where a length is declared), 415 for a compressed body, which could grow while
    it is read, 503 where the budget has no room, 408 when it does not come in time, 400 when its chunks make no sense.
    """
    if "Content-Encoding" in request.headers:
        raise web.HTTPUnsupportedMediaType(text="compressed bodies are not taken")
    declared = request.content_length
    if declared is not None and declared > limit:
        raise web.HTTPRequestEntityTooLarge(limit, declared)
    try:
        if request.content.is_eof():  # nearly always it came with its headers
            raw = request.content.read_nowait()
            if len(raw) > limit:
                raise web.HTTPRequestEntityTooLarge(limit, len(raw))
            return raw
        with bodies.room(request, limit if declared is None else declared) as take:
            async with asyncio.timeout(READ_SECONDS):
                return await _whole(request, limit, take)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except web.RequestPayloadError:
        raise web.HTTPBadRequest(text="malformed body") from None


async def _whole(request: web.Request, limit: int, take: Callable[[int], None]) -> bytes:
    raw = bytearray()
    async for part in request.content.iter_any():
        take(len(part))
        raw += part
        if len(raw) > limit:
            raise web.HTTPRequestEntityTooLarge(limit, len(raw))
    return bytes(raw)


FILE: Final = "arquivo"
# What the reader of forms raises of a stranger's bytes; too long a name of a character set is a RuntimeError there.
_MALFORMED: Final = (ValueError, RuntimeError, AssertionError, HttpProcessingError, web.RequestPayloadError)


@dataclass(frozen=True, slots=True)
class Form:
    """What came: the file and its name, both empty where none did, and each other field as it was sent."""

    nome: str
    content: bytes
    fields: dict[str, bytes]


async def read_form(
    request: web.Request, bodies: Bodies, names: Collection[str], *, file: int, rest: int, seconds: float
) -> Form:
    """Return a form of at most ``file`` bytes of a file, and ``rest`` of the fields ``names`` and what is around them.

    Raises 415 for another body or a compressed one, 413 beyond the bounds, 503 where the budget has no room, 408 when
    it does not come in time, and 400 at the first part that is none of ours, comes twice, nests, or makes no sense.
    """
    if request.content_type != "multipart/form-data" or "Content-Encoding" in request.headers:
        raise web.HTTPUnsupportedMediaType
    size, limit = request.content_length, file + rest
    if size is not None and size > limit:
        raise web.HTTPRequestEntityTooLarge(limit, size)
    try:
        with bodies.room(request, limit if size is None else size) as take:
            async with asyncio.timeout(seconds):
                return await _form(request, take, names, file, rest)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except _MALFORMED:
        raise web.HTTPBadRequest from None


async def _form(
    request: web.Request, take: Callable[[int], None], names: Collection[str], file: int, rest: int
) -> Form:
    """Raises ``ValueError`` at the first part that is none of ours, comes twice or nests.

    Thousands of parts fit into a body, and each costs the event loop as much as a small form.
    """
    nome, content = "", b""
    fields: dict[str, bytes] = {}
    expected = {FILE, *names}
    reader = await request.multipart()
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name not in expected:
            raise ValueError("not a part of ours")
        expected.remove(part.name)
        if part.name == FILE:
            nome, content = part.filename or "", await _content(part, take, file)
        else:
            fields[part.name] = await _content(part, take, rest)
            rest -= len(fields[part.name])
    return Form(nome, content, fields)


async def _content(part: BodyPartReader, take: Callable[[int], None], most: int) -> bytes:
    content = bytearray()
    while chunk := await part.read_chunk():
        take(len(chunk))
        content += chunk
        if len(content) > most:
            raise web.HTTPRequestEntityTooLarge(most, len(content))
    return bytes(content)


_SCHEME = "sha256="
_SHAPE = re.compile(r"sha256=[0-9a-f]{64}")


def may_be_signed(signature: str | None) -> bool:
    """True when this is a signature at all: of anything else no body needs to be read."""
    return signature is not None and _SHAPE.fullmatch(signature) is not None


def signed_by_any(raw: bytes, signature: str | None, secrets: Sequence[bytes]) -> bool:
    """True when ``X-Hub-Signature-256`` is the HMAC-SHA256 of the body under one of ``secrets`` (two while rotating).

    The raw bytes count: Meta signs the body as sent, and parsing would lose its escapes.
    """
    if signature is None or not signature.startswith(_SCHEME):
        return False
    presented = _bytes(signature.removeprefix(_SCHEME))
    expected = (_digest(secret, raw) for secret in secrets if secret)
    return _any_equal(presented, expected)


def is_any(presented: str | None, secrets: Sequence[bytes]) -> bool:
    """True when ``presented`` is one of ``secrets``."""
    return presented is not None and _any_equal(_bytes(presented), (secret for secret in secrets if secret))


def _digest(secret: bytes, raw: bytes) -> bytes:
    made = _keyed(secret).copy()
    made.update(raw)
    return made.hexdigest().encode()


@lru_cache(maxsize=8)  # two while rotating; a key is worked in once, which takes as long as a body
def _keyed(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod="sha256")


def _any_equal(presented: bytes, expected: Iterable[bytes]) -> bool:
    equal = [hmac.compare_digest(presented, value) for value in expected]  # all of them, to take the same time
    return any(equal)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")  # headers may hold any byte; compare_digest refuses non-ASCII text
