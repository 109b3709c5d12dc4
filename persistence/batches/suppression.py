"""Who wants no more mail of a company: known by the token of a mail that they got."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.tables import email_suprimido, empresa, lote_linhas, lotes

PATH: Final = "/descadastro"  # below the public address
LINK: Final = "pediu pelo link do e-mail"
_OF: Final = (
    sa.select(lotes.c.empresa_id, empresa.c.razao_social, lote_linhas.c.email)
    .join_from(lote_linhas, lotes, lotes.c.id == lote_linhas.c.lote_id)
    .join(empresa, empresa.c.id == lotes.c.empresa_id)
    .where(lote_linhas.c.token == sa.bindparam("b_token"), lote_linhas.c.email.is_not(None))
)


def address(public_url: str, token: str) -> str:
    """Return where the reader of a mail says no to more of them."""
    return f"{public_url}{PATH}/{token}"


async def find(connection: Connection, token: str) -> Found | None:
    """Return (empresa_id, razao_social, email) of the mail with this token."""
    return (await connection.execute(_OF, {"b_token": token})).one_or_none()


async def suppress(connection: Connection, empresa_id: int, email: str, motivo: str) -> bool:
    """Let this address get no more mail of the company; says whether it got some until now."""
    statement = insert(email_suprimido).values(empresa_id=empresa_id, email=email, motivo=motivo)
    return bool((await connection.execute(statement.on_conflict_do_nothing())).rowcount)


async def release(connection: Connection, empresa_id: int, email: str) -> str | None:
    """Let this address get mails of the company again; returns why it got none, ``None`` where it did."""
    held = (email_suprimido.c.empresa_id == empresa_id, email_suprimido.c.email == email)
    statement = email_suprimido.delete().where(*held).returning(email_suprimido.c.motivo)
    motivo: str | None = (await connection.execute(statement)).scalar_one_or_none()
    return motivo
