"""The list as a file, CSV or JSON: masked like the page it comes from, bounded, and written in the audit."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

import orjson
from aiohttp import web

from operations.month import decimal_comma, sheet
from persistence.audit import records as audit
from persistence.staff import search as staff_export
from state_machine.cancellation.machine import StatusNota
from webhooks.console.access.visit import Visita
from webhooks.console.pages.queue import filters
from webhooks.console.render.format import SAO_PAULO, Olhar
from webhooks.console.render.labels import ESTADOS

LIMIT: Final = 10_000  # rows; more is a report, not a list
_LONGEST_MONTH: Final = 31  # days: from a first day it always leads into the next month
_CNPJ: Final = 14  # characters; a company's name is no person's
NOTAS: Final = {"autorizado": "autorizada", "cancelamento_pendente": "cancelamento pedido"}


async def show(visita: Visita) -> web.StreamResponse:
    """``GET /console/exportar.{formato}`` with the list's own filters."""
    formato, query = visita.request.match_info["formato"], visita.request.query
    if formato not in {"csv", "json"}:
        raise web.HTTPNotFound
    quem, atencao = visita.staff, query.get("ver", "atencao") == "atencao"
    meses = month(query.get("mes"))
    async with visita.deps.database.transaction() as connection:
        rows = await staff_export.sessions_to_export(
            connection, quem.alcance, filters(query), LIMIT, atencao=atencao, meses=meses
        )
        detalhe = {"formato": formato, "linhas": len(rows), "filtros": {k: v[:80] for k, v in query.items()}}
        await audit.write(connection, staff_id=quem.id, quem=quem.nome, acao="exportou", detalhe=detalhe)
    found = [_row(row, Olhar()) for row in rows]
    body = orjson.dumps(found) if formato == "json" else sheet(found)
    kind = "application/json" if formato == "json" else "text/csv"
    headers = {"Content-Disposition": f'attachment; filename="fila.{formato}"'}
    return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)


def month(texto: str | None) -> tuple[date, date] | None:
    """Read ``2026-11`` as its first day and the next month's; raises ``HTTPBadRequest``: half a file would mislead."""
    if not texto:
        return None
    try:
        first = date.fromisoformat(f"{texto}-01")
        return first, (first + timedelta(days=_LONGEST_MONTH)).replace(day=1)
    except (ValueError, OverflowError) as error:
        raise web.HTTPBadRequest(text="O mês se escreve como 2026-11.") from error


def _row(row: Any, olhar: Olhar) -> dict[str, str]:
    when = (row.autorizada_em or row.created_at).astimezone(SAO_PAULO)
    company = row.cnpj and len(row.cnpj) == _CNPJ
    return {
        "numero": row.numero or "",
        "situacao": _standing(row),
        "data": f"{date.fromisoformat(row.dia):%d/%m/%Y}",
        "hora": f"{when:%H:%M:%S}",
        "cancelada_em": "" if row.cancelado_em is None else f"{row.cancelado_em.astimezone(SAO_PAULO):%d/%m/%Y}",
        "substituida_por": row.substituida_por or "",
        "empresa": row.razao_social,
        "cliente": (row.cnpj_razao_social or "") if company else olhar.pessoa(row.cnpj_razao_social),
        "documento": olhar.documento(row.cnpj),
        "valor": decimal_comma(row.valor_servico if row.valor_servico is not None else row.valor),
        "iss_percentual": decimal_comma(staff_export.export_rate(row.bytes)),
        "servico": olhar.texto(row.descricao_servico),
        "telefone": olhar.telefone(row.wa_id),
        "sessao_id": row.sessao_id,
        "estado": row.estado,
        "snapshot_reason": row.snapshot_reason,
        "causas": " ".join(row.causas),
        "atendente": row.atendente or "",
        "abriu": f"{row.created_at.astimezone(SAO_PAULO):%d/%m/%Y %H:%M:%S}",
        "mudou": f"{row.updated_at.astimezone(SAO_PAULO):%d/%m/%Y %H:%M:%S}",
    }


def _standing(row: Any) -> str:
    """Say how a row's note stands; of a session without one, how the session does."""
    if row.nota == StatusNota.CANCELADO:
        return "substituída" if row.substituida_por else "cancelada"
    return str(NOTAS.get(row.nota, row.nota)) if row.nota else ESTADOS.get(row.estado, (row.estado, ""))[0]
