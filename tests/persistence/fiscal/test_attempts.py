"""Which attempts nobody can have accepted: only their stored bytes may go again without a question."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from persistence.fiscal.attempts import is_certainly_nobodys
from state_machine.protocol.emission import StatusEmissao

REFUSED = {"mensagem": "CNPJ inválido", "codigos": []}


@pytest.mark.parametrize("status", [StatusEmissao.PENDENTE, StatusEmissao.ERRO])
@pytest.mark.parametrize(
    ("em_duvida", "recusa", "certain"),
    [(False, None, True), (True, None, False), (None, None, False), (False, REFUSED, False), (True, REFUSED, False)],
)
def test_a_call_or_a_refusal_in_doubt_is_not_nobodys(
    status: StatusEmissao, em_duvida: bool | None, recusa: Any, *, certain: bool
) -> None:
    """``em_duvida`` is null on rows of a release that did not keep it: they are asked about like those in doubt."""
    row = SimpleNamespace(status=status, em_duvida=em_duvida, recusa=recusa)
    assert is_certainly_nobodys(row) is certain


@pytest.mark.parametrize("status", [StatusEmissao.ENVIANDO, StatusEmissao.ENVIADO, StatusEmissao.DESCONHECIDO])
def test_one_that_is_under_way_is_not_nobodys(status: StatusEmissao) -> None:
    """Somebody may be sending it at this moment."""
    assert not is_certainly_nobodys(SimpleNamespace(status=status, em_duvida=False, recusa=None))
