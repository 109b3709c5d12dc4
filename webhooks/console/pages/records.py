"""The pages that show the audit: who did what to which case, and why.

One quarantined row: what it holds and why it failed, and the way back into its lane.

Lists that become mails: how far each is, the yes to what was read of it, and the stop.
"""

from __future__ import annotations

import re
import secrets
from typing import Any, Final

from aiohttp import web

from operations import batches
from operations.batches import AnotherRevisionError, UnknownBatchError
from persistence.audit import records as audit
from persistence.batches import records
from persistence.db.connection import Connection
from persistence.idempotency import records as idempotency
from persistence.idempotency.records import Operation, Replay, Started
from persistence.staff import queue as staff_queue
from persistence.staff.queue import pulse
from state_machine.mailing.delivery import ENCERRADOS, EstadoLinha, EstadoLote
from webhooks.console.access.visit import Visita, see_other
from webhooks.console.pages.queue import PAGE, filters, page, whole
from webhooks.console.render.format import Olhar

_SESSAO: Final = re.compile(r"\d{6}-[0-9a-f]{8}")


async def audits(visita: Visita) -> web.StreamResponse:
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


async def quarantine(visita: Visita) -> web.StreamResponse:
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
                acao="reprocessar mensagem parada",
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


WHERE: Final = "/console/lotes"
ESTADOS_DA_LISTA: Final = {
    EstadoLote.LENDO: ("lendo", "busy"),
    EstadoLote.AGUARDANDO_CONFIRMACAO: ("espera o sim", "busy"),
    EstadoLote.PROCESSANDO: ("enviando", "busy"),
    EstadoLote.PAUSADO: ("pausado", "off"),
    EstadoLote.CONCLUIDO: ("concluído", "good"),
    EstadoLote.CANCELADO: ("parado", "off"),
    EstadoLote.RECUSADO: ("recusado", "bad"),
}


async def lists(visita: Visita) -> web.StreamResponse:
    """One page of them, newest first, each with what became of its rows."""
    query, alcance = visita.request.query, visita.staff.alcance
    seen = await pulse(visita.deps.database)
    before = whole(query.get("antes"))
    async with visita.deps.database.transaction() as connection:
        empresas = None if alcance.todas else alcance.empresas
        lista = page(list(await records.newest(connection, empresas, before, PAGE + 1)), query, "id")
        counts = await records.counts_of(connection, [lote.id for lote in lista.linhas])
        primeiros = await records.first_mails(connection, lista.linhas)
    return visita.pagina(
        "lotes.html",
        primeiros=primeiros,
        pulso=seen,
        lista=lista,
        contagens=counts,
        estados=ESTADOS_DA_LISTA,
        linha=EstadoLinha,
        espera=EstadoLote.AGUARDANDO_CONFIRMACAO,
        espera_pessoas=batches.waits_for_people,
        encerrados=ENCERRADOS,
        primeira=before is None,
    )


async def confirm(visita: Visita) -> web.StreamResponse:
    """Let a list be sent, if what the page showed is what stands there; a second press changes nothing."""
    lote, revisao = await _lote(visita), await visita.campo("revisao", 16)
    try:
        await batches.confirm(
            visita.deps.database, lote.id, revisao=revisao, quem=visita.staff.nome, staff_id=visita.staff.id
        )
    except AnotherRevisionError:
        raise web.HTTPConflict(text="late") from None
    return see_other(WHERE)


async def stop(visita: Visita) -> web.StreamResponse:
    """Stop what was not sent; a second press changes nothing."""
    lote = await _lote(visita)
    await batches.stop(visita.deps.database, lote.id, visita.staff.nome, staff_id=visita.staff.id)
    return see_other(WHERE)


async def _lote(visita: Visita) -> Any:
    """Return the list of the address. Raises 404 also for that of a company that is not this person's."""
    alcance = visita.staff.alcance
    try:
        lote = (await batches.standing(visita.deps.database, whole(visita.request.match_info["numero"]) or 0)).lote
    except UnknownBatchError:
        raise web.HTTPNotFound from None
    if not alcance.todas and lote.empresa_id not in alcance.empresas:
        raise web.HTTPNotFound
    return lote
