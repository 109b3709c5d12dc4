"""Owns where the embedded servers live on disk and which account runs them.

Layout under `PROSA_HOME` (default `.prosa/`):

    lock            held (flock) by the process that owns the servers
    running.json    0600: that process's pid and the two addresses, passwords included; gone when nothing runs
    secrets.json    0600: the passwords, drawn once per home
    postgres/       the cluster
    valkey/         the append-only file
    logs/           postgres.log, valkey.log, and the run before last as *.log.1
    binaries/       a copy of the servers, only when their account cannot read the installed ones
    data            only for root, a link: everything above lives there instead (see `open_home`)

Ends a child process when the process that started it has died, even by SIGKILL.

Owns the copy of installed programs that the servers' account runs when it cannot read the originals.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from state_machine.values.errors import ProsaError

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


log = structlog.get_logger(__name__)

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
ONE_SEGMENT = 16 * 2**20  # bytes: PostgreSQL starts no new file of its write-ahead log in less
PROBE_SECONDS = 10  # `test -x` and `--version` answer in milliseconds; a cold network disk may need seconds
LOG_BYTES = 10_000_000  # a server log past this is set aside at the next start: a laptop is not a log archive
FALLBACK = Path("/var/lib/prosa")  # where Linux expects a service's data; every account may pass through it
SERVER_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # the servers never see our secrets


class EmbeddedError(ProsaError):
    """The embedded servers could not start, or ended; the message says what happened, what was kept, what to do."""

    code = "embedded"


class HomeError(EmbeddedError):
    """The home cannot be written; the message says why, and what was kept. What to do: choose another home."""

    code = "home"


@dataclass(frozen=True, slots=True)
class Account:
    """The unprivileged account that runs the servers when we are root."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Home:
    """Where everything lives; `account` is None when the servers run as ourselves."""

    root: Path
    account: Account | None

    @property
    def postgres(self) -> Path:
        """The cluster's data directory."""
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        """The directory of Valkey's append-only file."""
        return self.root / "valkey"

    def log(self, name: str) -> Path:
        """The log file of one server, set aside first when it has grown too long."""
        path = self.root / "logs" / f"{name}.log"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return path

    def give(self, path: Path) -> Path:
        """Make `path` private to the account that runs the servers."""
        path.chmod(0o700 if path.is_dir() else 0o600)
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)
        return path

    def run(self, *command: str | Path, stdin: str = "", seconds: float) -> subprocess.CompletedProcess[str]:
        """Run `command` to its end as the servers' account, in `/`, without our environment.

        Raises:
            EmbeddedError: it took longer than `seconds`.
        """
        try:
            return subprocess.run(  # noqa: S603 - every command is assembled in this package
                command,
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
                cwd="/",
                env=SERVER_ENVIRONMENT,
                process_group=0,  # as the servers
                preexec_fn=die_with_parent(signal.SIGKILL),
                **identity(self.account),
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedError(
                f"{command[0]} passou de {seconds:.0f} s e foi encerrado. Os dados que existiam ficaram como estavam. "
                "A máquina pode estar muito ocupada: inicie de novo quando ela estiver livre."
            ) from error


def identity(account: Account | None) -> dict[str, Any]:
    """The keyword arguments that make `subprocess` start a program as `account`."""
    return {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}


def open_home(home: Path) -> Home:
    """The home at `home`, made if need be, in a place that the servers' account can reach.

    PostgreSQL refuses to run as root, so as root the servers run as `nobody`. When that account cannot pass through
    the parents of `home` (`/root` is 0700, and nobody but its owner should open it), the files live under
    `/var/lib/prosa` and `home/data` links there.

    Raises:
        OSError: the home belongs to somebody else, or no reachable place could be made.
    """
    home = home.expanduser().absolute()
    return _open_as_root(home) if os.geteuid() == 0 else _open_as_ourselves(home)


def home_error(home: Path, error: Exception) -> HomeError | None:
    """What ``error`` says about the home: it cannot be written, or its disk is full; None when it is about neither."""
    if _says_full(error) or (isinstance(error, EmbeddedError) and _is_full(home)):
        return HomeError(
            f"O disco de {home} está cheio. O que já estava gravado ficou como estava. Libere espaço e inicie de novo"
        )
    if isinstance(error, OSError):
        return HomeError(
            f"Não foi possível gravar em {error.filename or home} ({error.strerror or error}). "
            "O que já estava gravado ficou como estava. Rode com a conta dona desse diretório"
        )
    return None


def _says_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in DISK_FULL
    return any(os.strerror(number) in str(error) for number in DISK_FULL)  # a server's own words


def _is_full(home: Path) -> bool:
    """Whether PostgreSQL cannot work here for want of space; its own log may have had no room to say so."""
    there = next(path for path in (home / "data", home, *home.parents) if path.exists())
    return shutil.disk_usage(there).free < ONE_SEGMENT


def _open_as_ourselves(home: Path) -> Home:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_uid != os.geteuid() or (home / "data").is_symlink():
        raise PermissionError(errno.EACCES, "pertence a outra conta", str(home))
    return Home(home, None)


def _open_as_root(home: Path) -> Home:
    home.mkdir(parents=True, exist_ok=True)
    if home.stat().st_uid != 0:  # files of root among an ordinary account's would lock that account out
        raise PermissionError(errno.EACCES, "pertence a outra conta", str(home))
    home.chmod(0o711)  # others may pass through to what is theirs, and list nothing
    nobody = pwd.getpwnam("nobody")
    account = Account(nobody.pw_uid, nobody.pw_gid)
    link = home / "data"
    if link.is_symlink():
        return Home(link.readlink(), account)
    here = Home(home, account)
    if here.run("test", "-x", home, seconds=PROBE_SECONDS).returncode == 0:
        return here
    elsewhere = FALLBACK / f"{home.parent.name}-{secrets.token_hex(6)}"  # drawn: a deleted home starts anew
    for directory in (FALLBACK, elsewhere):
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o711)
    link.symlink_to(elsewhere)
    log.info("embedded_home_elsewhere", home=str(home), files=str(elsewhere), why="nobody cannot reach the home")
    return Home(elsewhere, account)


