"""Accounts of the console while the demo runs: they are made where the demo looks, with the demo's own key."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from tests.bot.process.prosa_process import started

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = {"PROSA_PORT": "0"}


@pytest.fixture
def place() -> Iterator[Path]:
    """A working directory whose parents everybody may pass through: root's servers run as nobody."""
    path = Path(tempfile.mkdtemp(prefix="prosa-staff-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def servers() -> int:
    """How many PostgreSQL servers this test process has below it; a server's own children are none."""
    family = psutil.Process().children(recursive=True)
    postgres = {child.pid: child.ppid() for child in family if child.name() == "postgres"}
    return sum(parent not in postgres for parent in postgres.values())


def test_an_account_is_made_on_the_running_demo(place: Path) -> None:
    """No master key is asked for, no second database starts, and the page leads to the console."""
    with started(place, "demo", env=OWN) as demo:
        demo.up()
        before = servers()
        with started(place, "staff", "add", "bia", "--papel", "suporte", env=OWN) as command:
            assert command.wait(30) == 0, command.said
            assert "Usando a demonstração que está no ar" in command.said
            assert "Conta bia" in command.said
        assert servers() == before
        assert not (place / ".prosa" / "postgres").exists()
        with started(place, "staff", "list", env=OWN) as command:
            assert command.wait(30) == 0, command.said
            assert "demo" in command.said
            assert "bia" in command.said
        [address] = re.findall(r"no ar: (\S+)", demo.said)
        page = httpx.get(address).text
        assert 'href="/console"' in page
        assert "código de agora" in demo.said
    with started(place, "staff", "add", "bia", "--papel", "suporte", env=OWN) as command:
        assert command.wait(60) == 1
        assert "PROSA_MASTER_KEY" in command.said
