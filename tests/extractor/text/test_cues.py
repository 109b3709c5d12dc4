from __future__ import annotations

import importlib
import json
import pkgutil
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined, unused-ignore]  # typeshed leaves the parser out, a stub of others may not
from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]  # typeshed leaves the parser out, a stub of others may not
from typing import Any

import pytest

import extractor
from extractor.amounts import roles as amount_roles
from extractor.amounts.roles import GROUPS, SEVERAL
from extractor.contract import Context, Extraction
from extractor.rules import extract
from extractor.text.folding import Cued, stems
from state_machine.invoice.fields import Campo

MARKED = (
    "extractor.fields.dates.",
    "extractor.text.distractors.",
    "extractor.fields.documents.",
)  # they search what others left unread
TOUCHES_A_MARK = re.compile(r"(?<=[A-Z])[a-z]+|[a-z]{1,2}(?=[A-Z])")  # of a run cut short, the stem is not known
ANYTHING = " "
OF_A_CATEGORY = {
    op.CATEGORY_DIGIT: "7",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_WORD: "w",
    op.CATEGORY_NOT_WORD: "!",
    op.CATEGORY_NOT_SPACE: "x",
}


def cued() -> dict[str, Cued]:
    """Return every cued pattern of the package, alone or in a table, by where it stands."""
    found: dict[str, Cued] = {}
    for module in pkgutil.iter_modules(extractor.__path__, "extractor."):
        for name, value in vars(importlib.import_module(module.name)).items():
            rows = value if isinstance(value, tuple) else ((value,),)
            for number, row in enumerate(rows):
                for cell in row if isinstance(row, tuple) else (row,):
                    if isinstance(cell, Cued):
                        found[f"{module.name}.{name}.{number}"] = cell
    return found


def samples(tree: Any) -> list[str]:
    """Return texts of a parsed pattern, in which every one of its alternatives and options stands at least once."""
    parts = [_samples(kind, value) for kind, value in tree]
    usual = [part[0] for part in parts]
    found = ["".join(usual)]
    for i, part in enumerate(parts):
        found += ["".join([*usual[:i], other, *usual[i + 1 :]]) for other in part[1:]]
    return found


def _samples(kind: Any, value: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.IN:
        return _members(value)
    if kind is op.SUBPATTERN:
        return samples(value[-1])
    if kind is op.BRANCH:
        return [text for branch in value[1] for text in samples(branch)]
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
        least, most, body = value
        once = samples(body)
        if least or once[0] == ANYTHING:  # a gap between two words is none when it is empty
            return [text * max(least, 1) for text in once]
        return ["", *once, *([once[0] * 2] if most > 1 else [])]
    if kind is op.ASSERT and value[0] > 0:
        return ["", *samples(value[1])]  # what is looked ahead for mostly ends the pattern
    if kind is op.GROUPREF:
        return ["/", "aaa"]  # the separator of a date, and the word for what is counted
    return [ANYTHING] if kind in {op.ANY, op.NOT_LITERAL} else [""]  # the rest is left to the search


def _members(value: Any) -> list[str]:
    if value[0][0] is op.NEGATE:
        return [ANYTHING, "z", "~"]
    found = [chr(v) if k is op.LITERAL else chr(v[0]) if k is op.RANGE else OF_A_CATEGORY.get(v, "") for k, v in value]
    return found[:40]


CUED = cued()
GROUPED = [(group.cues, pattern) for group in GROUPS if group.cues for _, pattern in group.patterns]


def matched(pattern: re.Pattern[str]) -> list[str]:
    """Return the samples that the pattern does match, at least one."""
    found = [text for text in samples(parser.parse(pattern.pattern)) if pattern.search(text)]
    assert found
    return found


@pytest.mark.parametrize("name", sorted(CUED))
def test_a_pattern_matches_no_text_without_one_of_its_cues(name):
    """Leaving a search out when no cue is there changes no answer, nor do the words that marks have covered."""
    pattern = CUED[name]
    texts = matched(pattern.pattern)
    words = [TOUCHES_A_MARK.sub("", text) if name.startswith(MARKED) else text for text in texts]
    missed = [text for text, left in zip(texts, words, strict=True) if not pattern.search(text, stems(left))]
    assert missed == []


@pytest.mark.parametrize(("cues", "pattern"), GROUPED, ids=[pattern.pattern[:40] for _, pattern in GROUPED])
def test_an_amounts_pattern_matches_no_skeleton_without_one_of_its_cues(cues, pattern):
    """The same for the patterns of amounts, whose cues are also marks, a sign, and the number of amounts."""

    def said(line: str) -> set[str]:
        several = {SEVERAL} if len(re.findall("[VN]", line)) > 1 else set()
        return {*stems(line), *re.findall(r"[A-Z+]", line), *several}

    assert [line for line in matched(pattern) if cues.isdisjoint(said(line))] == []


def test_stems_are_how_words_begin():
    """Three letters of every run of a to z, and the whole of a shorter one."""
    assert stems("emite, N de 3kg pra maria²x") == {"emi", "de", "kg", "pra", "mar", "x"}


CORPUS = Path(__file__).parents[2] / "corpus"
KNOWN = {Campo.DOCUMENTO: "12345678000195", Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"}
CONTEXTS = (
    Context(date(2026, 11, 21)),
    Context(date(2026, 11, 21), resumo_mostrado=True, conhecidos=KNOWN),
    Context(date(2026, 11, 21), pendente=Campo.DESCRICAO, conhecidos={Campo.VALOR: "1500.00"}),
)


def read_all() -> list[Extraction]:
    """Read every message of every corpus, in three moments of a conversation."""
    cases = [json.loads(line) for file in sorted(CORPUS.glob("*.jsonl")) for line in file.read_text().splitlines()]
    said = [turn["user"] for case in cases for turn in case.get("turns", ())]
    said += [case["mensagem"] for case in cases if "mensagem" in case]
    return [extract(texto, each) for texto in said for each in CONTEXTS]


def test_no_answer_depends_on_what_was_not_searched_for(monkeypatch):
    """The whole of the corpora reads the same when every pattern is tried on every message."""
    spared = read_all()
    monkeypatch.setattr(Cued, "search", lambda self, text, _: self.pattern.search(text))
    monkeypatch.setattr(Cued, "finditer", lambda self, text, _: self.pattern.finditer(text))
    monkeypatch.setattr(amount_roles, "GROUPS", tuple(replace(each, cues=frozenset()) for each in GROUPS))
    assert read_all() == spared
