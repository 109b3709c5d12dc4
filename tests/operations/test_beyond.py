"""What is said of the numbers beyond a restored copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from operations.beyond import Walk
from persistence.fiscal.numbers.numbering import Sequencia
from proofs.demo.world import COMPANY

if TYPE_CHECKING:
    from persistence.people.companies import Empresa

SERIES = Sequencia(1, "3550308", "900")


def test_a_note_of_another_program_is_named() -> None:
    """A note without our reference under a number of our series: the operator is told to choose another series."""
    walk = Walk(
        known=None, empresa=cast("Empresa", COMPANY), sequencia=SERIES, first=7, seen={}
    )  # of a company only its name is said
    assert walk.said.endswith("série 900: a autoridade não tem nota depois da cópia.")
    walk.seen.update({7: "211126-07f40961-r1-1"})
    assert walk.said.endswith("tem 1 depois da cópia, até o número 7.")
    walk.seen.update({9: None})
    assert "tem 2 depois da cópia, até o número 9; 1 sem referência da Prosa: outro programa usa" in walk.said
