"""Moves a person to the id that WhatsApp gave them instead of another: rights, and whatever is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from persistence.versions import literals
from state_machine.cancellation.machine import CONVERSANDO
from state_machine.machine.states import ESPERAM_USUARIO

if TYPE_CHECKING:
    from persistence.db.connection import Connection

# What the person wrote stays where it was written. A phone is the same address for both ids.
_ARRIVE: Final = sa.text("""
INSERT INTO conversas AS c (conversa, phone_number_id, endereco, wa_id, nome_perfil, usuario_id, ultima_entrada_em,
    atendente_id, assumida_em, pessoa_pedida_em, pessoa_motivo)
SELECT :nova, phone_number_id, CASE WHEN endereco = :de THEN :para ELSE endereco END, wa_id, nome_perfil, usuario_id,
    ultima_entrada_em, atendente_id, assumida_em, pessoa_pedida_em, pessoa_motivo
FROM conversas WHERE conversa = :antiga
ON CONFLICT (conversa) DO UPDATE SET usuario_id = coalesce(c.usuario_id, excluded.usuario_id),
    atendente_id = coalesce(c.atendente_id, excluded.atendente_id),
    assumida_em = coalesce(c.assumida_em, excluded.assumida_em),
    pessoa_pedida_em = coalesce(c.pessoa_pedida_em, excluded.pessoa_pedida_em),
    pessoa_motivo = coalesce(c.pessoa_motivo, excluded.pessoa_motivo)
RETURNING true
""")
_LEAVE: Final = sa.text("""
UPDATE conversas SET atendente_id = NULL, assumida_em = NULL, pessoa_pedida_em = NULL, pessoa_motivo = NULL
WHERE conversa = :antiga
""")


def _follow(table: str, waiting: str) -> sa.TextClause:
    """Return the statement that moves rows; what waits for the person stays where another one waits already."""
    return sa.text(f"""
UPDATE {table} t SET conversa = :nova, versao = t.versao + 1 WHERE t.conversa = :antiga AND NOT (
    t.{waiting} AND EXISTS (SELECT FROM {table} o WHERE o.conversa = :nova AND o.{waiting}))
""")  # noqa: S608 - our own constants


_SESSIONS: Final = _follow("session_snapshot", f"estado IN ({literals(ESPERAM_USUARIO)})")
_CANCELLATIONS: Final = _follow("cancelamento", f"estado IN ({literals(CONVERSANDO)})")


async def move(connection: Connection, antiga: str, nova: str, de: str, para: str) -> bool:
    """Give the conversation ``nova`` what ``antiga`` has; False where nobody was known there.

    ``de`` and ``para`` are the ids themselves, which may be addresses.
    """
    keys = {"antiga": antiga, "nova": nova}
    if not (await connection.execute(_ARRIVE, {**keys, "de": de, "para": para})).rows:
        return False
    for statement in (_SESSIONS, _CANCELLATIONS):
        await connection.execute(statement, keys)
    await connection.execute(_LEAVE, {"antiga": antiga})
    return True
