"""The table of national codes is whole, is what its digest says, and is written for people with dots."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from proofs.sandbox.nacional.documents import services
from proofs.scripts.service_codes import rows
from state_machine.services.codes import digest, digits, dotted, nbs, table, text_of
from state_machine.services.search import WORDS


def _stored() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        files("state_machine.services").joinpath("national_codes.json").read_text("utf-8")
    )
    return told


def test_the_table_is_whole_and_unchanged():
    """Anexo I has 337 codes; the head names source, version and day, and the digest of the very rows."""
    told = _stored()
    assert len(told["servicos"]) == told["quantos"] == len(table().codigos) == 337
    assert digest(told["servicos"]) == told["sha256"] == table().sha256
    assert told["completa"] is True
    assert told["fonte"]
    assert told["versao"] == "1.01 de 2026-02-09"


def test_the_script_makes_the_same_rows_of_a_table_that_lost_its_zeros():
    """The spreadsheet has numbers: 10101 is 01.01.01."""
    stored = _stored()["servicos"]
    assert rows([[codigo.lstrip("0"), *others] for codigo, *others in reversed(stored)]) == stored


@pytest.mark.parametrize(
    "line",
    [["abc", "texto", "", ""], ["10101", " ", "", ""], ["10101", "texto", "evento", ""], ["10101", "texto", "", "x"]],
)
def test_the_script_refuses_what_is_no_row(line):
    """A code without digits, without a text, or of an unknown group."""
    with pytest.raises(ValueError, match="no row"):
        rows([line])


def test_the_script_refuses_a_code_twice():
    """Nobody could tell which text counts."""
    with pytest.raises(ValueError, match="second time"):
        rows([["10101", "um", "", ""], ["010101", "outro", "", ""]])


def test_the_simulated_authority_has_the_same_table():
    """There is one list, and no copy of it."""
    assert services() == {codigo: row.texto for codigo, row in table().codigos.items()}


def test_codes_are_written_with_dots_and_read_with_or_without():
    """What people write comes back as the six digits."""
    assert dotted("010701") == "01.07.01"
    assert dotted("17.01") == "17.01"  # an item of the LC 116, which another channel takes
    assert digits("01.07.01") == digits("010701") == "010701"
    assert text_of("010201") == "Programação"
    assert text_of("999999") is None


@pytest.mark.parametrize("said", ["0107", "01.0701", "1.07.01", "01 07 01", "", "x"])
def test_what_is_no_code_is_refused(said):
    """Nothing is filled in."""
    with pytest.raises(ValueError, match="national code"):
        digits(said)


def test_an_nbs_code_has_nine_digits():
    """It begins with 1, the NBS being of services."""
    assert nbs("1.1506.10.00") == "115061000"
    with pytest.raises(ValueError, match="NBS"):
        nbs("11506100")


def test_everyday_words_are_of_codes_that_exist():
    """No entry is empty, and none is of an unknown code."""
    assert set(WORDS) <= set(table().codigos)
    assert all(entry.strip() for text in WORDS.values() for entry in text.split(","))
