"""Opens a PKCS #12 file and checks that it holds one company's certificate and key, fit to issue with.

Reads from a PKCS #12 file how many rounds of hashing its passwords cost, before any of them is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from math import prod
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509.oid import NameOID, ObjectIdentifier
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

from state_machine.values.certificate import (
    A1,
    LARGEST_FILE,
    LARGEST_KEY,
    SMALLEST_KEY,
    CertificateRefusedError,
    Refusal,
)
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO

Content = bytes | list["Node"]
Node = tuple[int, Content]


# SHA-256 (of the DER) of the roots of ICP-Brasil that answer for people's and companies' certificates, by the name of
# their file at acraiz.icpbrasil.gov.br/credenciadas/RAIZ. Not fetched from there by us: as three public projects that
# check files of the ITI's have them alike, looked up on 28 November 2026. v10 (TLS) and v11 (code) answer for none.
ICP_BRASIL_ROOTS: Final = {
    "f0c15afd258fb674e7a96e1a50ff873149364b9ec70d4d93c7a9f1eb6060d020": "ICP-Brasilv4",
    "caa53fc6091c6951887c976e378f6ef89aa6377c55d97b6475422b71ed7e9b17": "ICP-Brasilv5",
    "3bdb9b509352f1d3d71c2bf64d9a38a4e6cebda27809d77f7ac476cbde6e314a": "ICP-Brasilv6",
    "5657e70580eb678983f3ed7dfce091d84cae6549389a47fccda8d0e4dc2cf576": "ICP-Brasilv7",
    "d8478e37ce19c690cf657381e68fe600e4e1a042536830f06847e03e554c4b01": "ICP-Brasilv12",
    "2b07d0bc02c4a6e0478ed22d0d99e8f97e1827b269097696a7feb6aad30c3ac8": "ICP-Brasilv13",
}
_INTEGER, _OCTETS, _OID = 0x02, 0x04, 0x06
_CONSTRUCTED: Final = 0x20
_LONG_TAG: Final = 0x1F
_INDEFINITE: Final = 0x80  # a length: up to two zero bytes, as issuers' Java writes it (X.690, 8.1.3)
_DEEPEST: Final = 40  # a file of ours has 14 levels
_SCRYPT: Final = bytes.fromhex("2b06010401da47040b")
_PBKDF2: Final = bytes.fromhex("2a864886f70d01050c")  # PBES2 and PBMAC1 name it
_PKCS12: Final = [bytes.fromhex("2a864886f70d010c01") + bytes([each]) for each in range(1, 7)]  # pkcs-12PbeIds
_NAMES: Final = frozenset({_PBKDF2, _SCRYPT, *_PKCS12})
_MAC: Final = 2  # where MacData stands in a PFX: after version and content


class UnreadableDerError(ProsaError, ValueError):
    """The bytes are no BER, or nested deeper than a certificate's file is."""

    code = "unreadable_der"


def rounds(arquivo: bytes) -> int:
    """Return the rounds of all passwords that the file names outside of what it encrypts: its MAC's and its keys'.

    Of scrypt the product of its parameters counts. Raises ``UnreadableDerError``.
    """
    pfx = _whole(arquivo)
    _, parts = pfx
    mac = parts[_MAC] if isinstance(parts, list) and len(parts) > _MAC else None
    return (max(_integers(mac), default=1) if mac else 0) + sum(_derivations(pfx, 0))


def _derivations(node: Node, depth: int) -> Iterator[int]:
    """Yield the rounds of each algorithm that makes a key of a password, wherever it stands."""
    tag, parts = node
    if isinstance(parts, bytes):
        if tag != _OCTETS or depth > _DEEPEST:
            return
        try:
            inside = _whole(parts)
        except UnreadableDerError:
            return  # a salt, a digest, what is encrypted
        yield from _derivations(inside, depth + 1)
        return
    if len(parts) > 1 and parts[0][0] == _OID and parts[0][1] in _NAMES:
        yield _cost(parts[0][1], parts[1])
    for part in parts:
        yield from _derivations(part, depth + 1)


def _cost(name: Content, parameters: Node) -> int:
    numbers = _integers(parameters)
    if not numbers:
        raise UnreadableDerError("an algorithm without its rounds")
    return prod(max(1, number) for number in numbers) if name == _SCRYPT else max(numbers)


def _integers(node: Node) -> list[int]:
    _, parts = node
    if isinstance(parts, bytes):
        return []
    return [int.from_bytes(each) for tag, each in parts if tag == _INTEGER and isinstance(each, bytes)]


def _whole(data: bytes) -> Node:
    return _element(data, 0, len(data), 0)[0]


