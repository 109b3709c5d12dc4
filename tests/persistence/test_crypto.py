from __future__ import annotations

import base64
import secrets
from dataclasses import replace

import pytest

from persistence.crypto import Lugar, NoMasterKeyError, UnreadableSecretError, Vault, is_sealed, parse_keys

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
HERE = Lugar("staff", "totp_segredo", "ana")


def test_a_sealed_secret_shows_nothing_and_opens_in_its_place() -> None:
    """What is stored does not contain the secret, is never the same twice, and opens where it belongs."""
    vault = Vault((OLD,))
    first, second = vault.seal("JBSWY3DP", HERE), vault.seal("JBSWY3DP", HERE)
    assert first != second
    assert "JBSWY3DP" not in first
    assert vault.open(first, HERE) == vault.open(second, HERE) == "JBSWY3DP"


@pytest.mark.parametrize("change", [{"linha": "bia"}, {"coluna": "senha"}, {"tabela": "usuario"}])
def test_a_seal_copied_elsewhere_does_not_open(change: dict[str, str]) -> None:
    """Who may write to the database can't give somebody another account's authenticator."""
    vault = Vault((OLD,))
    with pytest.raises(UnreadableSecretError):
        vault.open(vault.seal("x", HERE), replace(HERE, **change))


def test_a_changed_seal_does_not_open() -> None:
    """One flipped bit is noticed."""
    vault = Vault((OLD,))
    head, _, text = vault.seal("x", HERE).rpartition(".")
    raw = bytearray(base64.b64decode(text))
    raw[-1] ^= 1
    with pytest.raises(UnreadableSecretError):
        vault.open(f"{head}.{base64.b64encode(raw).decode()}", HERE)


def test_a_key_is_rotated_with_both_in_hand() -> None:
    """Under the new key and the old one everything opens, and what is under the old one is stale."""
    sealed = Vault((OLD,)).seal("x", HERE)
    both = Vault((NEW, OLD))
    assert both.open(sealed, HERE) == "x"
    assert both.is_stale(sealed)
    assert not both.is_stale(both.seal("x", HERE))
    with pytest.raises(UnreadableSecretError):
        Vault((NEW,)).open(sealed, HERE)


def test_what_nobody_sealed_does_not_open() -> None:
    """Whoever can write a row must not choose the secret; such a text is stale, and `rekey` alone takes it over."""
    with pytest.raises(UnreadableSecretError, match="rekey"):
        Vault((OLD,)).open("JBSWY3DP", HERE)
    assert Vault((OLD,)).is_stale("JBSWY3DP")
    assert not is_sealed("JBSWY3DP")
    assert is_sealed(Vault((OLD,)).seal("JBSWY3DP", HERE))


def test_without_a_key_nothing_is_sealed_or_opened() -> None:
    """There is no way to fall back to plain text."""
    with pytest.raises(NoMasterKeyError):
        Vault(()).seal("x", HERE)
    with pytest.raises(NoMasterKeyError):
        Vault(()).open("JBSWY3DP", HERE)


@pytest.mark.parametrize("wrong", ["geheim", base64.b64encode(b"short").decode(), "*"])
def test_a_key_that_is_none_is_refused(wrong: str) -> None:
    """A passphrase, a short key and rubbish are told from a key before anything starts."""
    with pytest.raises(ValueError, match="base64"):
        parse_keys(wrong)


def test_two_keys_are_read_newest_first() -> None:
    """As settings write them, with a comma."""
    assert parse_keys(f"{base64.b64encode(NEW).decode()}, {base64.b64encode(OLD).decode()}") == (NEW, OLD)
