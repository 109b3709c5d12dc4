"""How the simulated city behaves, whom it knows, and which rules it holds an RPS against before it makes a note."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from stdnum.br import cnpj, cpf

from proofs.sandbox.paulistana.codes import Evento
from proofs.sandbox.paulistana.rps import CITY, MEI, NORMAL, SIMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.sandbox.paulistana.rps import Rps

_FIRST: Final = date(2006, 6, 1)
_RATES: Final = Decimal("0.02"), Decimal("0.05")
_LAYOUT_2: Final = date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class Taxpayer:
    """Who stands in the city's register; ``refused`` is the code with which it may not issue: 1207, 1208, 394."""

    cnpj: str
    regime: str = NORMAL
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class PaulistanaConfig:
    """How the city behaves. What nobody outside knows of the real one is marked: unsure."""

    binding: str = "soap12-header"  # the one that the host takes; unsure
    taxpayers: Mapping[str, Taxpayer] = field(default_factory=dict)  # by CCM
    strangers: bool = True  # who is not there passes for a company of the sender's CNPJ, regime normal; else 1202
    layout_2_since: date | None = _LAYOUT_2  # 631 from that day, but for the Simples; None: never. The day is unsure
    simples_layout_1: bool = True  # 641 for the Simples in layout 2
    simples_queries: bool = True  # to queries as well, as one client tells
    simples_refused: date | None = None  # 394 from that day; None: not at all. Unsure
    rates: Mapping[str, Decimal] = field(default_factory=dict)  # by service: another one is alert 208
    services: frozenset[str] | None = None  # without zeros on the left: another one is 306; None: any
    nbs: frozenset[str] | None = None  # 268
    cindops: frozenset[str] | None = None  # 630
    cclasstribs: frozenset[str] | None = None  # 273
    one_line: bool = True  # 1001 for blanks between tags; the code is unsure
    same_root: bool = False  # whether a head office's certificate serves a branch; unsure
    revoked: frozenset[str] = frozenset()  # CNPJs of certificates
    closed: frozenset[str] = frozenset()  # customers of no note: 1109; which code the city has for one is unsure
    cancel_lengths: Mapping[int, int] = field(default_factory=lambda: {1: 20, 2: 20})  # by layout; that of 2 is unsure
    cancel_within: float | None = None  # seconds from the note: 324 afterwards
    resend_within: float | None = None  # seconds from the note: 324 for its RPS afterwards
    substituted: Literal["todas", "ultima"] = "todas"  # what a query by RPS shows after a substitution; unsure
    lag_hides_listing: bool = False  # whether ConsultaNFeEmitidas lags as ConsultaNFe does; unsure
    processing: float = 0.0  # seconds from the order to the answer, before anything is accepted
    late: float = 40.0  # seconds of ``aceitar_tarde``, where its setting says no other
    page: int = 50


def wrong_layout(versao: int, day: date, taxpayer: Taxpayer, config: PaulistanaConfig, *, query: bool) -> str | None:
    """Return 641 or 631 for a call in the layout that is not the taxpayer's."""
    if taxpayer.regime == SIMPLES:
        asked = config.simples_layout_1 and (not query or config.simples_queries)
        return "641" if asked and versao > 1 else None
    since = config.layout_2_since
    return "631" if not query and versao == 1 and since is not None and since <= day else None


def broken(rps: Rps, taxpayer: Taxpayer, today: date, config: PaulistanaConfig) -> Iterator[Evento]:
    """Yield what an RPS breaks; its signature and what was made of it before are not looked at."""
    if taxpayer.refused is not None:
        yield Evento.told(taxpayer.refused)
    if taxpayer.regime == MEI:
        yield Evento.told("359")
    if taxpayer.regime == SIMPLES and config.simples_refused is not None and config.simples_refused <= rps.emissao:
        yield Evento.told("394")
    if layout := wrong_layout(rps.versao, rps.emissao, taxpayer, config, query=False):
        yield Evento.told(layout, *([f"{config.layout_2_since:%d/%m/%Y}"] if layout == "631" else []))
    if rps.tomador in config.closed:
        yield Evento.told("1109")
    for code, holds in (*_content(rps, today, config), *_tomador(rps)):
        if holds:
            yield Evento.told(code, *([rps.codigo] if code == "306" else []))


def _content(rps: Rps, today: date, config: PaulistanaConfig) -> Iterator[tuple[str, bool]]:
    low, high = _RATES
    abroad = rps.tributacao == "F"
    yield "303", rps.valor <= 0
    yield "304", 0 < rps.valor <= rps.deducoes
    yield "306", config.services is not None and rps.codigo not in config.services
    yield "225", rps.tributacao == "T" and rps.versao > 1 and not low <= rps.aliquota <= high
    yield "313", rps.emissao > today
    yield "314", rps.emissao < _FIRST
    yield "322", not rps.descricao
    yield "640", rps.has("ValorInicialCobrado")
    yield "1222", abroad and not rps.has("MunicipioPrestacao")
    yield "1223", not abroad and rps.has("MunicipioPrestacao")
    yield "1228", rps.tributacao == "P" and rps.retido
    for code, known, path in (
        ("268", config.nbs, "NBS"),
        ("630", config.cindops, "IBSCBS/cIndOp"),
        ("273", config.cclasstribs, "IBSCBS/valores/trib/gIBSCBS/cClassTrib"),
    ):
        yield code, known is not None and rps.has(path) and rps.element.findtext(path) not in known


def _tomador(rps: Rps) -> Iterator[tuple[str, bool]]:
    company = len(rps.tomador or "") == 14  # noqa: PLR2004 - the length of a CNPJ
    home = "EnderecoTomador/Cidade"
    yield "302", company and not cnpj.is_valid(rps.tomador or "")
    yield "317", company and not rps.has("EnderecoTomador/Logradouro")
    yield "318", company and not (rps.has(home) and rps.has("EnderecoTomador/UF"))
    yield "219", rps.has("InscricaoMunicipalTomador") and rps.element.findtext(home) not in {None, CITY}


def remarks(rps: Rps, taxpayer: Taxpayer, config: PaulistanaConfig) -> Iterator[Evento]:
    """Yield the alerts with which a note is made all the same."""
    rate = city_rate(rps, config)
    if rate != rps.aliquota:
        yield Evento.told("208", rps.aliquota, rate, rps.codigo)
    if rps.tomador == taxpayer.cnpj:
        yield Evento.told("301")
    if len(rps.tomador or "") == 11 and not cpf.is_valid(rps.tomador or ""):  # noqa: PLR2004 - the length of a CPF
        yield Evento.told("337")


def city_rate(rps: Rps, config: PaulistanaConfig) -> Decimal:
    """Return the rate of a service: the city's own, or what the RPS says where nobody spoke of it."""
    return config.rates.get(rps.codigo, rps.aliquota)