def _element(data: bytes, at: int, end: int, depth: int) -> tuple[Node, int]:
    """Return the element that begins at ``at``, and where the next one does."""
    if depth > _DEEPEST or at + 2 > end or data[at] & _LONG_TAG == _LONG_TAG:
        raise UnreadableDerError(f"no element at {at}")
    tag, length, at = data[at], data[at + 1], at + 2
    open_end = length == _INDEFINITE
    if length > _INDEFINITE:
        more = at + (length & 0x7F)
        length, at = int.from_bytes(data[at:more]), more
    last = end if open_end else at + length
    if last > end or (open_end and not tag & _CONSTRUCTED):
        raise UnreadableDerError(f"cut at {end}")
    if not tag & _CONSTRUCTED:
        return (tag, data[at:last]), last
    parts: list[Node] = []
    while at != last:
        if open_end and data[at : at + 2] == b"\0\0":
            return _joined(tag, parts), at + 2
        part, at = _element(data, at, last, depth + 1)
        parts.append(part)
    if open_end:
        raise UnreadableDerError(f"no end at {last}")
    return _joined(tag, parts), last


def _joined(tag: int, parts: list[Node]) -> Node:
    """Put the pieces of an OCTET STRING together, which BER may cut anywhere."""
    if tag != _OCTETS | _CONSTRUCTED:
        return tag, parts
    return _OCTETS, b"".join(content for _, content in parts if isinstance(content, bytes))


CNPJ_OID: Final = ObjectIdentifier("2.16.76.1.3.3")  # the holder's CNPJ in a subjectAltName: DOC-ICP-04, 7.1.2.3
MOST_ROUNDS: Final = 4_000_000  # Firefox, which asks most, writes 600,000 each for key, certificates and MAC
_ROOT: Final = 8  # characters of a CNPJ that all establishments of a company share
_LONGEST_CHAIN: Final = 6  # certificates; ICP-Brasil's have three or four

# PFX ::= SEQUENCE { INTEGER 3, SEQUENCE { OID data or signedData … (RFC 7292, 4); lengths short, long or indefinite.
_LENGTH = rb"(?:[\x00-\x80]|\x81.|\x82..|\x83...|\x84....)"
_PFX = re.compile(
    rb"\x30(" + _LENGTH + rb")\x02\x01\x03\x30" + _LENGTH + rb"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07[\x01\x02]",
    re.DOTALL,
)
# An algorithm is named by its OID, which is looked for as it is encoded: a file holds no such row of bytes by chance.
# pkcs-12PbeIds 1, 2, 5 and 6 (RC4 and RC2) and the DES and RC2 schemes of PKCS #5; 3DES, 3 and 4, is still opened.
_LEGACY = re.compile(
    rb"\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01[\x01\x02\x05\x06]"
    rb"|\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05[\x01\x03\x04\x06\x0a\x0b]"
    rb"|\x06\x08\x2a\x86\x48\x86\xf7\x0d\x03[\x02\x04]"  # RC2-CBC and RC4 inside of PBES2
    rb"|\x06\x05\x2b\x0e\x03\x02\x07",  # DES-CBC inside of PBES2
    re.DOTALL,
)
_KEY_BAG = re.compile(rb"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01[\x01\x02]", re.DOTALL)  # keyBag, shrouded
# What the value of an otherName may be here: OCTET STRING, UTF8String, PrintableString or IA5String of 14 characters.
_CNPJ_VALUE = re.compile(rb"[\x04\x0c\x13\x16]\x0e([0-9A-Za-z]{12}[0-9]{2})")


def read(arquivo: bytes, senha: str, cnpj: str, agora: datetime, raizes: bytes = b"") -> A1:
    """Return the certificate, if it is the company's and good at ``agora`` (aware); ``cnpj``: the company's, bare.

    ``raizes``: PEM of the authorities of which one must answer for it, at the end of the file's own chain; none: who
    issued it is not asked.

    Raises ``CertificateRefusedError``, and what the library raises for a certificate that is malformed inside. Who
    calls bounds time and memory: the file says how much of both opening it takes, and what it encrypts is not seen
    before.
    """
    _look_outside(arquivo)
    key, leaf, others = _open(arquivo, senha)
    if _is_authority(leaf):
        raise CertificateRefusedError(Refusal.AUTHORITY)
    if not isinstance(key, RSAPrivateKey):
        raise CertificateRefusedError(Refusal.NOT_RSA)
    if key.key_size < SMALLEST_KEY:
        raise CertificateRefusedError(Refusal.SMALL_KEY)
    if key.key_size > LARGEST_KEY:
        raise CertificateRefusedError(Refusal.LARGE_KEY)
    holder = _holder(leaf)
    if holder.numero[:_ROOT] != cnpj[:_ROOT]:
        raise CertificateRefusedError(Refusal.OTHER_COMPANY, holder.formatado)
    if agora < leaf.not_valid_before_utc:
        raise CertificateRefusedError(Refusal.NOT_YET, _day(leaf.not_valid_before_utc))
    if agora > leaf.not_valid_after_utc:
        raise CertificateRefusedError(Refusal.EXPIRED, _day(leaf.not_valid_after_utc))
    if raizes and not _is_issued(leaf, others, agora, raizes):
        raise CertificateRefusedError(Refusal.UNKNOWN_ISSUER)
    return A1(
        chave=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        cadeia=b"".join(each.public_bytes(Encoding.PEM) for each in _chain(leaf, others)),
        impressao=leaf.fingerprint(hashes.SHA256()).hex(),
        valido_de=leaf.not_valid_before_utc,
        valido_ate=leaf.not_valid_after_utc,
        cnpj=holder.numero,
        titular=_common_name(leaf),
    )


