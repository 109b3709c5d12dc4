"""Lists sessions with every note that came of them, for the file that leaves the console, inside a scope."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa

from persistence.fiscal.history import DAY
from persistence.fiscal.issued import SUBSTITUTA
from persistence.people.channels import counts
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
_BEGAN = sa.func.to_char(sa.func.timezone("America/Sao_Paulo", session_snapshot.c.created_at), "YYYY-MM-DD")
_day = sa.case((_N.id.is_not(None), DAY), else_=_BEGAN)


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
    it; a note counts on the day that stands on it, a session without one on the day it began, in Brazil. Notes of
    practice are left out once the company issues in earnest.
    """
    notes = nfse_emissao.join(nfse_processada, _N.emissao_id == _E.id)
    statement = staff_queue.narrowed(alcance, filtros, *_NOTE, _day.label("dia"), atencao=atencao)
    statement = statement.outerjoin(notes, _E.session_id == session_snapshot.c.id)
    statement = statement.where(sa.or_(_E.id.is_(None), sa.text(counts("nfse_emissao"))))
    if meses is not None:
        statement = statement.where(_day >= meses[0].isoformat(), _day < meses[1].isoformat())
    statement = statement.order_by(session_snapshot.c.id.desc(), _E.id.desc()).limit(limite)
    return list(await connection.execute(statement))


def rate(payload: bytes | None) -> Decimal | None:
    """Return the rate of the ISS in % as the note was sent with it; ``None`` where the city's own was left to apply."""
    try:
        said = orjson.loads(payload or b"null")[0]["servico"][0]["iss"]["aliquota"]
        return Decimal(str(said))
    except (ValueError, TypeError, LookupError, InvalidOperation):
        return None
