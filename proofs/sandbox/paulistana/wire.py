"""How a message of the city travels: SOAP in three bindings, the official schemas, the signature of the message.

The schemas are the city's own, layout 2 as of edition 02-5; ``schemas/SOURCES.toml`` says of which repository each file
is. Which binding the city takes nobody outside knows; what a wrong one meets is of two clients' notes, and a guess
beside ``soap11``.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree

from proofs.sandbox.nacional.authority import holder
from proofs.sandbox.paulistana.codes import Evento, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NS: Final = "http://www.prefeitura.sp.gov.br/nfe"
MAX_BYTES: Final = 500 * 1024
_DS: Final = "{http://www.w3.org/2000/09/xmldsig#}"
_XS: Final = "{http://www.w3.org/2001/XMLSchema}"
_ACTIONS: Final = "http://www.prefeitura.sp.gov.br/nfe/ws/"
_ENVELOPES: Final = {
    "soap11": "http://schemas.xmlsoap.org/soap/envelope/",
    "soap12-header": "http://www.w3.org/2003/05/soap-envelope",
    "soap12-action": "http://www.w3.org/2003/05/soap-envelope",
}
# Status of each other binding, by the one that the host takes.
_REFUSED: Final = {
    "soap11": {"soap12-header": 415, "soap12-action": 415},
    "soap12-header": {"soap11": 500, "soap12-action": 415},
    "soap12-action": {"soap11": 500, "soap12-header": 500},
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method: the name of its SOAP elements, the root of its message, that of its answer."""

    name: str
    pedido: str
    retorno: str


OPERATIONS: Final = {
    "envioRPS": Operation("EnvioRPS", "PedidoEnvioRPS", "RetornoEnvioRPS"),
    "testeenvio": Operation("TesteEnvioLoteRPS", "PedidoEnvioLoteRPS", "RetornoEnvioLoteRPS"),
    "consultaNFe": Operation("ConsultaNFe", "PedidoConsultaNFe", "RetornoConsulta"),
    "consultaNFeEmitidas": Operation("ConsultaNFeEmitidas", "PedidoConsultaNFePeriodo", "RetornoConsulta"),
    "cancelamentoNFe": Operation("CancelamentoNFe", "PedidoCancelamentoNFe", "RetornoCancelamentoNFe"),
    "consultaCNPJ": Operation("ConsultaCNPJ", "PedidoConsultaCNPJ", "RetornoConsultaCNPJ"),
}


class NotTakenError(Exception):
    """The host does not come as far as the message; ``status`` is HTTP's."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def binding_of(content_type: str, soap_action: str | None, *, taken: str) -> tuple[str, str]:
    """Return a call's binding and action, for a host that takes one. Raises ``NotTakenError``."""
    kind, *parameters = (word.strip() for word in content_type.split(";"))
    said = dict(word.split("=", 1) for word in parameters if "=" in word)
    if kind.lower() == "text/xml":
        name, action = "soap11", soap_action
    elif kind.lower() == "application/soap+xml":
        name, action = ("soap12-action", said["action"]) if "action" in said else ("soap12-header", soap_action)
    else:
        raise NotTakenError(415, f"Content-Type {kind}")
    if name != taken:
        raise NotTakenError(_REFUSED[taken][name], f"the host does not take {name}")
    return name, (action or "").strip('"')


