"""Appends to the audit of what staff did, in the transaction that does it, and reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from persistence.tables import auditoria, empresa

if TYPE_CHECKING:
    from persistence.access.accounts import Alcance
    from persistence.db.connection import Connection

MOTIVO_MAX = 500  # characters; a reason is a sentence or two


@dataclass(frozen=True, slots=True)
class Author:
    """Who does something and why; without an account of the staff it is a command."""

    quem: str = "linha de comando"
    staff_id: int | None = None
    motivo: str | None = None


COMMAND_LINE: Final = Author()


async def write(
    connection: Connection,
    *,
    staff_id: int | None,
    quem: str,
    acao: str,
    alvo: str | None = None,
    empresa_id: int | None = None,
    motivo: str | None = None,
    detalhe: dict[str, Any] | None = None,
    correlacao: str | None = None,
) -> int:
    """Append one row and return its id. ``alvo`` and ``detalhe`` hold ids, never a person's data."""
    statement = auditoria.insert().values(
        staff_id=staff_id,
        quem=quem,
        acao=acao,
        alvo=alvo,
        empresa_id=empresa_id,
        motivo=motivo[:MOTIVO_MAX] if motivo else None,
        detalhe=detalhe,
        correlacao=correlacao,
    )
    return int((await connection.execute(statement.returning(auditoria.c.id))).scalar_one())


async def write_by(
    connection: Connection, author: Author, acao: str, empresa_id: int, detalhe: dict[str, Any] | None = None
) -> None:
    """Append what somebody did to a company's registration."""
    await write(
        connection,
        staff_id=author.staff_id,
        quem=author.quem,
        acao=acao,
        empresa_id=empresa_id,
        motivo=author.motivo,
        detalhe=detalhe,
    )


async def page(
    connection: Connection,
    alcance: Alcance,
    *,
    antes: int | None,
    limite: int,
    quem: str | None = None,
    acao: str | None = None,
    alvo: str | None = None,
) -> list[Any]:
    """Return rows newest first, older than ``antes``; who is bound to companies sees what was done in those.

    With the name of the company that each is about, if there is one.
    """
    joined = auditoria.outerjoin(empresa, empresa.c.id == auditoria.c.empresa_id)
    statement = (
        sa.select(auditoria, empresa.c.razao_social).select_from(joined).order_by(auditoria.c.id.desc()).limit(limite)
    )
    if not alcance.todas:
        statement = statement.where(auditoria.c.empresa_id.in_(alcance.empresas))
    for column, wanted in ((auditoria.c.quem, quem), (auditoria.c.acao, acao), (auditoria.c.alvo, alvo)):
        if wanted:
            statement = statement.where(column == wanted)
    if antes is not None:
        statement = statement.where(auditoria.c.id < antes)
    return list(await connection.execute(statement))
