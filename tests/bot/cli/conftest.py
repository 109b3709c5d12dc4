"""The command as a process of its own, with the test's servers and no other settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.road import road_forks

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Prosa = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def prosa_environment(database_url: str, redis_url: str, tmp_path: Path) -> dict[str, str]:
    """What a command of the test's finds in its environment."""
    dropped = ("PROSA_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    servers = {"PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url, "PROSA_HOME": str(tmp_path)}
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **servers}


@pytest.fixture
def prosa(prosa_environment: dict[str, str], tmp_path: Path) -> Prosa:
    """Run ``prosa``; ``typed`` is its standard input."""

    def run(*words: str, typed: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        return road_forks.run(words, {**prosa_environment, **env}, tmp_path, typed)

    return run
