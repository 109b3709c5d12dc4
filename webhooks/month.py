"""A company's month as a file, for the console, the API, and whoever holds a link of the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final, get_args

import structlog
from aiohttp import web

from operations.month import (
    MIME,
    Fetch,
    Formato,
    LinkOfMonthError,
    Mes,
    MonthError,
    file_of,
    link_opened,
    month_named,
    month_of,
)
from persistence.db.connection import RowCountError, is_outage
from persistence.db.engine import Database
from persistence.people.companies import get_company
from state_machine.values.local_time import MesOuAno

FILE: Final = r"{mes:20\d\d-\d\d}.{formato:" + "|".join(get_args(Formato)) + "}"
_CHUNK: Final = 256 * 1024  # bytes
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
_ENDED: Final = "Este link não vale mais: ele serve por sete dias. Peça outro na conversa."
_NOT_NOW: Final = "Não deu certo agora, e nada mudou. Espere um minuto e abra o link de novo."

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Months:
    """Where months are read: ``fetch`` gets a note's documents, ``secrets`` seal the links, the newest first."""

    database: Database
    fetch: Fetch
    secrets: Sequence[bytes] = ()

    async def read(self, empresa_id: int, periodo: MesOuAno) -> Mes:
        """Return a company's month. Raises ``MonthError``, ``RowCountError`` for a company that is not there."""
        async with self.database.alone() as connection:
            empresa, _ = await get_company(connection, empresa_id)
            return await month_of(connection, empresa.id, empresa.cnpj, periodo)

    async def send(self, request: web.Request, mes: Mes, formato: Formato) -> web.StreamResponse:
        """Answer with one of the month's files, piece by piece."""
        with await file_of(mes, formato, self.fetch) as file:
            response = web.StreamResponse(headers=_HEADERS)
            response.content_type = MIME[formato]
            shown = "inline" if formato == "png" else "attachment"
            response.headers["Content-Disposition"] = f'{shown}; filename="{mes.nome}.{formato}"'
            response.content_length = await asyncio.to_thread(_size, file)
            await response.prepare(request)
            while request.method != "HEAD" and (piece := await asyncio.to_thread(file.read, _CHUNK)):
                await response.write(piece)
        return response


def _size(file: IO[bytes]) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def asked(request: web.Request) -> tuple[MesOuAno, Formato]:
    """Return the month and the kind of file that an address of ``FILE`` names. Raises ``MonthError``."""
    formato: Formato = request.match_info["formato"]  # type: ignore[assignment]  # the route admits no other
    return month_named(request.match_info["mes"]), formato


def create_links(months: Months) -> web.Application:
    """Build the address that a link of the chat names: the ZIP, for whoever holds it."""
    app = web.Application()

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            empresa_id, periodo = link_opened(months.secrets, request.match_info["token"])
            return await months.send(request, await months.read(empresa_id, periodo), "zip")
        except (LinkOfMonthError, MonthError, RowCountError):
            return web.Response(text=_ENDED, status=404, headers=_HEADERS)
        except Exception as error:
            if not is_outage(error):
                log.exception("month_failed", error=type(error).__name__)
            return web.Response(text=_NOT_NOW, status=503 if is_outage(error) else 500, headers=_HEADERS)

    app.router.add_get("/{token}", answer)
    return app
