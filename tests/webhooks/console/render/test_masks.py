from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.console.render import masks

DIGITS = st.text("0123456789", min_size=11, max_size=14)


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("nota de 1.500,00 pra 12.345.678/0001-95", "nota de 1.500,00 pra ••.•••.•••/•••1-95"),
        ("cpf 52998224725", "cpf •••••••4725"),
        ("liga (11) 98765-4321", "liga (••) •••••-4321"),
        ("ana.souza@exemplo.com.br", "a•••@exemplo.com.br"),
        ("wamid.HBgNNTUxMQ==", "wamid.••••••"),
        ("dia 21/11/2026 às 14:03, R$ 1.800", "dia 21/11/2026 às 14:03, R$ 1.800"),
        ("CNPJ 12ABC34501DE35", "CNPJ ••••••••••DE35"),
        ("sessão 211126-07140961, ref 211126-07140961-r1-1", "sessão 211126-07140961, ref 211126-07140961-r1-1"),
        ("R$ 1.500.000,00", "R$ 1.500.000,00"),
        ("fone11987654321x", "fone•••••••4321x"),
        ("11_98765_4321", "••_•••••_4321"),
        ("529*982*247*25", "•••*•••*••7*25"),
        ("cpf ５２９．９８２．２４７－２５", "cpf •••.•••.••7-25"),
        ("１１９８７６５４３２１", "•••••••4321"),
        ("12.ABC.345/01DE-35", "••.•••.•••/•••E-35"),
        ("cnpj 12 ABC 345 01DE 35", "cnpj •• ••• ••• •••E 35"),
        ("A última nota (21/11/2026) foi cancelada", "A última nota (21/11/2026) foi cancelada"),
        ("competencia: 2026-11-27", "competencia: 2026-11-27"),
        ("nota pra OMLBWYJNNUTZ30 de 1500", "nota pra ••••••••••TZ30 de 1500"),
        ("OM.LBW.YJN/NUTZ-30", "••.•••.•••/•••Z-30"),
        ("de 10/11/2026 a 20/11/2026: 1.500,00 + 2.300,00", "de 10/11/2026 a 20/11/2026: 1.500,00 + 2.300,00"),
    ],
)
def test_text_hides_who_and_shows_how_much(given_text: str, shown: str) -> None:
    """Documents, phones and addresses are hidden in free text; amounts stay."""
    assert masks.text(given_text) == shown


@given(DIGITS, st.sampled_from(["", "cnpj ", "fone: ", "(", "pix=", "x"]), st.sampled_from(["", "x", ".", " e 5", "@"]))
def test_no_number_that_names_somebody_survives(digits: str, before: str, after: str) -> None:
    """Of eleven digits or more, only the last four are ever shown, in text, in JSON and as a JSON number."""
    text = before + digits + after
    assert digits not in masks.text(text)
    assert digits not in str(masks.tree({"a": [{"b": text, "c": int("1" + digits)}], digits: 1}))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_can_be_masked(value: object) -> None:
    """Whatever a gateway or Meta sent is shown as a tree of the same shape."""
    shown = masks.tree(value)
    assert isinstance(shown, type(value)) or isinstance(value, int)


def test_phones_documents_and_names() -> None:
    """What stays is enough to tell two people apart on the phone."""
    assert masks.phone("5511987654321") == "+55 11 •••••-4321"
    assert masks.phone(None) == "sem número"
    assert masks.document("12345678000195") == "12.•••.•••/0001-95"
    assert masks.document("52998224725") == "•••.•••.247-25"
    assert masks.person("Ana Maria de Souza") == "Ana M. d. S."


def test_a_persons_name_is_hidden_under_a_companys_key() -> None:
    """The gateway repeats whom an invoice is for: a CPF's name is a person's, a CNPJ's is on the register."""
    person = {"cpfCnpj": "529.982.247-25", "razaoSocial": "Maria Aparecida Lima"}
    for cnpj in ("12345678000195", "12ABC345000188", "12.ABC.345/01DE-35"):  # letters count as places do
        company = {"cpfCnpj": cnpj, "razaoSocial": "PADARIA DO ZÉ LTDA"}
        shown = masks.tree([{"tomador": person}, {"prestador": company}])
        assert (shown[0]["tomador"]["razaoSocial"], shown[1]["prestador"]["razaoSocial"]) == (
            "Maria A. L.",
            "PADARIA DO ZÉ LTDA",
        )


def test_a_long_text_is_cut_after_it_was_masked() -> None:
    """What is cut off never leaves half of a number readable; the reader is told that there was more."""
    text = "a" * (masks.MOST - 5) + " 52998224725 " + "b" * 100
    shown = masks.text(text)
    assert shown.endswith(masks.CUT)
    assert len(shown) == masks.MOST + len(masks.CUT)
    assert "529" not in shown
