from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from extractor.hybrid import HybridExtractor
from extractor.rules import RulesExtractor
from extractor.two_readers import TwoReaders
from proofs.reading.authors import evaluate_authors, wilson
from proofs.reading.evaluate import evaluate
from proofs.reading.tape import Player

CORPUS = Path(__file__).parents[1] / "corpus"
PARTS = ("train", "dev", "test", "fresh", "blind")


FROZEN = [f"{kind}/{part}.sha256" for kind in ("authors", "dialogues") for part in ("test", "fresh", "blind")]


@pytest.mark.parametrize("frozen", FROZEN)
def test_the_frozen_parts_are_frozen(frozen: str) -> None:
    """Their hashes were written before anything was run on them; a changed label is another corpus."""
    listed = CORPUS / frozen
    folder = listed.parent / listed.stem if listed.parent.name == "authors" else listed.parent.parent
    for line in listed.read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_no_author_is_in_two_parts() -> None:
    """Who taught the second reader is no judge of it."""
    parts = [{file.name for file in (CORPUS / "authors" / part).glob("*.jsonl")} for part in PARTS]
    assert sum(map(len, parts)) == len(set().union(*parts)) >= 25
    messages = sum(len(file.read_bytes().splitlines()) for file in (CORPUS / "authors").rglob("*.jsonl"))
    dialogues = sum(len(file.read_bytes().splitlines()) for file in (CORPUS / "dialogues").glob("*.jsonl"))
    assert messages >= 5_000
    assert dialogues >= 300


# What was measured is the floor: see tests/corpus/README.md.
@pytest.mark.parametrize(
    ("part", "wrong", "needless", "valor", "descricao", "nome", "other_names", "ato"),
    [
        ("test", 0, 0.09, 0.965, 0.63, 0.54, 12, 0.96),
        ("fresh", 0, 0.08, 0.955, 0.59, 0.52, 41, 0.96),
        ("blind", 0, 0.065, 0.965, 0.76, 0.68, 22, 0.96),
        ("dev", 0, 0.13, 0.945, 0.60, 0.58, 6, 0.92),
    ],
)
async def test_new_authors_are_understood(
    part: str, wrong: int, needless: float, valor: float, descricao: float, nome: float, other_names: int, ato: float
) -> None:
    """On authors whom nothing was learned from; a message takes milliseconds."""
    report = await evaluate_authors(sorted((CORPUS / "authors" / part).glob("*.jsonl")), TwoReaders())
    whole = report.whole
    assert whole.wrong <= wrong, report.failures
    assert whole.alone == 0, report.alone
    assert whole.needless <= needless * whole.due
    assert whole.valor >= valor * whole.messages
    assert whole.descricao >= descricao * whole.services
    assert whole.nome >= nome * whole.names
    assert whole.other_names <= other_names
    assert whole.ato >= ato * whole.acts


async def test_with_a_models_recorded_answers_new_authors_are_understood_better() -> None:
    """The road of whoever sets a model's key: every question is in the record, so a changed prompt needs a new one."""
    client = Player(CORPUS / "model" / "blind.jsonl")
    async with HybridExtractor(client) as reader:
        whole = (await evaluate_authors(sorted((CORPUS / "authors" / "blind").glob("*.jsonl")), reader)).whole
    assert client.missed == 0
    assert whole.wrong <= 4
    assert whole.needless <= 0.04 * whole.due
    assert whole.descricao >= 0.87 * whole.services


async def test_two_readers_take_fewer_wrong_amounts_than_one() -> None:
    """The judge of the test above can say no: the rules alone take ten times as many."""
    files = sorted((CORPUS / "authors" / "test").glob("*.jsonl"))
    alone = await evaluate_authors(files, RulesExtractor())
    assert alone.whole.wrong > 50
    assert {message.autor for message, _ in alone.failures} <= {file.stem for file in files}


async def test_what_probing_had_found_does_not_come_back() -> None:
    """Of 86 families found by probing the rules took 33 wrongly; they are no blind judge any more."""
    report = await evaluate(CORPUS / "hard.jsonl", TwoReaders())
    assert len(report.critical_wrong) <= 8
    assert report.accuracy("valor") >= 0.65


async def test_an_alternative_label_is_as_good(tmp_path: Path) -> None:
    """``alt`` names, by turn and field, what else a careful person accepts; anything else is still wrong."""
    turn = {"user": "nota de 500", "expect": {"valor": None, "ask": ["valor"]}}
    for accepted, exact in ((["500.00"], 1.0), (["900.00"], 0.0)):
        case = {"id": "x", "today": "2026-11-23", "turns": [turn], "alt": {"0": {"valor": accepted}}}
        path = tmp_path / "alt.jsonl"
        path.write_text(json.dumps(case) + "\n")
        assert (await evaluate(path, RulesExtractor())).exact_case == exact


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 1000, 0.0, 0.00383), (8, 277, 0.01470, 0.05595), (5, 10, 0.23659, 0.76341)]
)
def test_the_interval_is_wilsons(hits: int, of: int, low: float, high: float) -> None:
    """Known values of E. B. Wilson's score interval at 95 %."""
    share, lower, upper = wilson(hits, of)
    assert share == hits / of
    assert (lower, upper) == pytest.approx((low, high), abs=2e-4)
