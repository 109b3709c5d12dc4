"""How a message to SEFAZ travels: SOAP 1.2, XML inside of XML, the official schemas, the access key.

Answers are written as text, so that documents of others are put into them byte by byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from lxml import etree

from gateway.nfe.layouts import NS, check
from proofs.sandbox.plugnotas.model import BRASILIA

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.nfe.layouts import Document

SOAP: Final = "http://www.w3.org/2003/05/soap-envelope"
VERSION: Final = "SefazSimulada_1.0"
MAX_BYTES: Final = 500 * 1024
_PREFIXED: Final = re.compile(rb"<[A-Za-z_][\w.-]*:")
_BETWEEN: Final = re.compile(rb">\s+<|^\s|\s$")
# What an event must look like, by its kind.
EVENTS: Final[dict[str, Document]] = {"110111": "cancelamento", "110110": "correcao"}


@dataclass(frozen=True, slots=True)
class Service:
    """One web service: its operation, the root of its message and that of its answer, with its version."""

    name: str
    operation: str
    asked: Document | str
    told: str
    versao: str = "4.00"

    @property
    def space(self) -> str:
        """The namespace of its envelope."""
        return f"{NS}/wsdl/{self.name}"


AUTORIZACAO, RECIBO, CONSULTA = "NFeAutorizacao4", "NFeRetAutorizacao4", "NFeConsultaProtocolo4"
EVENTO, INUTILIZACAO, STATUS = "NFeRecepcaoEvento4", "NFeInutilizacao4", "NFeStatusServico4"
SERVICES: Final = {
    one.name: one
    for one in (
        Service(AUTORIZACAO, "nfeAutorizacaoLote", "enviNFe", "retEnviNFe"),
        Service(RECIBO, "nfeRetAutorizacaoLote", "consReciNFe", "retConsReciNFe"),
        Service(CONSULTA, "nfeConsultaNF", "consSitNFe", "retConsSitNFe"),
        Service(EVENTO, "nfeRecepcaoEvento", "envEvento", "retEnvEvento", "1.00"),
        Service(INUTILIZACAO, "nfeInutilizacaoNF", "inutNFe", "retInutNFe"),
        Service(STATUS, "nfeStatusServicoNF", "consStatServ", "retConsStatServ"),
    )
}


class NotTakenError(Exception):
    """The host does not come as far as the message; ``status`` is HTTP's."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class RefusedError(Exception):
    """SEFAZ refuses: ``code`` is its cStat, ``more`` what stands behind the text of that code."""

    def __init__(self, code: str, more: str = "") -> None:
        super().__init__(f"{code} {more}")
        self.code, self.more = code, more


