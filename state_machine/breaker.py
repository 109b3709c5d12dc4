"""A circuit breaker: decides whether a server that keeps failing is left alone; it counts, and calls nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Breaker:
    """Opens after ``threshold`` failures in a row, for ``cooldown`` seconds; then lets one probe through.

    ``clock`` gives seconds that only grow; ``on_change`` hears ``True`` when it opens, ``False`` when it closes.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        threshold: int = 3,
        cooldown: float = 30.0,
        on_change: Callable[[bool], None] | None = None,
    ) -> None:
        self._threshold = threshold  # one failure is weather, several in a row are an outage
        self._cooldown = cooldown  # a user waits seconds for us, an operator minutes for a server
        self._clock = clock
        self._on_change = on_change
        self._failures = 0
        self._opened_at: float | None = None

    @property
    def open(self) -> bool:
        """Whether the server failed too often and has not answered since."""
        return self._opened_at is not None

    def pause(self) -> float:
        """Return the seconds for which to leave the server alone; 0 when it may be called, or probed."""
        if self._opened_at is None:
            return 0.0
        return max(self._cooldown - (self._clock() - self._opened_at), 0.0)

    def allows(self) -> bool:
        """Say whether a call may be made now; while open, only one probe per cooldown."""
        if self.pause():
            return False
        if self._opened_at is not None:
            self._opened_at = self._clock()  # a probe that dies unheard is followed by another
        return True

    def succeeded(self) -> None:
        """Close the circuit."""
        was_open, self._failures, self._opened_at = self.open, 0, None
        if was_open and self._on_change:
            self._on_change(False)  # noqa: FBT003 - what the observer is promised

    def failed(self) -> None:
        """Count a failure and open the circuit at the threshold."""
        self._failures += 1
        if self._failures < self._threshold:
            return
        was_open, self._opened_at = self.open, self._clock()
        if not was_open and self._on_change:
            self._on_change(True)  # noqa: FBT003 - what the observer is promised
