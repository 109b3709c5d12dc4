"""Marks a group of failures as resolved, or takes that back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from aiohttp import web

from console.access.locks import see_other
from console.actions.groups import NAMED_BY, address, group_of
from console.render import masks
from persistence.audit import records as audit
from persistence.idempotency import records as idempotency
from persistence.idempotency.key import Operation
from persistence.idempotency.records import Replay, Started
from persistence.staff import groups as staff_groups

if TYPE_CHECKING:
    from console.access.visit import Visita
    from persistence.db.connection import Connection
    from persistence.staff.groups import Grupo

_DOES: Final = {"resolver": "resolver grupo", "reabrir": "reabrir grupo"}


async def act(visita: Visita) -> web.StreamResponse:
    """Resolve or reopen, with a row in the audit for each company and the idempotency record, in one commit."""
    posted = {name: await visita.campo(name) for name in NAMED_BY}
    faz, visto = await visita.campo("faz", 10), await visita.campo("visto", 40)
    chave, motivo, quem = await visita.campo("chave", 100), await visita.campo("motivo"), visita.staff
    grupo = group_of(posted)
    if not chave or not motivo or faz not in _DOES:
        raise web.HTTPUnprocessableEntity
    said = {"motivo": motivo, "faz": faz, "visto": visto, **posted}
    operation = Operation.named(chave, f"console:{_DOES[faz]}", f"staff:{quem.id}", "grupo", said)
    async with visita.deps.database.transaction() as connection:
        begun = await idempotency.begin(connection, operation)
        if isinstance(begun, Started):
            if faz == "resolver":
                touched = await staff_groups.resolve(connection, quem.alcance, grupo, quem.nome, motivo, _moment(visto))
            else:
                touched = await staff_groups.reopen(connection, quem.alcance, grupo)
            if not touched:
                raise web.HTTPConflict(text="late")
            await _audited(connection, visita, _DOES[faz], grupo, motivo, touched)
            await idempotency.succeed(connection, begun, {"empresas": len(touched)})
        elif not isinstance(begun, Replay):
            raise web.HTTPConflict
    return see_other(address(posted))


async def _audited(
    connection: Connection, visita: Visita, acao: str, grupo: Grupo, motivo: str, empresas: list[int]
) -> None:
    detalhe = {"codigo": masks.text(grupo.codigo), "status": grupo.status, "cidade": grupo.municipio}
    for empresa_id in sorted(empresas):
        await audit.write(
            connection,
            staff_id=visita.staff.id,
            quem=visita.staff.nome,
            acao=acao,
            alvo=f"{grupo.status} em {grupo.municipio}",
            empresa_id=empresa_id,
            motivo=motivo,
            detalhe=detalhe,
        )


def _moment(text: str) -> datetime:
    """Read when the page was made: what failed since was not seen, and brings the group back. Raises 422."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise web.HTTPUnprocessableEntity from None
    if moment.tzinfo is None:
        raise web.HTTPUnprocessableEntity
    return moment
