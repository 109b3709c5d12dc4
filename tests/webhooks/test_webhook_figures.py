from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from persistence.queue.inbox import Arrival
from telemetry.logs import ALLOWED
from telemetry.metrics import Metrics
from tests.patience import PATIENCE
from webhooks import deps as module
from webhooks.deps import IDS_PER_LINE, REFUSALS_APART, Figures


class Clock:
    """A monotonic clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return what it was set to."""
        return self.now


def arrivals(*ids: str, tipo: str = "mensagem") -> list[Arrival]:
    return [Arrival(f"key-{name}", "lane", tipo, {}, name, imediato=True) for name in ids]


def told(logs: list[Any]) -> list[dict[str, Any]]:
    return [dict(line) for line in logs if line["event"] == "arrived"]


async def a_round() -> None:
    """Let the loop run what is ready, and what that makes ready."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "APART", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_what_arrives_together_is_one_line_with_every_id() -> None:
    """Webhooks of one moment share a line, each sender its own; no correlation id is missing: each can be followed."""
    figures = Figures(Metrics())
    with capture_logs() as logs:
        figures.stored("whatsapp", 2, arrivals("a", "b"))
        figures.stored("gateway", 1, arrivals("g", tipo="gateway"))
        figures.stored("whatsapp", 0, arrivals("c"))
        assert told(logs) == []
        await a_round()
        figures.stored("whatsapp", 1, arrivals("d"))
        await a_round()
    assert [(line["origem"], line["novas"], line["correlacoes"]) for line in told(logs)] == [
        ("whatsapp", 2, ["a", "b", "c"]),
        ("gateway", 1, ["g"]),
        ("whatsapp", 1, ["d"]),
    ]
    assert all(line.keys() - {"log_level"} <= ALLOWED for line in told(logs))


async def test_what_follows_soon_waits_for_company(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first webhook after a pause is told at once; those that follow soon share a line, and none is forgotten."""
    monkeypatch.setattr(module, "APART", 1.0)  # longer than a busy machine holds this loop up
    figures = Figures(Metrics())
    with capture_logs() as logs:
        figures.stored("whatsapp", 1, arrivals("a"))
        await a_round()
        assert [line["correlacoes"] for line in told(logs)] == [["a"]]
        for name in ("b", "c", "d"):
            figures.stored("whatsapp", 1, arrivals(name))
            await a_round()
        assert len(told(logs)) == 1
        async with asyncio.timeout(PATIENCE):
            while len(told(logs)) == 1:  # noqa: ASYNC110 - the logs signal nothing
                await asyncio.sleep(0.001)
    assert [line["correlacoes"] for line in told(logs)] == [["a"], ["b", "c", "d"]]


@pytest.mark.usefixtures("at_once")
async def test_a_line_stays_short_enough_for_a_pipe() -> None:
    """Many webhooks of one moment are told in several lines, each of which a pipe takes whole; nothing is left out."""
    figures = Figures(Metrics())
    ids = [f"{number:012x}" for number in range(3 * IDS_PER_LINE)]
    with capture_logs() as logs:
        for place in range(0, len(ids), 3):
            figures.stored("whatsapp", 3, arrivals(*ids[place : place + 3]))
        await a_round()
    assert [name for line in told(logs) for name in line["correlacoes"]] == ids
    assert sum(line["novas"] for line in told(logs)) == len(ids)
    assert all(len(json.dumps(line["correlacoes"])) < 3_900 for line in told(logs))


async def test_the_end_of_the_application_tells_what_is_left() -> None:
    """What was noted in the last moment is told at once when the loop is about to stop, and only once."""
    figures = Figures(Metrics())
    with capture_logs() as logs:
        figures.stored("whatsapp", 1, arrivals("last"))
        figures.tell()
        assert [line["correlacoes"] for line in told(logs)] == [["last"]]
        await a_round()
    assert len(told(logs)) == 1


async def test_a_stranger_does_not_fill_the_log() -> None:
    """Refusals are told at once after a quiet minute, then summed: every one is counted, each kind by itself."""
    clock = Clock()
    figures = Figures(Metrics(), clock)

    def lines() -> list[tuple[str, str, int]]:
        return [(line["event"], line["origem"], line["count"]) for line in logs]

    with capture_logs() as logs:
        for _ in range(1000):
            figures.refused("signature_refused", "whatsapp")
        figures.refused("secret_refused", "gateway")
        assert lines() == [("signature_refused", "whatsapp", 1), ("secret_refused", "gateway", 1)]
        clock.now += REFUSALS_APART - 1
        figures.refused("signature_refused", "whatsapp")
        assert len(logs) == 2
        clock.now += 1
        figures.refused("signature_refused", "whatsapp")
        assert lines()[2:] == [("signature_refused", "whatsapp", 1001)]
        figures.refused("signature_refused", "whatsapp")
        figures.tell()
        assert len(logs) == 3
        figures.close()
        figures.close()
        assert lines()[3:] == [("signature_refused", "whatsapp", 1)]
    assert all(line.keys() - {"log_level"} <= ALLOWED for line in logs)


async def test_figures_told_together_are_those_told_one_by_one() -> None:
    """Counters and the histogram have every webhook, whatever was summed before."""
    metrics = Metrics()
    figures = Figures(metrics)
    for status, seconds in ((200, 0.002), (200, 0.2), (503, 20.0)):
        figures.answered("whatsapp", status, seconds)
    figures.messages(["text", "audio", "text"])
    figures.stored("whatsapp", 1, [*arrivals("a"), *arrivals("b", tipo="status")])
    await a_round()
    lines = metrics.expose().decode().splitlines()
    for expected in (
        'prosa_webhook_requests_total{origem="whatsapp",status="200"} 2.0',
        'prosa_webhook_requests_total{origem="whatsapp",status="503"} 1.0',
        'prosa_webhook_seconds_bucket{le="0.0025",origem="whatsapp"} 1.0',
        'prosa_webhook_seconds_count{origem="whatsapp"} 3.0',
        'prosa_messages_total{type="text"} 2.0',
        'prosa_messages_total{type="audio"} 1.0',
        'prosa_arrivals_total{tipo="mensagem"} 1.0',
        'prosa_arrivals_total{tipo="status"} 1.0',
        'prosa_arrivals_stored_total{origem="whatsapp"} 1.0',
    ):
        assert expected in lines
    sums = [float(line.split()[-1]) for line in lines if line.startswith("prosa_webhook_seconds_sum")]
    assert sums == [pytest.approx(20.202)]
