"""The lists of words: files that are read strictly, once, and of which nothing stands idle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from extractor.text.folding import canonical, near
from extractor.words.lists import FOLDER, known, lists, meanings, numbers, words
from tests.adversaries import cpu_ms

EXTRACTOR = Path(__file__).parents[3] / "extractor"
READS = {"words", "meanings", "numbers"}
HEAD = "[fruit]\nfor: what grows\nfrom: written by the project\n"


def used() -> list[str]:
    """Return the name of every list that a module reads, as often as it is read."""
    calls = (
        node
        for path in sorted(EXTRACTOR.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in READS
    )
    return [str(name.value) for node in calls for name in node.args if isinstance(name, ast.Constant)]


def test_every_list_is_read_by_a_module_and_every_name_is_one_of_a_list():
    """A list that nobody reads, and a name that has no list, are slips."""
    assert set(used()) == known().keys()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{HEAD}uva, pera, uva\n", "stands twice"),
        (f"{HEAD}1 = uva\n2 = uva\n", "stands twice"),
        (f"{HEAD}Uva, pera\n", "Uva"),
        (f"{HEAD}maçã, pera\n", "maçã"),
        (f"{HEAD}uva,pera\n", "uva,pera"),
        (f"{HEAD}uva, , pera\n", "''"),
        (f"{HEAD}uva  passa\n", "uva  passa"),
        (f"{HEAD}1 = uva\npera\n", "only some"),
        (f"{HEAD}1 = uva = pera\n", "1 = uva = pera"),
        (HEAD, "fruit"),
        ("[fruit]\nfor: what grows\nuva\n", "fruit"),
        ("[fruit]\nfrom: nowhere\nuva\n", "fruit"),
        ("uva, pera\n", "uva, pera"),
        (f"{HEAD}uva\n\n{HEAD}pera\n", "fruit"),
        (f"{HEAD}uva\n{HEAD}pera\n", "fruit"),
    ],
)
def test_a_broken_list_is_told(tmp_path, text, told):
    """Twice the same word or list, upper case, accents, no word, no purpose, no source, no name."""
    (tmp_path / "broken.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=told):
        lists(tmp_path)


def test_a_name_without_a_list_is_told():
    """Whoever asks for a list that is none gets no empty one."""
    for read in (words, meanings, numbers):
        with pytest.raises(LookupError, match="fruit"):
            read("fruit")


def test_a_list_is_read_as_it_is_written(tmp_path):
    """Remarks are left out, lines joined, phrases whole; meanings stand with their words, in the order of writing."""
    (tmp_path / "one.txt").write_text(f"# Fruit.\n\n{HEAD}uva, pera,\n# seldom\nuva passa\n", encoding="utf-8")
    (tmp_path / "two.txt").write_text(f"{HEAD.replace('fruit', 'short')}eh = é\npor favor = pf, p/\n", encoding="utf-8")
    assert lists(tmp_path) == {
        "fruit": {"uva": "", "pera": "", "uva passa": ""},
        "short": {"é": "eh", "pf": "por favor", "p/": "por favor"},
    }


def test_all_lists_are_read_in_milliseconds():
    """The start of a process waits for them once; the bound is five times what it takes."""
    assert cpu_ms(lambda: lists(FOLDER), 10.0) < 10.0


def test_no_word_stands_idle():
    """What the distance to a cue finds needs no row, and what it can't find no exception; folding leaves every word."""
    spelled = {**meanings("abbreviations"), **meanings("number_spellings")}
    assert [word for word, meaning in spelled.items() if near(word) == meaning] == []
    assert [word for word in words("not_typos") if near(word) in {None, word}] == []
    typed = {"abbreviations", "number_spellings", "learned_numbers"}  # before or without folding
    assert [
        (name, word)
        for name in known().keys() - typed
        for word in known()[name]
        if any(canonical(each) not in {None, each} for each in word.split())
    ] == []
