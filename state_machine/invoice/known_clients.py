"""What a company's earlier invoices tell of its clients: how each is called, and what is usually invoiced."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cliente:
    """A company's own client; ``nome`` stands on its invoices, ``outros`` are trade name and remembered nicknames."""

    documento: str
    nome: str | None
    outros: tuple[str, ...] = ()

    @property
    def nomes(self) -> tuple[str, ...]:
        """Every name by which people may call it."""
        return (self.nome, *self.outros) if self.nome else self.outros
