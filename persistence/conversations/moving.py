"""Moves a person to the id that WhatsApp gave them instead of another: rights, and whatever is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from persistence.versions import literals
from state_machine.cancellation.machine import CONVERSANDO
from state_machine.machine.states import ESPERAM_USUARIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from persistence.conversations.conversations import Contato
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
# The conversation of the same telephone that spoke last, under another id.
_FORMER: Final = sa.text("""
SELECT conversa, endereco FROM conversas
WHERE phone_number_id = :numero AND "right"(wa_id, 8) = "right"(:wa_id, 8) AND wa_id = :wa_id AND conversa <> :nova
ORDER BY ultima_entrada_em DESC LIMIT 1
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


def _due(table: str, states: Iterable[str]) -> sa.TextClause:
    return sa.text(f"""
UPDATE {table} SET expira_em = now() WHERE conversa = ANY(:conversas) AND estado IN ({literals(states)})
""")  # noqa: S608 - our own constants


_DUE: Final = (_due("session_snapshot", ESPERAM_USUARIO), _due("cancelamento", CONVERSANDO))


async def end_open(connection: Connection, conversas: Sequence[str]) -> None:
    """Have whatever waits for the person in these conversations reach its deadline now, whose sweep ends it."""
    for statement in _DUE:
        await connection.execute(statement, {"conversas": list(conversas)})


async def reunite(connection: Connection, contato: Contato) -> str | None:
    """Give a person's first words under a new id what waits for the same telephone; return the former conversation."""
    keys = {"numero": contato.phone_number_id, "wa_id": contato.wa_id, "nova": contato.conversa}
    former = (await connection.execute(_FORMER, keys)).one_or_none()
    if former is None:
        return None
    await move(connection, former.conversa, contato.conversa, former.endereco, contato.endereco)
    return str(former.conversa)


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
