"""The issued note that an invoice under construction takes the place of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Substituida:
    """``emissao_id`` is the emission that made it, ``numero`` its number.

    ``recusada``: the authority takes no other note in its place, so that it must be cancelled first.
    """

    emissao_id: int
    numero: str
    recusada: bool = False
