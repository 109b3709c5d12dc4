"""Keeps how far each company's list of documents was read at the authority, and when it is asked for again."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from persistence.db.connection import Connection
from state_machine.protocol.channel import Canal, TipoDocumento

DUE_AT_ONCE: Final = 100  # companies of one run: the next run has the others
_QUIET = """EXISTS (SELECT FROM distribuicao q
    WHERE q.canal = :canal AND q.ambiente = :ambiente AND q.calado_ate > now())"""
_DUE = sa.text(f"""
SELECT e.id, e.cnpj FROM empresa e
JOIN empresa_canal ec ON ec.empresa_id = e.id AND ec.tipo = '{TipoDocumento.SERVICO}'
    AND ec.canal = :canal AND coalesce(ec.ambiente, :padrao) = :ambiente
JOIN empresa_certificado c ON c.empresa_id = e.id AND c.destruido_em IS NULL AND c.valido_ate > now()
LEFT JOIN distribuicao d ON d.canal = :canal AND d.ambiente = :ambiente AND d.cnpj = e.cnpj
WHERE (d.proxima_em IS NULL OR d.proxima_em <= now()) AND NOT {_QUIET}
ORDER BY d.proxima_em NULLS FIRST LIMIT {DUE_AT_ONCE}
""")  # noqa: S608 - our own constants
_BEGIN = sa.text("""
INSERT INTO distribuicao (canal, ambiente, cnpj) VALUES (:canal, :ambiente, :cnpj) ON CONFLICT DO NOTHING
""")
_POSITION = sa.text(f"""
SELECT nsu FROM distribuicao WHERE canal = :canal AND ambiente = :ambiente AND cnpj = :cnpj AND NOT {_QUIET}
""")  # noqa: S608 - our own constants
_THIS = "WHERE canal = :canal AND ambiente = :ambiente AND cnpj = :cnpj"
_BEFORE = sa.text(f"SELECT reler_de FROM distribuicao {_THIS}")  # noqa: S608 - our own constants
# Whoever else read on from there meanwhile has moved it.
_MOVE = sa.text(f"UPDATE distribuicao SET nsu = :ate {_THIS} AND nsu = :nsu")  # noqa: S608 - our own constants
# A document may get its place before one of an earlier place is shown: what a day brought is read once more.
_END = sa.text(f"""
UPDATE distribuicao SET proxima_em = now() + interval '1 hour',
    nsu = CASE WHEN relido_em < now() - interval '1 day' THEN reler_de ELSE nsu END,
    reler_de = CASE WHEN relido_em < now() - interval '1 day' THEN nsu ELSE reler_de END,
    relido_em = CASE WHEN relido_em < now() - interval '1 day' THEN now() ELSE relido_em END
{_THIS} AND nsu = :nsu
""")  # noqa: S608 - our own constants
_LATER = sa.text(f"""
UPDATE distribuicao SET proxima_em = now() + make_interval(secs => :segundos),
    calado_ate = CASE WHEN :todos THEN now() + make_interval(secs => :segundos) ELSE calado_ate END
{_THIS}
""")  # noqa: S608 - our own constants


async def due(connection: Connection, canal: Canal, padrao: str) -> list[tuple[int, str]]:
    """Return id and CNPJ of companies with a certificate whose list is to be asked for now, unless nobody's is.

    ``canal`` names its environment, ``padrao`` is the installation's.
    """
    rows = await connection.execute(_DUE, {**_here(canal), "padrao": padrao})
    return [(row.id, row.cnpj) for row in rows]


async def position(connection: Connection, canal: Canal, cnpj: str) -> int | None:
    """Return after which document a company's list goes on; ``None`` while the authority wants no question."""
    await connection.execute(_BEGIN, _here(canal, cnpj))
    found: int | None = (await connection.execute(_POSITION, _here(canal, cnpj))).scalar_one_or_none()
    return found


async def before(connection: Connection, canal: Canal, cnpj: str) -> int:
    """Return the document up to which a company's list was read for sure, 0 where it never was."""
    found: int | None = (await connection.execute(_BEFORE, _here(canal, cnpj))).scalar_one_or_none()
    return found or 0


async def move(connection: Connection, canal: Canal, cnpj: str, nsu: int, ate: int) -> bool:
    """Go on from ``nsu`` to ``ate``, in the transaction that keeps what came; False where somebody else did."""
    return (await connection.execute(_MOVE, {**_here(canal, cnpj), "nsu": nsu, "ate": ate})).rowcount == 1


async def end(connection: Connection, canal: Canal, cnpj: str, nsu: int) -> None:
    """Note that nothing follows: the list is asked for again in an hour, and a day's part of it from its start."""
    await connection.execute(_END, {**_here(canal, cnpj), "nsu": nsu})


async def later(connection: Connection, canal: Canal, cnpj: str, segundos: float, *, todos: bool) -> None:
    """Put the next question off; with ``todos`` that of everybody on this channel."""
    await connection.execute(_LATER, {**_here(canal, cnpj), "segundos": segundos, "todos": todos})


def _here(canal: Canal, cnpj: str | None = None) -> dict[str, Any]:
    here = {"canal": canal.nome, "ambiente": canal.ambiente}
    return here if cnpj is None else {**here, "cnpj": cnpj}
