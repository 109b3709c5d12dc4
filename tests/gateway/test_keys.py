from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum.br import cnpj as stdnum_cnpj

from gateway.keys import (
    LAST_SERIE,
    NFCE,
    NFE,
    ChaveInvalida,
    ChaveNFe,
    ChaveNFSe,
    ChaveRPS,
    IdDPS,
    IdEvento,
    IdPedidoEvento,
    check_digit,
)
from state_machine.values.documents import CNPJ, CPF

ALNUM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# NF-e: two keys that vendors take apart in their help pages, one of the schema package's event examples, and one with
# the alphanumeric CNPJ of Receita's leaflet.
NFE_PUBLISHED = {
    "33150308370779000149550010001100931002410775": ("33", "1503", "08370779000149", NFE, 1, 110093, 1, 241077),
    "13181017921427000125650010000000309887251170": ("13", "1810", "17921427000125", NFCE, 1, 30, 9, 88725117),
    "35131200000065999908550010000273561964324170": ("35", "1312", "00000065999908", NFE, 1, 27356, 1, 96432417),
    "35260112ABC34501DE35550010000001231837291450": ("35", "2601", "12ABC34501DE35", NFE, 1, 123, 1, 83729145),
}
# NFS-e: a schema sample with an empty CNPJ, and three keys of notes that SEFIN Nacional made.
NFSE_PUBLISHED = {
    "42024042200000000000000000000000000126031234567892": ("4202404", "2", "2", "0" * 14, 1, "2603", 123456789),
    "42110092206960810000176000000000033326062205552016": (
        "4211009",
        "2",
        "2",
        "06960810000176",
        333,
        "2606",
        220555201,
    ),
    "21113002200574753000100000000000146726037032711025": (
        "2111300",
        "2",
        "2",
        "00574753000100",
        1467,
        "2603",
        703271102,
    ),
    "42110092207261210000182000000000046126053882314271": (
        "4211009",
        "2",
        "2",
        "07261210000182",
        461,
        "2605",
        388231427,
    ),
}
CHAVE = "42110092206960810000176000000000033326062205552016"


def cnpjs() -> st.SearchStrategy[CNPJ]:
    bases = st.text(ALNUM, min_size=12, max_size=12).filter(lambda base: len(set(base)) > 1)
    return bases.map(lambda base: CNPJ(base + stdnum_cnpj.calc_check_digits(base)))


def months() -> st.SearchStrategy[str]:
    return st.dates().map(lambda day: f"{day:%y%m}")


@pytest.mark.parametrize(("text", "parts"), NFE_PUBLISHED.items())
def test_published_nfe_keys_are_read_and_written(text, parts):
    """Published keys of NF-e and NFC-e come apart into parts, and the parts make the same key with its digit."""
    assert ChaveNFe.parse(text) == ChaveNFe(*parts)
    assert str(ChaveNFe(*parts)) == text
    assert ChaveNFe.parse(f"NFe{text}").digito == text[-1]


@pytest.mark.parametrize(("text", "parts"), NFSE_PUBLISHED.items())
def test_published_nfse_keys_are_read_and_written(text, parts):
    """Keys of national NFS-e come apart into their parts, and their parts make the same key with its digit."""
    assert ChaveNFSe.parse(text) == ChaveNFSe(*parts)
    assert str(ChaveNFSe(*parts)) == text
    assert ChaveNFSe.parse(f"NFS{text}").digito == text[-1]


def test_published_dps_ids_are_read_and_written():
    """The official sample's identity names its city, its company, its series 900 and its number 6."""
    text = "DPS140015920176113500013200900000000000000006"
    parts = IdDPS("1400159", CNPJ("01761135000132"), 900, 6)
    assert IdDPS.parse(text) == parts
    assert str(parts) == text
    assert len(text) == 45


