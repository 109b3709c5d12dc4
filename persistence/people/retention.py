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
# Meta repeats webhooks for seven days: until then a row's key is what keeps a repetition from being new.
_TICKS = "t.estado = 1 AND t.tipo IN ('status', 'gateway', 'aviso_meta')"
_KEPT_FOR_META: Final = 8  # days
_AGAIN: Final = " de novo"  # the second walk's name, behind the first one's

# Small tables, what each kind is bound to in ``Prazos``, and the statement that forgets one batch of it.
VARREDURAS: Final[tuple[tuple[str, str], ...]] = (
    ("mensagens", _delete("anotacao", _old("t.em"))),
    ("mensagens", _delete("cliente_apelido", _old("t.usado_em"))),  # words of people, as messages are
    ("mensagens", _delete("lotes", f"t.status <> 'PROCESSING' AND {_old('t.atualizado_em')}")),  # and their rows
    ("estranhos", _STRANGERS),
    ("entradas", _delete("staff_atraso", _old("t.livre_em"))),
)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A walk through a table that grows with the invoices: what is done to which rows, and which moment is a row's age.

    A row comes to its age in the order of the ids, near enough: see ``sweep``.
    """

    nome: str
    tabela: str
    onde: str
    momento: str
    faz: str | None = None  # deleted, where nothing else is said

    def statement(self) -> str:
        """Return the statement for the rows of one stretch of ids."""
        linhas = (
            f"SELECT t.id FROM {self.tabela} t WHERE t.id > :desde AND t.id <= :ate AND {self.onde} ORDER BY t.id "
            "FOR UPDATE SKIP LOCKED"
        )
        feito = f"UPDATE {self.tabela} t SET {self.faz}" if self.faz else f"DELETE FROM {self.tabela} t"
        return f"{feito} WHERE t.id IN ({linhas})"


def _stripped(nome: str, onde: str) -> Sweep:
    old = f"{_FINAL} AND {_WORDS} AND {_old('t.updated_at')} AND {onde}"
    return Sweep(nome, "session_snapshot", old, "created_at", f"{SEM_PALAVRAS}, telefone = NULL")


TICKS: Final = Sweep("avisos", "inbox", f"{_TICKS} AND {_old('t.recebido_em')}", "recebido_em")
SWEEPS: Final[tuple[tuple[str, Sweep], ...]] = (
    (
        "mensagens",  # set aside, too
        Sweep("entrada", "inbox", f"t.estado <> 0 AND {_old('t.recebido_em')} AND {_NO_WARNING}", "recebido_em"),
    ),
    ("mensagens", Sweep("saida", "outbox", f"t.run_at IS NULL AND {_old('t.criado_em')}", "criado_em")),
    (
        "mensagens",
        Sweep("jornal", "transicoes", f"{_old('t.em')} AND t.detalhe <> '{{}}'", "em", "detalhe = '{}'"),
    ),
    ("mensagens", _stripped("emitidas", f"{_EMITTED} AND NOT {_UNDER_WAY}")),
    ("rascunhos", _stripped("rascunhos", f"NOT {_EMITTED}")),
    (
        "chamadas",
        Sweep(
            "chamadas",
            "gateway_tentativas",
            f"{_old('t.em')} AND (t.pedido IS NOT NULL OR t.resposta IS NOT NULL)",
            "em",
            "pedido = NULL, resposta = NULL",
        ),
    ),
)
_POINT = """
INSERT INTO varredura AS v (nome) VALUES (:nome) ON CONFLICT (nome) DO UPDATE SET desde = v.desde RETURNING desde
"""
_MOVED = "UPDATE varredura SET desde = :ate WHERE nome = :nome"


def stretch(walk: Sweep) -> str:
    """Return the query for the next ids: how many, up to which, and the first that is too young."""
    return f"""
SELECT count(*) AS lidas, max(id) AS ate, min(id) FILTER (WHERE NOT {_old("t." + walk.momento)}) AS nova
FROM (SELECT id, {walk.momento} FROM {walk.tabela} WHERE id > :desde ORDER BY id LIMIT :lote) t
"""


async def sweep(database: Database, prazos: Prazos) -> int:
    """Forget everything whose time is over, each batch in a transaction of its own; returns how many rows.

    Of a table that grows with the invoices only the rows behind the last stretch are looked at, up to the first that
    is too young. What could not go then, since its emission was under way, is found by a second walk, which begins
    anew when it has come to the end: it looks at 200,000 rows in one sweep.
    """
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
    for kind, walk in SWEEPS:
        if days := getattr(prazos, kind):
            total += await _pass(database, walk, days) + await _pass(database, walk, days, again=True)
    return total


async def forget_ticks(database: Database) -> int:
    """Delete ticks and hints that Meta repeats no more; returns how many rows."""
    return await _pass(database, TICKS, _KEPT_FOR_META) + await _pass(database, TICKS, _KEPT_FOR_META, again=True)


async def _pass(database: Database, walk: Sweep, days: int, *, again: bool = False) -> int:
    """Go on where the last sweep stopped, for ``BATCHES`` stretches at most."""
    statement = walk.statement()
    point = {"nome": f"{walk.nome}{_AGAIN if again else ''}"}
    total = 0
    for _ in range(BATCHES):
        async with database.transaction() as connection:
            desde = (await connection.execute(sa.text(_POINT), point)).scalar_one()
            bounds = {"dias": days, "desde": desde}
            lida = (await connection.execute(sa.text(stretch(walk)), {**bounds, "lote": BATCH})).one()
            ate = lida.ate if lida.ate is not None else desde
            total += (await connection.execute(sa.text(statement), {**bounds, "ate": ate})).rowcount
            ended = lida.nova is not None or lida.lidas < BATCH
            ate = lida.nova - 1 if lida.nova is not None else ate
            await connection.execute(sa.text(_MOVED), {**point, "ate": 0 if ended and again else ate})
        if ended:
            break
    return total
