"""Compares what was read with what a corpus expects."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Any, Final

from state_machine.invoice.field_table import FIELDS
from state_machine.values.documents import DocumentoInvalido, parse_documento

TOKEN_F1: Final = 0.8  # the corpus format's threshold for "the same description"


def is_critical(expect: dict[str, Any], standing: dict[str, str | None]) -> bool:
    """Say whether a value or document stands that is not the label's, or that the label forbids."""
    forbidden = {str(v) for v in (expect.get("must_not") or {}).values()}
    for campo in (row.campo.value for row in FIELDS.values() if row.critical):
        value = standing.get(campo)
        if value is not None and (value in forbidden or (campo in expect and not matches(campo, expect[campo], value))):
            return True
    return False


def matches(campo: str, expected: object, got: str | None) -> bool:
    """Compare one field with its label."""
    if campo == "descricao" and isinstance(expected, dict):
        return got is not None and _describes(expected, got)
    if expected is None or got is None:
        return expected is None and got is None
    if campo == "documento":
        try:
            return parse_documento(str(expected)).numero == got
        except DocumentoInvalido:
            return str(expected) == got
    if campo in {"nome", "email"}:
        return _fold(str(expected)) == _fold(got)
    return str(expected) == got


def token_f1(expected: str, got: str) -> float:
    """Return the F1 of the two texts' words, ignoring case and accents."""
    a, b = Counter(_fold(expected).split()), Counter(_fold(got).split())
    common = sum((a & b).values())
    return 2 * common / (sum(a.values()) + sum(b.values())) if common else 0.0


def _describes(expected: dict[str, Any], got: str) -> bool:
    if "is" in expected and not any(token_f1(text, got) >= TOKEN_F1 for text in expected["is"]):
        return False
    folded = _fold(got)
    return all(_fold(t) in folded for t in expected.get("has") or ()) and not any(
        _fold(t) in folded for t in expected.get("not") or ()
    )


def _fold(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[@.&-]{0,9}\w+(?:[@.&-]{1,9}\w+)*", bare))
