"""What the simulated SEFIN refuses: how a document travels, its schema, its signature, and the rules of Anexo I and II.

A rule holds as the annex writes it, of what the simulator can know: there is no register of regimes here, so the
regime is what the DPS says. A description that contains ``REJEITAR`` is refused with E0312, for a person at the demo.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from gateway.nacional.layouts import check, layout_for, parse
from gateway.nacional.signature import AssinaturaInvalida, unpack, verify
from proofs.sandbox.nacional.authority import holder
from proofs.sandbox.nacional.documents import services
from proofs.sandbox.nacional.errors import Erro, RefusedError
from proofs.sandbox.nacional.model import MEI, NORMAL, SIMPLES, path, same_company, text
from proofs.sandbox.plugnotas.model import BRASILIA
from proofs.sandbox.plugnotas.rules import TRIGGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.nacional.layouts import Document, Layout
    from proofs.sandbox.nacional.model import Dps, Note
    from state_machine.protocol.channel import Ambiente

_DECLARED: Final = re.compile(rb"<\?xml [^>]*encoding=[\"']utf-8[\"']", re.IGNORECASE)
_OWN_SERIES: Final = range(1, 50_000)  # a taxpayer's own application
_DS: Final = "http://www.w3.org/2000/09/xmldsig#"
_SKEW: Final = timedelta(seconds=1)  # dhEmi has whole seconds


@dataclass(frozen=True, slots=True)
class City:
    """What a city has agreed to. ``rate`` is its ISS in percent, ``since`` the day of the agreement."""

    registered: bool = True  # in the national register of agreements at all: E0037
    issues: bool = True  # its taxpayers may use the national emitters: E0039
    active: bool = True  # the agreement is in force
    since: date = date(2023, 1, 1)
    rate: Decimal = Decimal(2)
    retains: bool = False  # as of a service whose tax the customer retains, it wants the customer's address: E0237


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks that a test turns off, to see that it would notice."""

    schema: bool = True
    signature: bool = True
    explained: bool = False  # a document that the schema refuses is told why; the real one seldom does


@dataclass(frozen=True, slots=True)
class Place:
    """What the rules look at beside the document."""

    ambiente: Ambiente
    tp_amb: str
    now: datetime
    cities: Mapping[str, City]
    closed: frozenset[str]
    checks: Checks
    nt009: date | None = None  # its first day here

    def city(self, ibge: str) -> City:
        """Return a city; one that nobody spoke of has agreed to everything."""
        return self.cities.get(ibge, City())


def received(packed: Any) -> bytes:
    """Return the XML out of what was posted. Raises ``RefusedError``: E1225."""
    try:
        return unpack(packed if isinstance(packed, str) else "")
    except ValueError as error:
        raise RefusedError(Erro("E1225", str(error))) from error


def accepted(xml: bytes, name: Document, moment: str, place: Place) -> tuple[Any, Layout]:
    """Return a document's root and layout, once form and schema are right. Raises ``RefusedError``.

    ``moment`` is the path of the moment of emission, which decides the layout.
    """
    try:
        xml.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(Erro("E1229")) from error
    if not _DECLARED.match(xml):
        raise RefusedError(Erro("E1229"))
    try:
        root = parse(xml)
    except ValueError as error:
        raise RefusedError(Erro("E1226", str(error))) from error
    if any(prefix is not None for element in root.iter() for prefix in element.nsmap):
        raise RefusedError(Erro("E1228"))
    if root.tag != path(name):
        raise RefusedError(Erro("E1242"))
    try:
        day = date.fromisoformat((text(root, moment) or "")[:10])
        switched = place.nt009 is not None and place.nt009 <= place.now.astimezone(BRASILIA).date()
        layout = replace(layout_for(place.ambiente, day), nt009=switched)
        if place.checks.schema:
            check(root, name, layout)
    except ValueError as error:
        raise RefusedError(Erro("E1235", str(error) if place.checks.explained else None)) from error
    return root, layout


def signer(xml: bytes, root: Any, place: Place, *, absent: str, wrong: str) -> str | None:
    """Return the CNPJ of who signed the root's first element. Raises ``RefusedError`` with the codes given."""
    if not place.checks.signature:
        return None
    if root.find(f"{{{_DS}}}Signature") is None:
        raise RefusedError(Erro(absent))
    try:
        certificate = verify(xml, str(root[0].get("Id")))
    except AssinaturaInvalida as error:
        raise RefusedError(Erro(wrong)) from error
    return holder(certificate)


