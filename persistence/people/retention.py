"""Forgets what nobody needs any more, a small batch at a time; fiscal documents and the audit are never touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from persistence.db.engine import Database
from persistence.people.parts import SEM_PALAVRAS
from persistence.tables.base import literals
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.session import FINAIS
from state_machine.protocol.emission import ENCERRADAS

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound


BATCH: Final = 500  # rows; a batch's locks last some milliseconds
BATCHES: Final = 400  # of one kind in one sweep: 200,000 rows; what is left waits for the next


@dataclass(frozen=True, slots=True)
class Prazos:
    """How many days each kind is kept; 0: for ever."""

    mensagens: int
    rascunhos: int
    estranhos: int
    chamadas: int
    entradas: int


_FINAL = f"t.estado IN ({literals(FINAIS)})"
_TYPED = " OR ".join(f"t.{row.column}_extracted IS NOT NULL" for row in FIELDS.values() if row.column)
_WORDS = f"""(t.telefone IS NOT NULL OR {_TYPED} OR t.rascunho::text LIKE '%"escrito": "%')"""
_EMITTED = "EXISTS (SELECT FROM nfse_emissao x WHERE x.session_id = t.id)"
_UNDER_WAY = f"""EXISTS (SELECT FROM nfse_emissao x WHERE x.session_id = t.id AND (x.proxima_acao_em IS NOT NULL
    OR x.status NOT IN ({literals(ENCERRADAS)})))"""


def _old(moment: str) -> str:
    return f"{moment} < now() - make_interval(days => :dias)"


def _batch(tabela: str, onde: str) -> str:
    return f"SELECT t.id FROM {tabela} t WHERE {onde} ORDER BY t.id LIMIT :lote FOR UPDATE SKIP LOCKED"


def _delete(tabela: str, onde: str) -> str:
    return f"DELETE FROM {tabela} WHERE id IN ({_batch(tabela, onde)})"


def _strip(onde: str) -> str:
    found = _batch("session_snapshot", f"{_FINAL} AND {_WORDS} AND {_old('t.updated_at')} AND {onde}")
    return f"UPDATE session_snapshot t SET {SEM_PALAVRAS}, telefone = NULL WHERE t.id IN ({found})"


_JOURNAL = _batch("transicoes", f"{_old('t.em')} AND t.detalhe <> '{{}}'")
_CALLS = _batch("gateway_tentativas", f"{_old('t.em')} AND (t.pedido IS NOT NULL OR t.resposta IS NOT NULL)")
# The rows that refer to a stranger's conversation go in the same statement: foreign keys are checked at its end.
_STRANGERS = f"""
WITH t AS (
    SELECT c.conversa FROM conversas c
    WHERE c.usuario_id IS NULL AND c.atendente_id IS NULL AND {_old("c.ultima_entrada_em")}
        AND NOT EXISTS (SELECT FROM session_snapshot s WHERE s.conversa = c.conversa)
        AND NOT EXISTS (SELECT FROM cancelamento n WHERE n.conversa = c.conversa)
        AND NOT EXISTS (SELECT FROM inbox i WHERE i.lane = c.conversa AND i.estado = 0)
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.conversa = c.conversa AND o.run_at IS NOT NULL)
    ORDER BY c.ultima_entrada_em LIMIT :lote FOR UPDATE SKIP LOCKED
), i AS (DELETE FROM inbox USING t WHERE inbox.lane = t.conversa),
o AS (DELETE FROM outbox USING t WHERE outbox.conversa = t.conversa),
a AS (DELETE FROM anotacao USING t WHERE anotacao.conversa = t.conversa)
DELETE FROM conversas USING t WHERE conversas.conversa = t.conversa
"""

# By its key a warning of 30 days is known to have been given; it names a company and a day.
_NO_WARNING = "(t.tipo <> 'certificado' OR t.recebido_em < now() - interval '31 days')"

# What each kind is bound to in ``Prazos``, and the statement that forgets one batch of it.
VARREDURAS: Final[tuple[tuple[str, str], ...]] = (
    ("mensagens", _delete("inbox", f"t.estado <> 0 AND {_old('t.recebido_em')} AND {_NO_WARNING}")),  # set aside, too
    ("mensagens", _delete("outbox", f"t.run_at IS NULL AND {_old('t.criado_em')}")),
    ("mensagens", _delete("anotacao", _old("t.em"))),
    ("mensagens", _delete("cliente_apelido", _old("t.usado_em"))),  # words of people, as messages are
    ("mensagens", _delete("lotes", f"t.status <> 'PROCESSING' AND {_old('t.atualizado_em')}")),  # and their rows
    ("mensagens", f"UPDATE transicoes SET detalhe = '{{}}' WHERE id IN ({_JOURNAL})"),
    ("mensagens", _strip(f"{_EMITTED} AND NOT {_UNDER_WAY}")),
    ("rascunhos", _strip(f"NOT {_EMITTED}")),
    ("estranhos", _STRANGERS),
    ("chamadas", f"UPDATE gateway_tentativas SET pedido = NULL, resposta = NULL WHERE id IN ({_CALLS})"),
    ("entradas", _delete("staff_atraso", _old("t.livre_em"))),
)


async def sweep(database: Database, prazos: Prazos) -> int:
    """Forget everything whose time is over, each batch in a transaction of its own; returns how many rows."""
    total = 0
    for kind, statement in VARREDURAS:
        days: int = getattr(prazos, kind)
        if not days:
            continue
        for _ in range(BATCHES):
            async with database.transaction() as connection:
                done = (await connection.execute(sa.text(statement), {"dias": days, "lote": BATCH})).rowcount
            total += done
            if done < BATCH:
                break
    return total
