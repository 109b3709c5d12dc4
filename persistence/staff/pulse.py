"""One small number that changes whenever something happened that a page of the staff may show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from persistence.db.engine import Database

# The newest rows by primary key, and what changes in place: each is the end of an index.
_PULSE: Final = """
SELECT concat_ws('.',
    (SELECT max(id) FROM transicoes), (SELECT max(id) FROM outbox), (SELECT max(id) FROM gateway_tentativas),
    (SELECT max(id) FROM inbox WHERE tipo = 'mensagem' AND id > (SELECT coalesce(max(id), 0) - 1000 FROM inbox)),
    (SELECT count(*) FROM inbox WHERE estado = 2), (SELECT max(id) FROM auditoria), (SELECT max(id) FROM anotacao),
    (SELECT max(mudou_em) FROM disjuntor), (SELECT max(id) FROM lotes),
    (SELECT count(*) FROM lotes WHERE status = 'PROCESSING'),
    (SELECT max(last_attempt) FROM lote_linhas WHERE last_attempt IS NOT NULL))
"""


async def pulse(database: Database) -> str:
    """Return the present number, as text."""
    return str(await database.pool.fetchval(_PULSE))
