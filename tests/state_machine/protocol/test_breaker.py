from __future__ import annotations

from state_machine.protocol.retry import Breaker


class Clock:
    """Seconds that go on when told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        """The time."""
        return self.now


def opened(**more):
    clock = Clock()
    changes: list[bool] = []
    breaker = Breaker(clock=clock, threshold=3, cooldown=10.0, on_change=changes.append, **more)
    for _ in range(3):
        breaker.failed()
    return breaker, clock, changes


def test_it_opens_after_failures_in_a_row_only():
    """A success between two failures begins the count anew."""
    breaker = Breaker(clock=Clock(), threshold=3, cooldown=10.0)
    for failed in (True, True, False, True, True):
        breaker.failed() if failed else breaker.succeeded()
        assert breaker.allows()
        assert not breaker.open
    breaker.failed()
    assert breaker.open
    assert not breaker.allows()


def test_while_open_one_caller_per_cooldown_may_try():
    """Half-open: a probe goes, all others wait for what comes of it; a probe that is never heard of is not the last."""
    breaker, clock, _ = opened()
    assert breaker.pause() == 10.0
    clock.now = 9.0
    assert (breaker.allows(), breaker.pause()) == (False, 1.0)
    clock.now = 10.0
    assert breaker.pause() == 0.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    clock.now = 20.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]


def test_looking_at_the_pause_takes_no_probe():
    """Who only asks how long to wait leaves the probe to who calls."""
    breaker, clock, _ = opened()
    clock.now = 10.0
    assert [breaker.pause() for _ in range(3)] == [0.0] * 3
    assert breaker.allows()


def test_a_probe_that_is_answered_closes_it_and_one_that_fails_does_not():
    """And the observer hears of each change once."""
    breaker, clock, changes = opened()
    clock.now = 10.0
    assert breaker.allows()
    breaker.failed()
    assert (breaker.open, breaker.pause(), changes) == (True, 10.0, [True])
    clock.now = 20.0
    assert breaker.allows()
    breaker.succeeded()
    breaker.succeeded()
    assert (breaker.open, breaker.pause(), changes) == (False, 0.0, [True, False])


def test_a_failure_while_it_is_open_extends_nothing():
    """Calls that were under way when it opened fail one after the other; the probe comes when it was due."""
    breaker, clock, changes = opened()
    for second in range(1, 10):
        clock.now = float(second)
        breaker.failed()
    assert breaker.pause() == 1.0
    clock.now = 10.0
    assert breaker.allows()
    clock.now = 15.0
    breaker.failed()  # the probe itself: the pause runs since it left
    assert (breaker.pause(), changes) == (5.0, [True])
