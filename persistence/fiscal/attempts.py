"""Keeps the attempts at one confirmed revision: which is the newest, whether its bytes may go, which became notes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.tables import gateway_tentativas, nfse_emissao, session_snapshot
from persistence.tables.base import literals
from state_machine.cancellation.machine import StatusNota
from state_machine.protocol.emission import StatusEmissao

RAISED = "Raised"  # the result of work that ended in an exception of our own
# Statements are composed once: that costs more than running them.
_NEWEST = (
    nfse_emissao.select()
    .where(nfse_emissao.c.sessao_id == sa.bindparam("b_sessao"), nfse_emissao.c.revisao == sa.bindparam("b_revisao"))
    .order_by(nfse_emissao.c.tentativa.desc())
    .limit(1)
    .with_for_update()
)
_NAMED = (
    sa.select(nfse_emissao, session_snapshot.c.conversa, session_snapshot.c.estado, session_snapshot.c.pendente)
    .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .where(nfse_emissao.c.id_integracao == sa.bindparam("b_id_integracao"))
)


RETOMAVEIS = frozenset({StatusEmissao.PENDENTE, StatusEmissao.ERRO})  # their stored bytes may be sent once more
# Certain: no call is under way, and none has ever been answered so that it may have been accepted.
_LAST = """SELECT id FROM nfse_emissao WHERE sessao_id = :sessao_id AND revisao = :revisao
    ORDER BY tentativa DESC LIMIT 1"""
_RESUME = sa.text(f"""
UPDATE nfse_emissao SET status = '{StatusEmissao.PENDENTE}', retida = NULL, desejado_em = now(),
    proxima_acao_em = now(), processado_em = NULL, versao = versao + 1
WHERE id = ({_LAST}) AND status IN ({literals(RETOMAVEIS)}) AND em_duvida IS FALSE AND recusa IS NULL
    AND (lease_until IS NULL OR lease_until < now())
""")  # noqa: S608 - our own constant
_WITHDRAW = sa.text(f"""
UPDATE nfse_emissao SET status = '{StatusEmissao.DISPENSADO}', retida = NULL, proxima_acao_em = NULL,
    processado_em = now(), erro_mensagem = 'no longer wanted; accepted by nobody', versao = versao + 1
WHERE id = ({_LAST}) AND status = '{StatusEmissao.PENDENTE}' AND retida = 'pessoa' AND em_duvida IS FALSE
""")  # noqa: S608 - our own constant
_WAITS = sa.text(f"""
SELECT status = '{StatusEmissao.PENDENTE}' AND coalesce(retida = 'pessoa', FALSE) AND em_duvida IS FALSE
FROM nfse_emissao WHERE id = ({_LAST}) FOR UPDATE
""")  # noqa: S608 - our own constant
_ASKED_ABOUT = sa.text(f"""
SELECT e.id, e.sessao_id FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id
WHERE e.retida = 'pessoa' AND e.status = '{StatusEmissao.PENDENTE}' AND e.em_duvida IS FALSE
    AND s.conversa = :conversa
ORDER BY e.id LIMIT 1
""")  # noqa: S608 - our own constant
# All that became notes, however the others ended; whoever settles one waits for who settles another.
_ISSUED = sa.text(f"""
SELECT e.id, p.numero FROM nfse_emissao e JOIN nfse_processada p ON p.emissao_id = e.id
WHERE e.sessao_id = :sessao_id AND e.revisao = :revisao AND e.id <> :emissao_id
    AND p.status <> '{StatusNota.CANCELADO}'
ORDER BY e.tentativa
""")  # noqa: S608 - our own constants
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(sa.bindparam("b_intent", type_=sa.Text), 0)))


async def newest(connection: Connection, sessao_id: str, revisao: int) -> Any | None:
    """Return the newest attempt's row, locked until the transaction ends; ``None`` before the first."""
    return (await connection.execute(_NEWEST, {"b_sessao": sessao_id, "b_revisao": revisao})).one_or_none()


def is_certainly_nobodys(row: Any) -> bool:
    """Tell whether an attempt's row says that nobody accepted any call of it, and that none is under way."""
    certain = row.em_duvida is False and row.recusa is None
    return certain and row.status in RETOMAVEIS


async def named(connection: Connection, id_integracao: str) -> Any | None:
    """Return an attempt with its session's ``conversa``, ``estado`` and ``pendente``; ``None`` if there is none."""
    return (await connection.execute(_NAMED, {"b_id_integracao": id_integracao})).one_or_none()


async def resume(connection: Connection, sessao_id: str, revisao: int) -> bool:
    """Let the stored bytes of a revision's newest attempt go; False unless certainly nobody accepted them.

    ``desejado_em`` is set to now: the person, or staff, want the invoice.
    """
    values = {"sessao_id": sessao_id, "revisao": revisao}
    return (await connection.execute(_RESUME, values)).rowcount == 1


async def withdraw(connection: Connection, sessao_id: str, revisao: int) -> bool:
    """End an attempt that waits for its person and that nobody accepted: it is never sent. False when it is not one."""
    values = {"sessao_id": sessao_id, "revisao": revisao}
    return (await connection.execute(_WITHDRAW, values)).rowcount == 1


async def waits_for_person(connection: Connection, sessao_id: str, revisao: int) -> bool:
    """Tell whether the revision's emission waits for its person's word; it stays locked until the transaction ends."""
    values = {"sessao_id": sessao_id, "revisao": revisao}
    return bool((await connection.execute(_WAITS, values)).scalar_one_or_none())


async def asked_about(connection: Connection, conversa: str) -> tuple[int, str] | None:
    """Return the oldest emission of the conversation that waits for its person's word, and its session."""
    row = (await connection.execute(_ASKED_ABOUT, {"conversa": conversa})).one_or_none()
    return None if row is None else (int(row.id), row.sessao_id)


async def other_notes(connection: Connection, sessao_id: str, revisao: int, emissao_id: int) -> list[str]:
    """Return the numbers of the standing notes that other attempts at the same revision became."""
    await connection.execute(_LOCK, {"b_intent": f"{sessao_id}:{revisao}"})
    values = {"sessao_id": sessao_id, "revisao": revisao, "emissao_id": emissao_id}
    return [row.numero for row in await connection.execute(_ISSUED, values)]


async def failures(connection: Connection, emissao_id: int, most: int) -> int:
    """Return how many of the newest ``most`` calls of an emission ended in an exception of our own."""
    newest = (
        sa.select(gateway_tentativas.c.resultado)
        .where(gateway_tentativas.c.emissao_id == emissao_id)
        .order_by(gateway_tentativas.c.id.desc())
        .limit(most)
    )
    return list((await connection.execute(newest)).scalars()).count(RAISED)
