"""Reads request bodies within bounds: a length, a deadline, and one budget of unauthenticated bytes for the process."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aiohttp import web

from webhooks.addresses import client_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webhooks.addresses import Network

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
