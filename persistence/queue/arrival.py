"""What came in, as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from persistence.queue.tick import Tick

# Every kind of inbox row that this version knows; ``bot.house`` has a handler for each.
TIPOS = frozenset(
    {
        "mensagem", "emissao", "prazo", "ordem", "retomar", "cancelamento", "prazo_cancelamento", "gateway", "status",
        "aviso_meta", "ilegivel", "equipe",
    }
)  # fmt: skip


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
