"""Reads a list and its form fields as they arrive, within bounds of size and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiohttp import BodyPartReader, web

from api.problems import RETRY, ProblemError
from api.problems import field as wrong
from state_machine.mailing.reading import LARGEST
from state_machine.values.text.untrusted import REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhooks.bodies import Bodies

FILE: Final = "arquivo"
FIELDS: Final = 128 * 1024  # bytes of all other fields and what a form puts around them: a text of 20,000 characters
LIMIT: Final = LARGEST + FIELDS
BUDGET: Final = 4 * LIMIT  # of one process; two of the largest from one address
SECONDS: Final = 60.0  # 10 MB at 1.5 Mbit/s


@dataclass(frozen=True, slots=True)
class SentForm:
    """A file with its name, and the text of each other field."""

    nome: str
    content: bytes
    fields: dict[str, str]


async def read_sent(request: web.Request, bodies: Bodies) -> SentForm:
    """Return the form that came. Raises ``ProblemError``; nothing is kept then."""
    if request.content_type != "multipart/form-data" or "Content-Encoding" in request.headers:
        raise ProblemError("tipo_de_corpo", "Mande multipart/form-data, sem compressão. Nada foi guardado.")
    size = request.content_length
    if size is not None and size > LIMIT:
        raise _too_large()
    try:
        with bodies.room(request, LIMIT if size is None else size) as take:
            async with asyncio.timeout(SECONDS):
                return await _form(request, take)
    except web.HTTPServiceUnavailable:
        detalhe = "Há listas demais chegando. Repita com a mesma chave."
        raise ProblemError("indisponivel", detalhe, headers=RETRY) from None
    except TimeoutError:
        raise ProblemError("corpo_incompleto", "Nada foi guardado. Repita com a mesma chave.") from None
    except (ValueError, web.RequestPayloadError):
        raise ProblemError("pedido_invalido", "O formulário não pôde ser lido. Nada foi guardado.") from None


async def _form(request: web.Request, take: Callable[[int], None]) -> SentForm:
    """Raises ``ValueError`` where a field comes twice or nests, and for anything malformed."""
    nome, content, fields, rest = "", b"", {}, FIELDS
    reader = await request.multipart()
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name is None or part.name in fields:
            raise ValueError("not a form of ours")
        if part.name == FILE:
            if nome:
                raise ValueError("two files")
            nome = part.filename or ""
            content = await _content(part, take, LARGEST)
        else:
            raw = await _content(part, take, rest)
            rest -= len(raw)
            fields[part.name] = raw.decode("utf-8")
    if not nome:
        raise ProblemError(
            "corpo_invalido", "Nada foi guardado.", erros=[wrong((FILE,), "obrigatorio", "é um arquivo")]
        )
    return SentForm(nome.replace("\0", REPLACEMENT), content, fields)


async def _content(part: BodyPartReader, take: Callable[[int], None], most: int) -> bytes:
    content = bytearray()
    while chunk := await part.read_chunk():
        take(len(chunk))
        content += chunk
        if len(content) > most:
            raise _too_large()
    return bytes(content)


def _too_large() -> ProblemError:
    return ProblemError("arquivo_grande", "A lista tem mais de 10 MB. Nada foi guardado.")
