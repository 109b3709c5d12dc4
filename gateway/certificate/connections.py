"""Keeps the connections of companies that show their own certificate, for as long as it is the company's.

What a channel asks for a company's certificate: who keeps it is not the channel's business.

Makes the TLS context with which a company shows its own certificate, without its key on any disk in the clear.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, Literal, Protocol

import httpx
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from gateway.http.client import Destination
from state_machine.values.errors import ProsaError

Purpose = Literal["assinar", "conectar"]


class OpenA1(Protocol):
    """A certificate in the open.

    ``impressao``: SHA-256 of its DER, hex. ``valido_ate``: aware. ``chave``: PEM PKCS #8. ``cadeia``: PEM, the
    company's certificate first.
    """

    @property
    def impressao(self) -> str: ...  # noqa: D102 - said above
    @property
    def valido_ate(self) -> datetime: ...  # noqa: D102
    @property
    def chave(self) -> bytes: ...  # noqa: D102
    @property
    def cadeia(self) -> bytes: ...  # noqa: D102


class Certificates(Protocol):
    """The companies' certificates; every opening leaves an audit row."""

    async def current(self, cnpj: str) -> str | None:
        """Return the fingerprint of the company's certificate, ``None`` where it has none."""
        ...

    async def open(self, cnpj: str, purpose: Purpose, nota: str | None) -> OpenA1 | None:
        """Return it in the open, for the note of this identity; ``None`` where there is none that can be opened."""
        ...


class UnusableCertificateError(ProsaError, LookupError):
    """The company has no certificate that is good now: it is missing, past its day, or cannot be opened."""

    code = "unusable_certificate"


_PASSPHRASE_BYTES: Final = 32
_APART: Final = ThreadPoolExecutor(1, "tls")  # several at once would take the event loop's processor from it


