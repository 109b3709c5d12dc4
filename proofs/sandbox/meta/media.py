"""The files that went up to the simulated Meta: bytes by media id, on disk when there is a home."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.sandbox.meta.model import Side


class MediaShelf:
    """Bytes under ids of about twenty digits, as Meta's are."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._files: dict[str, bytes] = {}

    def put(self, content: bytes, mime: str, filename: str, *, origin: Side) -> dict[str, Any]:
        """Keep a file; returns the fact for the ledger (``sha256`` in lowercase hex, ``size`` in bytes)."""
        media_id = f"{time.time_ns()}{secrets.randbelow(90) + 10}"
        if self._home is None:
            self._files[media_id] = content
        else:
            self._home.mkdir(parents=True, exist_ok=True)
            (self._home / media_id).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return {
            "id": media_id,
            "mime": mime,
            "sha256": digest,
            "size": len(content),
            "filename": filename,
            "origin": origin,
        }

    def get(self, media_id: str) -> bytes:
        """Return the bytes; raises ``KeyError`` or ``FileNotFoundError`` for an id that is not here."""
        return self._files[media_id] if self._home is None else (self._home / media_id).read_bytes()
