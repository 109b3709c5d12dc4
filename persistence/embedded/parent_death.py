"""Ends a child process when the process that started it has died, even by SIGKILL."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # linux/prctl.h
AT_END_OF_PIPE = 'read -r _; kill -s "$0" "$1"'  # nobody writes: the read ends when the last writer has died


def die_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """Return what a child must run before its program, so that Linux sends it ``number`` when its parent dies.

    The kernel watches the *thread* that forked, so that one must live as long as the process. ``None`` elsewhere than
    on Linux: there ``watch`` does it.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: the child must not import or allocate locks
    parent = os.getpid()

    def ask_the_kernel() -> None:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)  # a shell starts background commands with SIGQUIT ignored
        prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return ask_the_kernel


def watch(pid: int, number: signal.Signals) -> subprocess.Popen[bytes]:
    """Start a shell that sends ``number`` to ``pid`` when this process has died; kill it before ``pid`` is waited for.

    For systems whose kernel does not do it. It holds nothing but the reading end of a pipe of ours.
    """
    return subprocess.Popen(  # noqa: S603 - a constant, a signal's name and a number
        ("/bin/sh", "-c", AT_END_OF_PIPE, number.name.removeprefix("SIG"), str(pid)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        process_group=0,  # Ctrl-C in the terminal is not for it
    )
