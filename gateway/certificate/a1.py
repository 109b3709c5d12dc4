"""Opens a PKCS #12 file and checks that it holds one company's certificate and key, fit to issue with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509.oid import NameOID, ObjectIdentifier
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

from gateway.certificate.rounds import UnreadableDerError, rounds
from state_machine.values.certificate import (
    A1,
    LARGEST_FILE,
    LARGEST_KEY,
    SMALLEST_KEY,
    CertificateRefusedError,
    Refusal,
)
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

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
