"""The one way in which a key can be wrong."""

from __future__ import annotations

from state_machine.values.errors import ProsaError


class ChaveInvalida(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """A part does not fit its place in the key, or the check digit does not match; ``campo`` names the part."""

    code = "chave_invalida"

    def __init__(self, campo: str, message: str) -> None:
        super().__init__(f"{campo}: {message}")
        self.campo = campo
