"""Webhooks that were answered and lost, or that have no end: the judge misses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from proofs.storm.judge.verdict import BROKEN, KEPT
from tests.proofs.storm.storm_books import Stage, good, never_made
from tests.proofs.storm.storm_wishes import ANA

if TYPE_CHECKING:
    from collections.abc import Callable


def of_the_gateway(stage: Stage) -> list[dict[str, Any]]:
    return [data for _, kind, data in stage.gateway if kind == "webhook.delivered"]


def swallowed(stage: Stage) -> None:
    """Every webhook of the gateway is answered 200 and dropped."""
    stage.hints.clear()


def on_its_way(stage: Stage) -> None:
    name = of_the_gateway(stage)[0]["id"]
    stage.without(stage.gateway, lambda kind, data: kind == "webhook.delivered" and data["id"] == name)


def refused(stage: Stage) -> None:
    name = stage.hook(stage.gateway, ["n"], "{}")
    stage.hints.append("{}")
    stage.tell(stage.gateway, "webhook.failed", id=name, attempt=1, status=500)


def given_up(stage: Stage) -> None:
    for place, (at, kind, data) in enumerate(stage.meta):
        if kind == "webhook.delivered":
            stage.meta[place] = (at, "webhook.abandoned", data)
            return


def other_body(stage: Stage) -> None:
    stage.hints[0] = stage.hints[0].replace("CONCLUIDO", "REJEITADO").replace("REJEITADO", "X")


def without_webhook(stage: Stage) -> None:
    first = next(data["message"]["id"] for _, kind, data in stage.meta if kind == "inbound")
    stage.without(stage.meta, lambda kind, data: kind.startswith("webhook.") and data.get("refs") == [first])
    queued = {data["id"] for _, kind, data in stage.meta if kind == "webhook.queued"}
    stage.without(stage.meta, lambda kind, data: kind.startswith("webhook.") and data["id"] not in queued)


def untold_tick(stage: Stage) -> None:
    stage.inbox.remove(next(key for key in stage.inbox if key.startswith("status:")))


WEBHOOKS = {
    "every webhook of the gateway swallowed": ("unstored", swallowed),
    "one webhook of the gateway swallowed": ("unstored", lambda stage: stage.hints.pop()),
    "a webhook of the gateway stored with other words": ("unstored", other_body),
    "a message without its row": ("unstored", lambda stage: stage.inbox.remove("in0")),
    "a tick without its row": (
        "unstored",
        untold_tick,
    ),
    "the gateway never said a word": ("unaccounted", never_made),
    "a webhook without an end": ("unaccounted", on_its_way),
    "a webhook refused": ("unaccounted", refused),
    "a message that Meta gave up": ("unaccounted", given_up),
    "a message that was never sent": ("unaccounted", without_webhook),
}


@pytest.mark.parametrize(("kind", "change"), WEBHOOKS.values(), ids=WEBHOOKS.keys())
def test_every_webhook_is_accounted_for(kind: str, change: Callable[[Stage], Any]) -> None:
    """What was answered 2xx is stored, of Meta and of the gateway; everything else has an end that is known."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert found.faults[kind], found.faults
    assert found.word == BROKEN


def test_a_webhook_that_the_storm_itself_swallowed_is_no_fault() -> None:
    """The fault is in the gateway's book; the note was found by asking."""
    stage = good()
    note = stage.created(ANA)["id"]
    stage.without(stage.gateway, lambda kind, data: kind == "webhook.queued" and note in data["refs"])
    queued = {data["id"] for _, kind, data in stage.gateway if kind == "webhook.queued"}
    stage.without(stage.gateway, lambda kind, data: kind == "webhook.delivered" and data["id"] not in queued)
    assert stage.verdict().word == BROKEN
    stage.tell(stage.gateway, "fault", fault="sem_webhook", key=note)
    assert stage.verdict().word == KEPT
