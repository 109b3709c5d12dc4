"""Who may knock: whoever signs with a secret of ours, or knows one; nobody where there is none."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from webhooks.bodies import is_any, signed_by_any

BODY = b'{"entry": []}'
OLD, NEW = b"old-secret", b"new-secret"


def _signature(secret: bytes, raw: bytes = BODY) -> str:
    return "sha256=" + hmac.new(secret, raw, hashlib.sha256).hexdigest()


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_either_secret_of_a_rotation_signs(secret: bytes) -> None:
    """Meta signs with the old one until it has the new one."""
    assert signed_by_any(BODY, _signature(secret), (OLD, NEW))
    assert is_any(secret.decode(), (OLD, NEW))


@pytest.mark.parametrize(
    ("signature", "secrets"),
    [
        (None, (OLD,)),
        ("", (OLD,)),
        ("sha256=", (OLD,)),
        (_signature(OLD).removeprefix("sha256="), (OLD,)),
        (_signature(OLD).replace("sha256=", "sha1="), (OLD,)),
        (_signature(OLD, BODY + b" "), (OLD,)),
        (_signature(NEW), (OLD,)),
        (_signature(b""), (b"",)),
        (_signature(b""), ()),
        (_signature(OLD) + "\xff", (OLD,)),
    ],
)
def test_anything_else_signs_nothing(signature: str | None, secrets: tuple[bytes, ...]) -> None:
    """Without the scheme, of another body, under another secret, or where a secret was left empty."""
    assert not signed_by_any(BODY, signature, secrets)


@pytest.mark.parametrize(("presented", "secrets"), [(None, (OLD,)), ("", (b"",)), ("", ()), ("x", (OLD, NEW))])
def test_whoever_knows_no_secret_is_nobody(presented: str | None, secrets: tuple[bytes, ...]) -> None:
    """An empty secret is none, and opens to nobody who sends nothing."""
    assert not is_any(presented, secrets)
