"""The figures of acknowledgements: which ratio is judged, and what it is made of."""

from __future__ import annotations

from typing import Any

import pytest

from proofs.bench.load.pressing import Pressed
from proofs.bench.rows.ack import APART, EMPTY, IDLE, IDLE_EMPTY, TOGETHER, figures


def pressed(*rates: float) -> Pressed:
    """Turns of one second at these rates, each answer after 1 ms."""
    slices = tuple({"answered": int(rate), "per_second": rate, "taken_ms": [1.0] * int(rate)} for rate in rates)
    return Pressed(slices, 0.1, 0)


def found(**modes: dict[str, Pressed]) -> dict[str, list[Any]]:
    """One round as ``measure`` finds it, without the peers."""
    names = {"apart": APART, "together": TOGETHER}
    sides = {names[mode]: [pair] for mode, pair in modes.items()}
    return {**sides, EMPTY: [pressed(900)], IDLE: [(pressed(50), [0.5, 2.0])], IDLE_EMPTY: [pressed(50)]}


def judged(rounds: dict[str, list[Any]]) -> dict[str, float | None]:
    """The ratios that are bounded by 0.9."""
    return {figure.name: figure.ratio for figure in figures(rounds) if str(figure.reach) == "≥ 0.9×"}


PAIR = {"ours": pressed(90, 10, 95), "verify": pressed(100, 100, 100)}
SLOW = {"ours": pressed(50), "verify": pressed(100)}


def test_neighbouring_turns_decide_and_all_together_are_told() -> None:
    """One turn in which everything stood still does not decide; it weighs in the figure beside it."""
    rounds = found(apart=PAIR, together=SLOW)
    assert judged(rounds) == {f"respostas 200 gravadas por segundo, 64 conexões, {APART}": pytest.approx(0.9)}
    beside = {figure.name: figure.ratio for figure in figures(rounds)}
    assert beside[f"o mesmo, fatias somadas, {APART}"] == pytest.approx(195 / 300)
    assert beside[f"respostas 200 gravadas por segundo, 64 conexões, {TOGETHER}"] == pytest.approx(0.5)


def test_where_no_core_can_be_had_the_shared_ones_are_judged() -> None:
    """The bound is never without a figure."""
    assert judged(found(together=SLOW)) == {
        f"respostas 200 gravadas por segundo, 64 conexões, {TOGETHER}": pytest.approx(0.5)
    }
