from __future__ import annotations

import pytest

from gateway.nacional.note import NFSE, Significado, significado_nfse


@pytest.mark.parametrize("code", ["", "999", "0100", "cem", "297"])
def test_a_code_that_we_do_not_know_is_no_answer(code):
    """An unknown code authorises no note."""
    assert significado_nfse(code) is Significado.NAO_SE_SABE


def test_an_nfse_code_never_cancels():
    """In the national NFS-e, 101 is a substitution and 103 a note of the city's: both are authorised notes."""
    assert set(NFSE.values()) == {Significado.AUTORIZADA}
    assert significado_nfse("101") is Significado.AUTORIZADA
    assert significado_nfse("103") is Significado.AUTORIZADA