def opened(body: bytes, binding: str, action: str) -> tuple[Operation, Any]:
    """Return the operation that an action names and the ``Body`` of the envelope. Raises ``NotTakenError``."""
    operation = OPERATIONS.get(action.removeprefix(_ACTIONS)) if action.startswith(_ACTIONS) else None
    if operation is None:
        raise NotTakenError(500, f"Server did not recognize the value of HTTP Header SOAPAction: {action}.")
    try:
        envelope = etree.fromstring(body, _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise NotTakenError(500, str(error)) from error
    ns = _ENVELOPES[binding]
    inside = envelope.find(f"{{{ns}}}Body")
    if envelope.tag != f"{{{ns}}}Envelope" or inside is None:
        raise NotTakenError(
            500, f"Possible SOAP version mismatch: Envelope namespace {etree.QName(envelope).namespace}"
        )
    return operation, inside


def message(inside: Any, operation: Operation) -> tuple[str, str]:
    """Return ``VersaoSchema`` and the message as text. Raises ``RefusedError``: 1102, 1101."""
    asked = inside.find(f"{{{NS}}}{operation.name}Request")
    text = None if asked is None else asked.find(f"{{{NS}}}MensagemXML")
    if text is None or len(text) or not (text.text or "").strip():
        raise RefusedError(Evento("1102"))
    if len(text.text.encode()) > MAX_BYTES:
        raise RefusedError(Evento("1101"))
    return (asked.findtext(f"{{{NS}}}VersaoSchema") or "").strip(), text.text


def pedido(text: str, operation: Operation, versao: str, *, one_line: bool) -> Any:
    """Return the root of a message, once its form and its schema are right. Raises ``RefusedError``: 1001, 1002.

    ``one_line``: blanks between tags, a comment or an XML declaration are refused, which the manual forbids without
    saying what is answered.
    """
    try:
        root = etree.fromstring(text.encode(), _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise RefusedError(Evento.told("1001", str(error))) from error
    head = root.find("Cabecalho")
    if versao not in {"1", "2"} or (head is not None and head.get("Versao") != versao):
        raise RefusedError(Evento("1002"))
    if root.tag != f"{{{NS}}}{operation.pedido}":
        raise RefusedError(Evento.told("1001", f"The element '{root.tag}' is not declared."))
    if one_line and _is_untidy(text, root):
        raise RefusedError(Evento.told("1001", "blanks, a comment or a declaration between the tags."))
    checked = schema(operation.pedido, int(versao))
    if not checked.validate(root):
        raise RefusedError(Evento.told("1001", checked.error_log.last_error.message))
    return root


def _is_untidy(text: str, root: Any) -> bool:
    blanks = (one.text for one in root.iter("*") if len(one)), (one.tail for one in root.iter())
    between = any(said for half in blanks for said in half)
    return text.startswith("<?") or between or next(root.iter(etree.Comment, etree.PI), None) is not None


def retorno(operation: Operation, children: Sequence[Any]) -> str:
    """Return an answer as text: the root alone is in the namespace, so each child takes it off."""
    inside = (
        etree.tostring(one, encoding="unicode").replace(f"<{one.tag}", f'<{one.tag} xmlns=""', 1) for one in children
    )
    return f'<{operation.retorno} xmlns="{NS}">{"".join(inside)}</{operation.retorno}>'


def answer(text: str, operation: Operation, binding: str) -> bytes:
    """Return the envelope in which an answer travels as text."""
    ns = _ENVELOPES[binding]
    envelope = etree.Element(f"{{{ns}}}Envelope", nsmap={"soap": ns})
    body = etree.SubElement(envelope, f"{{{ns}}}Body")
    said = etree.SubElement(body, f"{{{NS}}}{operation.name}Response", nsmap={None: NS})
    etree.SubElement(said, f"{{{NS}}}RetornoXML").text = '<?xml version="1.0" encoding="UTF-8"?>' + text
    whole: bytes = etree.tostring(envelope, xml_declaration=True, encoding="utf-8")
    return whole


def fault(why: str) -> bytes:
    """Return a SOAP fault of the server."""
    ns = _ENVELOPES["soap12-header"]
    envelope = etree.Element(f"{{{ns}}}Envelope", nsmap={"soap": ns})
    said = etree.SubElement(etree.SubElement(envelope, f"{{{ns}}}Body"), f"{{{ns}}}Fault")
    etree.SubElement(etree.SubElement(said, f"{{{ns}}}Code"), f"{{{ns}}}Value").text = "soap:Receiver"
    etree.SubElement(etree.SubElement(said, f"{{{ns}}}Reason"), f"{{{ns}}}Text").text = why
    whole: bytes = etree.tostring(envelope, xml_declaration=True, encoding="utf-8")
    return whole


@cache
def schema(name: str, versao: int) -> Any:
    """Compile one official schema, once a process."""
    folder = files("proofs.sandbox.paulistana") / "schemas"
    shipped = {one.name: one.read_bytes() for one in folder.iterdir() if one.name.endswith(f"_v0{versao}.xsd")}
    parser = _parser()
    parser.resolvers.add(_Shipped(shipped))
    whole = f"{name}_v0{versao}.xsd"
    return etree.XMLSchema(etree.fromstring(shipped[whole], parser, base_url=whole))


@cache
def note_fields(versao: int) -> tuple[str, ...]:
    """Return the names of a note's elements in the order of ``tpNFe``."""
    tree = etree.fromstring((files("proofs.sandbox.paulistana") / "schemas" / f"TiposNFe_v0{versao}.xsd").read_bytes())
    kind = tree.find(f"{_XS}complexType[@name='tpNFe']")
    found: list[str] = []
    for one in kind.iter(f"{_XS}element", f"{_XS}group"):
        group = one.get("ref", "").removeprefix("tipos:")
        inside = tree.find(f"{_XS}group[@name='{group}']") if group else None
        found += [one.get("name")] if inside is None else [e.get("name") for e in inside.iter(f"{_XS}element")]
    return tuple(found)


class _Shipped(etree.Resolver):  # type: ignore[misc]  # lxml ships no types
    """Answers a schema's imports from memory and from nowhere else."""

    def __init__(self, shipped: Mapping[str, bytes]) -> None:
        super().__init__()
        self._shipped = shipped

    def resolve(self, url: str, public_id: str | None, context: Any) -> Any:  # noqa: ARG002 - lxml's signature
        """Return the file of that name."""
        return self.resolve_string(self._shipped[url.rpartition("/")[2]], context)


def signer(root: Any, authority: x509.Certificate, revoked: frozenset[str]) -> x509.Certificate:
    """Return the certificate that signed a message. Raises ``RefusedError``: 1050 to 1057.

    Of another authority is 1055, by its name, and 1053 where only the name is right.
    """
    signature = root[-1]
    try:
        shown = base64.b64decode(signature.findtext(f"{_DS}KeyInfo/{_DS}X509Data/{_DS}X509Certificate"))
        certificate = x509.load_der_x509_certificate(shown)
        value = base64.b64decode(signature.findtext(f"{_DS}SignatureValue"))
        digest = base64.b64decode(signature.findtext(f"{_DS}SignedInfo/{_DS}Reference/{_DS}DigestValue"))
    except (ValueError, TypeError, binascii.Error) as error:
        raise RefusedError(Evento("1050")) from error
    _trusted(certificate, authority, revoked)
    rest = copy.deepcopy(root)
    rest.remove(rest[-1])
    if hashlib.sha1(_canonical(rest), usedforsecurity=False).digest() != digest:
        raise RefusedError(Evento("1056"))
    if not verifies(certificate, value, _canonical(signature.find(f"{_DS}SignedInfo"))):
        raise RefusedError(Evento("1057"))
    return certificate


def _trusted(certificate: x509.Certificate, authority: x509.Certificate, revoked: frozenset[str]) -> None:
    named, now = holder(certificate), datetime.now(UTC)
    if not isinstance(certificate.public_key(), rsa.RSAPublicKey):
        raise RefusedError(Evento("1050"))
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise RefusedError(Evento("1051"))
    if named is None:
        raise RefusedError(Evento("1052"))
    if certificate.issuer != authority.subject:
        raise RefusedError(Evento("1055"))
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise RefusedError(Evento("1053")) from error
    if named in revoked:
        raise RefusedError(Evento("1054"))


def verifies(certificate: x509.Certificate, signature: bytes, data: bytes) -> bool:
    """Say whether a key signed these bytes: RSA PKCS #1 v1.5 with SHA-1."""
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        return False
    try:
        key.verify(signature, data, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303 - the city's own choice
    except InvalidSignature:
        return False
    return True


def _canonical(element: Any) -> bytes:
    """Return C14N 1.0 of an element, of a copy: lxml loses the namespaces of one that stands inside of a document."""
    alone = etree.fromstring(etree.tostring(element, with_tail=False), _parser())
    made: bytes = etree.tostring(alone, method="c14n", exclusive=False, with_comments=False)
    return made


def _parser() -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