def test_a_person_issues_with_three_zeros():
    """A CPF has type 1 and stands in the CNPJ's places with zeros on its left."""
    text = str(IdDPS("3550308", CPF("52998224725"), 1, 1))
    assert text == "DPS3550308" + "1" + "00052998224725" + "00001" + "000000000000001"
    assert IdDPS.parse(text).inscricao == CPF("52998224725")


def test_the_check_digit_is_the_manuals():
    """The worked example of MOC 7.0 §2.2.6.2 (a key of the layout before tpEmis) has the weighted sum 644: digit 5."""
    assert check_digit("5206043300991100250655012000000780026730161") == "5"


def test_letters_count_as_their_code_less_48():
    """The digit of an alphanumeric key follows NT Conjunta 2025.001: the letter A counts 17."""
    assert check_digit("A") == check_digit("6") == "0"  # 17 and 6 leave the same remainder by 11: 2 x 6 = 12
    assert check_digit("B") == "8"  # 2 x 18 = 36, 36 mod 11 = 3


def test_sao_paulo_names_an_rps_by_three_parts():
    """The CCM has 8 digits, the series up to 5 characters, the number 12 digits; there is no check digit."""
    chave = ChaveRPS("31000000", "BB", 42)
    assert str(chave) == "31000000_BB_000000000042"
    assert ChaveRPS.parse(str(chave)) == chave


def test_events_are_named_after_their_note():
    """A request is PRE, key and type (59 characters); the event is EVT, key, type and sequence (62)."""
    chave = ChaveNFSe.parse(CHAVE)
    pedido, evento = IdPedidoEvento(chave, "101101"), IdEvento(chave, "101101")
    assert str(pedido) == f"PRE{CHAVE}101101"
    assert str(evento) == f"EVT{CHAVE}101101001"
    assert (len(str(pedido)), len(str(evento))) == (59, 62)
    assert IdPedidoEvento.parse(str(pedido)) == pedido
    assert IdEvento.parse(str(evento)) == evento


@given(
    st.builds(
        IdDPS,
        municipio=st.integers(1_000_000, 9_999_999).map(str),
        inscricao=cnpjs(),
        serie=st.integers(1, LAST_SERIE),
        numero=st.integers(1, 10**15 - 1),
    )
)
def test_every_dps_id_reads_back(chave):
    """Whatever the parts, also an alphanumeric CNPJ, the 45 characters say them all."""
    assert len(str(chave)) == 45
    assert IdDPS.parse(str(chave)) == chave


@given(
    st.builds(
        ChaveNFSe,
        municipio=st.integers(1_000_000, 9_999_999).map(str),
        ambiente=st.sampled_from("12"),
        tipo=st.just("2"),
        inscricao=cnpjs().map(str),
        numero=st.integers(1, 10**13 - 1),
        aamm=months(),
        codigo=st.integers(0, 10**9 - 1),
    )
)
def test_every_nfse_key_reads_back(chave):
    """Whatever the parts, the 50 characters say them all."""
    assert len(str(chave)) == 50
    assert ChaveNFSe.parse(str(chave)) == chave


@given(
    aamm=months(),
    emitente=cnpjs().map(str),
    modelo=st.sampled_from([NFE, NFCE]),
    serie=st.integers(0, 999),
    numero=st.integers(1, 10**9 - 1),
    emissao=st.integers(1, 9),
)
def test_every_nfe_key_reads_back(aamm, emitente, modelo, serie, numero, emissao):
    """Whatever the parts, the 44 characters say them all."""
    codigo = 50_271_828 if numero != 50_271_828 else 50_271_829
    chave = ChaveNFe("35", aamm, emitente, modelo, serie, numero, emissao, codigo)
    assert len(str(chave)) == 44
    assert ChaveNFe.parse(str(chave)) == chave


@given(
    st.builds(
        ChaveRPS,
        inscricao=st.text("0123456789", min_size=8, max_size=8),
        serie=st.text(ALNUM, min_size=1, max_size=5),
        numero=st.integers(1, 10**12 - 1),
    )
)
def test_every_rps_key_reads_back(chave):
    """Whatever the parts, the text says them all."""
    assert ChaveRPS.parse(str(chave)) == chave


