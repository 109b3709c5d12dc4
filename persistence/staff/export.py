"""Lists sessions with every note that came of them, for the file that leaves the console, inside a scope."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa

from persistence.fiscal.issued import SUBSTITUTA
from persistence.staff import queue as staff_queue
from persistence.tables import nfse_emissao, nfse_processada, session_snapshot

if TYPE_CHECKING:
    from datetime import date

    from persistence.access.accounts import Alcance
    from persistence.db.connection import Connection
    from persistence.staff.queue import Filtros

_E, _N = nfse_emissao.c, nfse_processada.c
_NOTE = (
    _N.numero,
    _N.status.label("nota"),
    _N.criado_em.label("autorizada_em"),
    _N.cancelado_em,
    SUBSTITUTA.label("substituida_por"),
    _E.valor_servico,
    _E.descricao_servico,
    _E.bytes,
)
_MOMENT = sa.func.timezone("America/Sao_Paulo", sa.func.coalesce(_N.criado_em, session_snapshot.c.created_at))


async def sessions(
    connection: Connection,
    alcance: Alcance,
    filtros: Filtros,
    limite: int,
    *,
    atencao: bool,
    meses: tuple[date, date] | None = None,
) -> list[Any]:
    """List sessions, the newest first: a row for each note, one without a number for a session that has none.

    ``atencao`` keeps those that somebody must look at. ``meses`` are the first day of a period and the first day after
    it, in Brazil; a note counts on the day on which it was authorised, a session without one on the day it began.
    """
    notes = nfse_emissao.join(nfse_processada, _N.emissao_id == _E.id)
    statement = staff_queue.narrowed(alcance, filtros, *_NOTE, atencao=atencao)
    statement = statement.outerjoin(notes, _E.session_id == session_snapshot.c.id)
    if meses is not None:
        statement = statement.where(meses[0] <= _MOMENT, meses[1] > _MOMENT)
    statement = statement.order_by(session_snapshot.c.id.desc(), _E.id.desc()).limit(limite)
    return list(await connection.execute(statement))


def rate(payload: bytes | None) -> Decimal | None:
    """Return the rate of the ISS in % as the note was sent with it; ``None`` where the city's own was left to apply."""
    try:
        said = orjson.loads(payload or b"null")[0]["servico"][0]["iss"]["aliquota"]
        return Decimal(str(said))
    except (ValueError, TypeError, LookupError, InvalidOperation):
        return None
