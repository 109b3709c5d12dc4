"""What the simulated SEFIN refuses: how a document travels, its schema, its signature, and the rules of Anexo I and II.

A rule holds as the annex writes it, of what the simulator can know: there is no register of regimes here, so the
regime is what the DPS says. A description that contains ``REJEITAR`` is refused with E0312, for a person at the demo.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks that a test turns off, to see that it would notice."""

    schema: bool = True
    signature: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """What the rules look at beside the document."""

    ambiente: Ambiente
    tp_amb: str
    now: datetime
    cities: Mapping[str, City]
    closed: frozenset[str]
    checks: Checks

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
        layout = layout_for(place.ambiente, day)
        if place.checks.schema:
            check(root, name, layout)
    except ValueError as error:
        raise RefusedError(Erro("E1235")) from error  # the real one seldom says why either
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
    city = place.city(dps.municipio)
    if dps.id != dps.identity:
        yield "E0004"
    if text(info, "tpAmb") != place.tp_amb:
        yield "E0006"
    if dps.emissao > place.now + _SKEW:
        yield "E0008"
    if int(dps.serie) not in _OWN_SERIES:
        yield "E0010"
    if taken:
        yield "E0014"
    if dps.competencia > dps.emissao.astimezone(BRASILIA).date():
        yield "E0015"
    if dps.regime != MEI:
        yield from _agreement(dps, city)
    if info.find(path("prest/xNome")) is not None:
        yield "E0121"
    if info.find(path("prest/end")) is not None:
        yield "E0128"
    if dps.tomador in place.closed:
        yield "E0190"
    if dps.tomador == dps.prestador:
        yield "E0202"
    if dps.codigo not in services():
        yield "E0310"
    elif TRIGGER in dps.descricao:
        yield "E0312"
    yield from _rate(dps, info, city)
    yield from _burden(dps, info)
    if place.checks.signature and not same_company(signed_by, dps.prestador):
        yield "E0718"


def _agreement(dps: Dps, city: City) -> Iterator[str]:
    """A MEI is free of these: the national emitter is theirs wherever they are."""
    if not city.registered:
        yield "E0037"
        return
    if dps.competencia < city.since:
        yield "E0016"
    if not city.issues:
        yield "E0039"


def _rate(dps: Dps, info: Any, city: City) -> Iterator[str]:
    said = text(info, "valores/trib/tribMun/pAliq") is not None
    special = text(info, "prest/regTrib/regEspTrib") != "0"
    retained = text(info, "valores/trib/tribMun/tpRetISSQN") != "1"
    by_simples = text(info, "prest/regTrib/regApTribSN") == "1"
    active = city.registered and city.active
    if dps.regime == MEI and said:
        yield "E0600"
    if dps.regime == NORMAL and active and said:
        yield "E0617"
    if dps.regime == NORMAL and not active and not said and not special:
        yield "E0619"
    if dps.regime == SIMPLES and by_simples and not retained and said:
        yield "E0625" if active else "E0631"


def _burden(dps: Dps, info: Any) -> Iterator[str]:
    said = [child.tag.rpartition("}")[2] for child in info.find(path("valores/trib/totTrib"))]
    if dps.regime == MEI and "pTotTribSN" in said:
        yield "E0710"
    if dps.regime == SIMPLES and "indTotTrib" in said:
        yield "E0712"
    if dps.regime == NORMAL and ("indTotTrib" in said or "pTotTribSN" in said):
        yield "E0713"


def broken_request(chave: str, info: Any, note: Note | None, signed_by: str | None, place: Place) -> list[Erro]:
    """Return what a request to cancel breaks, save the rules about what happened to the note before."""
    return [Erro(code) for code in _request_codes(chave, info, note, signed_by, place)]


def _request_codes(chave: str, info: Any, note: Note | None, signed_by: str | None, place: Place) -> Iterator[str]:
    told = text(info, "chNFSe") or ""
    author = text(info, "CNPJAutor") or text(info, "CPFAutor")
    kind = info[-1].tag.rpartition("}")[2].removeprefix("e")
    if info.get("Id") != f"PRE{told}{kind}" or told != chave:
        yield "E1827"
    if text(info, "tpAmb") != place.tp_amb:
        yield "E1845"
    if datetime.fromisoformat(text(info, "dhEvento") or "") > place.now + _SKEW:
        yield "E1843"
    if note is None:
        yield "E1831"
    elif author != note.prestador:
        yield "E0813"
    if place.checks.signature and not same_company(signed_by, author):
        yield "E0812"

