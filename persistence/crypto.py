"""Seals secrets at rest with AES-256-GCM under the master key, each bound to its place."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from state_machine.values.errors import ProsaError

KEY_BYTES: Final = 32  # AES-256
_NONCE_BYTES: Final = 12  # NIST SP 800-38D; random ones are safe for 2^32 seals under one key, and we make few
_VERSION: Final = "v1"


class NoMasterKeyError(ProsaError, RuntimeError):
    """``PROSA_MASTER_KEY`` is not set: nothing can be sealed or opened."""

    code = "no_master_key"


class UnreadableSecretError(ProsaError, ValueError):
    """The secret was sealed under a key that we don't have, for another place, or has been changed."""

    code = "unreadable_secret"


@dataclass(frozen=True, slots=True)
class Lugar:
    """Where a secret stands. A sealed text that is copied to another row, column or table does not open there."""

    tabela: str
    coluna: str
    linha: str

    @property
    def associado(self) -> bytes:
        """The associated data; lengths keep (``ab``, ``c``) and (``a``, ``bc``) apart."""
        return "|".join(f"{len(part)}:{part}" for part in (_VERSION, self.tabela, self.coluna, self.linha)).encode()


def parse_keys(texto: str) -> tuple[bytes, ...]:
    """Read keys as settings write them: base64 of 32 bytes each, the newest first. Raises ``ValueError``."""
    keys = []
    for part in filter(None, (part.strip() for part in texto.split(","))):
        try:
            key = base64.b64decode(part, validate=True)
        except binascii.Error as error:
            raise ValueError("keys are base64, such as `openssl rand -base64 32` prints") from error
        if len(key) != KEY_BYTES:
            raise ValueError("a key is 32 bytes in base64, such as `openssl rand -base64 32` prints")
        keys.append(key)
    return tuple(keys)


class Vault:
    """Seals under the newest key, opens under any; the text of a seal is ``v1.<key's id>.<base64>``."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {_id(key): AESGCM(key) for key in keys}
        self._newest = _id(keys[0]) if keys else None
        self._blinding = hashlib.sha256(b"prosa-blind" + keys[0]).digest() if keys else b""

    def __bool__(self) -> bool:
        """Tell whether there is a key at all."""
        return self._newest is not None

    def seal(self, segredo: str, lugar: Lugar) -> str:
        """Return what to store. Raises ``NoMasterKeyError``."""
        if self._newest is None:
            raise NoMasterKeyError
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._keys[self._newest].encrypt(nonce, segredo.encode(), lugar.associado)
        return f"{_VERSION}.{self._newest}.{base64.b64encode(sealed).decode()}"

    def open(self, guardado: str, lugar: Lugar) -> str:
        """Return the secret. Raises ``NoMasterKeyError`` or ``UnreadableSecretError``.

        A text that nobody sealed is no secret of ours: whoever can write a row must not choose what it opens to.
        """
        if self._newest is None:
            raise NoMasterKeyError
        if not is_sealed(guardado):
            raise UnreadableSecretError("not sealed; `prosa staff rekey` seals what an early release stored")
        _, _, rest = guardado.partition(".")
        key_id, _, text = rest.partition(".")
        key = self._keys.get(key_id)
        if key is None:
            raise UnreadableSecretError(f"sealed under a key with the id {key_id}, which is not among the master keys")
        try:
            sealed = base64.b64decode(text, validate=True)
            return key.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], lugar.associado).decode()
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise UnreadableSecretError("changed, or sealed for another place") from error

    def blind(self, texto: str) -> str:
        """Return a keyed hash of 256 bits in hex: equal texts are equal, and without the key nobody can try texts.

        Raises ``NoMasterKeyError``.
        """
        if self._newest is None:
            raise NoMasterKeyError
        return hmac.digest(self._blinding, texto.encode(), "sha256").hex()

    def is_stale(self, guardado: str) -> bool:
        """Tell whether it should be sealed anew: it is in the open, or under an older key."""
        return not guardado.startswith(f"{_VERSION}.{self._newest}.")


def is_sealed(guardado: str) -> bool:
    """Tell whether a stored text is a seal, of whichever key."""
    return guardado.startswith(f"{_VERSION}.")


def _id(key: bytes) -> str:
    return hashlib.sha256(b"prosa-key-id" + key).hexdigest()[:8]
