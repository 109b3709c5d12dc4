"""What a crash leaves behind: no core file, in which the keys would be."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway import process_apart
from tests import children
from tests.bot.process.prosa_process import started

if TYPE_CHECKING:
    from collections.abc import Iterator

UNLIMITED = ("sh", "-c", 'ulimit -c unlimited && exec "$0" "$@"')


@pytest.fixture
def place() -> Iterator[Path]:
    """A working directory whose parents everybody may pass through: root's servers run as nobody."""
    path = Path(tempfile.mkdtemp(prefix="prosa-core-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_crash_leaves_no_core_file(place: Path, command: str) -> None:
    """Although the shell that starts it allows one: neither where it runs nor in its home."""
    with started(place, command, env={"PROSA_PORT": "0"}, wrap=UNLIMITED) as prosa:
        prosa.up()
        (limit,) = [
            line.split()[4:6]
            for line in Path(f"/proc/{prosa.process.pid}/limits").read_text().splitlines()
            if line.startswith("Max core file size")
        ]
        assert limit == ["0", "0"]
        prosa.signal(signal.SIGABRT)
        assert prosa.wait() == -signal.SIGABRT
    assert not [path for path in place.rglob("*") if "core" in path.name and path.is_file()]


def test_the_host_is_told_to_take_none_either() -> None:
    """A host that pipes core files to a program asks no limit: the process is marked, whatever it was before."""
    ask = "import ctypes, gateway.process_apart as p\np.leave_no_core()\nprint(ctypes.CDLL(None).prctl(3))"
    words = (*process_apart.words("x")[:-2], "-c", ask)
    assert children.run(words, capture_output=True, text=True, env=process_apart.ENVIRONMENT).stdout == "0\n"
