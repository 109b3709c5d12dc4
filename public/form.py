"""Reads the form of a certificate, within bounds of size and time, into memory only."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from state_machine.values.errors import ProsaError
from webhooks.bodies import READ_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhooks.bodies import Bodies

LIMIT: Final = 72 * 1024  # bytes; the largest file, the longest password, and what a form puts around them
FILE, PASSWORD = "arquivo", "senha"
# What the reader of forms raises of a stranger's bytes; too long a name of a character set is a RuntimeError there.
_MALFORMED: Final = (ValueError, RuntimeError, AssertionError, HttpProcessingError, web.RequestPayloadError)
_KEPT: Final = "Nada foi guardado, e esta tentativa não foi contada."


class FormRefusedError(ProsaError, ValueError):
    """The form was not read; the message says so in pt-BR. ``status``: of the answer."""

    code = "form_refused"

    def __init__(self, said: str, status: int = 422) -> None:
        super().__init__(f"{said} {_KEPT}")
        self.status = status

    @classmethod
    def too_large(cls) -> Self:
        """Return the refusal of a file that no certificate is as large as."""
        return cls("O arquivo passa de 64 KB, e um certificado A1 tem uns 10 KB. Confira se é o .pfx ou .p12.", 413)

    @classmethod
    def busy(cls) -> Self:
        """Return the refusal of what would wait too long."""
        return cls("Há muitos envios neste momento. Tente de novo em um minuto.", 503)


async def read_form(request: web.Request, bodies: Bodies) -> tuple[bytes, str]:
    """Return file and password, neither of them empty. Raises ``FormRefusedError``."""
    size = request.content_length
    if request.content_type != "multipart/form-data" or "Content-Encoding" in request.headers or size is None:
        raise FormRefusedError("O que chegou não é o formulário desta página. Envie por ela.", 415)
    if size > LIMIT:
        raise FormRefusedError.too_large()
    try:
        with bodies.room(request, size) as take:
            async with asyncio.timeout(READ_SECONDS):
                fields = await _fields(request, take)
    except web.HTTPServiceUnavailable:
        raise FormRefusedError.busy() from None
    except TimeoutError:
        raise FormRefusedError(
            "O arquivo não chegou inteiro a tempo. Confira a conexão e tente de novo.", 408
        ) from None
    except _MALFORMED:
        raise FormRefusedError("O formulário chegou com defeito. Abra o link de novo e tente outra vez.", 400) from None
    if not fields.get(FILE):
        raise FormRefusedError("Faltou escolher o arquivo do certificado.")
    if not fields.get(PASSWORD):
        raise FormRefusedError("Faltou escrever a senha do certificado.")
    return fields[FILE], _text(fields[PASSWORD])


async def _fields(request: web.Request, take: Callable[[int], None]) -> dict[str, bytes]:
    """Return each field once. Raises ``ValueError`` at the first part that is none of ours, comes twice or nests.

    Nine hundred parts fit into a body, and each costs the event loop as much as a small form.
    """
    fields: dict[str, bytes] = {}
    reader = await request.multipart()
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name not in {FILE, PASSWORD} - fields.keys():
            raise ValueError("not a form of ours")
        content = bytearray()
        while chunk := await part.read_chunk():
            take(len(chunk))
            content += chunk
        fields[part.name] = bytes(content)
    return fields


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise FormRefusedError("A senha chegou com caracteres que não consigo ler. Escreva de novo.", 400) from None
