"""Keeps who of the staff holds a conversation, and what they looked after.

Keeps which conversations wait for one of the staff because their person asked, and which invoices wait beside.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
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
from persistence.tables.base import literals
from state_machine.invoice.session import Estado
from state_machine.machine.events import NotaQueEspera
from state_machine.protocol.emission import StatusEmissao
from state_machine.protocol.reconciliation import ASSENTADOS


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
    """Return (sessao_id, canal, numero, status) of an issued note of this conversation."""
    joined = nfse_processada.join(nfse_emissao, nfse_emissao.c.id == nfse_processada.c.emissao_id)
    joined = joined.join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    statement = sa.select(
        nfse_emissao.c.sessao_id, nfse_emissao.c.canal, nfse_processada.c.numero, nfse_processada.c.status
    )
    ours = sa.and_(nfse_emissao.c.id == emissao_id, session_snapshot.c.conversa == conversa)
    return (await connection.execute(statement.select_from(joined).where(ours))).one_or_none()


async def copy_message(connection: Connection, conversa: str, outbox_id: int, chave: str) -> bool:
    """Put a message of ours into the outbox again, once for each ``chave``; False when there is none of this id."""
    o = outbox.c
    names = ("conversa", "sessao_id", "mensagem", "resumo_de", "bloqueia", "correlacao")
    old = sa.select(sa.literal(chave), *(o[name] for name in names)).where(o.id == outbox_id, o.conversa == conversa)
    statement: Any = insert(outbox).from_select(["chave", *names], old).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount == 1


_C = conversas.c
_ASKED: Any = (
    conversas.update()
    .where(_C.conversa == sa.bindparam("b_conversa"), _C.atendente_id.is_(None))
    .values(
        pessoa_pedida_em=sa.func.coalesce(_C.pessoa_pedida_em, sa.func.now()),
        pessoa_motivo=sa.func.coalesce(_C.pessoa_motivo, sa.bindparam("b_motivo")),
    )
)
_DROPPED = (
    conversas.update()
    .where(_C.conversa == sa.bindparam("b_conversa"), _C.pessoa_pedida_em.is_not(None))
    .values(pessoa_pedida_em=None, pessoa_motivo=None)
)
# Where the invoice is with us or with the authority: a refusal that its person cannot repair, trouble, on its way.
_WAITING = sa.text(
    f"""
SELECT s.estado, s.valor, coalesce(s.cnpj_razao_social, s.cnpj) AS cliente FROM session_snapshot s
LEFT JOIN resolvida r ON r.sessao_id = s.sessao_id AND r.em >= s.updated_at
WHERE s.conversa = :conversa AND r.em IS NULL AND (
    s.estado IN ({literals({Estado.PROCESSANDO, Estado.ERRO})})
    OR (s.estado = '{Estado.REJEITADO}' AND s.pendente IS NULL AND s.updated_at > now() - interval '30 days'
        AND NOT EXISTS (SELECT FROM session_snapshot d WHERE d.origem = s.sessao_id)))
ORDER BY s.id DESC LIMIT 3
"""  # noqa: S608 - our own constants
)


def ask(connection: Connection, conversa: str, motivo: str) -> None:
    """Note at the end of the transaction that somebody of the staff is asked for; the first time and reason stay.

    ``motivo`` is ``palavras``, ``reclamacao``, ``trocou_numero`` or ``pergunta:`` and the field that was asked about.
    """
    connection.later(_ASKED, {"b_conversa": conversa, "b_motivo": motivo})


async def is_asked(connection: Connection, conversa: str) -> bool:
    """Tell whether the conversation waits for one of the staff."""
    statement = sa.select(sa.true()).where(_C.conversa == conversa, _C.pessoa_pedida_em.is_not(None))
    return (await connection.execute(statement)).first() is not None


async def drop(connection: Connection, conversa: str) -> bool:
    """Note that nobody is awaited any more; False where nobody was."""
    return (await connection.execute(_DROPPED, {"b_conversa": conversa})).rowcount == 1


async def waiting(connection: Connection, conversa: str) -> tuple[NotaQueEspera, ...]:
    """Return the conversation's confirmed invoices that wait for us or for the authority, the newest first."""
    rows = await connection.execute(_WAITING, {"conversa": conversa})
    return tuple(
        NotaQueEspera(row.valor, row.cliente or "", com_a_equipe=row.estado != Estado.PROCESSANDO) for row in rows
    )
