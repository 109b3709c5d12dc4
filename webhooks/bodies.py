"""Reads request bodies within bounds: a length, a deadline, and one budget of unauthenticated bytes for the process."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Iterator

READ_SECONDS: Final = 10.0  # 3 MiB on a slow line; a sender that stalls must not hold a connection
SMALL: Final = 64 * 1024  # bytes; an ordinary notification has 1 to 5 kB, the longest form 64 kB
SMALL_BUDGET: Final = 8 * 1024 * 1024  # 128 of the small ones at once, each for READ_SECONDS at most
LARGE_BUDGET: Final = 13 * 1024 * 1024  # four of Meta's largest; more of them come again
FULL: Final = "no room for this body"


class Bodies:
    """Counts the bytes of the bodies that are being waited for; one for a process, shared by all that reads.

    A body that came whole with its headers is not counted: nobody waits for it. Small ones have a budget of their own,
    so that large ones, however many are withheld, keep none of them out.
    """

    def __init__(self, small_budget: int = SMALL_BUDGET, large_budget: int = LARGE_BUDGET) -> None:
        self._free = {True: small_budget, False: large_budget}

    @contextmanager
    def room(self, size: int) -> Iterator[None]:
        """Take ``size`` bytes of the budget. Raises 503 when so many are not free; nothing is read then."""
        kind = size <= SMALL
        if size > self._free[kind]:
            raise web.HTTPServiceUnavailable(text=FULL)
        self._free[kind] -= size
        try:
            yield
        finally:
            self._free[kind] += size


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
        with bodies.room(limit if declared is None else declared):
            async with asyncio.timeout(READ_SECONDS):
                return await _whole(request, limit)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except web.RequestPayloadError:
        raise web.HTTPBadRequest(text="malformed body") from None


async def _whole(request: web.Request, limit: int) -> bytes:
    raw = bytearray()
    async for part in request.content.iter_any():
        raw += part
        if len(raw) > limit:
            raise web.HTTPRequestEntityTooLarge(limit, len(raw))
    return bytes(raw)
