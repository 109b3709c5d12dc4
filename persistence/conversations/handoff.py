"""Keeps who of the staff holds a conversation, and what they looked after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.staff.case import WINDOW
from persistence.tables import (
    anotacao,
    conversas,
    inbox,
    nfse_emissao,
    nfse_processada,
    outbox,
    resolvida,
    session_snapshot,
)
from state_machine.protocol.emission import StatusEmissao
from state_machine.protocol.reconciliation import ASSENTADOS

if TYPE_CHECKING:
    from persistence.db.connection import Connection


async def holder(connection: Connection, conversa: str) -> tuple[int | None, bool]:
    """Return who holds the conversation, and whether Meta's 24 h window is open; by the database's clock."""
    window = sa.func.now() - conversas.c.ultima_entrada_em < WINDOW
    statement = sa.select(conversas.c.atendente_id, window.label("aberta")).where(conversas.c.conversa == conversa)
    row = (await connection.execute(statement)).one()
    return row.atendente_id, bool(row.aberta)


async def is_carried_out(connection: Connection, chave: str) -> bool:
    """Tell whether the command of this inbox key was looked at; the key is unique for ever."""
    waits = sa.exists().where(inbox.c.chave == chave, inbox.c.estado == 0)
    return not (await connection.execute(sa.select(waits))).scalar_one()


async def take(connection: Connection, conversa: str, staff_id: int) -> None:
    """Give the conversation to somebody, who is then no longer awaited."""
    held = conversas.update().where(conversas.c.conversa == conversa)
    taken = held.values(atendente_id=staff_id, assumida_em=sa.func.now(), pessoa_pedida_em=None, pessoa_motivo=None)
    await connection.execute(taken)


async def give_back(connection: Connection, conversa: str) -> None:
    """Give the conversation to the bot."""
    held = conversas.update().where(conversas.c.conversa == conversa)
    await connection.execute(held.values(atendente_id=None, assumida_em=None))


async def resolve(connection: Connection, sessao_id: str, quem: str, motivo: str) -> None:
    """Note that somebody looked after a session; whatever changes in it later brings it back to the queue."""
    values = {"quem": quem, "motivo": motivo, "em": sa.func.now()}
    statement = insert(resolvida).values(sessao_id=sessao_id, **values)
    await connection.execute(statement.on_conflict_do_update(index_elements=[resolvida.c.sessao_id], set_=values))


async def note(connection: Connection, conversa: str, sessao_id: str | None, quem: str, texto: str) -> None:
    """Keep a note of somebody's, for the staff only."""
    values = {"conversa": conversa, "sessao_id": sessao_id, "quem": quem, "texto": texto}
    await connection.execute(anotacao.insert().values(**values))


async def ask_now(connection: Connection, sessao_id: str) -> int:
    """Make the session's open emissions due for a question; what waits to be sent is sent in its own time."""
    waiting = nfse_emissao.c.status.not_in({*ASSENTADOS - {StatusEmissao.CONFLITO}, StatusEmissao.PENDENTE})
    due = nfse_emissao.update().where(nfse_emissao.c.sessao_id == sessao_id, waiting)
    asked = due.values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())
    return (await connection.execute(asked)).rowcount


async def issued_note(connection: Connection, conversa: str, emissao_id: int) -> Any | None:
    """Return (sessao_id, numero, status) of an issued note of this conversation."""
    joined = nfse_processada.join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    joined = joined.join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    statement = sa.select(nfse_emissao.c.sessao_id, nfse_processada.c.numero, nfse_processada.c.status)
    ours = sa.and_(nfse_emissao.c.id == emissao_id, session_snapshot.c.conversa == conversa)
    return (await connection.execute(statement.select_from(joined).where(ours))).one_or_none()


async def copy_message(connection: Connection, conversa: str, outbox_id: int, chave: str) -> bool:
    """Put a message of ours into the outbox again, once for each ``chave``; False when there is none of this id."""
    o = outbox.c
    names = ("conversa", "sessao_id", "mensagem", "resumo_de", "bloqueia", "correlacao")
    old = sa.select(sa.literal(chave), *(o[name] for name in names)).where(o.id == outbox_id, o.conversa == conversa)
    statement: Any = insert(outbox).from_select(["chave", *names], old).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount == 1
