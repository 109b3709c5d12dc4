"""The search: one box for everything that people have in hand; a single find opens at once."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, assert_never
from urllib.parse import urlencode

from aiohttp import web

from console.access.locks import see_other
from console.render.format import Olhar
from console.render.labels import CAUSAS
from console.render.terms import TermKind, terms
from persistence.crypto import Lugar, NoMasterKeyError, UnreadableSecretError, is_sealed
from persistence.staff import orders as staff_orders
from persistence.staff import search as staff_search

if TYPE_CHECKING:
    from console.access.visit import Visita
    from persistence.access.accounts import Alcance
    from persistence.db.connection import Connection

TYPED: Final = 200  # characters


async def ask(visita: Visita) -> web.StreamResponse:
    """Take what was typed to an address that tells nothing: addresses stay in histories and logs, documents may not."""
    q = await visita.campo("q", TYPED)
    if not visita.deps.cofre:  # nothing to seal it with: the answer itself, at this address
        return await _found(visita, q)
    sealed = visita.deps.cofre.seal(q, _place(visita))
    return see_other(f"/console/busca?{urlencode({'b': sealed})}")


async def show(visita: Visita) -> web.StreamResponse:
    """Show what was found, or the one case itself; an address of another's search, or an old one, searches nothing."""
    sealed, q = visita.request.query.get("b", ""), ""
    if is_sealed(sealed):
        with suppress(UnreadableSecretError, NoMasterKeyError):
            q = visita.deps.cofre.open(sealed, _place(visita))
    return await _found(visita, q)


def _place(visita: Visita) -> Lugar:
    """A search opens for who typed it."""
    return Lugar("busca", "b", str(visita.staff.id))


async def _found(visita: Visita, q: str) -> web.StreamResponse:
    found: dict[str, Any] = {}
    contacts: dict[Any, Any] = {}
    pedidos: list[Any] = []
    wanted = terms(q)
    async with visita.deps.database.transaction() as connection:
        for tipo, value in wanted:
            rows = await _find(connection, visita.staff.alcance, tipo, value)
            found |= {row.sessao_id: row for row in rows if row.sessao_id not in found}
            if tipo is TermKind.TELEFONE:
                people = await staff_search.contacts_by_phone(connection, visita.staff.alcance, value)
                contacts |= {row.codigo: row for row in people}
        if q:
            pedidos = await staff_orders.named(connection, visita.staff.alcance, q, staff_search.LIMIT)
    cases = [*found, *(row.sessao_id for row in pedidos)]
    if len(cases) == 1 and not contacts:
        raise web.HTTPSeeOther(f"/console/sessoes/{cases[0]}")
    if len(contacts) == 1 and not cases:
        raise web.HTTPSeeOther(f"/console/contatos/{next(iter(contacts))}")
    return visita.pagina(
        "busca.html",
        busca=q,
        tipos=[tipo for tipo, _ in wanted],
        linhas=list(found.values()),
        contatos=list(contacts.values()),
        pedidos=pedidos,
        origens=visita.deps.origins,
        causas=CAUSAS,
        olhar=Olhar(),
    )


async def _find(connection: Connection, alcance: Alcance, tipo: TermKind, value: str) -> list[Any]:
    match tipo:
        case TermKind.SESSAO:
            return await staff_search.by_session(connection, alcance, value)
        case TermKind.REFERENCIA:
            return await staff_search.by_reference(connection, alcance, value)
        case TermKind.WAMID:
            return await staff_search.by_wamid(connection, alcance, value)
        case TermKind.DOCUMENTO:
            return await staff_search.by_document(connection, alcance, value)
        case TermKind.TELEFONE:
            return await staff_search.by_phone(connection, alcance, value)
        case TermKind.NOTA:
            return await staff_search.by_note(connection, alcance, value)
        case TermKind.VALOR:
            return await staff_search.by_amount(connection, alcance, Decimal(value))
        case TermKind.NOME:
            return await staff_search.by_name(connection, alcance, value)
        case _:
            assert_never(tipo)
