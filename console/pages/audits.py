"""The pages that show the audit: who did what to which case, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from console.pages.queue import PAGE, filters, page
from persistence.audit import records as audit

if TYPE_CHECKING:
    from aiohttp import web

    from console.access.visit import Visita

_SESSAO: Final = re.compile(r"\d{6}-[0-9a-f]{8}")


async def show(visita: Visita) -> web.StreamResponse:
    """One page of it, newest first, narrowed by who, what and target."""
    query = visita.request.query
    async with visita.deps.database.transaction() as connection:
        rows = await audit.page(
            connection,
            visita.staff.alcance,
            antes=filters(query).antes,
            limite=PAGE + 1,
            quem=query.get("quem"),
            acao=query.get("acao"),
            alvo=query.get("alvo"),
        )
    lista = page(rows, query, "id")
    return visita.pagina(
        "auditoria.html", lista=lista, filtros=query, eh_sessao=lambda alvo: bool(alvo and _SESSAO.fullmatch(alvo))
    )
