"""Decides whether a webhook comes from whom it says; without a secret it admits nobody."""

from __future__ import annotations

import hmac
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SCHEME = "sha256="
_SHAPE = re.compile(r"sha256=[0-9a-f]{64}")


def may_be_signed(signature: str | None) -> bool:
    """True when this is a signature at all: of anything else no body needs to be read."""
    return signature is not None and _SHAPE.fullmatch(signature) is not None


def signed_by_any(raw: bytes, signature: str | None, secrets: Sequence[bytes]) -> bool:
    """True when ``X-Hub-Signature-256`` is the HMAC-SHA256 of the body under one of ``secrets`` (two while rotating).

    The raw bytes count: Meta signs the body as sent, and parsing would lose its escapes.
    """
    if signature is None or not signature.startswith(_SCHEME):
        return False
    presented = _bytes(signature.removeprefix(_SCHEME))
    expected = (_digest(secret, raw) for secret in secrets if secret)
    return _any_equal(presented, expected)


def is_any(presented: str | None, secrets: Sequence[bytes]) -> bool:
    """True when ``presented`` is one of ``secrets``."""
    return presented is not None and _any_equal(_bytes(presented), (secret for secret in secrets if secret))


def _digest(secret: bytes, raw: bytes) -> bytes:
    made = _keyed(secret).copy()
    made.update(raw)
    return made.hexdigest().encode()


@lru_cache(maxsize=8)  # two while rotating; a key is worked in once, which takes as long as a body
def _keyed(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod="sha256")


def _any_equal(presented: bytes, expected: Iterable[bytes]) -> bool:
    equal = [hmac.compare_digest(presented, value) for value in expected]  # all of them, to take the same time
    return any(equal)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")  # headers may hold any byte; compare_digest refuses non-ASCII text
