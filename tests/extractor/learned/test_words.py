from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor.learned.reader import cut


@pytest.mark.parametrize(
    ("texto", "words"),
    [
        ("Nota de 1.500,00 pra PADARIA", "nota de 1.500,00 pra padaria"),
        ("800conto 1k2", "800 conto 1 k 2"),
        ("12.345.678/0001-95", "12.345.678 / 0001 - 95"),
        ("três mil\nÉ isso?", "tres mil \n e isso ?"),
    ],
)
def test_a_message_is_cut_into_words_numbers_and_signs(texto: str, words: str) -> None:
    """Lower case and without accents; a number keeps its separators, and leaves what is glued to it."""
    assert [word.text for word in cut(texto)] == words.split(" ")


@given(st.text(max_size=200))
def test_every_word_leads_back_to_its_place(texto: str) -> None:
    """Whatever the script: the slices are in order, inside the message, and none is empty."""
    words = cut(texto)
    edges = [edge for word in words for edge in (word.start, word.end)]
    assert edges == sorted(edges)
    assert all(0 <= word.start < word.end <= len(texto) and word.text for word in words)
