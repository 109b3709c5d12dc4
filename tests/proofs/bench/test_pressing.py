"""Slices of several starts as one: what counts is every answer, not the mean of means."""

from __future__ import annotations

import pytest

from proofs.bench.load.pressing import Pressed


def start(answers: list[float], seconds: float, cpu: float) -> Pressed:
    """One start with one slice, as the load generator tells it."""
    run = {"answered": len(answers), "per_second": len(answers) / seconds, "taken_ms": answers}
    return Pressed((run,), cpu, len(answers))


def test_starts_are_added_answer_by_answer() -> None:
    """A short slow start weighs as much as it lasted; percentiles are those of all answers together."""
    both = start([1.0] * 90, 0.9, 0.009) + start([5.0] * 10, 1.1, 0.003)
    assert (both.answered, both.rows) == (100, 100)
    assert both.per_second == pytest.approx(50)
    assert both.cpu_us == pytest.approx(120)
    assert (both.taken_ms(0.5), both.taken_ms(0.99)) == (1.0, 5.0)
    assert both.rates() == pytest.approx((100, 100 / 11))
