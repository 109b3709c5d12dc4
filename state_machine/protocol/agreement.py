"""What a city agreed to with the national environment, and what follows for who would issue there."""

from __future__ import annotations

from dataclasses import dataclass

from state_machine.protocol.emission import Rejected


@dataclass(frozen=True, slots=True)
class Convenio:
    """A city's agreement: ``aderente`` to the national environment, ``emissor``: its companies may issue there."""

    aderente: bool
    emissor: bool

    @property
    def recusa(self) -> Rejected | None:
        """Return what the authority says of a note from there (E0037, E0039 of Anexo I); ``None``: nothing."""
        if self.aderente and self.emissor:
            return None
        codigo = "E0039" if self.aderente else "E0037"
        return Rejected(codigo, (codigo,))
