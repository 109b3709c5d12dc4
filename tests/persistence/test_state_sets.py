"""States are named in SQL by the sets of the state machine: in statements, in partial indexes and in constraints."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from persistence.tables import TALVEZ_SAIU, StatusSaida, metadata
from state_machine.cancellation.machine import CONVERSANDO, VIVOS, EstadoCancelamento, StatusNota
from state_machine.cancellation.reconciliation import Envio
from state_machine.invoice.session import COM_AUTORIDADE, ESPERAM_USUARIO, FINAIS, Estado
from state_machine.proposal import EstadoProposta
from state_machine.protocol.emission import COM_PESSOAS, EM_CURSO, ENCERRADAS, PEDEM_OLHOS, StatusEmissao

ROOT = Path(__file__).parents[2]
KINDS = (Estado, StatusEmissao, EstadoCancelamento, StatusNota, Envio, StatusSaida, EstadoProposta)
STATES = {str(state) for kind in KINDS for state in kind}
COLUMNS = "estado|status|envio|para|de"  # of the tables in which states stand
WRITTEN = re.compile(rf"(?:\b(?:{COLUMNS}) ?(?:=|<>|!=|IN \(|NOT IN \()|\bTHEN|\bELSE)\s?'(\w+)'", re.IGNORECASE)
QUOTED = re.compile(r"'(\w+)'")
# What becomes of each kind's states in SQL: every state is in exactly one of these.
PARTS = {
    Estado: (ESPERAM_USUARIO, COM_AUTORIDADE, FINAIS),
    StatusEmissao: (EM_CURSO, COM_PESSOAS, ENCERRADAS),
    EstadoCancelamento: (CONVERSANDO, VIVOS - CONVERSANDO, {"cancelado", "negado", "desistido", "expirado"}),
    StatusNota: ({"autorizado", "cancelamento_pendente"}, {StatusNota.CANCELADO}),
    StatusSaida: ({StatusSaida.PENDENTE}, TALVEZ_SAIU, {"enviado", "falhou", "entregue", "lido"}),
}


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_every_state_is_in_one_set(kind):
    """A new state is placed before anything runs: no statement can forget it in silence."""
    placed = [str(state) for part in PARTS[kind] for state in part]
    assert sorted(placed) == sorted(kind)


def test_what_needs_eyes_never_ends_in_silence():
    """Staff see what only people can end, and what may have been accepted; nothing that is over."""
    assert COM_PESSOAS < PEDEM_OLHOS
    assert not PEDEM_OLHOS & ENCERRADAS


def _written() -> list[str]:
    """Return the places of persistence/ in which a state is written by hand."""
    found = []
    for path in sorted((ROOT / "persistence").rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        if "migrations" in where:  # a migration says what was true on its day
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found += [f"{where}:{getattr(node, 'lineno', 0)} {word}" for word in _words(node) if word in STATES]
    return found


def _words(node: ast.AST) -> list[str]:
    """Return the state names that a piece of SQL, a comparison, a call of ``in_`` or a keyword writes out."""
    match node:
        case ast.Constant(value=str(text)):
            return WRITTEN.findall(text)
        case ast.Compare(left=ast.Attribute(attr=column), comparators=[ast.Constant(value=str(word))]):
            return [word] if re.fullmatch(COLUMNS, column) else []
        case ast.Call(func=ast.Attribute(attr="in_" | "not_in")):
            return [str(c.value) for argument in node.args for c in ast.walk(argument) if isinstance(c, ast.Constant)]
        case ast.keyword(arg=str(column), value=ast.Constant(value=str(word))):
            return [word] if re.fullmatch(COLUMNS, column) else []
        case _:
            return []


def test_no_statement_writes_a_state_by_hand():
    """Every state in persistence/ comes from its enumeration or from a set of the state machine."""
    assert _written() == []


@pytest.mark.parametrize(
    "code",
    [
        "X = \"SELECT 1 FROM t WHERE t.estado IN ('coleta', 'expirado')\"",
        "X = \"UPDATE t SET status = 'pendente'\"",
        "X = f\"{y} AND status <> 'cancelado'\"",
        "X = \"UPDATE t SET status = CASE WHEN pronta THEN 'enviando' ELSE status END\"",
        'X = t.c.status == "cancelado"',
        'X = t.c.status.in_(("erro", "conflito"))',
        'X = t.update().values(status="falhou")',
    ],
)
def test_a_state_written_by_hand_is_seen(code):
    """Each way in which a statement may name a state is found."""
    assert any(word in STATES for node in ast.walk(ast.parse(code)) for word in _words(node))


async def test_the_newest_schema_has_the_sets_in_its_partial_indexes(owner_url):
    """An index whose predicate lists states lists those of the set: a state more is a migration more."""
    connection = await asyncpg.connect(owner_url)
    rows = await connection.fetch(
        """
        SELECT c.relname, pg_get_indexdef(i.indexrelid) AS text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indpred IS NOT NULL AND i.indrelid = ANY(CAST($1::text[] AS regclass[]))
    """,
        list(metadata.tables),
    )
    await connection.close()
    stored = {row["relname"]: _quoted(row["text"].partition(" WHERE ")[2]) for row in rows}
    declared = {
        index.name: _quoted(_sql(where))
        for table in metadata.tables.values()
        for index in table.indexes
        if (where := index.dialect_options["postgresql"]["where"]) is not None
    }
    assert stored == declared
    assert sum(map(bool, stored.values())) > 8  # those that name states or kinds


async def test_the_newest_schema_has_the_sets_in_its_constraints(owner_url):
    """So does a check constraint that names states."""
    connection = await asyncpg.connect(owner_url)
    rows = await connection.fetch(
        """
        SELECT conname, conrelid::regclass::text AS tabela, pg_get_constraintdef(oid) AS text FROM pg_constraint
        WHERE contype = 'c' AND conrelid = ANY(CAST($1::text[] AS regclass[]))
    """,
        list(metadata.tables),
    )
    await connection.close()
    stored = sorted((row["tabela"], sorted(_quoted(row["text"]))) for row in rows)
    declared = sorted(
        (table.name, sorted(_quoted(_sql(constraint.sqltext))))
        for table in metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, sa.CheckConstraint)
    )
    assert stored == declared


def _quoted(text: str) -> set[str]:
    return set(QUOTED.findall(text))


def _sql(expression: sa.ClauseElement) -> str:
    return str(expression.compile(dialect=postgresql.dialect()))
