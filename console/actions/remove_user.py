"""The page that takes a phone's right to issue away, with a reason and an audit entry."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any
from uuid import UUID

from aiohttp import web

from console.render.format import Olhar
from operations.company import CompanyError, remove_user, told
from persistence.idempotency import records as idempotency
from persistence.idempotency.key import Operation
from persistence.idempotency.records import Replay, Started
from persistence.staff import case as staff_case

if TYPE_CHECKING:
    from console.access.visit import Visita
    from persistence.db.connection import Connection


async def form(visita: Visita) -> web.StreamResponse:
    """What will happen, and why it is asked for."""
    async with visita.deps.database.transaction() as connection:
        conversa = await _conversation(connection, visita)
    return _page(visita, conversa)


async def act(visita: Visita) -> web.StreamResponse:
    """Take the right away, with the audit and the idempotency record in one commit; a second press changes nothing."""
    motivo, chave = await visita.campo("motivo"), await visita.campo("chave", 100)
    if not motivo or not chave:
        raise web.HTTPUnprocessableEntity
    quem, codigo = visita.staff, visita.request.match_info["codigo"]
    operation = Operation.named(chave, "console:remover usuário", f"staff:{quem.id}", codigo, {"motivo": motivo})
    try:
        async with visita.deps.database.transaction() as connection:
            begun = await idempotency.begin(connection, operation)
            if isinstance(begun, Started):
                conversa = await _conversation(connection, visita)
                if conversa.telefone is None:
                    raise web.HTTPConflict(text="late")
                done = await remove_user(
                    connection, conversa.telefone or "", motivo, quem.alcance, quem=quem.nome, staff_id=quem.id
                )
                feito = told(done)
                await idempotency.succeed(connection, begun, {"feito": feito})
            elif isinstance(begun, Replay):
                feito = str(begun.result["feito"])
            else:
                raise web.HTTPConflict
    except CompanyError as error:
        return _page(visita, erro=str(error))
    return _page(visita, feito=feito)


async def _conversation(connection: Connection, visita: Visita) -> Any:
    try:
        codigo = UUID(visita.request.match_info["codigo"])
    except ValueError:
        raise web.HTTPNotFound from None
    conversa = await staff_case.contact(connection, visita.staff.alcance, codigo)
    if conversa is None:
        raise web.HTTPNotFound
    return conversa


def _page(visita: Visita, conversa: Any = None, *, erro: str | None = None, feito: str | None = None) -> web.Response:
    return visita.pagina(
        "remover_usuario.html",
        status=409 if erro else 200,
        codigo=visita.request.match_info["codigo"],
        conversa=conversa,
        olhar=Olhar(),
        erro=erro,
        feito=feito,
        chave=secrets.token_urlsafe(16),
    )
