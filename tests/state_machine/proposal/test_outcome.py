"""A proposal stands as the session that was made of it."""

from __future__ import annotations

import pytest

from persistence.api.approvals import OUTCOME, author
from state_machine.invoice.session import Estado
from state_machine.machine.events import Cancelou, EquipeEncerrou, NotaAutorizada, PrazoVencido
from state_machine.proposal import EstadoProposta


def test_every_state_of_a_session_is_one_of_a_proposal() -> None:
    """A new state of a session needs a row; only drafts and what was given up have no session."""
    assert set(OUTCOME) == set(Estado)
    assert set(EstadoProposta) - set(OUTCOME.values()) == {EstadoProposta.RASCUNHO, EstadoProposta.CANCELADA}


@pytest.mark.parametrize(
    ("evento", "quem"),
    [
        (Cancelou(), "aprovador"),
        (PrazoVencido(), "prazo"),
        (EquipeEncerrou(), "equipe"),
        (NotaAutorizada("12", 1), "autoridade"),
    ],
)
def test_who_made_a_version_is_told(evento: object, quem: str) -> None:
    """By the event that it follows from."""
    assert author(evento) == quem  # type: ignore[arg-type] # each is an event
