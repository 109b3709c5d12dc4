"""Starts processes of the product by forking one that has imported it already.

A start costs two seconds of CPU for imports alone, and a storm starts hundreds. What is forked has opened nothing:
no loop, no thread, no connection, no settings. From there on it is ``prosa web`` or ``prosa worker`` like any other.
"""

from __future__ import annotations

import array
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from persistence.embedded.home import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_FDS = 4  # of a request: standard error, who hears of its end, standard input and output
LONGEST = 2**17  # bytes of a request: an environment
PROGRAM = (
    "-m",
    "proofs.storm.machines.zygote",
)  # what the interpreter runs: this module, or a test's that ends in its ``main``
ONE_FD = array.array("i").itemsize


class Forked(NamedTuple):
    """A process that was forked, and a descriptor of it, which the caller closes."""

    pid: int
    pidfd: int


class Zygote:
    """The process that forks; it ends with our end of its socket, and all that it forked ends with it.

    Linux's signal of a parent's death would not do here: it is sent when the *thread* that started it ends.
    """

    def __init__(self, env: Mapping[str, str], home: Path, program: Sequence[str] = PROGRAM) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module, or a test's
                [sys.executable, *program],
                stdin=theirs.fileno(),
                env=dict(env),
                cwd=home,
                start_new_session=True,  # Ctrl-C is for us: we end them when the verdict is in
            )

    def spawn(
        self,
        args: Sequence[str],
        env: Mapping[str, str],
        stderr: int,
        *,
        told: int | None = None,
        stdio: tuple[int, int] | None = None,
        module: str | None = None,
        cwd: Path | None = None,
    ) -> Forked:
        """Start ``prosa`` with ``args``, or a module as ``python -m`` does. Blocking, milliseconds; one call at a time.

        ``told`` is the end of a pipe into which its exit status is written when it has ended, as a decimal number.
        ``stdio`` are its standard input and output: nothing, and ours, if none are given.
        """
        wanted: dict[str, Any] = {"args": list(args), "env": dict(env), "module": module}
        wanted |= {"cwd": str(cwd) if cwd else None, "stdio": stdio is not None, "told": told is not None}
        fds = [stderr, *([] if told is None else [told]), *(stdio or ())]
        socket.send_fds(self._ours, [json.dumps(wanted).encode()], fds)
        answer, pidfds, _, _ = socket.recv_fds(self._ours, LONGEST, 1)
        if not pidfds:
            raise RuntimeError(f"o processo não pôde ser criado: {answer.decode(errors='replace')}")
        return Forked(int(answer), pidfds[0])

    def close(self) -> None:
        """End it, and with it whatever it forked."""
        self._ours.close()
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Import everything that the product's processes import, then fork for as long as somebody asks."""
    import apscheduler.schedulers.asyncio  # noqa: PLC0415
    import sqlalchemy.dialects.postgresql.asyncpg  # noqa: PLC0415
    import uvloop  # noqa: PLC0415

    import bot.house  # noqa: PLC0415
    import bot.process.run  # noqa: PLC0415
    import bot.process.servers  # noqa: PLC0415
    import bot.settings  # noqa: F401, PLC0415 - the commands import them when they run

    del apscheduler, sqlalchemy, uvloop
    leash = die_with_parent(signal.SIGKILL)  # made before the fork: it remembers whose child it is for
    gc.freeze()  # the collector would write into pages that all share
    told: dict[int, int] = {}  # by pid: who hears how it ended
    died, deaths = os.pipe()
    os.set_blocking(deaths, False)
    signal.set_wakeup_fd(deaths, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with socket.socket(fileno=0) as asked:
        while True:
            if died in select.select([asked.fileno(), died], [], [])[0]:
                os.read(died, LONGEST)
                _tell(told)
                continue
            request, fds, _, _ = socket.recv_fds(asked, LONGEST, MOST_FDS)
            if not request:
                return
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                if leash:
                    leash()
                asked.detach()
                for fd in (died, deaths, *told.values()):
                    os.close(fd)
                _become(json.loads(request), fds)
            if json.loads(request)["told"]:
                told[pid] = fds.pop(1)
            for fd in fds:
                os.close(fd)
            pidfd = os.pidfd_open(pid)
            socket.send_fds(asked, [str(pid).encode()], [pidfd])
            os.close(pidfd)


def _tell(told: dict[int, int]) -> None:
    """Bury the dead of the meantime, and say how they ended."""
    with suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            if (listener := told.pop(dead[0], None)) is not None:
                with suppress(BrokenPipeError):
                    os.write(listener, str(os.waitstatus_to_exitcode(dead[1])).encode())
                os.close(listener)


def _become(wanted: dict[str, Any], fds: list[int]) -> NoReturn:
    from bot.cli import __main__ as cli  # noqa: PLC0415

    code = 1
    try:
        os.setsid()
        os.dup2(fds[0], 2)
        if wanted["stdio"]:
            os.dup2(fds[-2], 0)
            os.dup2(fds[-1], 1)
        else:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for fd in fds:
            os.close(fd)
        os.environ.clear()
        os.environ.update(wanted["env"])
        if wanted["cwd"]:
            os.chdir(wanted["cwd"])
        sys.argv = ["prosa", *wanted["args"]]
        if wanted["module"]:
            runpy.run_module(wanted["module"], run_name="__main__", alter_sys=True)
        else:
            cli.main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter itself would
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
