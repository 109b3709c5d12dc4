"""The judge of the storm, held to the books of a good storm with one thing changed: it must be able to say no."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from proofs.storm.command import SENTENCE
from proofs.storm.judge.verdict import BROKEN, KEPT, NOT_PROVEN, Verdict, judge
from proofs.storm.labels import KINDS, LABELS
from proofs.storm.plan import Kind
from proofs.storm.report import COLOURS, WORDS
from tests.proofs.storm.storm_books import Stage, another_note, good
from tests.proofs.storm.storm_wishes import ANA, CAIO, DORA, PEOPLE, wish

if TYPE_CHECKING:
    from collections.abc import Callable


def test_one_confirmation_and_one_note_each_is_what_was_promised() -> None:
    """Twenty people with one note each, of the right content, give the judge nothing to say."""
    found = good().verdict()
    assert not any(found.faults.values()), found.faults
    assert (found.word, found.confirmed, found.notes) == (KEPT, PEOPLE, PEOPLE)
    assert found.judged["files"] == 2 * PEOPLE
    assert found.judged["fields of notes"] > 25 * PEOPLE
    assert found.exercised["cancellations"] == found.exercised["refusals with a second attempt"] == 1


def test_everything_in_a_verdict_has_its_name_in_portuguese() -> None:
    """There is a label for each list of faults, count, blow and word, and no label is left over."""
    found = good().verdict()
    assert LABELS.keys() == {*found.faults, *found.judged, *found.exercised}
    assert KINDS.keys() == COLOURS.keys() == set(Kind)
    assert WORDS.keys() == SENTENCE.keys() == {KEPT, BROKEN, NOT_PROVEN}


def two_sessions(stage: Stage) -> None:
    """Ana is shown two summaries for one wish, says yes to both, and has a note for each."""
    stage.shows(wish(0), "S0x", 1)
    stage.taps(ANA, "confirmar:S0x:1")
    another_note(sessao="S0x")(stage)
    stage.sessions.append(["S0x", "aprovado", "webhook_success"])


def unconfirmed(stage: Stage) -> None:
    stage.without(stage.meta, lambda kind, data: kind == "inbound" and "S0:1" in str(data))


def outdated(stage: Stage) -> None:
    """Dora corrects the amount; the house issues on a tap on the first summary."""
    tap = next(d for _, kind, d in stage.meta if kind == "inbound" and "confirmar:S3:2" in str(d))
    tap["message"]["interactive"]["button_reply"]["id"] = "confirmar:S3:1"
    stage.created(DORA)["payload"]["idIntegracao"] = "S3-r1-1"


def too_early(stage: Stage) -> None:
    stage.gateway[:] = [(at - timedelta(days=1), kind, data) for at, kind, data in stage.gateway]


def no_note(stage: Stage) -> None:
    note = stage.created(ANA)["id"]
    stage.without(stage.gateway, lambda _, data: data.get("id") == note or note in data.get("refs", ()))


def no_number(stage: Stage) -> None:
    note = stage.created(ANA)["id"]
    stage.without(stage.gateway, lambda kind, data: kind == "note.settled" and data["id"] == note)


def no_second_attempt(stage: Stage) -> None:
    """Caio's first customer is refused, and his second yes leads to nothing."""
    note = stage.created(CAIO)["id"]
    stage.without(stage.gateway, lambda _, data: data.get("id") == note or note in data.get("refs", ()))


def yes_without_a_note(stage: Stage) -> None:
    """Ana has her note, and says yes to another summary, which leads to nothing."""
    stage.shows(wish(0), "S0x", 1)
    stage.taps(ANA, "confirmar:S0x:1")


def only_refused(stage: Stage) -> None:
    """Caio's first customer is refused, and he never says yes again."""
    no_second_attempt(stage)
    stage.without(stage.meta, lambda kind, data: kind == "inbound" and "S2b:1" in str(data))


WISHES = {
    "two notes under one key": ("duplicates", ANA, another_note()),
    "two notes for two attempts of one revision": ("duplicates", ANA, another_note(tentativa=2)),
    "two notes for two revisions": ("duplicates", ANA, another_note(revisao=2)),
    "two confirmed sessions with a note each for one wish": ("duplicates", ANA, two_sessions),
    "a second note under a key that no phone ever showed": ("duplicates", ANA, another_note(sessao="Z")),
    "a note of another shape of key": ("unconfirmed", "Z", another_note(sessao="Z", revisao=1)),
    "a note without a confirmation": ("unconfirmed", "S0", unconfirmed),
    "a note on a tap on the outdated summary": ("unconfirmed", "S3", outdated),
    "a note before the confirmation": ("unconfirmed", "S0", too_early),
    "a confirmation without a note": ("lost", ANA, no_note),
    "a note that never got its number": ("lost", ANA, no_number),
    "a second yes without a note": ("lost", f"{ANA} S0x", yes_without_a_note),
    "a refusal and nothing after it": ("lost", f"{CAIO}: nenhuma nota", only_refused),
    "a refusal whose second attempt is lost": ("lost", CAIO, no_second_attempt),
}


