from __future__ import annotations

import pytest

from state_machine.invoice.fields import Campo, Candidate
from state_machine.machine.events import Informou
from tests.state_machine.made_sessions import diz, no_resumo, resposta


@pytest.mark.parametrize(
    ("nomes", "dito"),
    [
        ((Candidate(Campo.NOME, "maria", "maria"),), "Troquei o cliente: PADARIA DO ZÉ LTDA → maria."),
        ((), "O cliente não é mais PADARIA DO ZÉ LTDA."),
    ],
)
def test_a_client_who_is_dropped_is_named(nomes, dito):
    """Who orders for somebody else, or takes the client back, reads for whom the invoice is no more."""
    decision = diz(no_resumo(), Informou(nomes, clear=frozenset({Campo.DOCUMENTO})))
    assert dito in resposta(decision).texto
