"""One quarantined row: what it holds and why it failed, and the way back into its lane."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from aiohttp import web

from console.access.locks import see_other
from console.render.format import Olhar
from persistence.audit import records as audit
from persistence.idempotency import records as idempotency
from persistence.idempotency.key import Operation
from persistence.idempotency.records import Replay, Started
from persistence.staff import queue as staff_queue

if TYPE_CHECKING:
    from console.access.visit import Visita
    from persistence.db.connection import Connection


async def show(visita: Visita) -> web.StreamResponse:
    """The row, masked."""
    async with visita.deps.database.transaction() as connection:
        row = await _row(connection, visita)
    olhar = Olhar()
    chave = secrets.token_urlsafe(16)
    return visita.pagina("quarentena.html", r=row, payload=olhar.arvore(row.payload), olhar=olhar, chave=chave)


async def replay(visita: Visita) -> web.StreamResponse:
    """Give it five new attempts; with the audit in the same commit."""
    chave, motivo = await visita.campo("chave", 100), await visita.campo("motivo")
    quem = visita.staff
    if not chave or not motivo:
        raise web.HTTPUnprocessableEntity
    numero = visita.request.match_info["numero"]
    operation = Operation.named(chave, "console:replay", f"staff:{quem.id}", numero, {"motivo": motivo})
    async with visita.deps.database.transaction() as connection:
        begun = await idempotency.begin(connection, operation)
        if isinstance(begun, Started):
            row = await _row(connection, visita)
            if not await visita.deps.backlog.replay_in(connection, row.id):
                raise web.HTTPConflict(text="late")
            await audit.write(
                connection,
                staff_id=quem.id,
                quem=quem.nome,
                acao="reprocessar quarentena",
                alvo=str(row.id),
                empresa_id=row.empresa_id,
                motivo=motivo,
                correlacao=row.correlacao,
            )
            await idempotency.succeed(connection, begun, {"linha": row.id})
        elif not isinstance(begun, Replay):
            raise web.HTTPConflict
    return see_other("/console?ver=quarentena")


async def _row(connection: Connection, visita: Visita) -> Any:
    numero = visita.request.match_info["numero"]
    wanted = int(numero) if numero.isascii() and numero.isdigit() and len(numero) < 19 else -1  # noqa: PLR2004 - bigint
    row = await staff_queue.quarantined_row(connection, visita.staff.alcance, wanted)
    if row is None:
        raise web.HTTPNotFound
    return row
