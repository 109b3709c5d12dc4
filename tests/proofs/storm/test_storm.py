"""What a seed draws and a size demands; the storm itself is tests/faults/process/test_f01_kill_storm.py."""

from __future__ import annotations

import re
from itertools import islice

from proofs.storm.channels.table import CHANNELS
from proofs.storm.crowd import Wish, total_of, wishes
from proofs.storm.person import brl, closed_customers, customers, items, order
from proofs.storm.plan import BLOWS, FORGETTING, KILLS, SMALLEST, WEIGHTS, Kind, Plan, blows

ISSUERS = [issuer for channel in CHANNELS.values() for issuer in channel.issuers]


def crowd(emissions: int, seed: int = 1) -> list[Wish]:
    return wishes(Plan(emissions, seed), ISSUERS, customers(), closed_customers())


def test_a_seed_is_a_schedule() -> None:
    """The same seed draws the same blows and the same crowd, another seed others."""
    both = ("plugnotas", "nacional")
    first, again, other = (list(islice(blows(Plan(5, seed, channels=both)), 100)) for seed in (7, 7, 8))
    assert first == again != other
    assert {blow.kind for blow in first} == set(Kind) - set(FORGETTING)  # those come by demand alone
    assert {blow.kind for blow in islice(blows(Plan(5, 7)), 100)} == set(WEIGHTS)
    assert crowd(50, 7) == crowd(50, 7) != crowd(50, 8)


def test_every_person_of_the_crowd_has_an_amount_of_their_own() -> None:
    """A note can be told apart by its amount alone, also from amounts that were said and corrected."""
    people = crowd(500)
    said = [wish.valor for wish in people] + [wish.antes for wish in people if wish.antes]
    assert len(set(said)) == len(said)
    assert brl(people[100].valor) == "1.007,00"


def test_a_crowd_of_two_hundred_takes_every_road() -> None:
    """Every company, every field, corrections, refusals, words and cancellations: whatever the seed, each is there."""
    for seed in range(20):
        people = crowd(200, seed)
        assert {wish.emitente for wish in people} == set(ISSUERS)
        roads = ("email", "data", "competencia", "antes", "recusado", "toca_antiga", "palavra", "cancela")
        assert not [road for road in roads if not any(getattr(wish, road) for wish in people)], seed
        assert not [wish for wish in people if wish.data and wish.competencia]
        assert not {wish.tomador for wish in people} & {issuer.cnpj for issuer in ISSUERS}


def test_a_person_says_everything_that_they_want() -> None:
    """The first message names amount, customer, service and whatever else the note is to carry."""
    for wish in crowd(300):
        words = order(wish)
        due: tuple[str, ...] = (brl(wish.antes or wish.valor), wish.recusado or wish.tomador, wish.servico)
        if wish.itens:
            due = (items(wish), wish.tomador)
            assert wish.valor == total_of(wish.itens)
        assert all(part in words for part in (*due, wish.email or "", wish.data or "", wish.competencia or ""))
        assert (wish.email is None) == ("@" not in words)
        assert bool(re.search(r"\d\d/\d{4}", words)) == bool(wish.data or wish.competencia)


def test_a_size_demands_its_blows() -> None:
    """Ten thousand emissions need more than 200 kills, three hundred one of each usual blow, nineteen prove nothing."""
    sizes = (19, 20, 300, 2000, 10_000)
    needed = {size: {kind: demand.least(size) for kind, demand in BLOWS.items()} for size in sizes}
    kills = {size: sum(count for kind, count in least.items() if kind in KILLS) for size, least in needed.items()}
    assert tuple(kills.values()) == (0, 2, 6, 42, 213)
    assert min(count for kind, count in needed[300].items() if kind not in FORGETTING) >= 1
    assert {needed[2000][kind] for kind in FORGETTING} == {2}
    assert needed[2000][Kind.DATABASE] == 5
    assert SMALLEST == 20
