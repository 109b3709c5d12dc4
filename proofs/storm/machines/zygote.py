"""Starts processes of the product by forking one that has imported it already.

A start costs two seconds of CPU for imports alone, and a storm starts hundreds. What is forked has opened nothing:
no loop, no thread, no connection, no settings. From there on it is ``prosa web`` or ``prosa worker`` like any other.
"""

from __future__ import annotations

import array
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from persistence.embedded.parent_death import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LONGEST = 2**17  # bytes of a request: an environment
PROGRAM = (
    "-m",
    "proofs.storm.machines.zygote",
)  # what the interpreter runs: this module, or a test's that ends in its ``main``
ONE_FD = array.array("i").itemsize


class Zygote:
    """The process that forks; it and all that it forked die with us."""

    def __init__(self, env: Mapping[str, str], home: Path, program: Sequence[str] = PROGRAM) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module, or a test's
                [sys.executable, *program],
                stdin=theirs.fileno(),
                env=dict(env),
                cwd=home,
                start_new_session=True,  # Ctrl-C is for us: we end them when the verdict is in
                preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - one call of prctl
            )

    def spawn(self, args: Sequence[str], env: Mapping[str, str], stderr: int) -> int:
        """Start ``prosa`` with ``args``; returns a pidfd. Blocking, milliseconds; one call at a time."""
        request = json.dumps({"args": list(args), "env": dict(env)}).encode()
        socket.send_fds(self._ours, [request], [stderr])
        answer, fds, _, _ = socket.recv_fds(self._ours, LONGEST, 1)
        if not fds:
            raise RuntimeError(f"o processo não pôde ser criado: {answer.decode(errors='replace')}")
        return fds[0]

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
    with socket.socket(fileno=0) as asked:
        while True:
            request, fds, _, _ = socket.recv_fds(asked, LONGEST, 1)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:  # the dead of the meantime
                    pass
            if not request:
                return
            pid = os.fork()
            if not pid:
                if leash:
                    leash()
                asked.detach()
                wanted = json.loads(request)
                _become(wanted["args"], wanted["env"], fds[0])
            os.close(fds[0])
            pidfd = os.pidfd_open(pid)
            socket.send_fds(asked, [str(pid).encode()], [pidfd])
            os.close(pidfd)


def _become(args: list[str], env: dict[str, str], stderr: int) -> NoReturn:
    from bot.cli import __main__ as cli  # noqa: PLC0415

    code = 1
    try:
        os.setsid()
        os.dup2(stderr, 2)
        os.close(stderr)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["prosa", *args]
        cli.main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter itself would
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
