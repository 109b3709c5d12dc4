from __future__ import annotations

import pytest

from extractor.amounts.reckoned import chosen, wants_former


@pytest.mark.parametrize(
    ("words", "valor"),
    [
        ("o primeiro", "1200.00"),
        ("é o segundo", "1070.00"),
        ("o último", "1070.00"),
        ("o líquido", "1070.00"),
        ("não, emite pelo bruto", "1200.00"),
        ("o maior mesmo", "1200.00"),
        ("o segundo bloco", None),
        ("líquido de freio", None),
        ("sim", None),
    ],
)
def test_words_choose_a_shown_amount_by_place_or_size(words: str, valor: str | None) -> None:
    """Words that say anything besides choose nothing, and nothing is chosen where one amount is shown."""
    assert chosen(words, ("1200.00", "1070.00")) == valor
    assert chosen(words, ("1200.00",)) is None


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("volta pro de antes", False),
        ("não, deixa como tava antes", False),
        ("volta pro valor anterior", True),
        ("antes", None),
        ("volta pro cliente de antes", None),
    ],
)
def test_the_amount_from_before_is_wanted_by_name_or_as_the_last_change(words: str, named: bool | None) -> None:
    """Another field is no amount."""
    assert wants_former(words) is named