def client_context(key: bytes, chain: bytes, *, also_trusted: Path | None = None) -> ssl.SSLContext:
    """Return a context that trusts the usual authorities and shows this certificate; TLS 1.2 at least.

    ``key`` is PKCS#8 PEM without a password, ``chain`` PEM with the company's certificate first. ``also_trusted`` is a
    PEM file of further authorities for the server's certificate. It takes some 100 ms, so keep the context. Raises
    ``ValueError`` or ``ssl.SSLError`` where the two do not belong together.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if also_trusted is not None:
        context.load_verify_locations(cafile=str(also_trusted))
    passphrase = secrets.token_hex(_PASSPHRASE_BYTES)
    # Its numbers are not checked again: that takes 30 ms with the interpreter's lock held, which stalls the event loop.
    plain = load_pem_private_key(key, password=None, unsafe_skip_rsa_key_validation=True)
    sealed = plain.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase.encode()))
    with _as_file(sealed + chain) as name:
        context.load_cert_chain(name, password=passphrase)
    return context


async def client_context_apart(key: bytes, chain: bytes, *, also_trusted: Path | None = None) -> ssl.SSLContext:
    """Make it (``client_context``) in a thread, one after the other, while the event loop goes on."""
    making = partial(client_context, key, chain, also_trusted=also_trusted)
    return await asyncio.get_running_loop().run_in_executor(_APART, making)


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give bytes a name that OpenSSL can open: memory on Linux, else a file of ours that goes at once.

    The bytes are encrypted, so a file that a crash leaves behind tells nothing.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
        name, on_disk = f"/proc/self/fd/{descriptor}", None
    else:  # pragma: no cover - systems without anonymous files
        descriptor, name = tempfile.mkstemp()
        on_disk = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield name
    finally:
        if on_disk is not None:  # pragma: no cover - systems without anonymous files
            on_disk.unlink()


MOST: Final = 64  # certificates with an open context; each holds the trusted authorities, about a megabyte
SECONDS: Final = 3600.0  # for which a key stays in a context


@dataclass(slots=True)
class _Shown:
    """The context of one certificate and its ways out; they are closed when the last call has ended."""

    context: ssl.SSLContext
    since: float
    ends: datetime
    ways: dict[Hashable, Destination] = field(default_factory=dict)
    calls: int = 0
    retired: bool = False

    async def close_if_unused(self) -> None:
        if self.retired and not self.calls:
            ways, self.ways = self.ways, {}
            for way in ways.values():
                await way.aclose()


class CompanyConnections:
    """One TLS context for each certificate, by its fingerprint, and one destination in it for each ``kind`` of call.

    ``opens`` makes the destination of a kind on a context. ``also_trusted``: a PEM file of further authorities for the
    server. At most ``most`` certificates are held, the one unused for longest goes first, each for ``seconds`` at most.
    """

    def __init__(
        self,
        certificates: Certificates,
        opens: Callable[[Hashable, ssl.SSLContext], Destination],
        *,
        also_trusted: Path | None = None,
        most: int = MOST,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._certificates = certificates
        self._opens = opens
        self._also_trusted = also_trusted
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[str, _Shown] = {}  # the one used last is the last
        self._of_company: dict[str, str] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def of(self, cnpj: str, kind: Hashable, nota: str | None = None) -> AsyncIterator[Destination]:
        """Return the destination that shows the company's certificate of this moment; ``nota`` is for the audit.

        Raises ``UnusableCertificateError``.
        """
        shown = await self._current(cnpj, nota)
        way = shown.ways.get(kind)
        if way is None:
            way = shown.ways[kind] = self._opens(kind, shown.context)
        shown.calls += 1
        try:
            yield way
        finally:
            shown.calls -= 1
            await shown.close_if_unused()

    async def aclose(self) -> None:
        """Close all of them; calls that are under way end first."""
        for impressao in list(self._shown):
            await self._retire(impressao)

    async def _current(self, cnpj: str, nota: str | None) -> _Shown:
        impressao = await self._certificates.current(cnpj)
        before = self._of_company.get(cnpj)
        if before is not None and before != impressao:
            del self._of_company[cnpj]
            if before not in self._of_company.values():  # a branch may show the same one
                await self._retire(before)
        if impressao is None:
            raise UnusableCertificateError(cnpj)
        async with self._opening.setdefault(cnpj, asyncio.Lock()):  # several calls, one context
            shown = self._fresh(impressao) or await self._opened(cnpj, nota)
        if datetime.now(UTC) >= shown.ends:
            raise UnusableCertificateError(cnpj)
        return shown

    def _fresh(self, impressao: str) -> _Shown | None:
        shown = self._shown.pop(impressao, None)
        if shown is None:
            return None
        self._shown[impressao] = shown
        return shown if self._clock() - shown.since < self._seconds else None

    async def _opened(self, cnpj: str, nota: str | None) -> _Shown:
        opened = await self._certificates.open(cnpj, "conectar", nota)
        if opened is None or datetime.now(UTC) >= opened.valido_ate:
            raise UnusableCertificateError(cnpj)
        try:
            context = await client_context_apart(opened.chave, opened.cadeia, also_trusted=self._also_trusted)
        except (ValueError, OSError) as error:  # ssl's own errors are among the second
            raise UnusableCertificateError(cnpj) from error
        await self._retire(opened.impressao)
        while len(self._shown) >= self._most:
            await self._retire(next(iter(self._shown)))
        shown = self._shown[opened.impressao] = _Shown(context, self._clock(), opened.valido_ate)
        self._of_company[cnpj] = opened.impressao
        return shown

    async def _retire(self, impressao: str) -> None:
        shown = self._shown.pop(impressao, None)
        if shown is not None:
            shown.retired = True
            await shown.close_if_unused()


def trusted(*files: Path | None) -> Path | None:
    """Return one file with the authorities of all that are set."""
    given = [path for path in dict.fromkeys(files) if path is not None]
    if len(given) <= 1:
        return given[0] if given else None
    with NamedTemporaryFile("wb", suffix=".pem", delete=False) as together:
        together.write(b"\n".join(path.read_bytes() for path in given))
    return Path(together.name)
