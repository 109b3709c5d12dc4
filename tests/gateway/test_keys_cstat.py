from __future__ import annotations

import pytest

from gateway.nacional.note import NFE, NFSE, Significado, patience_nfe, significado_nfe, significado_nfse


def test_absence_is_217_and_never_135():
    """The specification's "135: does not exist" is corrected: 135 registers an event, 217 says there is no note."""
    assert significado_nfe("135") is Significado.EVENTO_REGISTRADO
    assert significado_nfe("217") is Significado.AUSENTE
    assert [code for code, meaning in NFE.items() if meaning is Significado.AUSENTE] == ["217"]


@pytest.mark.parametrize(
    ("codes", "meaning"),
    [
        (("100", "150"), Significado.AUTORIZADA),
        (("101", "151", "155", "218"), Significado.CANCELADA),
        (("110", "205", "301", "302", "303"), Significado.DENEGADA),
        (("103", "105"), Significado.PROCESSANDO),
        (("204", "539"), Significado.DUPLICADA),
        (("135", "136"), Significado.EVENTO_REGISTRADO),
        (("104", "128"), Significado.OLHAR_DENTRO),
        (("108", "109", "656"), Significado.MAIS_TARDE),
        (("206", "526", "562"), Significado.HUMANO),
    ],
)
def test_nfe_codes_mean_what_the_manual_says(codes, meaning):
    """Each code used in reconciliation has one meaning."""
    assert {significado_nfe(code) for code in codes} == {meaning}


@pytest.mark.parametrize("code", ["", "999", "0100", "cem", "297"])
def test_a_code_that_we_do_not_know_is_no_answer(code):
    """An unknown code neither authorises a note nor declares it absent."""
    assert significado_nfe(code) is Significado.NAO_SE_SABE
    assert significado_nfse(code) is Significado.NAO_SE_SABE


def test_an_nfse_code_never_cancels():
    """In the national NFS-e, 101 is a substitution and 103 a note of the city's: both are authorised notes."""
    assert set(NFSE.values()) == {Significado.AUTORIZADA}
    assert significado_nfe("101") is Significado.CANCELADA
    assert significado_nfse("101") is Significado.AUTORIZADA
    assert significado_nfse("103") is Significado.AUTORIZADA


def test_every_later_says_how_much_later():
    """A code that postpones has its patience in seconds, an hour for undue consumption, and no other code has one."""
    postponing = {code for code, meaning in NFE.items() if meaning is Significado.MAIS_TARDE}
    assert {code for code in NFE if patience_nfe(code) is not None} == postponing
    assert patience_nfe("656") == 3600
