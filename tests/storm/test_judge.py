"""The judge of the storm, held to books written by hand: it must be able to say no."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from sandbox.ledger import Record
from storm.judge import Evidence, Verdict, judge
from storm.plan import Wish

ANA, PADARIA = "5511980000000", "12345678000195"
START = datetime(2026, 1, 2, 12, tzinfo=UTC)
WISH = Wish(ANA, Decimal("1500.00"), PADARIA, None, (0.0,), toca_antiga=False)


def book(*facts: tuple[str, dict[str, Any]], start: int = 0) -> list[Record]:
    """A ledger: one fact a second."""
    return [Record(n, START + timedelta(seconds=n), kind, data) for n, (kind, data) in enumerate(facts, start=start)]


def summary(revisao: int = 1, callback: str = "1") -> tuple[str, dict[str, Any]]:
    button = {"type": "reply", "reply": {"id": f"confirmar:S:{revisao}", "title": "Confirmar"}}
    payload = {"type": "interactive", "interactive": {"action": {"buttons": [button]}}}
    return "outbound", {"user": {"key": ANA}, "payload": payload | {"biz_opaque_callback_data": callback}}


def tap(revisao: int = 1, wamid: str = "w1") -> tuple[str, dict[str, Any]]:
    reply = {"button_reply": {"id": f"confirmar:S:{revisao}", "title": "Confirmar"}}
    return "inbound", {"user": {"key": ANA}, "message": {"id": wamid, "type": "interactive", "interactive": reply}}


def file(suffix: str, callback: str) -> tuple[str, dict[str, Any]]:
    payload = {"type": "document", "document": {"filename": f"nota.{suffix}"}, "biz_opaque_callback_data": callback}
    return "outbound", {"user": {"key": ANA}, "payload": payload}


def created(note: str = "n1", revisao: int = 1, valor: float = 1500, tentativa: int = 1) -> tuple[str, dict[str, Any]]:
    payload = {
        "idIntegracao": f"S-r{revisao}-{tentativa}",
        "tomador": {"cpfCnpj": PADARIA},
        "servico": [{"valor": {"servico": valor}}],
    }
    return "note.created", {"id": note, "payload": payload}


def settled(note: str = "n1") -> tuple[str, dict[str, Any]]:
    return "note.settled", {"id": note, "numero": "1"}


SAID = ("inbound", {"user": {"key": ANA}, "message": {"id": "w0", "type": "text", "text": {"body": "..."}}})
FILES = (file("pdf", "2"), file("xml", "3"))
GOOD_META = (SAID, summary(), tap(), *FILES)
GOOD_NOTES = (created(), settled())


def verdict(
    meta: tuple[Any, ...] = GOOD_META,
    notes: tuple[Any, ...] = GOOD_NOTES,
    *,
    session: tuple[str, str, str] = ("S", "aprovado", "webhook_success"),
    **changes: Any,
) -> Verdict:
    """Judge one person's storm; the gateway's book begins ten seconds after the tap."""
    evidence: dict[str, Any] = {
        "wishes": {ANA: WISH},
        "meta": book(*meta),
        "gateway": book(*notes, start=20),
        "sessions": [session],
        "inbox": frozenset(),
        "open_rows": {"inbox": 0},
    }
    return judge(Evidence(**evidence | changes))


def test_one_confirmation_and_one_note_is_what_was_promised() -> None:
    """A person who confirmed once and has one note on the phone gives the judge nothing to say."""
    found = verdict()
    assert found.kept
    assert (found.confirmed, found.notes, found.sent) == (1, 1, 3)
    assert not any(found.faults.values())


def test_a_rejected_first_attempt_is_no_duplicate() -> None:
    """Only notes to which the authority gave a number are counted."""
    notes = (created("n0"), ("note.settled", {"id": "n0", "numero": None}), created("n1", tentativa=2), settled("n1"))
    assert verdict(notes=notes).kept


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("duplicates", {"notes": (*GOOD_NOTES, created("n2"), settled("n2"))}),
        ("duplicates", {"notes": (*GOOD_NOTES, created("n2", tentativa=2), settled("n2"))}),
        ("lost", {"notes": ()}),
        ("lost", {"notes": (created(),)}),
        ("unconfirmed", {"meta": (SAID, summary(), *FILES)}),
        ("unconfirmed", {"notes": (created(revisao=2), settled())}),
        ("unconfirmed", {"meta": (SAID, summary(1), summary(2, "9"), tap(1), *FILES)}),
        ("unconfirmed", {"gateway": book(*GOOD_NOTES, start=-10)}),
        ("unconfirmed", {"notes": (*GOOD_NOTES, ("note.created", {**created("n3")[1]})), "meta": (SAID,)}),
        ("wrong", {"notes": (created(valor=1500.01), settled())}),
        ("wrong", {"wishes": {ANA: Wish(ANA, Decimal(1500), "99000001000100", None, (0.0,), toca_antiga=False)}}),
        ("stuck", {"session": ("S", "processando", "confirmed")}),
        ("stuck", {"session": ("S", "aprovado", "confirmed")}),
        ("stuck", {"wishes": {ANA: WISH, "551199": WISH}}),
        ("stuck", {"open_rows": {"quarantine": 1}}),
        ("untold", {"meta": (SAID, summary(), tap(), file("pdf", "2"))}),
        ("unstored", {"meta": (*GOOD_META, ("webhook.delivered", {"refs": ["w1"], "status": 200}))}),
    ],
)
def test_what_was_promised_and_not_kept_is_named(kind: str, changes: dict[str, Any]) -> None:
    """Every broken promise is found under its name, and none is forgiven."""
    found = verdict(**changes)
    assert found.faults[kind]
    assert not found.kept


def test_a_2xx_with_its_row_is_as_it_should_be() -> None:
    """Messages are found by their id, ticks by the message that they are about."""
    delivered = [("webhook.delivered", {"refs": [ref], "status": 200}) for ref in ("w1", "w9")]
    assert verdict(meta=(*GOOD_META, *delivered), inbox=frozenset({"w1", "status:w9:read"})).kept


@pytest.mark.parametrize("again", [summary(), summary(callback="77"), file("pdf", "2")])
def test_a_message_that_came_twice_is_counted(again: Any) -> None:
    """The same message accepted again, or the same summary unasked, is an outbound duplicate."""
    meta = (SAID, summary(), again, tap(), *FILES) if again[1]["payload"]["type"] == "interactive" else None
    assert len(verdict(meta=meta or (*GOOD_META, again)).outbound_duplicates) == 1


def test_a_summary_shown_again_on_request_is_no_duplicate() -> None:
    """Who writes or taps something is answered, with the same summary if need be."""
    found = verdict(meta=(SAID, summary(), ("inbound", SAID[1]), summary(callback="5"), tap(), *FILES))
    assert found.outbound_duplicates == []


def test_a_few_outbound_duplicates_are_within_the_promise() -> None:
    """One message in a thousand may come twice: WhatsApp has no key for what it accepts."""
    few = verdict()
    assert Verdict(1, 1, sent=1000, outbound_duplicates=["one"]).kept
    assert not Verdict(1, 1, sent=999, outbound_duplicates=["one"]).kept
    assert few.kept
