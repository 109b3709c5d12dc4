"""The retry table: how long to wait before the same bytes go again, and before the next question.

A circuit breaker: decides whether a server that keeps failing is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal
from zlib import crc32

from state_machine.protocol.channel import Natureza

_MOST_DOUBLINGS = 64  # far beyond any cap; a float would overflow at 1,024


@dataclass(frozen=True, slots=True)
class Retentativas:
    """The specification's retry table.

    Seconds: ``base``, times ``fator`` for each further try, at most ``teto``; ``jitter`` takes off up to that part.
    ``rodada`` is the table's number of tries. We do not give up after it, for nothing was sent: people are told.
    """

    rodada: int = 3
    base: float = 1.0
    fator: float = 2.0
    teto: float = 30.0
    jitter: float = 0.2

    def espera(self, feitas: int, semente: str) -> float:
        """Return the seconds to wait after try number ``feitas`` (from 1).

        The jitter is drawn from ``semente`` and the number, so that the same emission always waits the same, and a
        thousand that failed together do not come back together.
        """
        dobras = min(max(feitas - 1, 0), _MOST_DOUBLINGS)
        espera = min(self.base * self.fator**dobras, self.teto)
        sorte = crc32(f"{semente}:{feitas}".encode()) / 2**32
        return espera * (1.0 - self.jitter * sorte)


@dataclass(frozen=True, slots=True)
class Politica:
    """Tunables: ``escada`` in seconds (the last repeats), ``avisar_apos`` until the user hears that it takes long.

    ``retentativas`` paces what certainly was not taken; ``escada`` paces the questions about what may have been.
    ``natureza`` is that of the channel in question.
    """

    escada: Sequence[float] = (2, 10, 30, 120, 300, 900, 3600)
    avisar_apos: timedelta = timedelta(seconds=30)
    retentativas: Retentativas = field(default_factory=Retentativas)
    natureza: Natureza = field(default_factory=Natureza)

    def de(self, natureza: Natureza) -> Politica:
        """Return the same tunables for a channel of this nature."""
        return replace(self, natureza=natureza, escada=natureza.ladder or self.escada)

    def degrau(self, subidos: int) -> float:
        """Return the seconds of the rung after ``subidos`` rungs."""
        return self.escada[min(subidos, len(self.escada) - 1)]

    def proxima(
        self, idade: timedelta, degrau: float, daqui: float | None, *, avisado: bool
    ) -> tuple[float, Literal["demorou"] | None]:
        """Return the seconds until the next look, and the news where the user is to hear now that it takes long.

        ``daqui`` is when it must be; else it is the rung ``degrau``, or earlier to tell the user in time.
        """
        if avisado:
            return degrau if daqui is None else daqui, None
        ate_avisar = (self.avisar_apos - idade).total_seconds()
        if ate_avisar <= 0:
            return degrau if daqui is None else daqui, "demorou"
        return min(degrau, ate_avisar) if daqui is None else daqui, None


class Probes:
    """At most ``limit`` probes in vain per ``cooldown`` seconds, shared by the breakers of one server.

    Each breaker probes for itself. While the whole server is down this bounds what a thousand of them cost together.
    """

    def __init__(self, limit: int, *, clock: Callable[[], float], cooldown: float) -> None:
        self._limit = limit
        self._clock = clock
        self._cooldown = cooldown
        self._taken: deque[float] = deque()

    def take(self) -> bool:
        """Count one more probe; False when too many were made lately and none of them was answered."""
        now = self._clock()
        while self._taken and now - self._taken[0] >= self._cooldown:
            self._taken.popleft()
        if len(self._taken) >= self._limit:
            return False
        self._taken.append(now)
        return True

    def answered(self) -> None:
        """Count one less: the server answers, so others may look sooner."""
        if self._taken:
            self._taken.popleft()


class Breaker:
    """Opens after ``threshold`` failures in a row, for ``cooldown`` seconds; then lets one probe through.

    ``clock`` gives seconds that only grow; ``on_change`` hears ``True`` when it opens, ``False`` when it closes.
    ``probes`` is shared with the other breakers of the same server, where there are any.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        threshold: int = 3,
        cooldown: float = 30.0,
        on_change: Callable[[bool], None] | None = None,
        probes: Probes | None = None,
    ) -> None:
        self._threshold = threshold  # one failure is weather, several in a row are an outage
        self._cooldown = cooldown  # a user waits seconds for us, an operator minutes for a server
        self._clock = clock
        self._on_change = on_change
        self._probes = probes
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
        if self._opened_at is None:
            return True
        self._opened_at = self._clock()  # a probe that dies unheard is followed by another
        return self._probes is None or self._probes.take()

    def succeeded(self) -> None:
        """Close the circuit."""
        was_open, self._failures, self._opened_at = self.open, 0, None
        if not was_open:
            return
        if self._probes is not None:
            self._probes.answered()
        if self._on_change:
            self._on_change(False)  # noqa: FBT003 - what the observer is promised

    def failed(self) -> None:
        """Count a failure and open the circuit at the threshold.

        While it is open nothing changes: the pause runs from the opening or the last probe, and a call that was under
        way before tells nothing new.
        """
        self._failures += 1
        if self._failures < self._threshold or self._opened_at is not None:
            return
        self._opened_at = self._clock()
        if self._on_change:
            self._on_change(True)  # noqa: FBT003 - what the observer is promised
