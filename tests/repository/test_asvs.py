"""The security table, held to the code: what it names exists, and what it claims has a test or says why not."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "asvs.md"
TICKED = re.compile(r"`([^`]+)`")


def _rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_test_that_the_table_names_exists() -> None:
    """A renamed test takes its row along."""
    named = [name for row in _rows() for name in TICKED.findall(row[3])]
    assert len(named) > 40
    missing = []
    for name in named:
        path, _, function = name.partition("::")
        source = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
        if f"def {function}(" not in source:
            missing.append(name)
    assert missing == []


def test_what_is_met_has_a_test_and_what_is_not_says_why() -> None:
    """No row claims something without a test that shows it; no gap is left without its reason."""
    for requirement, asked, met, test in _rows():
        assert requirement, asked
        assert met.startswith(("yes", "partly:", "no:", "not used")), (requirement, asked)
        assert bool(test) == met.startswith(("yes", "partly")), (requirement, asked)
