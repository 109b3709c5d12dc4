"""What is known of a message that its user edited or deleted: when it was written, and which session it went into."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.conversations import snapshots
from persistence.tables import MENSAGENS

if TYPE_CHECKING:
    from collections.abc import Collection

    from persistence.db.connection import Connection
    from state_machine.machine.session import Sessao

SESSIONS = 50  # a conversation's newest; WhatsApp lets nobody edit or delete what was sent days ago


@dataclass(frozen=True, slots=True)
class Ouvida:
    """A message that came before: ``escrita_em`` by Meta's clock, ``None`` if we never saw it.

    ``sessao`` is the newest session that it told something, or in which it was the last word of a turn.
    """

    escrita_em: datetime | None = None
    sessao: Sessao | None = None


@dataclass(frozen=True, slots=True)
class Mudanca:
    """A notice that the message ``original`` was edited or deleted: its inbox row, and when, in unix seconds."""

    original: str
    row: int
    quando: int


# Statements are composed once: that costs more than running them.
_MESSAGE = sa.text("""
SELECT payload #>> '{mensagem,timestamp}' AS escrita_em FROM inbox WHERE chave = :wamid AND lane = :c
""")
_SESSION = sa.text("""
SELECT t.sessao_id FROM transicoes t
WHERE t.sessao_id IN (SELECT sessao_id FROM session_snapshot WHERE conversa = :c ORDER BY id DESC LIMIT :limite)
  AND (strpos(t.detalhe::text, :citada) > 0
       OR t.correlacao = (SELECT correlacao FROM inbox WHERE chave = :wamid AND lane = :c))
ORDER BY t.id DESC LIMIT 1
""")
_ORIGINAL = """coalesce(payload #>> '{mensagem,edit,original_message_id}',
    payload #>> '{mensagem,revoke,original_message_id}')"""
_CHANGES = sa.text(f"""
SELECT id, {_ORIGINAL} AS original, payload #>> '{{mensagem,timestamp}}' AS quando FROM inbox
WHERE lane = :c AND {MENSAGENS} AND {_ORIGINAL} = ANY(:wamids)
""")  # noqa: S608 - our own constants


async def heard(connection: Connection, conversa: str, wamid: str) -> Ouvida:
    """Return what we know of a message of this conversation."""
    values = {"c": conversa, "wamid": wamid, "citada": f'"{wamid}"', "limite": SESSIONS}
    row = (await connection.execute(_MESSAGE, values)).one_or_none()
    sessao_id = (await connection.execute(_SESSION, values)).scalar_one_or_none()
    sessao = await snapshots.load(connection, conversa, sessao_id) if sessao_id else None
    seconds = _seconds(row.escrita_em) if row else 0
    return Ouvida(datetime.fromtimestamp(seconds, UTC) if seconds else None, sessao)


async def changes(connection: Connection, conversa: str, wamids: Collection[str]) -> list[Mudanca]:
    """Return every notice that one of these messages was edited or deleted; looks through the whole conversation."""
    rows = await connection.execute(_CHANGES, {"c": conversa, "wamids": list(wamids)})
    return [Mudanca(row.original, row.id, _seconds(row.quando)) for row in rows]


def _seconds(told: str | None) -> int:
    return int(told) if told and told.isascii() and told.isdigit() and len(told) <= 11 else 0  # noqa: PLR2004 - year 5138
