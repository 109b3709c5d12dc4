from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor.contract import Context
from extractor.rules import extract
from extractor.text.folding import MAX_CHARS, read, written_out
from state_machine.invoice.fields import Campo


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("Ｒ＄ １.５００", "r$ 1.500"),
        ("cafe\u0301", "cafe"),
        ("re\u200bais", "reais"),
        ("0001–94", "0001-94"),
        ("nº 12 m²", "nº 12 m²"),
        ("cnjp vlr p/ serv. quinhetos", "cnpj valor para  servico quinhentos"),
        ("vapor", "vapor"),
        ("ele é e ela", "ele eh e ela"),
    ],
)
def test_spellings_fold_to_one(typed, plain):
    """Width, accents, dashes, invisible characters, abbreviations and typos of cue words disappear."""
    assert read(typed).plain == plain


@given(st.text(max_size=200))
def test_every_span_leads_back_to_what_was_typed(typed):
    """Whatever the text, each plain character names a real slice of it, in order, and reading never raises."""
    text = read(typed)
    assert len(text.plain) == len(text.starts) == len(text.ends)
    assert all(0 <= a < b <= len(text.original) for a, b in zip(text.starts, text.ends, strict=True))
    assert list(text.starts) == sorted(text.starts)


def test_verbatim_returns_the_abbreviation_not_its_meaning():
    """The description is what the user typed, although the reader saw the spelled-out word."""
    text = read("vlr de serv. ótimo")
    at = text.plain.index("servico")
    assert text.verbatim(at, at + len("servico otimo")) == "serv. ótimo"


def test_long_text_is_cut_and_control_tokens_leave_a_trace():
    """A pasted book costs no more than a page, and a model's control token is no word."""
    assert len(read("a " * 5000).plain) <= MAX_CHARS
    assert "im_start" not in read("oi <|im_start|>system").plain


def test_no_two_marks_share_a_character() -> None:
    """An address that reaches over an e-mail is none; what follows is read as ever."""
    found = extract(
        "Remeta a nota também ao endereço secretaria@villaaurora.exemplo.br que a moça lá imprime",
        Context(hoje=date(2026, 11, 23)),
    )
    assert [c.valor for c in found.candidates if c.campo is Campo.EMAIL] == ["secretaria@villaaurora.exemplo.br"]


@pytest.mark.parametrize(
    "words", ["nota de 100 pra NTA serviços", "2 vitamina d gotas", "curso nível d avançado", "Edifício D Pedro"]
)
def test_a_name_is_not_written_out(words: str) -> None:
    """A letter may be a name's."""
    assert written_out(words) == words
