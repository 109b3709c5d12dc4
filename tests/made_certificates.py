"""Made-up certificates as ICP-Brasil's look: an authority, a company's with its CNPJ in the names, files of both."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID, ObjectIdentifier

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization import KeySerializationEncryption

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

CNPJ_OID = "2.16.76.1.3.3"
COMPANY = "11222333000181"
SENHA = "Segredo#do-Pfx-91"
NOW = datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Made:
    """A key and its certificate."""

    key: Key
    certificate: x509.Certificate

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the DER, in hex."""
        return self.certificate.fingerprint(hashes.SHA256()).hex()


@cache
def rsa_key(name: str = "company", bits: int = 2048) -> rsa.RSAPrivateKey:
    """Return one key for each name: to make one takes a while."""
    return rsa.generate_private_key(65537, bits)


@cache
def authority() -> Made:
    """Return a root that signs the others."""
    key = rsa_key("authority")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "AC de Teste v5")])
    return Made(
        key,
        _builder(name, name, key, NOW - timedelta(days=9), NOW + timedelta(days=3000), ca=True).sign(
            key, hashes.SHA256()
        ),
    )


def company(
    *,
    cnpj: str = COMPANY,
    oid: str | None = CNPJ_OID,
    value: bytes | None = None,
    key: Key | None = None,
    begins: datetime = NOW - timedelta(days=1),
    ends: datetime = NOW + timedelta(days=200),
    ca: bool = False,
    signer: rsa.RSAPrivateKey | None = None,
) -> Made:
    """Return a certificate that names a CNPJ as an e-CNPJ does; ``oid``: another name than that, ``None``: none.

    ``signer``: who signs in the authority's name, instead of the authority.
    """
    key = key or rsa_key()
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "ICP-Brasil"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"ANA DESIGN ME:{cnpj}"),
        ]
    )
    builder = _builder(subject, authority().certificate.subject, key, begins, ends, ca=ca)
    if oid is not None:
        told = value if value is not None else b"\x04\x0e" + cnpj.encode()
        names = [
            x509.OtherName(ObjectIdentifier("2.16.76.1.3.2"), b"\x04\x09ANA SOUZA"),
            x509.OtherName(ObjectIdentifier(oid), told),
            x509.RFC822Name("ana@exemplo.com.br"),
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Made(key, builder.sign(signer or authority().key, hashes.SHA256()))


def pfx(
    made: Made | None = None,
    senha: str = SENHA,
    *,
    with_key: bool = True,
    other_key: Key | None = None,
    encryption: KeySerializationEncryption | None = None,
) -> bytes:
    """Return the PKCS #12 file of a certificate, with the authority's beside it."""
    made = made or company()
    key = (other_key or made.key) if with_key else None
    return pkcs12.serialize_key_and_certificates(
        b"ana",
        key,
        made.certificate,
        [authority().certificate],
        encryption or BestAvailableEncryption(senha.encode()),
    )


def traces(made: Made, senha: str = SENHA) -> list[bytes]:
    """Return the rows of bytes by which key or password would be found: as they are, in hex, decimal and base64.

    What base64 makes of something depends on where it begins: the three ways are all there, without their edges.
    """
    assert isinstance(made.key, rsa.RSAPrivateKey)
    numbers = made.key.private_numbers()
    secrets = [each.to_bytes((each.bit_length() + 7) // 8) for each in (numbers.d, numbers.p, numbers.q)]
    pem = made.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    found = [b"BEGIN PRIVATE", b"BEGIN RSA PRIVATE", b"BEGIN ENCRYPTED PRIVATE", *pem.splitlines()[1:-2]]
    found += [str(each).encode() for each in (numbers.d, numbers.p, numbers.q)]
    for secret in (*secrets, senha.encode(), b"-----BEGIN PRIVATE KEY-----"):
        found += [secret, secret.hex().encode(), secret.hex().upper().encode()]
        found += [base64.b64encode(bytes(shift) + secret)[4:-4] for shift in range(3)]
    return found


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, begins: datetime, ends: datetime, *, ca: bool
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
