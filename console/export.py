"""The list as a file, CSV or JSON: masked like the page it comes from, bounded, and written in the audit."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

import orjson
from aiohttp import web

from console.format import Olhar
from console.queue import filters
from persistence import audit, staff_queue

if TYPE_CHECKING:
    from console.visit import Visita

LIMIT: Final = 10_000  # rows; more is a report, not a list
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run


async def show(visita: Visita) -> web.StreamResponse:
    """``GET /console/exportar.{formato}`` with the list's own filters."""
    formato, query = visita.request.match_info["formato"], visita.request.query
    if formato not in {"csv", "json"}:
        raise web.HTTPNotFound
    quem = visita.staff
    async with visita.deps.database.transaction() as connection:
        listed = staff_queue.needing_eyes if query.get("ver", "atencao") == "atencao" else staff_queue.all_sessions
        rows = await listed(connection, quem.alcance, filters(query), LIMIT)
        detalhe = {"formato": formato, "linhas": len(rows), "filtros": {k: v[:80] for k, v in query.items()}}
        await audit.write(connection, staff_id=quem.id, quem=quem.nome, acao="exportou", detalhe=detalhe)
    found = [_row(row, Olhar()) for row in rows]
    body = orjson.dumps(found) if formato == "json" else _csv(found)
    kind = "application/json" if formato == "json" else "text/csv"
    headers = {"Content-Disposition": f'attachment; filename="fila.{formato}"'}
    return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)


def _row(row: Any, olhar: Olhar) -> dict[str, str]:
    return {
        "sessao_id": row.sessao_id,
        "estado": row.estado,
        "snapshot_reason": row.snapshot_reason,
        "causas": " ".join(row.causas),
        "empresa": row.razao_social,
        "telefone": olhar.telefone(row.wa_id),
        "cliente": olhar.documento(row.cnpj),
        "valor": "" if row.valor is None else str(row.valor),
        "nota": row.nota or "",
        "atendente": row.atendente or "",
        "abriu": row.created_at.isoformat(),
        "mudou": row.updated_at.isoformat(),
    }


def _csv(rows: list[dict[str, str]]) -> bytes:
    """Return CSV that opens well in Brazilian spreadsheets, and in which no cell is a formula."""
    out = io.StringIO()
    names = list(rows[0]) if rows else ["sessao_id"]
    writer = csv.DictWriter(out, names, delimiter=";")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: f"'{value}" if value.startswith(_FORMULA) else value for name, value in row.items()})
    return out.getvalue().encode("utf-8-sig")
