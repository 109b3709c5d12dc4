"""A short storm around the whole product, by its own command; the long ones are in docs/reliability.md."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from storm.person import brl, customers
from storm.plan import Kind, Plan, blows, wishes

ROOT = Path(__file__).parents[2]
LIMIT = 400  # seconds; it takes about one hundred on two quiet cores
EMISSIONS = 40


def test_a_seed_is_a_schedule() -> None:
    """The same seed draws the same blows and the same crowd, another seed others."""
    first, again, other = (list(islice(blows(Plan(5, seed)), 50)) for seed in (7, 7, 8))
    assert first == again != other
    assert {blow.kind for blow in first} == set(Kind)
    assert wishes(Plan(50, 7), customers()) == wishes(Plan(50, 7), customers()) != wishes(Plan(50, 8), customers())


def test_every_person_of_the_crowd_has_an_amount_of_their_own() -> None:
    """A note can be told apart by its amount alone, also from amounts that were said and corrected."""
    crowd = wishes(Plan(500, 1), customers())
    said = [wish.valor for wish in crowd] + [wish.antes for wish in crowd if wish.antes]
    assert len(set(said)) == len(said)
    assert any(wish.toca_antiga for wish in crowd)
    assert brl(crowd[100].valor) == "1.007,00"


@pytest.mark.storm
def test_a_short_storm_leaves_exactly_one_invoice_each(tmp_path: Path) -> None:
    """Through kills, frozen workers, a crashing database, flushes and a lying gateway, everybody gets one invoice."""
    out, page = tmp_path / "storm.json", tmp_path / "storm.html"
    command = ["storm", f"--emissions={EMISSIONS}", "--seed=1", "--kills-every=0.3-4"]
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "bot.cli", *command, f"--json={out}", f"--report={page}"],
        cwd=ROOT,
        timeout=LIMIT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.exists(), done.stderr
    result: dict[str, Any] = json.loads(out.read_text())
    verdict = result["verdict"]
    assert verdict["confirmed"] == verdict["notes"] == EMISSIONS
    broken = {
        name: verdict[name] for name in ("duplicates", "lost", "unconfirmed", "wrong", "stuck", "untold", "unstored")
    }
    assert not any(broken.values()), broken
    assert result["drained_after"] is not None
    assert sum(count for kind, count in result["blows"].items() if kind.startswith("kill")) >= 3
    assert result["gateway"]["faulty"]
    assert page.read_text().startswith("<!doctype html>")