def broken(dps: Dps, info: Any, signed_by: str | None, place: Place, *, taken: bool) -> list[Erro]:
    """Return what a well-formed DPS breaks, in the annex's order; ``taken``: its number has a note already."""
    return [Erro(code) for code in _codes(dps, info, signed_by, place, taken=taken)]


def _codes(dps: Dps, info: Any, signed_by: str | None, place: Place, *, taken: bool) -> Iterator[str]:
    known = dps.codigo in services()
    yield from _of(
        E0004=dps.id != dps.identity,
        E0006=text(info, "tpAmb") != place.tp_amb,
        E0008=dps.emissao > place.now + _SKEW,
        E0010=int(dps.serie) not in _OWN_SERIES,
        E0014=taken,
        E0015=dps.competencia > dps.emissao.astimezone(BRASILIA).date(),
    )
    if dps.regime != MEI:  # theirs is the national emitter wherever they are
        yield from _agreement(dps, place.city(dps.municipio))
    yield from _of(
        E0121=info.find(path("prest/xNome")) is not None,
        E0128=info.find(path("prest/end")) is not None,
        E0190=dps.tomador in place.closed,
        E0202=dps.tomador == dps.prestador,
        E0237=place.city(dps.municipio).retains and info.find(path("toma/end")) is None,
        E0310=not known,
        E0312=known and TRIGGER in dps.descricao,
    )
    yield from _rate(dps, info, place.city(dps.municipio))
    yield from _burden(dps, info)
    yield from _of(E0718=place.checks.signature and not same_company(signed_by, dps.prestador))


def _of(**codes: bool) -> Iterator[str]:
    """Yield the codes that hold, in their order."""
    return (code for code, holds in codes.items() if holds)


def _agreement(dps: Dps, city: City) -> Iterator[str]:
    there = city.registered
    return _of(E0037=not there, E0016=there and dps.competencia < city.since, E0039=there and not city.issues)


def _rate(dps: Dps, info: Any, city: City) -> Iterator[str]:
    said = text(info, "valores/trib/tribMun/pAliq") is not None
    special = text(info, "prest/regTrib/regEspTrib") != "0"
    retained = text(info, "valores/trib/tribMun/tpRetISSQN") != "1"
    simples = dps.regime == SIMPLES and text(info, "prest/regTrib/regApTribSN") == "1" and not retained
    active = city.registered and city.active
    return _of(
        E0600=dps.regime == MEI and said,
        E0617=dps.regime == NORMAL and active and said,
        E0619=dps.regime == NORMAL and not active and not said and not special,
        E0625=simples and active and said,
        E0631=simples and not active and said,
    )


def _burden(dps: Dps, info: Any) -> Iterator[str]:
    said = {child.tag.rpartition("}")[2] for child in info.find(path("valores/trib/totTrib"))}
    return _of(
        E0710=dps.regime == MEI and "pTotTribSN" in said,
        E0712=dps.regime == SIMPLES and "indTotTrib" in said,
        E0713=dps.regime == NORMAL and bool(said & {"indTotTrib", "pTotTribSN"}),
    )


def broken_request(chave: str, info: Any, note: Note | None, signed_by: str | None, place: Place) -> list[Erro]:
    """Return what a request to cancel breaks, save the rules about what happened to the note before."""
    return [Erro(code) for code in _request_codes(chave, info, note, signed_by, place)]


def _request_codes(chave: str, info: Any, note: Note | None, signed_by: str | None, place: Place) -> Iterator[str]:
    told = text(info, "chNFSe") or ""
    author = text(info, "CNPJAutor") or text(info, "CPFAutor")
    kind = info[-1].tag.rpartition("}")[2].removeprefix("e")
    return _of(
        E1827=info.get("Id") != f"PRE{told}{kind}" or told != chave,
        E1845=text(info, "tpAmb") != place.tp_amb,
        E1843=datetime.fromisoformat(text(info, "dhEvento") or "") > place.now + _SKEW,
        E1831=note is None,
        E0813=note is not None and author != note.prestador,
        E0812=place.checks.signature and not same_company(signed_by, author),
    )