@given(text=st.sampled_from(sorted(NFE_PUBLISHED)), place=st.integers(0, 43), step=st.integers(1, 9))
def test_no_wrong_digit_passes_in_an_nfe_key(text, place, step):
    """A key with one digit mistaken is refused, unless modulo 11 cannot see it (remainders 0 and 1 share a digit)."""
    if not text[place].isdigit():
        return
    wrong = f"{text[:place]}{(int(text[place]) + step) % 10}{text[place + 1 :]}"
    if check_digit(wrong[:-1]) == wrong[-1]:
        assert wrong[-1] == "0"
        return
    with pytest.raises(ChaveInvalida):
        ChaveNFe.parse(wrong)


@pytest.mark.parametrize("codigo", [123, 0, 11111111, 99999999, 12345678, 23456789, 1234567, 90123456, 89012345])
def test_a_weak_code_is_refused(codigo):
    """The code is neither the number itself, nor one digit repeated, nor digits that follow one another (cStat 897)."""
    with pytest.raises(ChaveInvalida) as refused:
        ChaveNFe("35", "2611", "12ABC34501DE35", NFE, 1, 123, 1, codigo)
    assert refused.value.campo == "cNF"


@pytest.mark.parametrize(
    ("campo", "make"),
    [
        ("cMun", lambda: IdDPS("355030", CNPJ("11222333000181"), 1, 1)),
        ("serie", lambda: IdDPS("3550308", CNPJ("11222333000181"), 90_000, 1)),
        ("nDPS", lambda: IdDPS("3550308", CNPJ("11222333000181"), 1, 0)),
        ("nDPS", lambda: IdDPS("3550308", CNPJ("11222333000181"), 1, 10**15)),
        ("inscricao", lambda: IdDPS.parse("DPS355030821122233300018200001000000000000001")),
        ("tpInsc", lambda: IdDPS.parse("DPS355030811122233300018100001000000000000001")),
        ("idDPS", lambda: IdDPS.parse("DPS3550308")),
        ("ambGer", lambda: ChaveNFSe("3550308", "3", "2", "0" * 14, 1, "2611", 1)),
        ("tpInsc", lambda: ChaveNFSe("3550308", "2", "3", "0" * 14, 1, "2611", 1)),
        ("AAMM", lambda: ChaveNFSe("3550308", "2", "2", "0" * 14, 1, "2613", 1)),
        ("DV", lambda: ChaveNFSe.parse(CHAVE[:-1] + "7")),
        ("chave", lambda: ChaveNFSe.parse(CHAVE + "0")),
        ("tpEvento", lambda: IdEvento(ChaveNFSe.parse(CHAVE), "e101101")),
        ("nSeqEvento", lambda: IdEvento(ChaveNFSe.parse(CHAVE), "101101", 1000)),
        ("cUF", lambda: ChaveNFe("34", "2611", "11222333000181", NFE, 1, 1, 1, 50_271_828)),
        ("CNPJ", lambda: ChaveNFe("35", "2611", "1122233300018X", NFE, 1, 1, 1, 50_271_828)),
        ("mod", lambda: ChaveNFe("35", "2611", "11222333000181", "57", 1, 1, 1, 50_271_828)),
        ("DV", lambda: ChaveNFe.parse("33150308370779000149550010001100931002410774")),
        ("inscricao", lambda: ChaveRPS("3100000", "BB", 1)),
        ("serie", lambda: ChaveRPS("31000000", "BB_1", 1)),
        ("numero", lambda: ChaveRPS("31000000", "BB", 10**12)),
    ],
)
def test_a_part_that_does_not_fit_is_named(campo, make):
    """A key is never cut, padded or repaired: the part that is wrong is named."""
    with pytest.raises(ChaveInvalida) as refused:
        make()
    assert refused.value.campo == campo
