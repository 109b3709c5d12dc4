"""Makes the TLS context with which a company shows its own certificate, without its key on any disk in the clear."""

from __future__ import annotations

import asyncio
import os
import secrets
import ssl
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

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
