"""Everyday Portuguese words find the codes that they mean, in one order, and it is said why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from state_machine.services.search import _rarity, among, search, stem
from tests.adversaries import cpu_ms

PHRASES = Path(__file__).parent / "phrases.jsonl"  # written before the search was; see docs/nacional.md
FIRST = 95  # of 100, the first run on 2026-11-24: the first hit is one of the accepted codes
MOST_MS = 200.0  # of CPU, of a pasted text; a text read whole takes seconds
AMONG_FIVE = 98  # one of the first five is


def _phrases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PHRASES.read_text("utf-8").splitlines()]


def test_phrases_of_every_day_find_their_codes_as_often_as_on_the_first_run():
    """A change of words or weights that finds fewer is seen."""
    hits = [([hit.codigo for hit in search(said["frase"], 5)], said["codigos"]) for said in _phrases()]
    assert len(hits) == 100
    assert sum(found[:1] != [] and found[0] in codigos for found, codigos in hits) >= FIRST
    assert sum(not set(found).isdisjoint(codigos) for found, codigos in hits) >= AMONG_FIVE


@pytest.mark.parametrize(
    ("busca", "codigo"),
    [
        ("conserto de celular", "140101"),
        ("faxina", "071002"),
        ("aula particular", "080201"),
        ("design de logo", "230101"),
        ("programação", "010201"),
        ("corte de cabelo", "060101"),
        ("CORTES DE CABELOS", "060101"),
        ("consertos de celulares", "140101"),
        ("programacao", "010201"),
        ("advocacia", "171401"),
    ],
)
def test_case_accents_and_plurals_make_no_difference(busca, codigo):
    """The first hit is the same however it is typed."""
    assert search(busca)[0].codigo == codigo


def test_a_code_finds_itself_alone():
    """With its dots or without; an unknown one finds nothing."""
    assert [hit.codigo for hit in search("01.07.01")] == ["010701"]
    assert [hit.codigo for hit in search("010701")] == ["010701"]
    assert search("999998") == []


@pytest.mark.parametrize("busca", ["", "   ", "de a o", "xyzw", "?!", "serviços prestados"])
def test_words_that_say_nothing_find_nothing(busca):
    """A guess would be worse than no answer."""
    assert search(busca) == []


def test_it_is_said_which_words_count():
    """In the order in which they were written."""
    assert search("manutenção do site da loja")[0].palavras == ("manutencao", "site")


def test_the_order_is_always_the_same():
    """Equal points are in the order of the codes."""
    hits = search("instalação")
    assert [(-hit.pontos, hit.codigo) for hit in hits] == sorted((-hit.pontos, hit.codigo) for hit in hits)
    assert hits == search("instalação")


def test_a_word_counts_once_for_a_code():
    """Said three times it says no more."""
    assert search("design design design")[0].pontos == search("design")[0].pontos


def test_stems_join_a_trade_with_its_work():
    """The noun, who does it and what was done."""
    assert stem("programacao") == stem("programador") == stem("programei")
    assert stem("sessoes") == stem("sessao")


def test_among_a_companys_own_codes_one_wins_clearly_or_nobody_does():
    """Half as many points again as the second; nothing said for any is no choice."""
    own = {"010701": None, "170101": None}
    hits, clear = among("formatei o notebook do cliente", own)
    assert (hits[0].codigo, clear) == ("010701", True)
    assert among("serviços de outubro", own)[1] is False
    assert among("suporte técnico e consultoria", {"010701": None, "010601": None})[1] is False


def test_a_companys_own_description_counts():
    """Its words are the company's own, whatever the table says."""
    own = {"010701": "plano ouro", "170101": "plano prata"}
    hits, clear = among("mensalidade do plano prata", own)
    assert (hits[0].codigo, clear) == ("170101", True)


def test_a_pasted_text_costs_no_time():
    """A query is read to its bound only."""
    assert cpu_ms(lambda: search("conserto de celular " * 50_000), MOST_MS) <= MOST_MS


def test_words_of_people_do_not_stay():
    """What was searched for makes room for what is searched next."""
    for each in range(9000):
        stem(f"palavra{each}")
    held = stem.cache_info()
    assert held.maxsize is not None
    assert held.currsize == held.maxsize < 9000
    assert _rarity.cache_info().maxsize == held.maxsize
