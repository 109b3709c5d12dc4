"""Ends a process that runs for long: asked by a signal, or because something failed; within ten seconds, always."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

END_SECONDS = 9.0  # a container is killed 10 s after SIGTERM; what runs is drained for 6 s, the rest takes one
DEAF_SECONDS = 0.5  # later than that, for a process in which not even another thread gets to run
PIPE_BYTES = 512  # a write of so much to a pipe that is ready never blocks (POSIX: PIPE_BUF)
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # SIGHUP: the terminal was closed
STUCK = (
    f"O encerramento passou de {END_SECONDS:.0f} s{{where}} e foi cortado. Nada se perdeu: o que estava em andamento "
    "continua quando a Prosa iniciar de novo.\n"
)


class Ending:
    """How this process ends; made once, in the main thread, before anything is started.

    Until ``stop_event`` is called nothing is in hand, and a signal ends the process at once. After that the first
    signal sets the event, and the second one ends the process at once. Whoever begins the end, by whatever cause, has
    ``END_SECONDS`` for it: then the process is ended hard, status 1. The embedded servers die with it in any case.
    """

    def __init__(self) -> None:
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = False
        for number in ASKING:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # ignored: `nohup`
                signal.signal(number, self._asked)

    def stop_event(self) -> asyncio.Event:
        """Return the event that asks what runs on this loop to end; a failure may set it too."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        return self._stop

    def begin(self) -> None:
        """Give the end its time; again does nothing."""
        if self._begun:
            return
        self._begun = True
        # Neither needs the event loop; the first needs not even the interpreter, and so comes first.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        faulthandler.dump_traceback_later(END_SECONDS + DEAF_SECONDS, exit=True, file=nowhere)
        threading.Thread(target=_cut_late, name="ending", daemon=True).start()

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        if self._stop is None or self._loop is None or self._begun:
            cut(128 + number)
        self.begin()
        self._loop.call_soon_threadsafe(self._stop.set)


def say(sentence: str) -> None:
    """Write a sentence for people to standard error, if anybody can still read it."""
    with contextlib.suppress(OSError, ValueError):  # the terminal was closed, the disk is full
        sys.stderr.write(sentence)
        sys.stderr.flush()


def cut(status: int, sentence: str = "") -> NoReturn:
    """End now: no more Python code runs but this. Says ``sentence`` only where that cannot block."""
    with contextlib.suppress(OSError, ValueError):
        if sentence and select.select([], [2], [], 0)[1]:
            os.write(2, sentence.encode()[:PIPE_BYTES])
    os._exit(status)


def _cut_late() -> None:
    time.sleep(END_SECONDS)
    main = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - the only way to see another
    where = f" em {Path(main.f_code.co_filename).name}:{main.f_lineno}" if main else ""
    cut(1, STUCK.format(where=where))
