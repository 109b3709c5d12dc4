"""A circuit breaker: stops calling a server that keeps failing, and tries it again later; counts, never calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Breaker:
    """Opens after ``threshold`` failures in a row, for ``cooldown`` seconds; then lets one probe through."""

    def __init__(
        self, *, threshold: int = 3, cooldown: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threshold = threshold  # one failure is weather, three in a row are an outage
        self._cooldown = cooldown  # a user waits seconds for us, an operator minutes for a server
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None

    def allows(self) -> bool:
        """Say whether a call may be made now; while open, only one probe per cooldown."""
        if self._opened_at is None:
            return True
        if self._clock() - self._opened_at < self._cooldown:
            return False
        self._opened_at = self._clock()
        return True

    def succeeded(self) -> None:
        """Close the circuit."""
        self._failures, self._opened_at = 0, None

    def failed(self) -> None:
        """Count a failure and open the circuit at the threshold."""
        self._failures += 1
        if self._failures >= self._threshold:
            self._opened_at = self._clock()
