"""Owns the copy of installed programs that the servers' account runs when it cannot read the originals."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from persistence.embedded.home import PROBE_SECONDS, Home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Installation:
    """A program and all that it finds by relative paths: `program` and `parts` are relative to `base`."""

    base: Path
    program: str
    parts: tuple[str, ...]

    def files(self) -> Iterator[Path]:
        """Everything below the parts, in a fixed order."""
        for part in self.parts:
            yield from sorted((self.base / part).rglob("*"))


def reachable(installation: Installation, home: Home) -> Path:
    """The path of a program that the servers' account can run: the installed one, or that of a copy in the home.

    A clone below `/root` (0700) has its `.venv` there too; opening the parents to everybody would be the worse way.
    """
    installed = installation.base / installation.program
    if home.account is None or _runs(installed, home):
        return installed
    copy = home.root / "binaries" / f"{installed.name}-{_fingerprint(installation)}"
    if not copy.exists():
        log.info("embedded_binaries_copied", to=str(copy), why="nobody cannot read the installed ones")
        unfinished = copy.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for part in installation.parts:
            shutil.copytree(installation.base / part, unfinished / part, symlinks=True)
        for path in (copy.parent, unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode
                path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))
        unfinished.rename(copy)
    return copy / installation.program


def _runs(program: Path, home: Home) -> bool:
    try:
        return home.run(program, "--version", seconds=PROBE_SECONDS).returncode == 0
    except OSError:
        return False


def _fingerprint(installation: Installation) -> str:
    """Twelve hex digits that change whenever a file of `installation` does."""
    digest = hashlib.sha256()
    for path in installation.files():
        status = path.lstat()
        digest.update(f"{path.relative_to(installation.base)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:12]
