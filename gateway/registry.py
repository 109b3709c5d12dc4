"""Names the channels that this release knows, opens them, and hands out the one that a company or an emission names.

To add a channel: a folder in ``gateway`` whose adapter has the methods of ``Adapter`` (``gateway/port.py``) and raises
for nothing that the authority does. Answers are values of ``state_machine/protocol/emission.py``; what is not plainly
something else is ``Unknown``. Calls go through a ``Destination`` inside ``self.lines.call``. Its key is a frozen value
on which the authority is unique; its ``Natureza`` says how a lost answer is asked about. Then a row in ``REGISTRY``,
its name in ``Settings.gateway``, its settings. Test against a simulator over HTTP; ``tests/road/second_channel`` is a
whole example, and what reads a webhook is ``read_hints`` in ``bot/house.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from gateway.certificate.connections import Certificates
from gateway.lines import CallKind, Lines
from gateway.nacional import adapter as nacional
from gateway.nacional.adn import CityParameters, Distribution
from gateway.nacional.layouts import term
from gateway.nacional.payload import left_out, unfit
from gateway.nfe import adapter as nfe
from gateway.paulistana import adapter as paulistana
from gateway.plugnotas import adapter as plugnotas
from gateway.port import FiscalGateway, KeptDocuments, Surroundings
from state_machine.protocol.channel import Ambiente, Canal, Natureza, TipoDocumento
from state_machine.services.codes import Servico
from state_machine.values.errors import ProsaError


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """One channel: how it behaves, and how its adapter is opened (once for each environment in use).

    ``unfit`` says in pt-BR what of a company's registration (its columns by name) keeps it from issuing there,
    and ``left_out``, given its services too, what its notes will lack although they are accepted;
    ``missing`` likewise what of the installation's settings keeps every company from it, and ``term`` what it issues in
    until when. ``cities`` opens what is asked
    for a city's agreement and rates, and ``documents`` what is asked for the documents that name a company, where there
    is such a thing.
    """

    natureza: Natureza
    opens: Callable[[Surroundings], FiscalGateway]
    unfit: Callable[[Mapping[str, Any]], str | None] = lambda _company: None
    left_out: Callable[..., str | None] = lambda _company, _servicos, settings=None: None  # noqa: ARG005 - its name
    missing: Callable[[Any], str | None] = lambda _settings: None
    term: Callable[..., str | None] = lambda _settings=None: None
    cities: Callable[[Surroundings], CityParameters] | None = None
    documents: Callable[[Surroundings], Distribution] | None = None


REGISTRY: Final[Mapping[str, ChannelRow]] = {
    "plugnotas": ChannelRow(plugnotas.NATUREZA, plugnotas.opened, missing=plugnotas.missing),
    "nacional": ChannelRow(
        nacional.NATUREZA, nacional.opened, unfit, left_out, term=term, cities=CityParameters, documents=Distribution
    ),
    "paulistana": ChannelRow(paulistana.NATUREZA, paulistana.opened, paulistana.unfit),
    **{
        name: ChannelRow(replace(nfe.NATUREZA, documento=tipo), partial(nfe.opened, name), nfe.unfit)
        for name, tipo in (("nfe", TipoDocumento.PRODUTO), ("nfce", TipoDocumento.CONSUMIDOR))
    },
}


def rows_for(settings: Any, rows: Mapping[str, ChannelRow] = REGISTRY) -> Mapping[str, ChannelRow]:
    """Return the rows as registration sees them: a channel that lacks its settings fits no company.

    The installation's own is left open: nothing starts without its settings, and companies may be registered before.
    """
    rows = {
        name: replace(row, left_out=partial(row.left_out, settings=settings), term=partial(row.term, settings))
        for name, row in rows.items()
    }
    closed = {name: row.missing(settings) for name, row in rows.items() if name != settings.gateway}
    return {name: _closed(row, why) if (why := closed.get(name)) else row for name, row in rows.items()}


def _closed(row: ChannelRow, why: str) -> ChannelRow:
    return replace(row, unfit=lambda _company: why)


class UnknownChannelError(ProsaError, LookupError):
    """A row names a channel that this release does not know."""

    code = "unknown_channel"


class Channels:
    """The adapters of one process, each with lines of its own; ``padrao`` is opened at once, others when asked for.

    ``padrao`` names the installation's environment, which a choice without one takes.
    """

    def __init__(
        self,
        rows: Mapping[str, ChannelRow],
        settings: Any,
        padrao: Canal,
        *,
        guard: Callable[[], None],
        lines: Callable[[], Lines],
        certificates: Certificates | None = None,
        kept: KeptDocuments | None = None,
    ) -> None:
        assert padrao.ambiente is not None  # noqa: S101 - the installation always has one
        self._rows = rows
        self._settings = settings
        self._ambiente = padrao.ambiente
        self._guard = guard
        self._lines = lines
        self._certificates = certificates
        self._kept = kept
        self._opened: dict[tuple[str, Ambiente], FiscalGateway] = {}
        self.of(padrao)

    @property
    def names(self) -> tuple[str, ...]:
        """The channels known here; whatever names another is left alone."""
        return tuple(self._rows)

    def environment(self, canal: Canal) -> Ambiente:
        """Return the environment of a choice: a channel that has one only is not asked for another."""
        row = self._rows.get(canal.nome)
        if row is None or row.natureza.environments == "installation":
            return self._ambiente
        return canal.ambiente or self._ambiente

    def of(self, canal: Canal) -> FiscalGateway:
        """Return the adapter of a choice. Raises ``UnknownChannelError``."""
        ambiente = self.environment(canal)
        found = self._opened.get((canal.nome, ambiente))
        if found is None:
            found = self._opened[canal.nome, ambiente] = self._row(canal).opens(self._around(canal))
        return found

    def left_out(self, canal: Canal, company: Mapping[str, Any], servicos: Sequence[Servico]) -> str | None:
        """Say what a company's notes will lack on a channel, although they are accepted."""
        return self._row(canal).left_out(company, servicos, settings=self._settings)

    def with_any(self, what: Literal["cities", "documents"]) -> tuple[str, ...]:
        """The channels that can be asked for cities, or for documents."""
        return tuple(name for name, row in self._rows.items() if getattr(row, what) is not None)

    def cities(self, canal: Canal) -> CityParameters | None:
        """Open what is asked for cities on a channel; whoever asks closes it. Raises ``UnknownChannelError``."""
        opens = self._row(canal).cities
        return opens(self._around(canal)) if opens is not None else None

    def documents(self, canal: Canal) -> Distribution | None:
        """Open what is asked for documents on a channel likewise."""
        opens = self._row(canal).documents
        return opens(self._around(canal)) if opens is not None else None

    def _row(self, canal: Canal) -> ChannelRow:
        if canal.nome not in self._rows:
            raise UnknownChannelError(canal.nome)
        return self._rows[canal.nome]

    def _around(self, canal: Canal) -> Surroundings:
        ambiente = self.environment(canal)
        return Surroundings(self._settings, ambiente, self._guard, self._lines(), self._certificates, self._kept)

    def quiet(self, kind: CallKind) -> frozenset[str]:
        """Return the companies (CNPJ) whose breaker for this kind of call is open on some channel."""
        return frozenset().union(*(gateway.lines.open(kind) for gateway in self._opened.values()))

    async def aclose(self) -> None:
        """Close all connections."""
        for gateway in self._opened.values():
            await gateway.aclose()
