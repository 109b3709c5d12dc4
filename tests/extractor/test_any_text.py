"""Texts of any script and of the greatest length, read by both readers: nothing is made of them, and in little time."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor.contract import Ato, Context, Extraction
from extractor.two_readers import read_by_both
from state_machine.invoice.field_table import obrigatorios
from state_machine.invoice.fields import Campo
from tests.adversaries import LENGTH, RUNS, cpu_ms, fill

HOJE = date(2026, 11, 23)
SUMMARY = Context(
    HOJE,
    resumo_mostrado=True,
    conhecidos={Campo.DOCUMENTO: "12345678000195", Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"},
)
MOMENTS = [Context(HOJE), SUMMARY, *(Context(HOJE, pendente=campo) for campo in obrigatorios())]
# Scripts that no Portuguese is written in, and what is no letter: first and last code point.
FOREIGN = {
    "greek": (0x370, 0x3FF),
    "cyrillic": (0x400, 0x52F),
    "hebrew": (0x590, 0x5FF),
    "arabic": (0x600, 0x6FF),
    "devanagari": (0x900, 0x97F),
    "thai": (0xE00, 0xE7F),
    "georgian": (0x10A0, 0x10FF),
    "hangul": (0xAC00, 0xD7A3),
    "kana": (0x3040, 0x30FF),
    "han": (0x4E00, 0x9FFF),
    "combining": (0x300, 0x36F),
    "invisible and bidi": (0x2000, 0x206F),
    "signs": (0x2500, 0x27BF),
    "emoji": (0x1F300, 0x1FAFF),
    "private": (0xE000, 0xF8FF),
}
BOUND_MS = 30.0  # of CPU; 17 ms were measured, and other work on the machine slows each step
DECIDES = frozenset({Ato.CONFIRMA, Ato.NEGA, Ato.RECUSA})


def foreign(block: str) -> st.SearchStrategy[str]:
    """Text of up to the full length in one block, with spaces, line breaks and the invisible characters in it."""
    first, last = FOREIGN[block]
    letters = st.characters(min_codepoint=first, max_codepoint=last)
    short = st.text(letters | st.sampled_from(" \n\u200b\u200d\u202e\u2066\ufeff"), min_size=1, max_size=40)
    return st.builds(lambda piece, times: (piece * times)[:LENGTH], short, st.sampled_from([1, 3, LENGTH]))


def service(found: Extraction) -> list[str]:
    return [candidate.valor for candidate in found.candidates if candidate.campo is Campo.DESCRICAO]


@pytest.mark.parametrize("block", FOREIGN)
@given(data=st.data())
def test_no_other_script_is_a_service(block: str, data: st.DataObject) -> None:
    """Asked for anything, in any moment: no text of such characters is kept as the service, nor decides."""
    text = data.draw(foreign(block))
    found = read_by_both(text, data.draw(st.sampled_from(MOMENTS))).extraction
    assert service(found) == []
    if not any(map(str.isdecimal, text)) and block not in {"emoji", "signs"}:  # a thumb is a yes
        assert (found.candidates, found.ato in DECIDES) == ((), False)


@pytest.mark.parametrize("piece", [*RUNS, "asdf qwer ", "x", "kkkk ", "Guten Tag, ich brauche eine Rechnung. "])
def test_what_is_not_read_to_its_end_answers_no_question(piece: str) -> None:
    """Four thousand characters after the question for the service: they would be cut, and stand in the invoice."""
    asked = Context(HOJE, pendente=Campo.DESCRICAO)
    assert service(read_by_both(fill(piece), asked).extraction) == []


@pytest.mark.parametrize("moment", MOMENTS[:2], ids=["fresh", "summary"])
def test_both_readers_take_a_bounded_time(moment: Context) -> None:
    """Neither a run of numbers nor a page of another script holds the loop up."""
    texts = [fill(piece) for piece in RUNS]
    texts += ["".join(map(chr, range(first, last)))[:LENGTH] for first, last in FOREIGN.values()]
    slow = {text[:20]: cpu_ms(lambda: read_by_both(text, moment), BOUND_MS) for text in texts}  # noqa: B023
    assert {text: ms for text, ms in slow.items() if ms > BOUND_MS} == {}
