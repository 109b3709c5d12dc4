"""The sandbox's own certification authority: its servers' certificate, its seal, and A1 files of made-up companies."""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cryptography.hazmat.primitives.serialization import KeySerializationEncryption

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

CNPJ_OID: Final = "2.16.76.1.3.3"  # the holder's CNPJ in the names of an ICP-Brasil certificate: DOC-ICP-04, 7.1.2.3
_RESPONSIBLE_OID: Final = "2.16.76.1.3.2"  # the name of the person who answers for the company
_YEARS: Final = timedelta(days=3650)
_YEAR: Final = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Made:
    """A key and its certificate."""

    key: Key
    certificate: x509.Certificate

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the DER, in hex."""
        return self.certificate.fingerprint(hashes.SHA256()).hex()

    @property
    def rsa(self) -> rsa.RSAPrivateKey:
        """The key, where it is RSA. Raises ``TypeError``."""
        if not isinstance(self.key, rsa.RSAPrivateKey):
            raise TypeError("the key is not RSA")
        return self.key

    @property
    def pem(self) -> bytes:
        """Key, then certificate."""
        return self.key_pem + self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as PKCS #8, in the clear."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@cache
def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:  # noqa: ARG001 - what the cache goes by
    """Return one key for each name in this process: one of 2048 bits takes 100 ms and more."""
    return rsa.generate_private_key(65537, bits)


class Authority:
    """Everything is made when it is first asked for, and kept in ``home``: a restart goes on with the same CA.

    The keys lie there in the clear, readable by the owner alone: nobody but the sandbox trusts them.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    @property
    def ca_file(self) -> Path:
        """PEM of the root, for ``PROSA_NACIONAL_CA_FILE``."""
        path = self._home / "ca.pem"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.root.certificate.public_bytes(Encoding.PEM))
        return path

    @cached_property
    def root(self) -> Made:
        """The root, which signs all the others."""
        return self._kept("root", self._make_root)

    @cached_property
    def seal(self) -> Made:
        """What SEFIN signs notes and events with: RSA, as the layout of the signature asks."""
        return self._kept("sefin", self._make_seal)

    def server_context(self) -> ssl.SSLContext:
        """Return TLS 1.2 and up for 127.0.0.1, which asks for a client certificate of this authority.

        One of another authority ends the handshake. None at all does not: who serves refuses it.
        """
        server = self._home / "server.pem"
        self._kept("server", self._make_server)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(server)
        context.load_verify_locations(cafile=str(self.ca_file))
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def company(
        self,
        cnpj: str,
        razao_social: str = "EMPRESA INVENTADA LTDA",
        *,
        oid: str | None = CNPJ_OID,
        value: bytes | None = None,
        key: Key | None = None,
        begins: datetime | None = None,
        ends: datetime | None = None,
        ca: bool = False,
    ) -> Made:
        """Return a certificate that names a CNPJ as an e-CNPJ does; the same key for the same CNPJ.

        ``oid``: under another name than that, ``None``: no names at all; ``value``: DER instead of the CNPJ.
        """
        key = key or rsa_key(cnpj)
        ends = ends or _now() + _YEAR
        begins = begins or min(_now(), ends) - timedelta(days=1)
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.COUNTRY_NAME, "BR"),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "ICP-Brasil"),
                x509.NameAttribute(NameOID.COMMON_NAME, f"{razao_social[:49]}:{cnpj}"),
            ]
        )
        builder = _builder(subject, self.root.certificate.subject, key, begins, ends, ca=ca)
        builder = builder.add_extension(_usage(cert_sign=ca), critical=True)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.EMAIL_PROTECTION]),
            critical=False,
        )
        if oid is not None:
            told = value if value is not None else _octets(cnpj)
            names: list[x509.GeneralName] = [
                x509.OtherName(ObjectIdentifier(_RESPONSIBLE_OID), _octets("PESSOA INVENTADA")),
                x509.OtherName(ObjectIdentifier(oid), told),
                x509.RFC822Name("contato@exemplo.com.br"),
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Made(key, self._sign(builder))

    def pfx(
        self,
        made: Made,
        senha: str,
        *,
        with_key: bool = True,
        other_key: Key | None = None,
        encryption: KeySerializationEncryption | None = None,
    ) -> bytes:
        """Return the PKCS #12 file of a certificate, with the root beside it."""
        return pkcs12.serialize_key_and_certificates(
            b"a1",
            (other_key or made.key) if with_key else None,
            made.certificate,
            [self.root.certificate],
            encryption or BestAvailableEncryption(senha.encode()),
        )

    def pfx_for(
        self, cnpj: str, senha: str, razao_social: str = "EMPRESA INVENTADA LTDA", *, days: float = 365
    ) -> bytes:
        """Return an A1 file of a company that is good for ``days``; negative: expired so long ago."""
        return self.pfx(self.company(cnpj, razao_social, ends=_now() + timedelta(days=days)), senha)

    def _kept(self, name: str, make: Callable[[], Made]) -> Made:
        path = self._home / f"{name}.pem"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_suffix(".new")
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(make().pem)
            beside.replace(path)
        pem = path.read_bytes()
        key = load_pem_private_key(pem, password=None)
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise TypeError(f"{path} holds a key that this authority does not make")
        return Made(key, x509.load_pem_x509_certificate(pem))

    def _make_root(self) -> Made:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("AC Inventada da Demonstração")
        builder = _builder(name, name, key, _now() - timedelta(days=400), _now() + _YEARS, ca=True)
        return Made(key, builder.add_extension(_usage(cert_sign=True), critical=True).sign(key, hashes.SHA256()))

    def _make_server(self) -> Made:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.root.certificate.subject
        builder = _builder(_name("SEFIN simulada"), issuer, key, _now() - timedelta(days=1), _now() + _YEARS)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return Made(key, self._sign(builder.add_extension(x509.SubjectAlternativeName(names), critical=False)))

    def _make_seal(self) -> Made:
        key, issuer = rsa_key("sefin"), self.root.certificate.subject
        builder = _builder(_name("SEFIN Nacional simulada"), issuer, key, _now() - timedelta(days=1), _now() + _YEARS)
        return Made(key, self._sign(builder))

    def _sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.root.certificate.public_key())  # type: ignore[arg-type]  # the root's key is EC
        return builder.add_extension(above, critical=False).sign(self.root.key, hashes.SHA256())


def holder(certificate: x509.Certificate) -> str | None:
    """Return the CNPJ that a certificate names, or ``None``."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None
    found = [n.value[2:] for n in names.get_values_for_type(x509.OtherName) if n.type_id.dotted_string == CNPJ_OID]
    return found[0].decode(errors="replace") if found else None


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, begins: datetime, ends: datetime, *, ca: bool = False
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
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, cert_sign: bool) -> x509.KeyUsage:
    """Return what an authority's key may do, or a company's: sign documents and show itself."""
    return x509.KeyUsage(
        digital_signature=not cert_sign,
        content_commitment=not cert_sign,
        key_encipherment=not cert_sign,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=cert_sign,
        crl_sign=cert_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COUNTRY_NAME, "BR"), x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _octets(text: str) -> bytes:
    """Return a short text as a DER OCTET STRING, as ICP-Brasil writes these names."""
    value = text.encode()
    return bytes((4, len(value))) + value


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
