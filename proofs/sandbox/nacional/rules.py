"""What the simulated SEFIN refuses: how a document travels, its schema, its signature, and the rules of Anexo I and II.

The rules of Anexo I are one table (``table.py``), code by code; their messages are the sheet's (``anexo1.json``). The
regime is what the DPS says, unless the register of the place says another. A description that contains ``REJEITAR``
is refused with E0312, for a person at the demo.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509

from gateway.nacional.layouts import check, layout_for, parse
from gateway.nacional.signature import AssinaturaInvalida, unpack, verify
from proofs.sandbox.nacional.annex import Asked
from proofs.sandbox.nacional.authority import holder
from proofs.sandbox.nacional.errors import Erro, RefusedError
from proofs.sandbox.nacional.model import path, same_company, text
from proofs.sandbox.nacional.table import RULES
from proofs.sandbox.plugnotas.model import BRASILIA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.nacional.layouts import Document, Layout
    from proofs.sandbox.nacional.model import Dps, Note
    from proofs.sandbox.nacional.register import Place

_DECLARED: Final = re.compile(rb"<\?xml [^>]*encoding=[\"']utf-8[\"']", re.IGNORECASE)
_DS: Final = "http://www.w3.org/2000/09/xmldsig#"
_SKEW: Final = timedelta(seconds=1)  # dhEmi has whole seconds


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


def signer(xml: bytes, root: Any, place: Place, *, absent: str, wrong: str) -> x509.Certificate | None:
    """Return the certificate that signed the root's first element. Raises ``RefusedError`` with the codes given."""
    if not place.checks.signature:
        return None
    if root.find(f"{{{_DS}}}Signature") is None:
        raise RefusedError(Erro(absent))
    try:
        return verify(xml, str(root[0].get("Id")))
    except AssinaturaInvalida as error:
        raise RefusedError(Erro(wrong)) from error


def broken(root: Any, signed_by: x509.Certificate | None, place: Place, *, taken: bool) -> list[Erro]:
    """Return what a well-formed DPS breaks, in the annex's order; ``taken``: its number has a note already."""
    asked = Asked(root, place, taken=taken)
    signature = _signature_codes(asked.dps, signed_by, place) if place.checks.signature else ()
    return [Erro(code) for code in (*_codes(asked), *signature)]


def judge(xml: bytes, place: Place, *, taken: bool = False) -> list[str]:
    """Return the codes of all rules that a DPS breaks; its schema and its signature are not looked at."""
    return list(_codes(Asked(parse(xml), place, taken=taken)))


def _codes(asked: Asked) -> Iterator[str]:
    return (code for code, rule in RULES.items() if code not in asked.place.checks.without and rule(asked))


def _signature_codes(dps: Dps, signed_by: x509.Certificate | None, place: Place) -> Iterator[str]:
    own = signed_by is not None and same_company(holder(signed_by), dps.prestador)
    valid = signed_by and signed_by.not_valid_before_utc <= place.now <= signed_by.not_valid_after_utc
    return _of(E0715=not valid, E0716=signed_by is not None and not _of_the_standard(signed_by), E0718=not own)


def _of_the_standard(certificate: x509.Certificate) -> bool:
    """Say whether a certificate is a holder's own, made to sign, and names a CNPJ or a CPF."""
    known = {type(one.value): one.value for one in certificate.extensions}
    usage, basic = known.get(x509.KeyUsage), known.get(x509.BasicConstraints)
    signs = isinstance(usage, x509.KeyUsage) and usage.digital_signature and usage.content_commitment
    return signs and holder(certificate) is not None and not (isinstance(basic, x509.BasicConstraints) and basic.ca)


def _of(**codes: bool) -> Iterator[str]:
    """Yield the codes that hold, in their order."""
    return (code for code, holds in codes.items() if holds)


def broken_request(
    chave: str, info: Any, note: Note | None, certificate: x509.Certificate | None, place: Place
) -> list[Erro]:
    """Return what a request to cancel breaks, save the rules about what happened to the note before."""
    signed_by = holder(certificate) if certificate else None
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
