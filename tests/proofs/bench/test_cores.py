"""Held to cores: the server under load has one of its own while it is pressed, and everybody may run anywhere after."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from proofs.bench.machine.cores import can_part, parted
from tests import children

pytestmark = pytest.mark.skipif(
    not can_part(), reason="macOS and Windows hold no process to a core; nor has one core two"
)
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(flush=True); input()'])"
COUNT = "import os; print(len(os.sched_getaffinity(0)))"


def test_a_server_has_a_core_of_its_own_for_as_long_as_it_is_pressed() -> None:
    """The server is elsewhere than we, what we start meanwhile, and what our children have started."""
    whole = os.sched_getaffinity(0)
    with (
        children.started([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as server,
        children.started([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"  # its own child is up
        with parted(server.pid):
            own = os.sched_getaffinity(server.pid)
            here = os.sched_getaffinity(0)
            family = (other.pid, *(child.pid for child in psutil.Process(other.pid).children()))
            held = {pid: os.sched_getaffinity(pid) for pid in family}
            late = children.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
        after = [os.sched_getaffinity(pid) for pid in (0, server.pid, *held)]
        server.communicate(b"\n")
        other.communicate(b"\n")
    assert len(own) == 1
    assert here == whole - own
    assert len(held) == 2
    assert all(cores == here for cores in held.values())
    assert int(late.stdout) == len(here)
    assert after == [whole] * 4


def test_a_broken_measurement_leaves_nobody_held() -> None:
    """The rows that follow have all cores."""
    whole = os.sched_getaffinity(0)
    held: list[set[int]] = []

    def break_off() -> None:
        with parted():
            held.append(os.sched_getaffinity(0))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert held[0] < whole
    assert os.sched_getaffinity(0) == whole
