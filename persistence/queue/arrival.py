"""What came in, as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from persistence.queue.tick import Tick
    from persistence.rows.inbox_rows import RowKind


@dataclass(frozen=True, slots=True)
class Arrival:
    """One thing that came in. ``chave`` is what makes it unique for ever, ``lane`` the line in which it waits.

    ``payload`` is JSON. ``imediato``: processed at once, without waiting for the sender to finish typing.
    ``tick``: what it tells of a message of ours; applied as it is stored, so that nobody needs to look at it.
    """

    chave: str
    lane: str
    tipo: str
    payload: Mapping[str, Any]
    correlacao: str
    imediato: bool
    tick: Tick | None = None

    @classmethod
    def of(
        cls, row: RowKind, *, chave: str, lane: str, correlacao: str, imediato: bool = True, tick: Tick | None = None
    ) -> Self:
        """Return the arrival of a row; producers make it in no other way."""
        return cls(chave, lane, row.tipo, row.to_payload(), correlacao, imediato, tick)
