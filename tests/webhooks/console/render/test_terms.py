from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.console.pages.search import TermKind, terms


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("211126-07f40961", [(TermKind.SESSAO, "211126-07f40961")]),
        (" 211126-07F40961-r1-1 ", [(TermKind.REFERENCIA, "211126-07f40961-r1-1")]),
        ("wamid.HBgN", [(TermKind.WAMID, "wamid.HBgN")]),
        ("12.345.678/0001-95", [(TermKind.DOCUMENTO, "12345678000195")]),
        ("12ABC34501DE35", [(TermKind.DOCUMENTO, "12ABC34501DE35")]),
        ("529.982.247-25", [(TermKind.DOCUMENTO, "52998224725"), (TermKind.TELEFONE, "52998224725")]),
        ("+55 (11) 98765-4321", [(TermKind.TELEFONE, "5511987654321")]),
        ("98765-4321", [(TermKind.TELEFONE, "987654321")]),
        ("1042", [(TermKind.NOTA, "1042"), (TermKind.VALOR, "1042.00")]),
        (
            "87654321",
            [(TermKind.TELEFONE, "87654321"), (TermKind.NOTA, "87654321"), (TermKind.VALOR, "87654321.00")],
        ),
        ("R$ 3.331,86", [(TermKind.VALOR, "3331.86")]),
        ("Padaria do Zé", [(TermKind.NOME, "Padaria do Zé")]),
        ("%' OR '1'='1", []),
        ("", []),
    ],
)
def test_what_is_typed_is_recognised(typed: str, found: list[tuple[TermKind, str]]) -> None:
    """One box takes whatever people have in hand; what may be two things is looked for as both."""
    assert terms(typed) == found


@given(st.text())
def test_no_text_breaks_the_search(typed: str) -> None:
    """Whatever is pasted into the box is an answer, if an empty one."""
    assert all(value for _, value in terms(typed))
