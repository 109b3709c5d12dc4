"""A name means one thing: what the whole product calls by one word exists once."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from proofs.scripts.words import PRODUCT

ROOT = Path(__file__).parents[3]


def test_every_public_class_name_exists_once():
    """A class is found by its name alone, and no import needs an alias to tell two of them apart."""
    found = defaultdict(list)
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
