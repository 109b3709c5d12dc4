"""What a seed draws; the storm itself is tests/faults/test_f01_kill_storm.py."""

from __future__ import annotations

from itertools import islice

from storm.person import brl, customers
from storm.plan import Kind, Plan, blows, wishes


def test_a_seed_is_a_schedule() -> None:
    """The same seed draws the same blows and the same crowd, another seed others."""
    first, again, other = (list(islice(blows(Plan(5, seed)), 50)) for seed in (7, 7, 8))
    assert first == again != other
    assert {blow.kind for blow in first} == set(Kind)
    assert wishes(Plan(50, 7), customers()) == wishes(Plan(50, 7), customers()) != wishes(Plan(50, 8), customers())


def test_every_person_of_the_crowd_has_an_amount_of_their_own() -> None:
    """A note can be told apart by its amount alone, also from amounts that were said and corrected."""
    crowd = wishes(Plan(500, 1), customers())
    said = [wish.valor for wish in crowd] + [wish.antes for wish in crowd if wish.antes]
    assert len(set(said)) == len(said)
    assert any(wish.toca_antiga for wish in crowd)
    assert brl(crowd[100].valor) == "1.007,00"
