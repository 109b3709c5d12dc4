"""Lists that become mails: how far each is, the yes to what was read of it, and the stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from console.access.locks import see_other
from console.pages.queue import PAGE, page, whole
from operations.batches import orders
from operations.batches.orders import AnotherRevisionError, UnknownBatchError
from persistence.batches import listing
from persistence.staff.pulse import pulse
from state_machine.mailing.states import ENCERRADOS, EstadoLinha, EstadoLote

if TYPE_CHECKING:
    from console.access.visit import Visita

WHERE: Final = "/console/lotes"
ESTADOS: Final = {
    EstadoLote.LENDO: ("lendo", "busy"),
    EstadoLote.AGUARDANDO_CONFIRMACAO: ("espera o sim", "busy"),
    EstadoLote.PROCESSANDO: ("enviando", "busy"),
    EstadoLote.PAUSADO: ("pausado", "off"),
    EstadoLote.CONCLUIDO: ("concluído", "good"),
    EstadoLote.CANCELADO: ("parado", "off"),
    EstadoLote.RECUSADO: ("recusado", "bad"),
}


async def show(visita: Visita) -> web.StreamResponse:
    """One page of them, newest first, each with what became of its rows."""
    query, alcance = visita.request.query, visita.staff.alcance
    seen = await pulse(visita.deps.database)
    before = whole(query.get("antes"))
    async with visita.deps.database.transaction() as connection:
        empresas = None if alcance.todas else alcance.empresas
        lista = page(list(await listing.newest(connection, empresas, before, PAGE + 1)), query, "id")
        counts = await listing.counts_of(connection, [lote.id for lote in lista.linhas])
        primeiros = await listing.first_mails(connection, lista.linhas)
    return visita.pagina(
        "lotes.html",
        primeiros=primeiros,
        pulso=seen,
        lista=lista,
        contagens=counts,
        estados=ESTADOS,
        linha=EstadoLinha,
        espera=EstadoLote.AGUARDANDO_CONFIRMACAO,
        encerrados=ENCERRADOS,
        primeira=before is None,
    )


async def confirm(visita: Visita) -> web.StreamResponse:
    """Let a list be sent, if what the page showed is what stands there; a second press changes nothing."""
    lote, revisao = await _lote(visita), await visita.campo("revisao", 16)
    try:
        await orders.confirm(
            visita.deps.database, lote.id, revisao=revisao, quem=visita.staff.nome, staff_id=visita.staff.id
        )
    except AnotherRevisionError:
        raise web.HTTPConflict(text="late") from None
    return see_other(WHERE)


async def stop(visita: Visita) -> web.StreamResponse:
    """Stop what was not sent; a second press changes nothing."""
    lote = await _lote(visita)
    await orders.stop(visita.deps.database, lote.id, visita.staff.nome, staff_id=visita.staff.id)
    return see_other(WHERE)


async def _lote(visita: Visita) -> Any:
    """Return the list of the address. Raises 404 also for that of a company that is not this person's."""
    alcance = visita.staff.alcance
    try:
        lote = (await orders.standing(visita.deps.database, whole(visita.request.match_info["numero"]) or 0)).lote
    except UnknownBatchError:
        raise web.HTTPNotFound from None
    if not alcance.todas and lote.empresa_id not in alcance.empresas:
        raise web.HTTPNotFound
    return lote
