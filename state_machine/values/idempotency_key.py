"""The key under which a caller asks for something once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from state_machine.values.errors import ProsaError

_VISIBLE: Final = re.compile(r"[!-~]{1,255}")  # ASCII without the space: what a header carries unchanged


class IdempotenciaKeyInvalida(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """The key is empty, too long, or has a character that is not visible ASCII."""

    code = "idempotencia_key_invalida"


@dataclass(frozen=True, slots=True)
class IdempotenciaKey:
    """A caller's key: 1 to 255 visible ASCII characters, kept as they came. Raises ``IdempotenciaKeyInvalida``."""

    valor: str

    def __post_init__(self) -> None:
        if not _VISIBLE.fullmatch(self.valor):
            raise IdempotenciaKeyInvalida(
                f"an idempotency key has 1 to 255 visible ASCII characters, not {len(self.valor)}"
            )

    def __str__(self) -> str:
        return self.valor
