"""Saved views: a name that somebody gives to filters of the queue, as a tab of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import web

from console.access.locks import see_other
from console.pages.queue import FILTERS, address, chosen, whole
from persistence.access import views as staff_views
from state_machine.values.text.untrusted import single_line

if TYPE_CHECKING:
    from console.access.visit import Visita

FIELD_LENGTH: Final = 40  # characters; the longest filter is a colleague's name


async def save(visita: Visita) -> web.StreamResponse:
    """Keep the filters of the form under a name; the same name again replaces what it meant."""
    nome = single_line(await visita.campo("nome", staff_views.NAME_LENGTH))
    filtros = chosen({name: await visita.campo(name, FIELD_LENGTH) for name in ("ver", *FILTERS)})
    empresa = filtros.get("empresa")
    if not nome or len(filtros) == 1:  # a whole list has its tab already
        raise web.HTTPUnprocessableEntity
    if empresa is not None and not visita.staff.alcance.inclui(int(empresa)):
        raise web.HTTPNotFound
    try:
        async with visita.deps.database.transaction() as connection:
            await staff_views.save(connection, visita.staff.id, nome, filtros)
    except staff_views.TooManyViewsError:
        raise web.HTTPConflict(text="views") from None
    return see_other(address(filtros))


async def forget(visita: Visita) -> web.StreamResponse:
    """Forget one's own view and stay at its list; one that is gone, or another's, changes nothing."""
    vista_id = whole(visita.request.match_info["numero"])
    filtros: dict[str, str] = {}
    if vista_id is not None:
        async with visita.deps.database.transaction() as connection:
            filtros = await staff_views.forget(connection, visita.staff.id, vista_id)
    return see_other(address(filtros))
