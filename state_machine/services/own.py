"""A company's own service codes: which they are, and how people are told of them."""

from __future__ import annotations

from dataclasses import dataclass

from state_machine.services.codes import dotted, text_of


@dataclass(frozen=True, slots=True)
class Servico:
    """A national code (six digits) of a company, what the company calls it, and its cNBS (nine digits)."""

    codigo: str
    descricao: str | None = None
    nbs: str | None = None

    @property
    def nome(self) -> str:
        """What people read beside the code: the company's own words, else the table's."""
        return self.descricao or text_of(self.codigo) or "código que a lista nacional não tem"


def named(codigo: str) -> str:
    """Return "01.07.01 – Suporte técnico …", or the code alone where the table does not have it."""
    texto = text_of(codigo)
    return f"{dotted(codigo)} – {texto}" if texto else dotted(codigo)
