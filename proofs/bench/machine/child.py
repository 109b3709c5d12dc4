"""One process under measurement: started, waited for, ended; its log goes to a file, as under a service manager."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import bot
from persistence.embedded.home import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(bot.__file__).resolve().parents[1]
START_SECONDS = 60.0  # on a machine that starts several at once
LOOK_EVERY = 0.005  # seconds; start times are measured with it


class Child:
    """``python -m …`` with our environment and nothing of the caller's ``PROSA_`` variables.

    It is up when its log has a line of JSON with ``"event": "started"``, whose ``address`` is kept.
    """

    def __init__(self, words: Sequence[str], env: Mapping[str, str], log: Path, *, cwd: Path) -> None:
        self.address = ""
        self.log = log
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
        kept |= {"PYTHONPATH": str(ROOT), **env}
        with log.open("ab") as sink:
            self.process = subprocess.Popen(  # noqa: S603 - our own modules
                [sys.executable, "-P", "-m", *words],
                env=kept,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,  # Ctrl-C is for the harness, which ends them
                preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - no threads of ours hold locks here
            )
        self.started_at = time.perf_counter()

    @property
    def pid(self) -> int:
        """Of the process itself."""
        return self.process.pid

    async def up(self) -> str:
        """Return its address once it says that it is up; raises ``RuntimeError`` with its last words, or times out."""
        async with asyncio.timeout(START_SECONDS):
            while not (address := self._said()):
                if self.process.poll() is not None:
                    raise RuntimeError(f"não iniciou: {self.log.read_text(errors='replace')[-2000:]}")
                await asyncio.sleep(LOOK_EVERY)
        self.address = address.removesuffix("-")
        return self.address

    def _said(self) -> str:
        for line in self.log.read_text(errors="replace").splitlines():
            if '"started"' in line:
                entry = json.loads(line)
                if entry.get("event") == "started":
                    return str(entry.get("address") or "-")
        return ""

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL when it takes too long."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            async with asyncio.timeout(15):
                while self.process.poll() is None:  # noqa: ASYNC110 - a process has no event
                    await asyncio.sleep(0.02)
        except TimeoutError:
            self.process.kill()
            self.process.wait()
