"""Owns one server process from start to end: port, log, readiness, stop, and no orphan."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import structlog

from persistence.embedded.home import SERVER_ENVIRONMENT, EmbeddedError, Home, die_with_parent, identity, watch

log = structlog.get_logger(__name__)

START_SECONDS = 60.0  # measured: 0.03 s when quiet, 5 s on a machine that compiles; CI machines are worse
STOP_SECONDS = 5.0  # a last checkpoint; on a busy disk it may take longer, and a recovery at the next start is quicker
EVICT_SECONDS = 30.0  # an orphan that is told to end at once takes milliseconds; a disk that hangs may hold it
END_SECONDS = 6.0  # PostgreSQL kills children that do not end at once after 5 s
POLL_SECONDS = 0.01  # a start takes about 0.03 s
PORT_ATTEMPTS = 3  # between finding a free port and the server's bind another program may take it
LOG_TAIL = 2_000  # characters of a server's log that an operator wants to read in an error


@dataclass(frozen=True, slots=True)
class Program:
    """How to start one server: `command` and `config` (its standard input) take the port it must listen on.

    `stop_signal` ends it in order; `end_signal` at once, children included, which it survives by its logs.
    """

    name: str
    directory: Path
    pid_file: Path
    stop_signal: signal.Signals
    end_signal: signal.Signals
    command: Callable[[int], list[str]]
    config: Callable[[int], str]
    ready: Callable[[int, int], bool]  # (pid, port)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    program: Program
    process: subprocess.Popen[bytes]
    port: int
    watcher: subprocess.Popen[bytes] | None = None  # only where the kernel does not tell it that we died

    def stop(self) -> None:
        """Ask it to stop and wait; ended at once after `STOP_SECONDS`, which both servers survive by their logs."""
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.communicate()
        if self.process.poll() is None:
            self.process.send_signal(self.program.stop_signal)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("embedded_server_killed", server=self.program.name, waited_seconds=STOP_SECONDS)
            self._end()

    def ended(self) -> EmbeddedError:
        """What to say when it has ended although nobody asked for it."""
        return EmbeddedError(
            f"O {self.program.name} embutido parou (status {self.process.returncode}). Os dados em "
            f"{self.program.directory} ficaram como estavam. Veja o log ao lado deles e inicie de novo."
        )

    def _end(self) -> None:
        self.process.send_signal(self.program.end_signal)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def launch(program: Program, home: Home) -> Server:
    """Start `program` on a free port of 127.0.0.1 and wait until it answers; `evict` before.

    Raises:
        EmbeddedError: it died or did not answer within `START_SECONDS`; nothing is left running.
    """
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
        f"O {program.name} embutido não iniciou. Os dados em {program.directory} ficaram como estavam. "
        f"O fim do log dele ({path}):\n{words[-LOG_TAIL:].strip() or '(nada)'}\n"
        "Corrija o que ele diz e inicie de novo, ou use servidores seus: PROSA_DATABASE_URL e PROSA_REDIS_URL."
    )


def evict(program: Program) -> None:
    """Remove the pid file of a dead run; whatever still works in its directories is ended first.

    A pid file alone proves nothing (pids are reused, in containers at once), and it does not name the children that a
    killed server left. The caller holds the home's lock: whatever works here has no owner.
    """
    directories = (program.directory, unfinished(program.directory))
    deadline = time.monotonic() + EVICT_SECONDS
    told: set[int] = set()
    while orphans := working_in(program.name, *directories):
        for pid in set(orphans) - told:
            log.warning("embedded_orphan_stopped", server=program.name, pid=pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, program.end_signal)
        told.update(orphans)
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"Um {program.name} de antes (processo {orphans[0]}) ainda trabalha em {program.directory} e não "
                "termina. Os dados ficaram como estavam. Encerre esse processo e inicie de novo."
            )
        time.sleep(POLL_SECONDS)
    program.pid_file.unlink(missing_ok=True)


def unfinished(directory: Path) -> Path:
    """Where the first content of `directory` is made; renamed when it is whole."""
    return directory.with_name(f"{directory.name}.unfinished")


def working_in(name: str, *directories: Path) -> list[int]:
    """The living processes called `name…` that work in one of these directories, as both servers do with their data.

    A shell in which somebody looks around there is none of them.
    """
    wanted = {directory.resolve() for directory in directories}
    return [process.pid for process in psutil.process_iter() if _works_in(process, name, wanted)]


def _works_in(process: psutil.Process, name: str, directories: set[Path]) -> bool:
    try:
        return process.name().startswith(name) and Path(process.cwd()) in directories
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
            preexec_fn=die_with_parent(program.end_signal),  # noqa: PLW1509 - it only makes three system calls
            **identity(home.account),
        )
    if process.stdin is None:
        raise RuntimeError("Popen was asked for a pipe")
    with contextlib.suppress(BrokenPipeError), process.stdin:  # a server that died at once is reported by its log
        process.stdin.write(program.config(port).encode())
    watcher = None if sys.platform == "linux" else watch(process.pid, program.end_signal)
    return Server(program, process, port, watcher)


def _answers(server: Server) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        if server.program.ready(server.process.pid, server.port):
            return True
        time.sleep(POLL_SECONDS)
    return False
