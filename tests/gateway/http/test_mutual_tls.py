"""A company's certificate is shown to a real server that demands one; its key never lies anywhere in the clear."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from gateway.certificate.connections import client_context, client_context_apart
from gateway.http.client import Destination
from gateway.http.wire import REFUSED_BY_TLS, MaybeSentError, NoAnswerError, NotSentError
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Authority:
    """A small certification authority of one test."""

    def __init__(self, name: str) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._issue(self._name, self._key.public_key(), ca=True)

    def issue(self, name: str) -> tuple[bytes, bytes]:
        """Return key and certificate as PEM, for a server at 127.0.0.1 and for clients."""
        key = rsa.generate_private_key(65537, 2048)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return pem, self._issue(subject, key.public_key(), ca=False)

    def _issue(self, subject: x509.Name, key: rsa.RSAPublicKey, *, ca: bool) -> bytes:
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(Encoding.PEM)


def _free() -> None:
    """Hold nothing back: no transaction is open."""


@pytest.fixture(scope="module")
def authority() -> Authority:
    """Return the authority that the server and the company share."""
    return Authority("Autoridade de teste")


@pytest.fixture
def trusted(authority: Authority, tmp_path: Path) -> Path:
    """Return the file that makes the server's certificate trusted."""
    file = tmp_path / "ca.pem"
    file.write_bytes(authority.certificate)
    return file


class WhoCalls(BaseHTTPRequestHandler):
    """Answer with the common name of the certificate that was shown."""

    def do_GET(self) -> None:
        """Say whom the server saw."""
        shown: dict[str, Any] = self.connection.getpeercert() or {}
        names = dict(part for rdn in shown.get("subject", ()) for part in rdn)
        name = names["commonName"].encode()
        self.send_response(200)
        self.send_header("content-length", str(len(name)))
        self.end_headers()
        self.wfile.write(name)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["tls12", "tls13"])
def demanding(request: pytest.FixtureRequest, authority: Authority, trusted: Path, tmp_path: Path) -> Iterator[str]:
    """Run a server that talks only to who shows a certificate of the authority.

    Not asyncio's: it closes a failed handshake without the alert that other servers send.
    """
    file = tmp_path / "server.pem"
    file.write_bytes(b"".join(authority.issue("localhost")))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(trusted))
    context.load_cert_chain(file)
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = context.maximum_version = request.param
    with ThreadingHTTPServer(("127.0.0.1", 0), WhoCalls) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        running = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        running.start()
        yield f"https://localhost:{server.server_port}"
        server.shutdown()
        running.join(PATIENCE)


def _out(url: str, tls: ssl.SSLContext | None) -> Destination:
    return Destination(url, timeout=PATIENCE, guard=_free, tls=tls)


async def test_the_server_sees_the_company(demanding: str, authority: Authority, trusted: Path) -> None:
    """With its certificate the company is let in, under its own name."""
    key, certificate = authority.issue("PADARIA DO ZE:11222333000181")
    async with _out(demanding, client_context(key, certificate, also_trusted=trusted)) as out:
        assert (await out.request("GET", "/")).body == b"PADARIA DO ZE:11222333000181"


async def test_a_strange_certificate_is_refused(demanding: str, trusted: Path) -> None:
    """A certificate of another authority gets no answer; where the alert is read, it is known that nothing was taken.

    With TLS 1.3 the request may leave before the alert comes, and a reset may hide it: then the fate is unknown.
    """
    key, certificate = Authority("Outra").issue("OUTRA:11222333000181")
    async with _out(demanding, client_context(key, certificate, also_trusted=trusted)) as out:
        with pytest.raises(NoAnswerError) as refused:
            await out.request("GET", "/")
    assert isinstance(refused.value, MaybeSentError) or refused.value.reason == REFUSED_BY_TLS


@pytest.mark.parametrize("demanding", [ssl.TLSVersion.TLSv1_2], indirect=True, ids=["tls12"])
async def test_a_refused_handshake_sent_nothing(demanding: str, trusted: Path) -> None:
    """With TLS 1.2 the handshake ends before the request: certainly not sent, and the reason says that it was TLS."""
    key, certificate = Authority("Outra").issue("OUTRA:11222333000181")
    async with _out(demanding, client_context(key, certificate, also_trusted=trusted)) as out:
        with pytest.raises(NotSentError) as refused:
            await out.request("GET", "/")
    assert refused.value.reason == REFUSED_BY_TLS


async def test_the_server_is_checked_too(demanding: str, authority: Authority) -> None:
    """A server that nobody vouches for sees no request: our trust is not given away with the certificate."""
    key, certificate = authority.issue("PADARIA DO ZE:11222333000181")
    async with _out(demanding, client_context(key, certificate)) as out:
        with pytest.raises(NotSentError) as refused:
            await out.request("GET", "/")
    assert refused.value.reason == "ConnectError"


def test_the_key_is_never_in_the_clear(authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What OpenSSL opens is encrypted, and no file of it stays."""
    seen: list[bytes] = []
    load = ssl.SSLContext.load_cert_chain

    def spying(context: ssl.SSLContext, name: str, *args: Any, **options: Any) -> None:
        with open(name, "rb") as file:  # noqa: PTH123 - the very name that OpenSSL gets
            seen.append(file.read())
        load(context, name, *args, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spying)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    client_context(*authority.issue("PADARIA DO ZE:11222333000181"))
    assert [b"ENCRYPTED PRIVATE KEY" in content for content in seen] == [True]
    assert not any(b"BEGIN PRIVATE KEY" in content for content in seen)
    assert list(tmp_path.iterdir()) == []


def test_another_companys_key_is_refused(authority: Authority) -> None:
    """Key and certificate that do not belong together make no context."""
    key, _ = authority.issue("UMA:11222333000181")
    _, certificate = authority.issue("OUTRA:45723174000110")
    with pytest.raises(ssl.SSLError):
        client_context(key, certificate)


async def test_contexts_are_made_in_one_thread_that_is_not_the_loops(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several at once would take the event loop's processor from it."""
    makers: list[Thread] = []
    load = ssl.SSLContext.load_cert_chain

    def spying(context: ssl.SSLContext, *args: Any, **options: Any) -> None:
        makers.append(current_thread())
        load(context, *args, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spying)
    made = authority.issue("PADARIA DO ZE:11222333000181")
    await asyncio.gather(*(client_context_apart(*made) for _ in range(3)))
    assert len(makers) == 3
    assert len(set(makers) | {current_thread()}) == 2
