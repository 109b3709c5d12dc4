"""The list of what needs eyes and its neighbours: reads filters from the address, shows one page.

Saved views: a name that somebody gives to filters of the queue, as a tab of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from persistence.access import views as staff_views
from persistence.access.accounts import Papel
from persistence.staff import case as staff_orders
from persistence.staff import queue as staff_queue
from persistence.staff.queue import Filtros, pulse
from state_machine.invoice.session import SnapshotReason
from state_machine.values.text import single_line
from webhooks.console.access.visit import Visita, see_other
from webhooks.console.render import labels
from webhooks.console.render.format import Olhar
from webhooks.console.render.labels import CAUSAS, MOTIVOS, SITUACOES

PAGE: Final = 50
GROUPED: Final = 30  # days that causes are grouped over
TABS: Final = {
    "atencao": "Precisam de olhos",
    "todas": "Todas",
    "desconhecidas": "Desconhecidas",
    "quarentena": "Paradas",
    "pedidos": "Sem conversa",
}
# What the next page continues from, of the last row of this one.
CURSOR: Final = {"desconhecidas": ("ultima_entrada_em",), "atencao": ("desde", "id")}
FILTERED: Final = ("atencao", "todas")  # the lists of sessions
FILTERS: Final = ("estado", "motivo", "empresa", "de", "ate", "atendente")  # as the address calls them


@dataclass(frozen=True, slots=True)
class Lista:
    """One page of a list; ``seguinte`` is the address of the next one."""

    linhas: list[Any]
    seguinte: str | None


async def show(visita: Visita) -> web.StreamResponse:
    """The queue, its tabs and filters."""
    query = visita.request.query
    ver = query.get("ver", "atencao")
    alcance = visita.staff.alcance
    tabs = {name: title for name, title in TABS.items() if name != "desconhecidas" or alcance.todas}
    if ver not in tabs:
        raise web.HTTPNotFound
    filtros = filters(query)
    seen = await pulse(visita.deps.database)
    async with visita.deps.database.transaction() as connection:
        match ver:
            case "atencao":
                rows = await staff_queue.needing_eyes(connection, alcance, filtros, PAGE + 1)
            case "todas":
                rows = await staff_queue.all_sessions(connection, alcance, filtros, PAGE + 1)
            case "desconhecidas":
                rows = await staff_queue.unknown_contacts(
                    connection, alcance, _moment(query.get("antes", "")), PAGE + 1
                )
            case "pedidos":
                rows = await staff_orders.needing_eyes(connection, alcance, filtros.antes, PAGE + 1)
            case _:
                rows = await staff_queue.quarantined(connection, alcance, filtros.antes, PAGE + 1)
        counts = await staff_queue.counts(connection, alcance)
        grouped = ver == "atencao" and visita.staff.papel.alcanca(Papel.SUPERVISOR)
        groups = await staff_queue.stopped_by_one_cause(connection, alcance, timedelta(days=GROUPED)) if grouped else []
        companies = await staff_queue.companies(connection, alcance)
        views = await staff_views.views_of(connection, visita.staff.id)
    here = chosen(query) if ver in FILTERED else {}
    lista = page(rows, query, *CURSOR.get(ver, ("id",)))
    return visita.pagina(
        "fila.html",
        pulso=seen,
        ver=ver,
        abas={name: title for name, title in tabs.items() if name != "pedidos" or counts[name] or ver == name},
        contagem=counts,
        lista=lista,
        empresas=companies,
        filtros=query,
        consulta=visita.request.query_string,
        filtrada=any(query.get(name) for name in (*FILTERS, "antes")),
        escolhidos=here,
        nome_max=staff_views.NAME_LENGTH,
        vistas=[(vista, address(vista.filtros)) for vista in views],
        vista=next((vista for vista in views if vista.filtros == here), None),
        estados=SITUACOES,
        motivos=MOTIVOS,
        causas=CAUSAS,
        grupos=groups,
        dias=GROUPED,
        causa=labels.causa,
        cidade=labels.cidade,
        canais=labels.CANAIS,
        origens=visita.deps.origins,
        olhar=Olhar(),
    )


def filters(query: Mapping[str, str]) -> Filtros:
    """Read the filters; what makes no sense narrows nothing."""
    estado, motivo = query.get("estado", ""), query.get("motivo", "")
    since, _, after = query.get("antes", "").partition("~")
    moment, last = _moment(since), whole(after)
    return Filtros(
        estado=estado if estado in SITUACOES else None,
        motivo=motivo if motivo in set(SnapshotReason) else None,
        empresa_id=whole(query.get("empresa")),
        atendente=query.get("atendente") or None,
        valor_de=_amount(query.get("de")),
        valor_ate=_amount(query.get("ate")),
        antes=whole(query.get("antes")),
        depois=(moment, last) if moment is not None and last is not None else None,
    )


def chosen(query: Mapping[str, str]) -> dict[str, str]:
    """Return the list and what narrows it, as an address has them; what makes no sense and paging are left out."""
    given, ver = filters(query), query.get("ver", "atencao")
    read = (given.estado, given.motivo, given.empresa_id, given.valor_de, given.valor_ate, given.atendente)
    said = {name: query[name].strip() for name, value in zip(FILTERS, read, strict=True) if value is not None}
    return {"ver": ver if ver in FILTERED else "atencao", **{name: text for name, text in said.items() if text}}


def address(filtros: Mapping[str, str]) -> str:
    """Return where the queue shows these filters."""
    given = {name: filtros[name] for name in ("ver", *FILTERS) if name in filtros}
    return f"/console?{urlencode(given)}" if given else "/console"


def page(rows: list[Any], query: Mapping[str, str], *cursor: str) -> Lista:
    """Return one page of rows of which one more than a page was read, and where the next begins."""
    if len(rows) <= PAGE:
        return Lista(rows, None)
    rows = rows[:PAGE]
    last = [getattr(rows[-1], column) for column in cursor]
    value = "~".join(each.isoformat() if isinstance(each, datetime) else str(each) for each in last)
    kept = {name: given for name, given in query.items() if name != "antes" and given}
    return Lista(rows, f"?{urlencode({**kept, 'antes': value})}")


def whole(text: str | None) -> int | None:
    """Read a row's id; what is none is ``None``."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None  # noqa: PLR2004 - bigint


def _amount(text: str | None) -> Decimal | None:
    """Read an amount as Brazilians write it: 1.500,00."""
    if not text:
        return None
    try:
        amount = Decimal(text.replace(".", "").replace(",", ".") if "," in text else text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount) < 10**10 else None


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


FIELD_LENGTH: Final = 40  # characters; the longest filter is a colleague's name


async def save_view(visita: Visita) -> web.StreamResponse:
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


async def forget_view(visita: Visita) -> web.StreamResponse:
    """Forget one's own view and stay at its list; one that is gone, or another's, changes nothing."""
    vista_id = whole(visita.request.match_info["numero"])
    filtros: dict[str, str] = {}
    if vista_id is not None:
        async with visita.deps.database.transaction() as connection:
            filtros = await staff_views.forget(connection, visita.staff.id, vista_id)
    return see_other(address(filtros))