@dataclass(frozen=True, slots=True)
class Installation:
    """A program and all that it finds by relative paths: `program` and `parts` are relative to `base`."""

    base: Path
    program: str
    parts: tuple[str, ...]

    def files(self) -> Iterator[Path]:
        """Everything below the parts, in a fixed order."""
        for part in self.parts:
            yield from sorted((self.base / part).rglob("*"))


def reachable(installation: Installation, home: Home) -> Path:
    """The path of a program that the servers' account can run: the installed one, or that of a copy in the home.

    A clone below `/root` (0700) has its `.venv` there too; opening the parents to everybody would be the worse way.
    """
    installed = installation.base / installation.program
    if home.account is None or _runs(installed, home):
        return installed
    copy = home.root / "binaries" / f"{installed.name}-{_fingerprint(installation)}"
    if not copy.exists():
        log.info("embedded_binaries_copied", to=str(copy), why="nobody cannot read the installed ones")
        unfinished = copy.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for part in installation.parts:
            shutil.copytree(installation.base / part, unfinished / part, symlinks=True)
        for path in (copy.parent, unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode
                path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))
        unfinished.rename(copy)
    return copy / installation.program


def _runs(program: Path, home: Home) -> bool:
    try:
        return home.run(program, "--version", seconds=PROBE_SECONDS).returncode == 0
    except OSError:
        return False


def _fingerprint(installation: Installation) -> str:
    """Twelve hex digits that change whenever a file of `installation` does."""
    digest = hashlib.sha256()
    for path in installation.files():
        status = path.lstat()
        digest.update(f"{path.relative_to(installation.base)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:12]
