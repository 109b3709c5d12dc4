"""A storm around the whole product, by its own command; the longest ones are in docs/reliability.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import children
from tests.nightly import size

ROOT = Path(__file__).parents[3]
EMISSIONS = size(40, 2000)  # by both channels, whose issuers take turns
# Seconds between two kills. A message whose readers die five times is set aside; a slow machine takes seconds a turn,
# and a start costs more than ten notes.
KILLS = size("3-12", "0.3-4")
LIMIT = size(840, 7200)  # seconds
TWICE = 0.001  # messages twice, of all: F18's bound
FEW = 4  # of them, where only some hundreds are sent and one more or less would decide


@pytest.mark.storm
@pytest.mark.timeout(900)  # a hundred invoices through a storm
def test_a_short_storm_leaves_exactly_one_invoice_each(tmp_path: Path) -> None:
    """Through kills, frozen workers, a crashing database, flushes and lying channels, everybody gets one invoice."""
    out, page = tmp_path / "storm.json", tmp_path / "storm.html"
    command = ["storm", f"--emissions={EMISSIONS}", "--canal=ambos", "--seed=1", f"--kills-every={KILLS}"]
    done = children.run(
        [sys.executable, "-m", "proofs", *command, f"--json={out}", f"--report={page}"],
        cwd=ROOT,
        timeout=LIMIT,
        capture_output=True,
        text=True,
    )
    assert out.exists(), done.stderr
    result: dict[str, Any] = json.loads(out.read_text())
    verdict = result["verdict"]
    wrong = {name: found for name, found in verdict.items() if isinstance(found, list) and found}
    twice = wrong.pop("outbound_duplicates", [])
    assert not wrong  # nor unusable books, nor blows that were lacking
    assert len(twice) <= max(FEW, verdict["sent"] * TWICE)
    assert (result["word"], done.returncode) == ("KEPT", 0) or twice
    replaced = verdict["notes"] - EMISSIONS  # of people who had a note substituted
    assert verdict["confirmed"] == EMISSIONS
    assert 0 <= replaced <= EMISSIONS
    assert result["drained_after"] is not None
    assert result["kills_per_emission"] >= 0.02  # ten thousand emissions, two hundred kills
    assert result["gateway"]["faulty"]
    assert page.read_text().startswith("<!doctype html>")
