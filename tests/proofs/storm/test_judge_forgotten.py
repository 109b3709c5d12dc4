"""The judge beside a database that forgot: what it excuses, of whom, and what nobody is excused for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from proofs.storm.judge.verdict import BROKEN, KEPT, NOT_PROVEN, judge
from proofs.storm.machines.oblivion import Loss
from tests.proofs.storm.storm_books import Stage, another_note, good
from tests.proofs.storm.storm_wishes import ANA, DORA, PEOPLE
from tests.proofs.storm.test_judge import no_note, two_sessions

if TYPE_CHECKING:
    from collections.abc import Callable


def forget(stage: Stage, who: str) -> None:
    """Let the database have forgotten all that this person did, and nothing of anybody else."""
    moments = [at for at, _, data in good().meta if is_of(who, data)]
    stage.losses.append(Loss(moments[0], moments[-1] + timedelta(milliseconds=500)))
    stage.sessions[:] = [
        [*row[:3], next((each for each in stage.wishes if row[0] in stage.sessions_of(each)), "")]
        for row in stage.sessions
    ]


def unrecorded(stage: Stage) -> None:
    note = stage.created(ANA)["id"]
    stage.kept[:] = [row for row in stage.kept if row[0] != note]


def unheard(stage: Stage) -> None:
    stage.inbox -= {data["message"]["id"] for _, kind, data in stage.meta if "message" in data and is_of(ANA, data)}


def no_session(stage: Stage) -> None:
    stage.sessions[:] = [row for row in stage.sessions if row[0] not in stage.sessions_of(ANA)]


def no_files(stage: Stage) -> None:
    stage.without(stage.meta, lambda kind, data: kind == "outbound" and is_of(ANA, data) and "document" in str(data))


def at_once(stage: Stage) -> None:
    stage.wishes[ANA] = replace(stage.wishes[ANA], trocado=stage.wishes[ANA].valor + 1)


def is_of(who: str, data: dict[str, object]) -> bool:
    return who in str(data.get("user"))


EXCUSED: dict[str, tuple[str, Callable[[Stage], None]]] = {
    "a second session with a note of its own": ("duplicates", two_sessions),
    "a note that is not in our table": ("misrecorded", unrecorded),
    "a message that was answered and is not stored": ("unstored", unheard),
    "a session that is not there": ("stuck", no_session),
    "files that never came": ("untold", no_files),
    "the last amount at once, where another note was to be replaced": ("wrong", at_once),
}
NEVER: dict[str, tuple[str, Callable[[Stage], None]]] = {
    "two notes under one key": ("duplicates", another_note()),
    "two notes for two attempts of one revision": ("duplicates", another_note(tentativa=2)),
    "a confirmation without a note": ("lost", no_note),
    "a note that nobody confirmed": ("unconfirmed", another_note(sessao="S0", revisao=7)),
}


@pytest.mark.parametrize(("kind", "change"), EXCUSED.values(), ids=EXCUSED.keys())
def test_who_was_forgotten_is_promised_less(kind: str, change: Callable[[Stage], None]) -> None:
    """The same books are broken where nothing was forgotten, or where it was somebody else's."""
    stage = good()
    change(stage)
    assert stage.verdict().faults[kind]
    forget(stage, DORA)
    assert stage.verdict().faults[kind]
    forget(stage, ANA)
    found = stage.verdict()
    assert not found.faults[kind], found.faults
    assert found.judged["people beside a loss"] == 2


@pytest.mark.parametrize(("kind", "change"), NEVER.values(), ids=NEVER.keys())
def test_a_loss_excuses_no_second_note_and_no_lost_one(kind: str, change: Callable[[Stage], None]) -> None:
    """A confirmation is one note, whatever the database forgot; somebody who asks again gets it."""
    stage = good()
    change(stage)
    forget(stage, ANA)
    found = stage.verdict()
    assert found.faults[kind], found.faults
    assert found.word == BROKEN


def test_a_loss_beside_good_books_changes_nothing() -> None:
    """Nobody is named; of too many people too little was promised."""
    stage = good()
    forget(stage, ANA)
    assert stage.verdict().word == KEPT
    stage.losses.append(Loss(stage.meta[0][0], stage.meta[-1][0]))
    found = stage.verdict()
    assert (found.word, found.judged["people beside a loss"]) == (NOT_PROVEN, PEOPLE)


def test_a_mail_that_was_forgotten_may_be_sent_again() -> None:
    """Once more for each that the database may know nothing of, and none for one that it knows."""
    stage = good()
    forget(stage, ANA)
    forgotten, known = stage.losses[0].begun, stage.losses[0].ended + timedelta(seconds=1)
    for first, said in ((forgotten, []), (known, ["bia@c.example: 2 e-mails"])):
        mails = [("bia@c.example", "<1@p>", first), ("bia@c.example", "<2@p>", known)]
        assert judge(replace(stage.evidence(), listed=["bia@c.example"], mails=mails)).unmailed == said
