"""The retry table: how long to wait before the same bytes go again, and before the next question."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from state_machine.protocol.channel import Natureza

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        return replace(self, natureza=natureza)

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