@pytest.mark.parametrize(("kind", "whose", "change"), WISHES.values(), ids=WISHES.keys())
def test_one_wish_has_one_note(kind: str, whose: str, change: Callable[[Stage], None]) -> None:
    """By person and wish, whatever the sessions and keys: never two, never none, never without a yes before it."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(whose in line for line in found.faults[kind]), found.faults
    assert found.word == BROKEN


def test_a_rejected_first_attempt_is_no_duplicate() -> None:
    """Only notes to which the authority gave a number are counted."""
    assert good().verdict().duplicates == []


def test_a_word_confirms_the_summary_on_the_phone() -> None:
    """Who wrote a yes confirmed as one who tapped; without the word the note is nobody's."""
    stage = good()
    who = wish(6).who
    for _, kind, data in stage.meta:
        if kind == "inbound" and data["user"]["key"] == who and data["message"].get("text", {}).get("body") == "sim":
            data["message"]["text"]["body"] = "bom dia"
    found = stage.verdict()
    assert any("S6" in line for line in found.unconfirmed)
    assert any(who in line for line in found.stuck)


def session(place: int, value: str) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.sessions[0][place] = value

    return change


def attempt(status: str) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.emissions[0][1] = status

    return change


STUCK = {
    "a session without a snapshot": ("S0: terminou sem snapshot", lambda stage: stage.sessions.pop(0)),
    "a snapshot with another reason": ("S0: aprovado (confirmed)", session(2, "confirmed")),
    "a session that never ended": ("S0: processando", session(1, "processando")),
    "a session that nobody confirmed": ("S99: ", lambda stage: stage.sessions.append(["S99", "expirado", "expired"])),
    "an emission of unknown outcome": ("S0-r1-1: desconhecido", attempt("desconhecido")),
    "an emission given up": ("S0-r1-1: erro", attempt("erro")),
    "an emission that the authority never saw": ("Z-r1-1", lambda s: s.emissions.append(["Z-r1-1", "concluido"])),
    "a row that waits": ("outbox: 2 em aberto", lambda stage: stage.open_rows.update(outbox=2)),
    "a quarantined row": (
        "em quarentena: 1 em aberto",
        lambda stage: stage.open_rows.update({"inbox, em quarentena": 1}),
    ),
    "a person who never came to a yes": (
        "5511999: não chegou a confirmar",
        lambda stage: stage.wishes.update({"5511999": wish(0)}),
    ),
}


@pytest.mark.parametrize(("words", "change"), STUCK.values(), ids=STUCK.keys())
def test_nothing_stays_stuck(words: str, change: Callable[[Stage], Any]) -> None:
    """Every session ends with its snapshot and reason, every attempt as the authority says, every row done."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(words in line for line in found.stuck), found.stuck
    assert found.word == BROKEN


MAILED = {
    "a row that was lost": ("bia@c.example: 0 e-mails", [("ana@c.example", "<1@p>")]),
    "a second mail": (
        "bia@c.example: 2 e-mails",
        [("ana@c.example", "<1@p>"), ("bia@c.example", "<2@p>"), ("bia@c.example", "<3@p>")],
    ),
    "a mail to nobody's address": (
        "caio@c.example: ninguém pediu",
        [("ana@c.example", "<1@p>"), ("bia@c.example", "<2@p>"), ("caio@c.example", "<3@p>")],
    ),
    "a copy of a mail whose answer was lost": (
        "",
        [("ana@c.example", "<1@p>"), ("bia@c.example", "<2@p>"), ("bia@c.example", "<2@p>")],
    ),
}


@pytest.mark.parametrize(("words", "mails"), MAILED.values(), ids=MAILED.keys())
def test_each_address_of_a_list_has_one_mail(words: str, mails: list[tuple[str, str]]) -> None:
    """The same mail again is no second one."""
    stage = good()
    taken = [(*each, stage.meta[0][0]) for each in mails]
    found = judge(replace(stage.evidence(), listed=["ana@c.example", "bia@c.example"], mails=taken))
    assert found.unmailed == ([words] if words else [])
    assert found.word == (BROKEN if words else KEPT)


@pytest.mark.parametrize("words", [False, True])
def test_a_message_that_came_twice_is_counted(words: bool) -> None:
    """One message of ours accepted again, or the same words oftener than anybody wrote, is an outbound duplicate."""
    stage = good()
    if words:
        for _ in range(5):
            stage.sends(ANA, {"type": "text", "text": {"body": "Sua nota está demorando."}})
    else:
        stage.sends(ANA, {"type": "document", "document": dict(stage.documents(ANA, "xml")[0])}, mark="3")
        last = [data["payload"] for _, kind, data in stage.meta if kind == "outbound"]
        last[-1]["biz_opaque_callback_data"] = next(
            p["biz_opaque_callback_data"] for p in last if p.get("document") == last[-1]["document"]
        )
    found = stage.verdict()
    assert found.outbound_duplicates
    assert found.misfiled == []  # the same message again is F18's matter, not another file
    assert found.word == BROKEN  # one of a few dozen is far above one in a thousand


def test_a_summary_again_is_counted_unless_its_reader_did_something() -> None:
    """The same summary unasked is an outbound duplicate; who writes in between is answered with it."""
    stage = good()
    stage.writes(ANA, "oi")
    stage.shows(wish(0), "S0", 1)
    assert stage.verdict().outbound_duplicates == []
    stage.shows(wish(0), "S0", 1)
    assert len(stage.verdict().outbound_duplicates) == 1


def test_a_few_outbound_duplicates_are_within_the_promise() -> None:
    """One message in a thousand may come twice: WhatsApp has no key for what it accepts."""
    assert Verdict(1, 1, sent=1000, outbound_duplicates=["one"]).word == KEPT
    assert Verdict(1, 1, sent=999, outbound_duplicates=["one"]).word == BROKEN
