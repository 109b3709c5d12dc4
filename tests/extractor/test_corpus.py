from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from extractor.rules import RulesExtractor
from proofs.reading.evaluate import evaluate

CORPUS = Path(__file__).parents[1] / "corpus"
TARGETS = {"valor": 0.97, "documento": 0.98, "descricao": 0.90, "intent": 0.95}


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


def test_the_frozen_part_is_frozen():
    """A changed test case changes the hash; add new cases to the dev part instead."""
    recorded = (CORPUS / "test.jsonl.sha256").read_text().split()[0]
    assert hashlib.sha256((CORPUS / "test.jsonl").read_bytes()).hexdigest() == recorded


def test_the_corpus_is_broad():
    """At least 300 single cases and 40 dialogues of four to eight turns, each with a name of its own."""
    everything = cases("dev.jsonl") + cases("test.jsonl")
    blind = cases("blind.jsonl") + cases("fresh.jsonl")
    dialogues = [c for c in everything if len(c["turns"]) > 1]
    assert len(everything) - len(dialogues) >= 300
    assert len(dialogues) >= 40
    assert all(4 <= len(d["turns"]) <= 8 for d in dialogues)
    assert len({c["id"] for c in everything + blind}) == len(everything + blind)


@pytest.mark.parametrize("part", ["dev.jsonl", "test.jsonl", "blind.jsonl", "fresh.jsonl"])
async def test_the_rules_reach_their_targets(part):
    """Accuracy per field, no wrong money, few needless questions, milliseconds."""
    report = await evaluate(CORPUS / part, RulesExtractor())
    reached = {campo: report.accuracy(campo) for campo in TARGETS}
    assert all(reached[campo] >= target for campo, target in TARGETS.items()), reached
    assert report.critical_wrong == []
    assert report.ask_rate <= 0.10