def _look_outside(arquivo: bytes) -> None:
    """Refuse what can be told without opening it."""
    if len(arquivo) > LARGEST_FILE:
        raise CertificateRefusedError(Refusal.TOO_LARGE)
    head = _PFX.match(arquivo)
    if head is None or head.end(1) + _announced(head[1]) > len(arquivo):
        raise CertificateRefusedError(Refusal.NOT_PKCS12)
    if _LEGACY.search(arquivo):
        raise CertificateRefusedError(Refusal.LEGACY)
    if len(_KEY_BAG.findall(arquivo)) > 1:
        raise CertificateRefusedError(Refusal.SEVERAL_KEYS)
    try:
        asked = rounds(arquivo)
    except UnreadableDerError as error:
        raise CertificateRefusedError(Refusal.NOT_PKCS12) from error
    if asked > MOST_ROUNDS:
        raise CertificateRefusedError(Refusal.TOO_MUCH_WORK)


def _announced(length: bytes) -> int:
    """Return how many bytes follow a DER length; 0 for the indefinite form."""
    return int.from_bytes(length[1:]) if length[0] & 0x80 else length[0]


def _open(arquivo: bytes, senha: str) -> tuple[object, x509.Certificate, list[x509.Certificate]]:
    try:
        opened = load_pkcs12(arquivo, senha.encode())
    except ValueError as error:  # the library says the same of a wrong password and of a changed file
        raise CertificateRefusedError(Refusal.WRONG_PASSWORD) from error
    if opened.key is None:
        raise CertificateRefusedError(Refusal.NO_KEY)
    if opened.cert is None or opened.cert.certificate.public_key() != opened.key.public_key():
        raise CertificateRefusedError(Refusal.NO_CERTIFICATE)
    return opened.key, opened.cert.certificate, [each.certificate for each in opened.additional_certs]


def _is_authority(leaf: x509.Certificate) -> bool:
    try:
        return leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def roots_of(raizes: bytes) -> list[tuple[str, str | None]]:
    """Return each root of a PEM file: its SHA-256 in hex, and its name where ICP-Brasil's list has it."""
    found = [each for each in x509.load_pem_x509_certificates(raizes) if each.issuer == each.subject]
    prints = [each.fingerprint(hashes.SHA256()).hex() for each in found]
    return [(each, ICP_BRASIL_ROOTS.get(each)) for each in prints]


def _is_issued(leaf: x509.Certificate, others: Sequence[x509.Certificate], agora: datetime, raizes: bytes) -> bool:
    """Tell whether one of the roots signed it, by way of authorities in the file, all of them good at ``agora``.

    What else a certificate may say of its use differs between authorities, and is no question here.
    """
    anybody = ExtensionPolicy.permit_all().require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
    policy = PolicyBuilder().store(Store(x509.load_pem_x509_certificates(raizes))).time(agora)
    policy = policy.extension_policies(ca_policy=anybody, ee_policy=ExtensionPolicy.permit_all())
    try:
        policy.build_client_verifier().verify(leaf, list(others))
    except VerificationError:
        return False
    return True


def _holder(leaf: x509.Certificate) -> CNPJ:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound as error:
        raise CertificateRefusedError(Refusal.NOT_COMPANY) from error
    values = [name.value for name in names.get_values_for_type(x509.OtherName) if name.type_id == CNPJ_OID]
    found = _CNPJ_VALUE.fullmatch(values[0]) if len(values) == 1 else None
    if found is None:
        raise CertificateRefusedError(Refusal.NOT_COMPANY)
    try:
        return CNPJ(found[1].decode())
    except DocumentoInvalido as error:
        raise CertificateRefusedError(Refusal.NOT_COMPANY) from error


def _chain(leaf: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """Return the certificate, then each issuer that the file has; what belongs to another chain is left out."""
    chain, last = [leaf], leaf
    while len(chain) < _LONGEST_CHAIN and last.issuer != last.subject:
        above = next((each for each in others if each.subject == last.issuer), None)
        if above is None:
            break
        chain.append(above)
        last = above
    return chain


def _common_name(leaf: x509.Certificate) -> str:
    names = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(SAO_PAULO):%d/%m/%Y}"
