from __future__ import annotations

from typing import get_args

import pytest

from state_machine.protocol.emission import Finding, Outcome, StatusEmissao, Unknown
from state_machine.protocol.reconciliation import ASSENTADOS, may_send
from tests.state_machine.made_emissions import andamento


def test_the_states_of_an_emission_are_the_stored_words():
    """The database and the specification know them by these names."""
    assert [s.value for s in StatusEmissao] == [
        "pendente",
        "enviando",
        "enviado",
        "desconhecido",
        "concluido",
        "rejeitado",
        "conflito",
        "erro",
        "dispensado",
    ]


def test_an_error_is_not_settled():
    """``erro`` is with people, and still asked for: the authority may yet say yes."""
    assert StatusEmissao.ERRO not in ASSENTADOS
    assert StatusEmissao.DESCONHECIDO not in ASSENTADOS


@pytest.mark.parametrize("union", [Outcome, Finding], ids=["Outcome", "Finding"])
def test_the_answers_are_values(union):
    """Closed unions of frozen records: an answer can be stored, compared and replayed."""
    for kind in get_args(union):
        assert kind.__dataclass_params__.frozen
        assert kind.__doc__
    assert Unknown("a") == Unknown("a")


@pytest.mark.parametrize("status", StatusEmissao)
def test_only_what_was_never_sent_may_be_sent(status):
    """``enviando`` may have left with a worker that died: it is asked about, as all the others are."""
    assert may_send(andamento(status)) is (status is StatusEmissao.PENDENTE)
