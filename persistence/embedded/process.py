"""Owns one server process from birth to death: port, log, readiness, stop, and no orphan; it knows no product."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import structlog

from persistence.embedded.home import SERVER_ENVIRONMENT, EmbeddedError, Home, identity

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

log = structlog.get_logger(__name__)

START_SECONDS = 60.0  # measured: 0.03 s when quiet, 5 s on a machine that compiles; CI machines are worse
STOP_SECONDS = 30.0  # a last checkpoint of a busy laptop disk; past this the server is killed
POLL_SECONDS = 0.01  # a start takes about 0.03 s
PORT_ATTEMPTS = 3  # between finding a free port and the server's bind another program may take it
LOG_TAIL = 2_000  # characters of a server's log that an operator wants to read in an error
PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class Program:
    """How to start one server: `command` and `config` (its standard input) take the port it must listen on."""

    name: str
    directory: Path
    pid_file: Path
    stop_signal: signal.Signals
    command: Callable[[int], list[str]]
    config: Callable[[int], str]
    ready: Callable[[int, int], bool]  # (pid, port)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    program: Program
    process: subprocess.Popen[bytes]
    port: int

    def stop(self) -> None:
        """Ask it to stop and wait; killed after `STOP_SECONDS`, which both servers survive by their logs."""
        if self.process.poll() is None:
            self.process.send_signal(self.program.stop_signal)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("embedded_server_killed", server=self.program.name, waited_seconds=STOP_SECONDS)
            self.process.kill()
            self.process.wait()


def launch(program: Program, home: Home) -> Server:
    """Start `program` on a free port of 127.0.0.1 and wait until it answers.

    Raises:
        EmbeddedError: it died or did not answer within `START_SECONDS`; nothing is left running.
    """
    evict(program)
    path = home.log(program.name)
    for _ in range(PORT_ATTEMPTS):
        said = path.stat().st_size if path.exists() else 0
        server = _spawn(program, home, path)
        if _answers(server):
            return server
        server.stop()
        words = path.read_text(errors="replace")[said:]
        if "ddress already in use" not in words:
            break
    raise EmbeddedError(
        f"The embedded {program.name} did not start. The data in {program.directory} was kept as it is. "
        f"Its log ({path}) ends with:\n{words[-LOG_TAIL:].strip() or '(nothing)'}\n"
        "Mend what it names and start again, or use servers of your own: PROSA_DATABASE_URL and PROSA_REDIS_URL."
    )


def evict(program: Program) -> None:
    """Remove the pid file of a dead run; when its server still lives without its owner, stop that server first.

    A pid file alone proves nothing (pids are reused, in containers at once), so the process must also work in this
    directory. The caller holds the home's lock: whatever runs here has no owner.
    """
    try:
        pid = int(program.pid_file.read_text().split(maxsplit=1)[0])
    except (FileNotFoundError, ValueError, IndexError):
        pid = 0
    if pid and works_in(pid, program.directory):
        log.warning("embedded_orphan_stopped", server=program.name, pid=pid)
        deadline = time.monotonic() + STOP_SECONDS
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, program.stop_signal)
        while works_in(pid, program.directory):
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"An earlier {program.name} (pid {pid}) still works in {program.directory} and does not stop. "
                    "Its data was kept. Stop it by hand, then start again."
                )
            time.sleep(POLL_SECONDS)
    program.pid_file.unlink(missing_ok=True)


def works_in(pid: int, directory: Path) -> bool:
    """Whether a living process `pid` has `directory` as its working directory, as both servers do with their data."""
    try:
        return Path(psutil.Process(pid).cwd()) == directory.resolve()
    except psutil.Error:  # gone, a zombie, or another account's: not a server of ours
        return False


def relaunch(server: Server, home: Home) -> Server:
    """Start a server that has died again, on the port that its clients know; does not wait until it answers.

    Called from the main thread. Ask `program.ready` afterwards.
    """
    evict(server.program)
    return _spawn(server.program, home, home.log(server.program.name), server.port)


def _spawn(program: Program, home: Home, path: Path, port: int | None = None) -> Server:
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("start the embedded servers from the main thread: they die with the thread that starts them")
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = int(probe.getsockname()[1])
    with path.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - commands are assembled in this package
            program.command(port),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=SERVER_ENVIRONMENT,
            process_group=0,  # Ctrl-C in the terminal is for us; we stop the servers after our own last write
            preexec_fn=die_with_parent(program.stop_signal),  # noqa: PLW1509 - it only makes two system calls
            **identity(home.account),
        )
    if process.stdin is None:
        raise RuntimeError("Popen was asked for a pipe")
    with contextlib.suppress(BrokenPipeError), process.stdin:  # a server that died at once is reported by its log
        process.stdin.write(program.config(port).encode())
    return Server(program, process, port)


def _answers(server: Server) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        if server.program.ready(server.process.pid, server.port):
            return True
        time.sleep(POLL_SECONDS)
    return False


def die_with_parent(stop_signal: signal.Signals) -> Callable[[], None] | None:
    """Return what a child must run before its program, so that no orphan stays.

    Linux sends `stop_signal` to the server when the thread that started it dies, even by SIGKILL.

    Elsewhere an orphan lives on until the next start evicts it.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: the child must not import or allocate locks
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, int(stop_signal))
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return ask_the_kernel
