"""One row says everything about a field: who asks, checks, shows or stores it reads the table."""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import cast

import pytest

from extractor.model.prompt import FURTHER, Resposta
from gateway.plugnotas import outcome
from persistence.conversations.snapshots import dump_rascunho
from persistence.tables import session_snapshot
from state_machine.catalogue.questions import pergunta
from state_machine.invoice.draft import VAZIO, Lido, Rascunho, StatusCampo
from state_machine.invoice.field_table import FIELDS, Field, FieldKind, field_named
from state_machine.invoice.fields import Campo, Motivo
from state_machine.invoice.session import Estado
from state_machine.machine.events import Abriu, Informou
from tests.state_machine.made_sessions import AGORA, TUDO, diz, lido, nova, resposta
from webhooks.console.pages.snapshot import compare
from webhooks.console.pages.why import nome_do_campo
from webhooks.console.render.format import Olhar

ROOT = Path(__file__).parents[3]
PACKAGES = ("bot", "extractor", "gateway", "operations", "persistence", "state_machine", "webhooks")
TABLE = "state_machine/invoice/field_table.py"
BESIDE = {"cadastro", "substitui"}  # nobody says them: the register's entry, and the note that is substituted
MOST = 3  # fields that a collection of its own may name: the whole of them belongs to the table


class Obra(StrEnum):
    """A field that the product does not have."""

    OBRA = "obra"


@dataclass(frozen=True, slots=True)
class RascunhoDeObra(Rascunho):
    """A draft with a place for it."""

    obra: Lido = VAZIO


def _cno(texto: str) -> str:
    if not texto.isdigit():
        raise ValueError("no CNO")
    return texto


TOY = Field(
    campo=cast("Campo", Obra.OBRA),  # a member that only the test knows
    kind=FieldKind.TEXTO,
    check=_cno,
    of_customer=False,
    required=True,
    article="a",
    label="obra",
    name="o número da obra",
    staff_name="a obra",
    question="Qual é o número da obra?",
    example="Por exemplo: _obra 123_.",
    summary="Obra",
    prompt="número CNO da obra.",
    words="obra",
    stems="obr",
)


@pytest.fixture
def toy(monkeypatch):
    """The table has one row more."""
    monkeypatch.setitem(FIELDS, Obra.OBRA, TOY)
    return nova(rascunho=RascunhoDeObra()), Abriu(RascunhoDeObra())


def test_a_new_row_is_asked(toy):
    """A required field without a value is asked for, in its own words."""
    decision = diz(*toy, Informou(TUDO))
    assert decision.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert resposta(decision).texto.startswith(TOY.question)


def test_a_new_row_is_checked(toy):
    """What its check refuses is in doubt and asked back by its name; what it takes completes the draft."""
    errada = diz(*toy, Informou((*TUDO, lido(Obra.OBRA, "azul"))))
    assert errada.sessao.rascunho.campo(Obra.OBRA).status is StatusCampo.INVALID
    assert errada.sessao.rascunho.campo(Obra.OBRA).motivo is Motivo.AMBIGUO
    assert "Não tive certeza sobre o número da obra" in resposta(errada).texto
    assert diz(errada.sessao, Informou((lido(Obra.OBRA, "123"),))).sessao.rascunho.completo


def test_a_new_row_is_summarised(toy):
    """It has its line in the summary, and a correction names it."""
    completa = diz(*toy, Informou((*TUDO, lido(Obra.OBRA, "123"))))
    assert "\nObra: 123\n" in resposta(completa).texto
    outra = diz(completa.sessao, Informou((lido(Obra.OBRA, "456"),)), agora=AGORA)
    assert resposta(outra).texto.startswith("*Mudei a obra de 123 para 456.*")


def test_a_new_row_is_shown_to_staff(toy):
    """The pages show it beside the others, under its name."""
    draft = {"obra": {"status": "validated", "valor": "123", "escrito": "obra 123"}}
    (row,) = compare({}, draft, Olhar())
    assert (row.campo, row.depois.valor, row.depois.status) == ("obra", "123", "aceito")
    assert nome_do_campo("obra") == "obra"


@pytest.mark.usefixtures("toy")
def test_a_new_row_that_is_missing_is_named_with_what_stands():
    """A question says which of the required fields are missing, the new one among them."""
    assert "o número da obra" in pergunta(nova(rascunho=RascunhoDeObra())).texto


def test_every_field_has_one_row_and_one_place_everywhere():
    """``Campo``, the draft, its JSON, the model's answer and the snapshot's columns name the same fields."""
    names = [campo.value for campo in Campo]
    assert [row.campo.value for row in FIELDS.values()] == names
    assert [f.name for f in fields(Rascunho) if f.name not in BESIDE] == names
    assert [name for name in dump_rascunho(Rascunho()) if name not in BESIDE] == names
    read = [campo.value for campo, row in FIELDS.items() if row.read]
    assert [name for name in Resposta.model_fields if name not in {"ato", *FURTHER}] == read
    stored = {c.name.removesuffix("_status") for c in session_snapshot.columns if c.name.endswith("_status")}
    assert {row.column for row in FIELDS.values() if row.column} == stored


def test_a_field_that_an_authority_may_refuse_is_found_in_its_answer():
    """The channel knows the path of every field that has a reason of refusal, and of no other."""
    paths = {explicacao.campo for _, explicacao in outcome.CAMPOS if explicacao.campo}
    assert paths == {campo for campo, row in FIELDS.items() if row.refused}


@pytest.mark.parametrize("row", FIELDS.values(), ids=lambda row: row.campo.value)
def test_a_field_is_found_by_both_of_its_names(row):
    """Ours and the specification's name the same row; a name of nobody's names none."""
    assert field_named(row.campo.value) is field_named(row.stored_as) is row
    assert field_named("altura") is None


def test_no_module_has_a_table_of_all_fields_of_its_own():
    """A dict, a list or a ``match`` over most fields belongs to the table, as a column."""
    found = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            where = path.relative_to(ROOT).as_posix()
            if where == TABLE or "migrations" in where:
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                named = _named(node)
                if len(named) > MOST:
                    found.append(f"{where}:{getattr(node, 'lineno', 0)} {sorted(named)}")
    assert not found, "\n".join(found)


def _named(node: ast.AST) -> set[str]:
    """Return the fields that key a collection, or that the cases of a ``match`` name."""
    match node:
        case ast.Dict():
            keys = node.keys
        case ast.Tuple() | ast.List() | ast.Set() if len(node.elts) <= 2 * len(Campo):  # longer: words of a language
            keys = [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in node.elts]
        case ast.Match():
            keys = [p.value for case in node.cases for p in ast.walk(case.pattern) if isinstance(p, ast.MatchValue)]
        case _:
            return set()
    return {name for key in keys if (name := _campo(key))}


def _campo(key: ast.AST | None) -> str | None:
    match key:
        case ast.Attribute(value=ast.Name(id="Campo"), attr=name) if name in Campo.__members__:
            return Campo[name].value
        case ast.Constant(value=str(name)) if name in {c.value for c in Campo}:
            return name
        case _:
            return None
