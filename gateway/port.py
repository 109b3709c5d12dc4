"""The port of a fiscal gateway: what every channel answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from gateway.certificate.connections import Certificates
from gateway.lines import Lines
from gateway.nacional.layouts import LayoutChoice
from state_machine.cancellation.machine import MotivoCancelamento
from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome
from state_machine.documents import Documento
from state_machine.invoice.fields import Campo
from state_machine.protocol.audit import Listagem
from state_machine.protocol.channel import Ambiente, Kept, NaturalKey, Natureza
from state_machine.protocol.emission import Download, Finding, Found, Misconfigured, Nota, NotSent, Outcome, Rejected

Key = TypeVar("Key", bound=NaturalKey)


@dataclass(frozen=True, slots=True)
class Explicacao:
    """Why a note was rejected: ``texto`` is a short pt-BR phrase; ``campo`` what the user can change, if anything.

    ``suporte`` is true when only staff can repair it (the company's own registration or our layout), ``troca`` when the
    note may not take the place of the one that it names: no correction of it helps.
    """

    texto: str
    campo: Campo | None
    suporte: bool = False
    troca: bool = False


Prepared: TypeAlias = "bytes | NotSent | Misconfigured | Rejected"
"""The bytes to send, or why there are none."""


class Adapter(Protocol[Key]):
    """A channel to one authority in one environment. Nothing raises for what the other side does: answers are values.

    ``natureza`` says which of the methods mean something here, and what an absence is worth. ``lines`` are the
    channel's own; whoever calls asks their breaker first.
    """

    name: str
    ambiente: Ambiente
    natureza: Natureza
    lines: Lines

    @property
    def leiaute(self) -> LayoutChoice | None:
        """Which of two layouts it makes now, where there are two."""
        ...

    def key_for(self, intent: Documento) -> Key:
        """Return the key under which the authority will know ``intent``; pure."""
        ...

    def key(self, prestador: str, texto: str) -> Key:
        """Read a key back from its text form. Raises ``ValueError`` for text that is none."""
        ...

    def payload(self, intent: Documento) -> bytes:
        """Return the exact bytes to send for ``intent``; pure, so that they can be stored before they leave.

        Where ``natureza.prepares``, what they are made of: JSON.
        """
        ...

    async def check(self, intent: Documento) -> Rejected | None:
        """Say what of an invoice could never be sent here, before it is confirmed; ``None``: nothing is known.

        It asks nobody outside and needs no key; where the check itself fails, nothing is known.
        """
        ...

    def explain(self, recusa: Rejected) -> Explicacao:
        """Say in plain pt-BR why a note was refused, and which field repairs it."""
        ...

    async def prepare(self, payload: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> Prepared:
        """Make the exact bytes to send of the stored ones, signed for one; only asked where ``natureza.prepares``.

        ``agora`` (aware) is the moment by the database's clock, of which a document says when it was made; ``antes``
        is what was made of it before, oldest first.
        They are stored before the first of them leaves, and sent as they are from then on. Nothing is sent for any
        other answer: it is tried again, the company is stopped, or the invoice is refused.
        """
        ...

    async def submit(self, payload: bytes) -> Outcome:
        """Send stored bytes once."""
        ...

    async def find(self, key: Key) -> Finding:
        """Ask for the note under our key."""
        ...

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Fetch the rendered document of an authorised note of this prestador (CNPJ)."""
        ...

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:
        """Ask once for the cancellation of an issued note."""
        ...

    async def cancellation(self, key: Key, id_externo: str, protocolo: str | None) -> CancelFinding:
        """Say what became of a request to cancel (``protocolo``: as far as its answer reached us) and of the note."""
        ...

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:
        """Return one page of a prestador's notes of some days (both included, São Paulo), from ``cursor`` on.

        Only asked where ``natureza.lists_by`` is ``days``.
        """
        ...

    async def whole(self, prestador: str, nota: Nota) -> Found:
        """Return a listed note with its text, competence and code, as far as its XML shows them."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


FiscalGateway = Adapter[Any]
"""A channel whose keys are opaque: they come from it and go back to it."""


class KeptDocuments(Protocol):
    """Reads what is kept, where an authority keeps no document itself; shared by all processes."""

    async def of(self, cnpj: str, chave: str) -> Kept:
        """Return what is kept under a key (its text) of a company."""
        ...

    async def stop(self, cnpj: str, seconds: float) -> None:
        """Have nothing of a company called for so long."""
        ...


class NoneKept:
    """Keeps nothing: for a program without a database."""

    async def of(self, cnpj: str, chave: str) -> Kept:  # noqa: ARG002 - port
        """Return nothing."""
        return Kept()

    async def stop(self, cnpj: str, seconds: float) -> None:
        """Forget it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an adapter is opened with: the program's settings, of which it reads its own, and its lines.

    ``guard`` is called before each request leaves and raises if a database transaction is open in this task.
    ``certificates`` are the companies' own, ``kept`` the documents; ``None`` where the program keeps none.
    """

    settings: Any
    ambiente: Ambiente
    guard: Callable[[], None]
    lines: Lines
    certificates: Certificates | None = None
    kept: KeptDocuments | None = None
