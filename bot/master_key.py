"""Finds the master key: the setting's, else the one that the demo keeps in its home."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path
from typing import Final

from bot.settings import Settings
from persistence.crypto import KEY_BYTES, Vault, parse_keys

FILE: Final = "master.key"


def vault_of(settings: Settings) -> Vault:
    """Return the vault; an empty one where no key is set, which nobody can log in with."""
    given = settings.master_key.get_secret_value()
    path = settings.home / FILE
    return Vault(parse_keys(given or (path.read_text() if path.exists() else "")))


def keep_demo_key(home: Path) -> None:
    """Invent the demo's key at its first start, readable by its owner only."""
    path = home / FILE
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n")
