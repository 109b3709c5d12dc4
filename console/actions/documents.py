"""Hands an issued note's PDF or XML to staff, whole, for a reason that the audit keeps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from persistence.audit import records as audit
from persistence.fiscal import notes
from persistence.staff import case as staff_case
from state_machine.cancellation.machine import StatusNota

if TYPE_CHECKING:
    from console.access.visit import Visita
    from persistence.staff.case import Caso

FORMATOS: Final = ("pdf", "xml")
_PLAIN: Final = re.compile(r"[^0-9A-Za-z-]+")  # of a number that an authority made up, in a file's name


def issued(caso: Caso) -> Any | None:
    """Return the case's emission with a note; of two, the one whose note is still worth something."""
    with_note = [emissao for emissao in caso.emissoes if emissao.numero]
    return min(with_note, key=lambda e: (e.nota_status == StatusNota.CANCELADO, e.nota_status), default=None)


async def download(visita: Visita) -> web.StreamResponse:
    """``POST /console/sessoes/{id}/documentos``: the file; 422 without a reason, 409 while nobody has fetched it."""
    formato, motivo = await visita.campo("formato", 3), await visita.campo("motivo")
    if formato not in FORMATOS or not motivo:
        raise web.HTTPUnprocessableEntity
    sessao_id, quem = visita.request.match_info["sessao_id"], visita.staff
    async with visita.deps.database.transaction() as connection:
        caso = await staff_case.session(connection, quem.alcance, sessao_id)
        emissao = issued(caso) if caso else None
        if caso is None or emissao is None:
            raise web.HTTPNotFound
        documento = (await notes.document(connection, emissao.id, formato)).documento
        if documento is None:
            raise web.HTTPConflict(text="document")
        await audit.write(
            connection,
            staff_id=quem.id,
            quem=quem.nome,
            acao=f"abriu {formato.upper()}",
            alvo=sessao_id,
            empresa_id=caso.sessao.empresa_id,
            motivo=motivo,
        )
    nome = f"NFSe-{_PLAIN.sub('-', emissao.numero)}.{formato}"
    headers = {"Content-Disposition": f'attachment; filename="{nome}"'}  # never shown as a page of ours
    return web.Response(body=documento.conteudo, content_type=f"application/{formato}", headers=headers)
