"""A storm that was none: the judge gives no verdict, and says what lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proofs.sandbox.ledger import Ledger
from proofs.storm.judge.books import open_book, read_book
from proofs.storm.judge.verdict import BROKEN, KEPT, NOT_PROVEN
from proofs.storm.plan import Kind, Plan
from tests.proofs.storm.storm_books import Stage, another_note, good, never_made, records
from tests.proofs.storm.storm_wishes import PEOPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def fewer(stage: Stage) -> None:
    stage.plan = Plan(PEOPLE + 1, 1)


def quiet(kind: Kind) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.blows[kind] = 0

    return change


def larger(stage: Stage) -> None:
    """As if these twenty had been three hundred: most of what such a storm needs is not there."""
    stage.plan = Plan(300, 1)


def tiny(stage: Stage) -> None:
    stage.plan = Plan(PEOPLE - 1, 1)


def deaf(stage: Stage) -> None:
    """The storm swallowed every webhook of the gateway: that road was never taken."""
    never_made(stage)
    for _, kind, data in list(stage.gateway):
        if kind in {"note.settled", "cancel.settled"}:
            stage.tell(stage.gateway, "fault", fault="sem_webhook", key=data["id"])


LACKING = {
    "no worker was killed": ("kill -9 em worker: 0 de 1", quiet(Kind.KILL_WORKER)),
    "no web was killed": ("kill -9 em web: 0 de 1", quiet(Kind.KILL_WEB)),
    "fewer people than planned": ("20 de 21 pessoas começaram", fewer),
    "too small": ("menos de 20 não provam nada", tiny),
    "no crash for its size": ("queda do banco: 0 de 1", larger),
    "no frozen worker for its size": ("worker congelado: 0 de 1", larger),
    "no flush for its size": ("FLUSHALL no Redis: 0 de 1", larger),
    "no late acceptance for its size": ("gateway: aceitar_tarde: 0 de 1", larger),
    "no lost answer for its size": ("gateway: perder_resposta: 0 de 1", larger),
    "no fault of Meta for its size": ("Meta: webhook_duplicado: 0 de 3", larger),
    "no fault of the register for its size": ("cadastro: qualquer falha: 0 de 1", larger),
    "nobody tapped an outdated summary": ("toques em um resumo antigo: 0 de 1", larger),
    "the gateway's webhooks never came": ("notas avisadas por webhook: 0 de 20", deaf),
}


@pytest.mark.parametrize(("words", "change"), LACKING.values(), ids=LACKING.keys())
def test_a_run_without_the_blows_of_its_size_proves_nothing(words: str, change: Callable[[Stage], None]) -> None:
    """Nothing wrong in a storm that was none is no promise kept: it is not proven, and the judge says what lacks."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(words in line for line in found.lacking), found.lacking
    assert found.word == NOT_PROVEN


def test_a_broken_promise_needs_no_more_blows() -> None:
    """What is wrong is wrong however calm it was."""
    stage = good()
    quiet(Kind.KILL_WORKER)(stage)
    another_note()(stage)
    assert stage.verdict().word == BROKEN


@pytest.mark.parametrize("name", ["meta", "gateway"])
def test_an_empty_book_proves_nothing(name: str) -> None:
    """Whatever else is missing follows from it: neither kept nor broken."""
    stage = good()
    getattr(stage, name).clear()
    found = stage.verdict()
    assert any("está vazio" in line for line in found.unusable)
    assert found.word == NOT_PROVEN


def test_nobody_proves_nothing() -> None:
    """A storm in which nobody began has no verdict."""
    stage = good()
    stage.wishes.clear()
    assert stage.verdict().word == NOT_PROVEN


@pytest.mark.parametrize("cut", [slice(0, -1), slice(0, 5), slice(5, None)])
def test_a_truncated_book_is_noticed(cut: slice) -> None:
    """Facts are numbered from 1 without a gap, and the simulator knows how many it wrote."""
    facts = records(good().gateway)
    whole = read_book(facts, len(facts))
    torn = read_book(facts[cut], len(facts))
    assert not whole.damage
    assert torn.damage
    assert read_book([*facts[:5], *facts[7:]], len(facts)).damage


@pytest.mark.parametrize("cut", [1, 30, 400])
def test_a_torn_file_is_noticed(tmp_path: Path, cut: int) -> None:
    """A simulator's own file that lost its end, in the middle of a line or of a fact, is a damaged book."""
    ledger = Ledger(tmp_path / "book.jsonl")
    for number in range(20):
        ledger.append("inbound", user={"key": "x"}, message={"id": f"in{number}"})
    assert open_book(ledger, bodies=True).damage == ()
    with (tmp_path / "book.jsonl").open("r+b") as file:
        file.truncate((tmp_path / "book.jsonl").stat().st_size - cut)
    assert (open_book(ledger, bodies=True).damage == ()) is (cut == 1)  # only the last line break: nothing is lost
    ledger.close()


def test_an_answer_to_a_webhook_that_was_never_made_damages_the_book() -> None:
    """The simulator's own book contradicts itself."""
    stage = good()
    stage.tell(stage.gateway, "webhook.delivered", id="x", refs=["n"], attempt=1, status=200)
    assert stage.verdict().word == NOT_PROVEN


def test_every_sabotage_of_the_books_is_one() -> None:
    """The books of the tests are good before they are changed."""
    assert good().verdict().word == KEPT
