"""Walks the numbers beyond a restored database's counters at the authority, where every note carries our reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from gateway.port import InvoiceIntent, Rps, Tomador
from gateway.registry import UnknownChannelError
from operations.issuer import issuer_of
from operations.protocol import CommandRefusedError
from persistence.db.clock import database_now
from persistence.fiscal import comparison
from persistence.fiscal.numbers import numbering
from persistence.fiscal.numbers.numbering import Sequencia
from persistence.people.channels import canal_of
from persistence.people.companies import get_company
from persistence.versions import AnotherVersionError
from persistence.witness import row as history
from state_machine.protocol.channel import Canal
from state_machine.protocol.emission import Absent, Found
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import date

    from gateway.port import FiscalGateway
    from gateway.registry import Channels
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa

# Numbers are drawn in order, and one whose note was refused or never sent is absent. So many of these in a row do not
# happen to a company between two notes; each costs two questions.
ABSENCES: Final = 20
FARTHEST: Final = 100_000  # a company issues fewer between two copies: what goes on for longer is no counter of ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What was seen of one sequence: ``known`` is its number in the copy, ``None`` where that knows no such sequence.

    ``seen`` are the numbers under which notes stand, each with the reference that it carries.
    """

    known: int | None
    empresa: Empresa
    sequencia: Sequencia
    first: int
    seen: dict[int, str | None]

    @property
    def said(self) -> str:
        """Say what was found, in pt-BR."""
        where = f"{self.empresa.razao_social}, série {self.sequencia.serie}: a autoridade"
        if not self.seen:
            return f"{where} não tem nota depois da cópia."
        alheias = sum(referencia is None for referencia in self.seen.values())
        nossas = f"{where} tem {len(self.seen)} depois da cópia, até o número {self.last}"
        if alheias:
            return f"{nossas}; {alheias} sem referência da Prosa: outro programa usa esta série. Escolha outra."
        return f"{nossas}."

    @property
    def last(self) -> int:
        """The last number that is taken; one before ``first`` where none is."""
        return max(self.seen, default=self.first - 1)


async def settle(database: Database, channels: Channels, wait: Callable[[float], Awaitable[None]]) -> None:
    """Wait until the authority has taken whatever left us before the history was doubted: only then absence counts.

    ``wait`` gets seconds, of which those since the doubt are gone already; nothing where no company is walked.
    """
    async with database.transaction() as connection:
        rows = await comparison.companies(connection)
        since = await history.in_doubt_for(connection)
    longest = max((_settles(channels, row) for row in rows), default=timedelta(0)) - since
    if longest > timedelta(0):
        await wait(longest.total_seconds())


def _settles(channels: Channels, row: Any) -> timedelta:
    try:
        natureza = channels.of(canal_of(row.canal, row.ambiente)).natureza
    except (AnotherVersionError, UnknownChannelError):
        return timedelta(0)
    return natureza.absences * natureza.absence_spacing if natureza.numbers == "we" else timedelta(0)


async def walk(database: Database, channels: Channels, absences: int = ABSENCES) -> list[Walk]:
    """Ask for the numbers beyond each sequence of the companies whose channel takes its numbers from us alone.

    Raises ``CommandRefusedError`` where the authority does not tell; nothing was changed then.
    """
    async with database.transaction() as connection:
        today = (await database_now(connection)).astimezone(SAO_PAULO).date()
        known = await numbering.sequences(connection)
        rows = await comparison.companies(connection)
        companies = [((await get_company(connection, row.id))[0], row) for row in rows]
    walks: list[Walk] = []
    for empresa, row in companies:
        try:
            canal = canal_of(row.canal, row.ambiente)
            gateway = channels.of(canal)
        except (AnotherVersionError, UnknownChannelError):
            continue
        if gateway.natureza.numbers != "we":
            continue
        theirs = [each for each in known if each.sequencia.empresa_id == empresa.id]
        begun = [
            Walk(known=each.id, empresa=empresa, sequencia=each.sequencia, first=each.ultimo + 1, seen={})
            for each in theirs
        ]
        if empresa.serie_rps is not None:
            present = Sequencia(empresa.id, empresa.municipio_ibge, empresa.serie_rps, gateway.ambiente)
            if present not in {each.sequencia for each in theirs}:
                begun.append(Walk(known=None, empresa=empresa, sequencia=present, first=empresa.primeiro_rps, seen={}))
        walks += [
            await _walked(channels.of(Canal(canal.nome, each.sequencia.ambiente)), each, absences, today)
            for each in begun
        ]
    return walks


async def listed(database: Database, channels: Channels) -> bool:
    """Tell whether some company's notes are compared by ``prosa conferir``: its channel lists them."""
    async with database.transaction() as connection:
        rows = await comparison.companies(connection)
    return any(_lists(channels, row) for row in rows)


def _lists(channels: Channels, row: Any) -> bool:
    try:
        return channels.of(canal_of(row.canal, row.ambiente)).natureza.lists_by == "days"
    except (AnotherVersionError, UnknownChannelError):
        return True


async def _walked(gateway: FiscalGateway, begun: Walk, absences: int, today: date) -> Walk:
    seen: dict[int, str | None] = {}
    absent, numero = 0, begun.first
    while absent < absences:
        if numero - begun.first > FARTHEST:
            raise CommandRefusedError(_refusal(begun, numero, "não acaba"))
        finding = await gateway.find(gateway.key_for(_under(begun, numero, today)))
        match finding:
            case Found(nota):
                seen[numero] = nota.referencia
                absent = 0
            case Absent():
                absent += 1
            case _:
                raise CommandRefusedError(_refusal(begun, numero, finding.motivo))
        numero += 1
    return replace(begun, seen=seen)


def _under(begun: Walk, numero: int, today: date) -> InvoiceIntent:
    """Return an invoice of which only the key is asked: its company, series and number make it."""
    empresa = replace(begun.empresa, municipio_ibge=begun.sequencia.municipio)
    return InvoiceIntent(
        id_integracao="",
        prestador=issuer_of(empresa, empresa.principal),
        tomador=Tomador(empresa.cnpj, None),
        valor=Decimal("0.01"),
        descricao="",
        competencia=today,
        rps=Rps(begun.sequencia.serie, numero),
    )


def _refusal(begun: Walk, numero: int, motivo: str) -> str:
    return (
        f"A autoridade não disse o que há depois da cópia: {begun.empresa.razao_social}, série "
        f"{begun.sequencia.serie}, número {numero} ({motivo}). Nada mudou. Confira o certificado da empresa "
        "e a rede, e rode de novo."
    )
