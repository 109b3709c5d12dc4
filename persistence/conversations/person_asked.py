"""Keeps which conversations wait for one of the staff because their person asked, and which invoices wait beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.tables import conversas
from persistence.versions import literals
from state_machine.machine.events import NotaQueEspera
from state_machine.machine.states import Estado

if TYPE_CHECKING:
    from persistence.db.connection import Connection

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
