"""What a company's earlier invoices tell of its clients: how each is called, and what is usually invoiced."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from state_machine.invoice.equal_invoice import mesmo_texto
from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from state_machine.invoice.draft import Rascunho

MOST: Final = 1000  # clients among which a name is looked for; with more of them none is clear: another may fit better


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


@dataclass(frozen=True, slots=True)
class Costume:
    """What is usually invoiced to a client; ``valor`` (BRL, "1500.00") is ``None`` where the amounts differ."""

    documento: str
    descricao: str
    valor: str | None

    @property
    def marca(self) -> str:
        """What a button carries of it: another habit than the one that was shown has another mark."""
        return sha256(f"{self.valor}:{self.descricao}".encode()).hexdigest()[:16]

    def preenche(self, rascunho: Rascunho) -> dict[Campo, str]:
        """Return which missing fields of a draft it can offer; none beside another client or another service."""
        if rascunho.validado(Campo.DOCUMENTO) != self.documento:
            return {}
        servico = rascunho.validado(Campo.DESCRICAO)
        if servico is not None and not mesmo_texto(servico, self.descricao):
            return {}
        oferta = {Campo.DESCRICAO: self.descricao, Campo.VALOR: self.valor}
        return {campo: valor for campo, valor in oferta.items() if valor and campo in rascunho.faltam}
