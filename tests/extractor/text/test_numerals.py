from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words
from text_to_num import alpha2digit

from extractor.text.folding import read
from extractor.text.numerals import find, literal


def values(text: str) -> list[Decimal | None]:
    return [n.value for n in find(read(text).plain)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.500", "1500"),
        ("1500,5", "1500.5"),
        ("1.234.567,89", "1234567.89"),
        ("1 500,00", "1500.00"),
        ("1500.50", "1500.50"),
        ("2,500.00", "2500.00"),
        ("1,234,567", "1234567"),
    ],
)
def test_digits_read_as_brazilians_write_them(text, value):
    """Both decimal marks are understood where the grouping leaves no doubt."""
    assert literal(text) == Decimal(value)


@pytest.mark.parametrize("text", ["1,500", "1.5000", "1.500.00", "12.34,5678", "1.50.00"])
def test_digits_readable_in_two_ways_are_not_read(text):
    """A grouping that belongs to no notation has no value."""
    assert literal(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 mil e 500", [2500]),
        ("2 mil 500", [2500]),
        ("3 mil e duzentos", [3200]),
        ("1,5k", [1500]),
        ("1 milhão e 200 mil", [1_200_000]),
        ("1 milhão, 200 mil e 300 reais", [1_200_300]),
        ("um milhão e mil e quinhentos", [1_001_500]),
        ("2 mil, 500", [2000, 500]),
        ("meio milhão", [500_000]),
        ("um milhão e meio", [1_500_000]),
        ("quinhentão", [500]),
        ("vinte e cinco mil, setecentos e oitenta e nove", [25_789]),
        ("trezentos e um de quatrocentos", [301, 400]),
        ("três mil e meio", [None]),
        ("1.500 mil", [None]),
        ("vinte um", [20, 1]),
        ("16gb e 5w30", []),
    ],
)
def test_numbers_of_people(text, expected):
    """Mixed, slang and scaled numbers are one number each; what only looks like one is none."""
    assert values(text) == expected


@settings(max_examples=400)
@given(st.integers(1, 999_999) | st.integers(1_000_000, 999_999_999))
def test_number_words_round_trip(n):
    """Words made by num2words are read back as the number, and text2num agrees."""
    words = num2words(n, lang="pt_BR")
    assert values(words) == [n]
    assert alpha2digit(words.replace(",", ""), "pt", threshold=0) == str(n)


@given(st.integers(100, 999_999), st.sampled_from(["", "hum ", "de "]))
def test_number_words_survive_capitals_and_lost_accents(n, before):
    """Shouting and missing accents change no number."""
    words = num2words(n, lang="pt_BR").replace("ê", "e").replace(",", "").upper()
    assert values(words)[-1] == n
