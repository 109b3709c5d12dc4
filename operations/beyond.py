"""Walks the numbers beyond a restored database's counters at the authority, where every note carries our reference."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from gateway.keys.errors import ChaveInvalida
from gateway.keys.id_dps import IdDPS
from gateway.port import InvoiceIntent, Rps, Tomador
from gateway.registry import UnknownChannelError
from operations.issuer import issuer_of
from persistence.db.clock import database_now
from persistence.fiscal import comparison
from persistence.fiscal.numbers import numbering
from persistence.fiscal.numbers.numbering import Sequencia
from persistence.national import distribution
from persistence.people.channels import canal_of
from persistence.people.companies import get_company
from persistence.versions import AnotherVersionError
from state_machine.protocol.channel import Canal
from state_machine.protocol.emission import Absent, CannotTell, Found
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from datetime import date

    from gateway.port import FiscalGateway
    from gateway.registry import Channels
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from state_machine.protocol.channel import Ambiente
    from state_machine.protocol.emission import Nota

# Numbers are drawn in order, and one whose note was refused or never sent is absent. The list tells what stands behind
# however many of these; among the notes that are too young for it, so many in a row do not happen. Each costs two
# questions.
ABSENCES: Final = 20
LISTED: Final = timedelta(hours=26)  # after which a note stands in the authority's list, one day's delay and a margin
FARTHEST: Final = 100_000  # a company issues fewer between two copies: what goes on for longer is no counter of ours


class _UntoldError(Exception):
    """The authority does not say what a company has beyond the copy; the text says where and why, in pt-BR."""


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


async def settle(
    database: Database, channels: Channels, wait: Callable[[float], Awaitable[None]], since: timedelta
) -> None:
    """Wait until the authority has taken whatever left us before the history was doubted: only then absence counts.

    ``wait`` gets seconds, of which those since the doubt are gone already; nothing where no company is walked.
    """
    async with database.transaction() as connection:
        rows = await comparison.companies(connection)
    longest = max((_settles(channels, row) for row in rows), default=timedelta(0)) - since
    if longest > timedelta(0):
        await wait(longest.total_seconds())


def _settles(channels: Channels, row: Any) -> timedelta:
    try:
        natureza = channels.of(canal_of(row.canal, row.ambiente)).natureza
    except (AnotherVersionError, UnknownChannelError):
        return timedelta(0)
    return natureza.absences * natureza.absence_spacing if natureza.numbers == "we" else timedelta(0)


async def walk(
    database: Database, channels: Channels, absences: int = ABSENCES, only: Collection[int] | None = None
) -> tuple[list[Walk], dict[int, str]]:
    """Look beyond each sequence of the companies whose channel takes its numbers from us alone, or of ``only`` these.

    Returns what was seen, and of which companies (by id) the authority did not tell, with why. Nothing is changed.
    """
    async with database.transaction() as connection:
        now = await database_now(connection)
        known = await numbering.sequences(connection)
        rows = [row for row in await comparison.companies(connection) if only is None or row.id in only]
        companies = [((await get_company(connection, row.id))[0], row) for row in rows]
    walks: list[Walk] = []
    untold: dict[int, str] = {}
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
        lists: dict[Ambiente, dict[tuple[str, int, int], str | None] | None] = {}
        try:
            for each in begun:
                there = Canal(canal.nome, each.sequencia.ambiente)
                if each.sequencia.ambiente not in lists:
                    lists[each.sequencia.ambiente] = await _list(database, channels, there, empresa.cnpj)
                walks.append(await _walked(channels.of(there), each, absences, lists[each.sequencia.ambiente], now))
        except _UntoldError as error:
            untold[empresa.id] = f"{empresa.razao_social}: {error}"
            walks = [each for each in walks if each.empresa.id != empresa.id]
    return walks, untold


async def _list(
    database: Database, channels: Channels, canal: Canal, cnpj: str
) -> dict[tuple[str, int, int], str | None] | None:
    """Return the references of a company's notes that the authority lists since the copy; ``None`` where it lists none.

    By city, series and number. The copy's own place in the list stays: what it says of other notes is read later on.
    Raises ``_UntoldError``.
    """
    documents = channels.documents(canal)
    if documents is None:
        return None
    found: dict[tuple[str, int, int], str | None] = {}
    try:
        async with database.transaction() as connection:
            nsu = await distribution.before(connection, canal, cnpj)
        while lot := await documents.after(cnpj, nsu):
            if isinstance(lot, CannotTell):
                raise _UntoldError(f"a lista dela não veio ({lot.motivo})")
            for nota in (each.nota for each in lot if each.nota is not None and each.nota.prestador == cnpj):
                with suppress(ChaveInvalida):
                    dps = IdDPS.parse(nota.id_integracao)
                    found[dps.municipio, dps.serie, dps.numero] = nota.referencia
            nsu = lot[-1].nsu
    finally:
        await documents.aclose()
    return found


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


async def _walked(
    gateway: FiscalGateway,
    begun: Walk,
    absences: int,
    lista: Mapping[tuple[str, int, int], str | None] | None,
    now: datetime,
) -> Walk:
    """Take what the list has in this series, then ask for the numbers between and behind. Raises ``_UntoldError``."""
    serie = begun.sequencia
    listed = {
        numero: referencia
        for (municipio, seen, numero), referencia in (lista or {}).items()
        if municipio == serie.municipio and seen == int(serie.serie) and numero >= begun.first
    }
    seen = dict(listed)
    absent, numero, last = 0, begun.first, max(listed, default=0)
    where = f"série {serie.serie}, número"
    while absent < absences or numero <= last:
        if max(numero, last) - begun.first > FARTHEST:
            raise _UntoldError(f"{where} {max(numero, last)}: não acaba")
        if numero in listed:
            absent = 0
        else:
            finding = await gateway.find(gateway.key_for(_under(begun, numero, now.astimezone(SAO_PAULO).date())))
            match finding:
                case Found(nota) if lista is not None and _is_old(nota, now):
                    raise _UntoldError(f"{where} {numero}: há uma nota de ontem que a lista dela ainda não tem")
                case Found(nota):
                    seen[numero] = nota.referencia
                    absent = 0
                case Absent():
                    absent += 1
                case _:
                    raise _UntoldError(f"{where} {numero} ({finding.motivo})")
        numero += 1
    return replace(begun, seen=seen)


def _is_old(nota: Nota, now: datetime) -> bool:
    """Tell whether a list that is whole has this note."""
    try:
        issued = datetime.fromisoformat(nota.data_emissao or "")
    except ValueError:
        return False
    return issued.tzinfo is not None and now - issued > LISTED


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
