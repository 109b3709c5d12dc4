"""Reads a form with a file, at whichever door it comes: known names, each once, within bounds of size and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from webhooks.bodies import Bodies

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
