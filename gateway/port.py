"""The port of a fiscal gateway: what every channel answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

    from state_machine.cancellation.machine import MotivoCancelamento
    from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome
    from state_machine.protocol.audit import Listagem
    from state_machine.protocol.emission import Download, Finding, Found, NaturalKey, Nota, Outcome


@dataclass(frozen=True, slots=True)
class Endereco:
    """A Brazilian address; ``codigo_cidade`` is the IBGE code (7 digits), ``cep`` 8 digits."""

    logradouro: str
    numero: str
    bairro: str
    codigo_cidade: str
    cidade: str
    estado: str
    cep: str
    complemento: str | None = None


@dataclass(frozen=True, slots=True)
class Prestador:
    """Who issues: fiscal defaults of the company. ``aliquota`` in percent, ``None`` where the regime fixes it."""

    cnpj: str
    razao_social: str
    inscricao_municipal: str
    municipio_ibge: str
    regime: Literal["mei", "simples", "normal"]
    codigo_servico: str
    cnae: str | None
    aliquota: Decimal | None


@dataclass(frozen=True, slots=True)
class Tomador:
    """Who pays: ``documento`` is a bare CNPJ (14) or CPF (11)."""

    documento: str
    razao_social: str | None
    email: str | None = None
    endereco: Endereco | None = None


@dataclass(frozen=True, slots=True)
class Rps:
    """The number of a note before it is one, where we number and not the gateway."""

    serie: str
    numero: int


@dataclass(frozen=True, slots=True)
class InvoiceIntent:
    """One invoice that the user confirmed; ``valor`` in BRL with two decimals.

    ``rps`` is ``None`` where the gateway numbers by itself.
    """

    id_integracao: str
    prestador: Prestador
    tomador: Tomador
    valor: Decimal
    descricao: str
    competencia: date
    rps: Rps | None = None


class FiscalGateway(Protocol):
    """Three questions and two orders. None raises for what the other side does: every answer is a value."""

    name: str

    def payload(self, intent: InvoiceIntent) -> bytes:
        """Return the exact bytes to send for ``intent``; pure, so that they can be stored before they leave."""
        ...

    async def submit(self, payload: bytes) -> Outcome:
        """Send stored bytes once."""
        ...

    async def find(self, key: NaturalKey) -> Finding:
        """Ask for the note under our key."""
        ...

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Fetch the rendered document of an authorised note of this prestador (CNPJ)."""
        ...

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:
        """Ask once for the cancellation of an issued note."""
        ...

    async def cancellation(self, key: NaturalKey, id_externo: str, protocolo: str | None) -> CancelFinding:
        """Say what became of a request to cancel (``protocolo``: as far as its answer reached us) and of the note."""
        ...


class ListingGateway(Protocol):
    """A gateway that can list what it holds; apart, since an authority may do so by another order than by days."""

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:
        """Return one page of a prestador's notes of some days (both included, São Paulo), from ``cursor`` on."""
        ...

    async def whole(self, prestador: str, nota: Nota) -> Found:
        """Return a listed note with its text, competence and code, as far as its XML shows them."""
        ...
