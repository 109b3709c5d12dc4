"""Free text on its way into a fiscal layout."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_machine.values.latin import latin1


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Consultoria — nov/2026", "Consultoria - nov/2026"),
        ("“Design” d’água…", '"Design" d\'água...'),
        ("Aula de violão 🎸🎶 (2ª)", "Aula de violão (2ª)"),
        ("• item 1\n• item 2", "- item 1 - item 2"),
        ("caf\u0065\u0301", "café"),
        ("100\u00a0€", "100 EUR"),
        ("Łódź, Čapek, Ştefan", "ódz, Capek, Stefan"),
        ("\u200bzero\u00adwidth\u202e", "zerowidth"),
        ("ﬁnal ½", "final ½"),
        ("👍", ""),
        ("a\ufffdb", "a?b"),
    ],
)
def test_typography_is_spelt_plainly(written, sent):
    """What a phone's keyboard makes of plain words becomes plain words again."""
    assert latin1(written) == sent


@given(st.text())
def test_the_result_is_printable_latin1_and_stays_as_it_is(written):
    """Any text at all becomes acceptable, and cleaning it again changes nothing."""
    sent = latin1(written)
    assert sent.encode("latin-1").decode("latin-1").isprintable()
    assert latin1(sent) == sent


@given(st.text(st.characters(codec="latin-1", categories=["L", "N"])))
def test_portuguese_letters_are_kept(written):
    """Accents and cedillas are part of people's names."""
    assert latin1(written) == written
