"""Homes for the tests of the embedded servers, which start servers of their own beside the session's."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from persistence.embedded import Embedded

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def passable() -> Iterator[Path]:
    """An empty directory whose parents everybody may pass through, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="prosa embedded "))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """A home with a cluster already made, for tests that leave it as usable as they found it."""
    path = Path(tempfile.mkdtemp(prefix="prosa-embedded-"))
    Embedded.start(path).stop()
    yield path
    shutil.rmtree(path)
