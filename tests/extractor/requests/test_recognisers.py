from __future__ import annotations

from typing import Any

import pytest

from extractor.contract import Context
from extractor.requests import recognisers, requests
from extractor.requests.recognisers import BY_WORDS, ONLY_ASKS, REQUESTS, Recogniser, first
from extractor.rules import RulesExtractor
from extractor.text.folding import read
from extractor.utterance import BY_DATA, understand
from tests.extractor.conftest import HOJE


def _example(row: Recogniser[Any, Any]) -> str:
    return f"{row.wants}-{row.example}"


@pytest.mark.parametrize("row", BY_WORDS, ids=_example)
def test_the_example_of_an_act_by_its_words_is_taken_by_no_row_before(row):
    """Whether a summary is shown or not: the row is the first that takes its own example."""
    for shown in (False, True) if row.shown is None else (row.shown,):
        assert first(BY_WORDS, read(row.example), shown=shown) is row


@pytest.mark.parametrize("row", REQUESTS, ids=_example)
def test_the_example_of_a_request_is_taken_by_no_row_before(row):
    assert first(REQUESTS, read(row.example)) is row


@pytest.mark.parametrize("row", ONLY_ASKS, ids=_example)
def test_the_example_of_a_turn_that_only_asks_is_taken_by_no_row_before(row, monkeypatch):
    turns = []
    monkeypatch.setattr(recognisers, "first", lambda rows, turn: turns.append(turn) if rows is ONLY_ASKS else None)
    requests.read_request(row.example)
    assert first(ONLY_ASKS, turns[0]) is row


@pytest.mark.parametrize("row", BY_DATA, ids=_example)
async def test_the_example_of_an_act_by_its_data_is_taken_by_no_row_before(row):
    dita = await understand(row.example, Context(HOJE), RulesExtractor())
    assert first(BY_DATA, dita) is row


@pytest.mark.parametrize(
    ("texto", "carried"),
    [
        ("caramba, quanto eu já emiti em outubro?", {"quando"}),
        ("quero o xml da oficina do Zé, viu amiga", {"clientes", "formatos"}),
        ("já que deu certo manda pro e-mail da oficina: ze@exemplo.com", {"clientes", "emails"}),
        ("e aí, falar com uma pessoa de outubro, ze@exemplo.com, xml", set()),
    ],
)
def test_a_request_carries_what_its_row_says(texto, carried):
    """Of what the words name besides, only the parts of that row are kept."""
    row, said = first(REQUESTS, read(texto)), requests.read_request(texto)
    assert row is not None
    assert said is not None
    assert (said.tipo, set(row.carries)) == (row.wants, carried)
    plain = requests.Pedido(row.wants)
    names = ("clientes", "formatos", "quando", "emails")
    assert {name for name in names if getattr(said, name) != getattr(plain, name)} == carried
