"""The comparison form of a text, and how much of a text goes into it."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest

from state_machine.values.text import plain


def test_case_and_accents_are_left_out() -> None:
    """Composed or not, the same letters are the same text."""
    assert plain("AÇÃO Nº 1", 20) == plain("Ac\u0327a\u0303o no 1", 20) == "acao no 1"


@pytest.mark.parametrize("mark", ["a\u0301\u0323", "é", "a"])
def test_no_more_is_normalised_than_was_asked_for(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the text, Unicode's normalisation sees its beginning only."""
    seen: list[int] = []
    real = unicodedata.normalize

    def counted(form: Literal["NFKD"], text: str) -> str:
        seen.append(len(text))
        return real(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    assert len(plain(mark * 50_000, 100)) <= 100
    assert sum(seen) <= 100
