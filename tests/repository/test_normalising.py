"""No text is normalised whole: Unicode's normalisation takes the square of a run of combining marks."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.adversaries import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(__file__).parents[2]
# What is normalised without a cut at the call: (where, why it is short).
SHORT = {
    "extractor/utterance.py:_bare": "one character",
    "extractor/learned/reader.py:_plain": "one character",
    "extractor/text/folding.py:_fold": "one character with its marks, of a text that is cut before",
    "state_machine/values/text.py:_base": "one character",
    "state_machine/values/text.py:_same": "one character",
    "state_machine/values/text.py:_fraction": "a fraction of nineteen characters at most",
    "state_machine/values/text.py:as_latin": "of a draft and of the register, cut where they come in",
    "state_machine/values/documents.py:normaliza": "a longer text is returned as it is",
}


def _calls(package: str) -> Iterator[tuple[str, bool]]:
    """Yield where a text is normalised, and whether it is cut at the call."""
    for path in sorted((HOME / package).rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "unicodedata.normalize":
                    cut = any(isinstance(part, ast.Slice) and part.upper for part in ast.walk(call.args[1]))
                    yield f"{path.relative_to(HOME)}:{function.name}", cut


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - {"proofs"}))
def test_what_is_normalised_is_cut_or_known_to_be_short(package: str) -> None:
    """Each call of ``unicodedata.normalize`` has a greatest length beside it, or a reason in ``SHORT``."""
    whole = {where for where, cut in _calls(package) if not cut}
    assert whole == {where for where in SHORT if where.startswith(f"{package}/")}


def test_the_calls_are_found() -> None:
    """The one of ``plain`` is seen, and that it is cut."""
    assert ("state_machine/values/text.py:plain", True) in list(_calls("state_machine"))
