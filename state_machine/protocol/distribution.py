"""What the authority distributes to a company: its notes and what ended them, each under a number that only grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from state_machine.protocol.emission import Nota

Ended = Literal["cancelada", "substituida"]


@dataclass(frozen=True, slots=True)
class Distributed:
    """One document: a note, an event that ended the note ``chave``, or neither; ``nsu`` is its place in the list."""

    nsu: int
    chave: str
    nota: Nota | None = None
    ended: Ended | None = None
