"""The pages for a person's LGPD request, for admins: a copy of everything, or an erasure after a rehearsal.

The page that takes a phone's right to issue away, with a reason and an audit entry.
"""

from __future__ import annotations

import secrets
from typing import Any, Final
from uuid import UUID

import orjson
from aiohttp import web

from operations.company import CompanyError, remove_user, told
from operations.person import Ensaio, Pedinte, PersonError, copy, rehearse, remove
from persistence.db.connection import Connection
from persistence.idempotency import records as idempotency
from persistence.idempotency.records import Operation, Replay, Started
from persistence.staff import case as staff_case
from webhooks.console.access.visit import Visita
from webhooks.console.render.format import Olhar

REDIS: Final = "O Redis não reescreveu seu arquivo: peça a quem opera para rodar BGREWRITEAOF nele."


async def show(visita: Visita) -> web.StreamResponse:
    """The form: whose data it is about. In a form, not in an address: addresses stay in histories and logs."""
    return _page(visita)


async def rehearsal(visita: Visita) -> web.StreamResponse:
    """What is held, and what an erasure would do; changes nothing."""
    quem = await _whose(visita)
    try:
        async with visita.deps.database.transaction() as connection:
            return _page(visita, quem, await rehearse(connection, quem))
    except PersonError as error:
        return _page(visita, quem, erro=str(error))


async def export(visita: Visita) -> web.StreamResponse:
    """Everything held about the person, as a JSON file; the audit knows who took it."""
    quem, motivo = await _whose(visita), await visita.campo("motivo")
    if not motivo:
        raise web.HTTPUnprocessableEntity
    try:
        async with visita.deps.database.transaction() as connection:
            copied = await copy(connection, quem, motivo, _pedinte(visita))
    except PersonError as error:
        return _page(visita, quem, erro=str(error))
    headers = {"Content-Disposition": 'attachment; filename="dados-da-pessoa.json"'}
    return web.Response(
        body=orjson.dumps(copied, option=orjson.OPT_INDENT_2), content_type="application/json", headers=headers
    )


async def erase(visita: Visita) -> web.StreamResponse:
    """Erase, with the audit and the idempotency record in the same commit; a second press changes nothing."""
    quem, motivo, chave = await _whose(visita), await visita.campo("motivo"), await visita.campo("chave", 100)
    if not motivo or not chave:
        raise web.HTTPUnprocessableEntity
    operation = Operation.named(
        chave, "console:apagar pessoa", f"staff:{visita.staff.id}", "pessoa", {"motivo": motivo, "quem": quem}
    )
    conversas: tuple[str, ...] = ()
    try:
        async with visita.deps.database.transaction() as connection:
            begun = await idempotency.begin(connection, operation)
            if isinstance(begun, Started):
                conversas = (await remove(connection, quem, motivo, _pedinte(visita))).conversas
                await idempotency.succeed(connection, begun, {"acao": "apagar pessoa"})
            elif not isinstance(begun, Replay):
                raise web.HTTPConflict
    except PersonError as error:
        return _page(visita, quem, erro=str(error))
    if conversas and visita.deps.vivas is not None and not await visita.deps.vivas.erase(conversas):
        return _page(visita, feito=True, erro=REDIS)
    return _page(visita, feito=True)


async def _whose(visita: Visita) -> str:
    quem = await visita.campo("quem", 100)
    if not quem:
        raise web.HTTPUnprocessableEntity
    if not visita.staff.alcance.todas:  # a person may stand in companies that this account does not see
        raise web.HTTPForbidden
    return quem


def _pedinte(visita: Visita) -> Pedinte:
    return Pedinte(visita.staff.nome, visita.staff.id)


def _page(
    visita: Visita, quem: str = "", ensaio: Ensaio | None = None, *, erro: str | None = None, feito: bool = False
) -> web.Response:
    chave = secrets.token_urlsafe(16)
    return visita.pagina(
        "pessoas.html",
        status=409 if erro else 200,
        pessoa=quem,
        ensaio=ensaio,
        erro=erro,
        feito=feito,
        chave=chave,
        motivo_max=500,
    )


async def ask_removal(visita: Visita) -> web.StreamResponse:
    """What will happen, and why it is asked for."""
    async with visita.deps.database.transaction() as connection:
        conversa = await _conversation(connection, visita)
    return _removal_page(visita, conversa)


async def confirm_removal(visita: Visita) -> web.StreamResponse:
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
        return _removal_page(visita, erro=str(error))
    return _removal_page(visita, feito=feito)


async def _conversation(connection: Connection, visita: Visita) -> Any:
    try:
        codigo = UUID(visita.request.match_info["codigo"])
    except ValueError:
        raise web.HTTPNotFound from None
    conversa = await staff_case.contact(connection, visita.staff.alcance, codigo)
    if conversa is None:
        raise web.HTTPNotFound
    return conversa


def _removal_page(
    visita: Visita, conversa: Any = None, *, erro: str | None = None, feito: str | None = None
) -> web.Response:
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
