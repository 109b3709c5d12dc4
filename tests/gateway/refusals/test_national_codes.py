"""Each code of the national layout has one plain reason, and who can repair it is told."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from gateway.nacional.outcome import explain
from gateway.port import Explicacao
from gateway.refusals import plain
from gateway.refusals.national_codes import CODIGOS, ROWS
from proofs.sandbox.nacional.errors import Erro
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.protocol.emission import Rejected

SHARED = [value for value in vars(plain).values() if isinstance(value, Explicacao)]
ALL = {explicacao.texto: explicacao for explicacao in (*SHARED, *plain.RECUSADOS.values(), *CODIGOS.values())}


@pytest.mark.parametrize("explicacao", ALL.values(), ids=lambda e: e.texto[:40])
def test_every_phrase_is_plain_and_fits_into_a_sentence(explicacao: Explicacao) -> None:
    """A phrase has no codes and no jargon, starts small, ends open, and names support exactly when it must."""
    assert not re.search(r"E\d|XML|JSON|DPS|payload|cTrib", explicacao.texto)
    assert explicacao.texto[0].islower()
    assert not explicacao.texto.endswith(".")
    assert explicacao.suporte == explicacao.texto.endswith("isso quem ajusta é o suporte")
    assert explicacao.suporte == (explicacao.campo is None and not explicacao.troca)


def test_no_code_is_listed_twice() -> None:
    """Each code has one reading."""
    assert [codigo for codigo, count in Counter(codigo for codigo, _ in ROWS).items() if count > 1] == []


def test_forty_codes_and_more_have_a_sentence_of_their_own() -> None:
    """A sentence that says the rule is worth more than one that many rules share."""
    texts = Counter(explicacao.texto for explicacao in CODIGOS.values())
    assert sum(texts[explicacao.texto] == 1 for explicacao in CODIGOS.values()) >= 40


def test_a_field_that_is_blamed_can_be_asked_again() -> None:
    """The person is asked only for what the table of fields can refuse."""
    blamed = {explicacao.campo for explicacao in CODIGOS.values() if explicacao.campo}
    assert blamed <= {campo for campo, row in FIELDS.items() if row.refused}
    assert {Campo.DOCUMENTO, Campo.COMPETENCIA, Campo.VALOR, Campo.NOME, Campo.ENDERECO} == blamed


@pytest.mark.parametrize("codigo", sorted(CODIGOS))
def test_the_authoritys_own_words_are_replaced_by_the_plain_reason(codigo: str) -> None:
    """A refusal as SEFIN words it is told by its code, whatever stands around it."""
    said = f'[{{"Codigo": "{codigo}", "Descricao": "{Erro(codigo).descricao.replace(chr(34), chr(39))}"}}]'
    assert explain(Rejected(said, (codigo,))) == CODIGOS[codigo]


def test_of_two_codes_the_one_that_the_person_can_repair_is_told() -> None:
    """The company's own trouble waits: the person is asked for the document."""
    assert explain(Rejected("x", ("E0312", "E0190"))).campo is Campo.DOCUMENTO
