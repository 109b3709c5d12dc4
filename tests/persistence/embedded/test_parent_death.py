"""A child ends with the process that started it, by the kernel or by a shell that reads a pipe."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import children
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
PARENT = """
import signal, subprocess, sys
from persistence.embedded.home import die_with_parent, watch
kernel = "kernel" in sys.argv
number = signal.SIGKILL if "deaf" in sys.argv else signal.SIGQUIT
child = subprocess.Popen(["sleep", "1000"], preexec_fn=die_with_parent(number) if kernel else None)
shell = None if kernel else watch(child.pid, number)
print(child.pid, shell.pid if shell else 0, flush=True)
sys.stdin.read()
"""


def parent(*words: str) -> subprocess.Popen[str]:
    """A process with a child; started, as by a shell in the background, with SIGQUIT ignored."""
    command = ["sh", "-c", 'trap "" QUIT INT; exec "$0" "$@"', sys.executable, "-c", PARENT, *words]
    return children.popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def gone(pid: int) -> bool:
    """Whether it has ended, reaped or not."""
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("words", [("kernel",), ("kernel", "deaf"), ("deaf",)], ids=["kernel", "kernel-kill", "shell"])
def test_a_child_ends_when_its_parent_is_killed(words: tuple[str, ...]) -> None:
    """Killed with -9, the parent takes its child along, and the shell that watched ends too."""
    with parent(*words) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert not gone(pids[0])
        process.kill()
        process.wait()
        deadline = time.monotonic() + PATIENCE
        while not all(gone(pid) for pid in pids if pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
