"""`prosa` as a person starts it, with a deadline on every wait, and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from tests import children
from tests.patience import PATIENCE
from tests.road import road_forks

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "tests.bot.process.forked_prosa"
END_SECONDS = 15.0  # ten are promised; a machine that is busy with other things takes longer to exit
ORPHAN_SECONDS = 2.0  # likewise, for the servers of a process that was killed
SECRETS = {
    "PROSA_WHATSAPP_PHONE_NUMBER_ID": "1",
    "PROSA_WHATSAPP_ACCESS_TOKEN": "token-for-the-tests",
    "PROSA_WHATSAPP_APP_SECRET": "secret-for-the-tests",
    "PROSA_WHATSAPP_VERIFY_TOKEN": "verify-for-the-tests",
    "PROSA_PLUGNOTAS_API_KEY": "key-for-the-tests",
    "PROSA_PLUGNOTAS_URL": "http://127.0.0.1:1",
    "PROSA_CNPJ_API_URL": "http://127.0.0.1:1",
    "PROSA_WHATSAPP_API_URL": "http://127.0.0.1:1/v25.0",
    "PROSA_GATEWAY_WEBHOOK_SECRET": "webhook-for-the-tests",
}
UP = ("Prosa está no ar", '"event":"started"', "Escreva como no WhatsApp")


@dataclass
class Prosa:
    """One run; what it said is in a file, so that no pipe can fill up."""

    process: subprocess.Popen[bytes] | road_forks.Child
    heard: Path

    @property
    def said(self) -> str:
        """What it has written until now, on both outputs."""
        return self.heard.read_text(errors="replace")

    def wait(self, seconds: float = END_SECONDS) -> int:
        """Return the exit status; fails when it takes longer."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {seconds} s and said: {self.said}") from None

    def up(self) -> None:
        """Wait until it runs."""
        eventually(lambda: any(word in self.said for word in UP) or self.process.poll() is not None, PATIENCE)
        assert self.process.poll() is None, self.said

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it alone."""
        self.process.send_signal(number)

    def family(self) -> list[psutil.Process]:
        """All of its children, and theirs."""
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def started(
    place: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    before: str = "",
    wrap: tuple[str, ...] = (),
    anew: bool = False,
) -> Iterator[Prosa]:
    """Start ``prosa`` in ``place`` without any setting but these; killed at the end, with the children it has then.

    ``before`` is Python that is run in the process first, ``wrap`` a program that starts it. It is forked from a
    process that has imported it, except where it is wrapped, or ``anew``: an interpreter of its own.
    """
    dropped = ("PROSA_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    own = {"PROSA_HOME": str(place / ".prosa"), "BEFORE_PROSA": before, **SECRETS, **(env or {})}
    settings = {**kept, "PYTHONPATH": str(ROOT), **own}
    heard = place / f"heard-{time.monotonic_ns()}"
    process: subprocess.Popen[bytes] | road_forks.Child
    with heard.open("wb") as output:
        if anew or wrap:
            command = [*wrap, sys.executable, "-m", PROGRAM, *words]
            process = children.popen(
                command, env=settings, cwd=place, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT
            )
        else:
            process = road_forks.child(PROGRAM, words, settings, place, output)
    prosa = Prosa(process, heard)
    try:
        yield prosa
    finally:
        if process.poll() is None:
            for child in prosa.family():
                child.kill()
            process.kill()
        process.communicate()


def left(home: Path) -> list[str]:
    """The command lines of the processes that have anything to do with this home."""
    found = []
    for process in psutil.process_iter():
        try:
            words = " ".join(process.cmdline())
            if process.pid != os.getpid() and (str(home) in words or Path(process.cwd()).is_relative_to(home)):
                found.append(f"{process.pid} {process.name()} {process.status()} {words}")
        except psutil.Error:  # gone meanwhile, or a zombie, which holds nothing
            continue
    return found


def eventually(condition: Callable[[], object], seconds: float) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.01)
