"""Each code of the national layout has one plain reason, and who can repair it is told."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from gateway.nacional.outcome import explain
from gateway.port import Explicacao
from gateway.refusals import plain
from gateway.refusals.national_codes import CODIGOS, ROWS
from proofs.sandbox.nacional.annex import annex
from proofs.sandbox.nacional.errors import Erro
from state_machine.invoice.fields import Campo
from state_machine.machine.events import Abriu
from state_machine.machine.transition import transition
from state_machine.protocol.emission import Rejected
from tests.state_machine.made_sessions import AGORA, em_processo, nova

# Of the same sheet, what SEFIN does not execute: the shared environment's rules, and what waits for its module.
_ELSEWHERE = """
E0031 E0032 E0034 E0035 E0161 E0235 E1270 E1272 E1294 E1304 E1306 E1308 E1310 E1388 E1402 E1638
"""
SHEET = {*annex().mensagens, *_ELSEWHERE.split()}
# Those that a document of ours can break, or an answer in the chat.
_REACHED = """
E0050 E0237 E0302 E0310 E0312 E0370 E0372 E0380 E0390 E0392 E0398 E0532 E0539 E0540 E0580 E0583 E0588 E0667 E0600 E0602
E0604 E0617 E0619 E0621 E0625 E0628 E0631 E0635 E0640
"""
REACHED = _REACHED.split()
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


def test_each_code_of_the_sheet_has_a_reason() -> None:
    """Nobody reads the authority's own sentence, nor that the reason is unknown."""
    assert len(SHEET) == 325
    assert SHEET - set(CODIGOS) == set()


def test_a_code_that_is_reached_has_a_sentence_of_its_own() -> None:
    """A sentence that says the rule is worth more than one that many rules share; so have 100 codes and more."""
    texts = Counter(explicacao.texto for explicacao in CODIGOS.values())
    assert [codigo for codigo in REACHED if texts[CODIGOS[codigo].texto] > 1] == []
    assert sum(texts[CODIGOS[codigo].texto] == 1 for codigo in SHEET) >= 100


@pytest.mark.parametrize("campo", sorted({e.campo for e in CODIGOS.values() if e.campo}))
def test_a_field_that_is_blamed_can_be_asked_again(campo: Campo) -> None:
    """The session that repairs the note asks for it first."""
    decision = transition(nova(), Abriu(em_processo().rascunho, campo), AGORA)
    assert decision.sessao.pendente is campo


@pytest.mark.parametrize("codigo", sorted(CODIGOS))
def test_the_authoritys_own_words_are_replaced_by_the_plain_reason(codigo: str) -> None:
    """A refusal as SEFIN words it is told by its code, whatever stands around it."""
    said = f'[{{"Codigo": "{codigo}", "Descricao": "{Erro(codigo).descricao.replace(chr(34), chr(39))}"}}]'
    assert explain(Rejected(said, (codigo,))) == CODIGOS[codigo]


def test_of_two_codes_the_one_that_the_person_can_repair_is_told() -> None:
    """The company's own trouble waits: the person is asked for the document."""
    assert explain(Rejected("x", ("E0312", "E0190"))).campo is Campo.DOCUMENTO
