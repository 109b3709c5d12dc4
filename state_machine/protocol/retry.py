"""The specification's retry table: how long to wait before the same bytes go again."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

_MOST_DOUBLINGS = 64  # far beyond any cap; a float would overflow at 1,024


@dataclass(frozen=True, slots=True)
class Retentativas:
    """Seconds: ``base``, times ``fator`` for each further try, at most ``teto``; ``jitter`` takes off up to that part.

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