class Chave(NamedTuple):
    """The parts of an access key, as text."""

    uf: str
    aamm: str
    cnpj: str
    modelo: str
    serie: str
    numero: str
    emissao: str  # tpEmis
    codigo: str  # cNF
    dv: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Cut a key of 44 characters."""
        cuts = (0, 2, 6, 20, 22, 25, 34, 35, 43, 44)
        return cls(*(text[start:end] for start, end in pairwise(cuts)))

    @property
    def digit(self) -> str:
        """The check digit that it should have."""
        body = "".join(self[:-1])
        left = sum((ord(sign) - 48) * (2 + place % 8) for place, sign in enumerate(reversed(body))) % 11
        return "0" if left < 2 else str(11 - left)  # noqa: PLR2004 - modulus 11

    @property
    def natural(self) -> str:
        """By which SEFAZ finds duplicates: state, CNPJ, model, series and number; of an NFC-e tpEmis too."""
        told = self.uf, self.cnpj, self.modelo, self.serie, self.numero
        return "-".join((*told, self.emissao) if self.modelo == "65" else told)

    def __str__(self) -> str:
        """Return the 44 characters."""
        return "".join(self)


def opened(service: Service, content_type: str, body: bytes) -> bytes:
    """Return the message inside of an envelope, byte by byte. Raises ``NotTakenError``, ``RefusedError``: 214, 243."""
    kind, *parameters = (word.strip() for word in content_type.split(";"))
    if kind.lower() != "application/soap+xml":
        raise NotTakenError(415, f"Content-Type {kind}")
    said = dict(word.split("=", 1) for word in parameters if "=" in word)
    action = said.get("action", "").strip('"')
    if action != f"{service.space}/{service.operation}":
        raise NotTakenError(500, f"Server did not recognize the value of HTTP Header SOAPAction: {action}.")
    if len(body) > MAX_BYTES:
        raise RefusedError("214")
    try:
        envelope = etree.fromstring(body, _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise NotTakenError(500, str(error)) from error
    data = envelope.find(f"{{{SOAP}}}Body/{{{service.space}}}nfeDadosMsg")
    if envelope.tag != f"{{{SOAP}}}Envelope" or data is None:
        raise NotTakenError(500, "the envelope has no nfeDadosMsg of this service")
    begin, end = body.find(b"<nfeDadosMsg"), body.rfind(b"</nfeDadosMsg>")
    if len(data) != 1 or (data.text or "").strip() or begin < 0 or end < 0:
        raise RefusedError("243")
    return body[body.index(b">", begin) + 1 : end]


def message(service: Service, xml: bytes) -> Any:
    """Return the root of a message whose form and schema are right.

    Raises ``RefusedError``: 588 for blanks between tags, 404 for prefixes, 516 and 517 for the root, 225 (215 where it
    is no lot of notes) for what the schema says.
    """
    if _BETWEEN.search(xml) or xml.startswith(b"<?"):
        raise RefusedError("588")
    if _PREFIXED.search(xml):
        raise RefusedError("404")
    try:
        root = etree.fromstring(xml, _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise RefusedError("243") from error
    if root.tag != f"{{{NS}}}{service.asked}":
        raise RefusedError("516")
    if root.get("versao") is None:
        raise RefusedError("517")
    wanted: Any = service.asked
    if service.name == EVENTO:
        wanted = EVENTS.get(text(root, "evento/infEvento/tpEvento"), "cancelamento")
    try:
        check(root, wanted)
    except ValueError as error:
        raise RefusedError("225" if service.name == AUTORIZACAO else "215", f" [{error}]"[:200]) from error
    return root


def text(root: Any, way: str) -> str:
    """Return the text at a path of names, empty where there is none."""
    return str(root.findtext("/".join(f"{{{NS}}}{name}" for name in way.split("/"))) or "")


def parts(xml: bytes, root: Any, name: str) -> list[bytes]:
    """Return the elements of a name, byte by byte. Raises ``RefusedError``: 298 for one that declares no namespace.

    What was signed is a document of its own, so it declares what it needs.
    """
    begin, end = f"<{name} ".encode(), f"</{name}>".encode()
    found = [begin + one.partition(end)[0] + end for one in xml.split(begin)[1:]]
    if len(found) != len(root.findall(f"{{{NS}}}{name}")):
        raise RefusedError("298")
    return found


def leaf(name: str, value: str) -> str:
    """Return an element that holds text."""
    return f"<{name}>{escape(value, quote=False)}</{name}>"


def leaves(**told: str | None) -> str:
    """Return elements in order, without those of ``None``."""
    return "".join(leaf(name, value) for name, value in told.items() if value is not None)


def answer(service: Service, inside: str) -> str:
    """Return the root of an answer around its elements."""
    return f'<{service.told} xmlns="{NS}" versao="{service.versao}">{inside}</{service.told}>'


def wrapped(service: Service, ret: str) -> bytes:
    """Return the envelope of an answer."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>'
        f'<soap:Envelope xmlns:soap="{SOAP}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body>'
        f'<nfeResultMsg xmlns="{service.space}">{ret}</nfeResultMsg></soap:Body></soap:Envelope>'
    ).encode()


def fault(why: str) -> bytes:
    """Return a SOAP fault of the server."""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="{SOAP}"><soap:Body><soap:Fault><soap:Code>'
        f"<soap:Value>soap:Receiver</soap:Value></soap:Code><soap:Reason>"
        f'<soap:Text xml:lang="pt">{escape(why)}</soap:Text></soap:Reason></soap:Fault></soap:Body></soap:Envelope>'
    ).encode()


def local(at: datetime) -> str:
    """Return a moment as the layout writes it."""
    return at.astimezone(BRASILIA).isoformat(timespec="seconds")


def _parser() -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
