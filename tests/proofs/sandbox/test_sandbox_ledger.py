from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proofs.sandbox.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path


def test_remembers_after_reopening(tmp_path: Path) -> None:
    """Facts and their numbering survive the process, in order."""
    path = tmp_path / "ledger.jsonl"
    first = Ledger(path)
    first.append("a", valor="1.50")
    first.append("b")
    second = Ledger(path)
    third = second.append("a", valor="2.00")
    assert [record.kind for record in second.of()] == ["a", "b", "a"]
    assert third.seq == 3
    assert second.of("a")[0].data == {"valor": "1.50"}


def test_drops_a_torn_last_line(tmp_path: Path) -> None:
    """A line that a crash cut in half is removed, and the next fact takes its number."""
    path = tmp_path / "ledger.jsonl"
    Ledger(path).append("whole")
    with path.open("ab") as file:
        file.write(b'{"seq":2,"at":"2026-1')
    again = Ledger(path)
    assert again.append("next").seq == 2
    assert [record.kind for record in Ledger(path).of()] == ["whole", "next"]


def test_bulky_kinds_stay_on_disk_only(tmp_path: Path) -> None:
    """Forgotten kinds are replayed from disk and not kept in memory."""
    ledger = Ledger(tmp_path / "ledger.jsonl", forget=frozenset({"big"}))
    ledger.append("big")
    ledger.append("small")
    assert [record.kind for record in ledger.of()] == ["small"]
    assert [record.kind for record in ledger.replay()] == ["big", "small"]


async def test_waits_for_a_fact_to_come() -> None:
    """``wait_for`` sees past facts at once, and gives up with TimeoutError."""
    ledger = Ledger()
    ledger.append("here")
    assert (await ledger.wait_for(lambda record: record.kind == "here")).seq == 1
    with pytest.raises(TimeoutError):
        await ledger.wait_for(lambda record: record.kind == "never", timeout=0.01)
