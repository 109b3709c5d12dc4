"""Free text on its way into a fiscal layout."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_machine.values.text import as_latin, latin1, unfit


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Consultoria — nov/2026", "Consultoria - nov/2026"),
        ("“Design” d’água…", '"Design" d\'água...'),
        ("• item 1\n• item 2", "- item 1 - item 2"),
        ("caf\u0065\u0301", "café"),
        ("100\u00a0€", "100 EUR"),
        ("Łódź, Čapek, Ştefan, Nguyễn Đặng, Yıldız", "Lódz, Capek, Stefan, Nguyen Dang, Yildiz"),
        ("parcela 1⅔, ⅓5, ²⁄₃ e ½", "parcela 1 2/3, 1/3 5, 2/3 e ½"),
        ("10⁄12 e 24∕7", "10/12 e 24/7"),
        ("10⁵ m², 10²⁵, 10⁻⁷2, 5‰", "10^5 m², 10^25, 10^-7 2, 5 por mil"),
        ("H₂O, ５ ㎡ e ﬂor", "H2O, 5 m² e flor"),
        ("1️⃣0️⃣ aulas", "10 aulas"),
        ("\u200bzero\u00adwidth\u202e", "zerowidth"),
        ("ﬁnal ½", "final ½"),
        ("a\ufffdb", "a?b"),
    ],
)
def test_typography_is_spelt_plainly(written, sent):
    """What a phone's keyboard makes of plain words becomes plain words again."""
    assert as_latin(written) == sent
    assert unfit(written) == ()


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("saldo ≠ zero", "≠"),
        ("Дизайн logo", "Дизайн"),
        ("会议", "会议"),
        ("Aula de violão 🎸 (2ª)", "🎸"),
        ("s̶em juros", "̶"),
        ("x₁2", "₁"),
        ("①", "①"),
        ("\x80100", "\x80"),
    ],
)
def test_what_has_no_spelling_of_the_same_meaning_stays_and_is_named(written, named):
    """Left out or spelt by its shape alone, it would say something else."""
    assert unfit(written) == tuple(named)
    assert set(named) <= set(as_latin(written))


@given(st.text())
def test_a_plain_text_is_all_there_or_names_what_is_not(written):
    """Spelling it again changes nothing, and without unfit it is what a layout takes, letter for letter."""
    spelt = as_latin(written)
    assert as_latin(spelt) == spelt
    assert unfit(spelt) or (latin1(spelt) == spelt and spelt.encode("latin-1").decode("latin-1").isprintable())


@given(st.text())
def test_the_result_is_printable_latin1_and_stays_as_it_is(written):
    """Any text at all becomes acceptable, and cleaning it again changes nothing."""
    sent = latin1(written)
    assert sent.encode("latin-1").decode("latin-1").isprintable()
    assert latin1(sent) == sent


@given(st.text(st.characters(codec="latin-1", categories=["L", "N"])))
def test_portuguese_letters_are_kept(written):
    """Accents and cedillas are part of people's names."""
    assert as_latin(written) == written
