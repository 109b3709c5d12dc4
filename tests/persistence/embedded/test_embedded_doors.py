"""The doors of the embedded servers: who comes in, and what their unprivileged account can reach."""

from __future__ import annotations

import json
import os
import shutil
import socket
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from persistence.embedded import Embedded, EmbeddedError, home, postgres, valkey
from persistence.embedded.home import reachable
from tests.patience import PATIENCE
from tests.persistence.embedded.embedded_homes import ask, living

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

AT_ONCE = Retry(NoBackoff(), 0)  # redis-py would try a refused password again, for seconds


async def test_nobody_comes_in_without_the_password(shared_home: Path) -> None:
    """Both servers refuse a wrong password and none, from this very machine."""
    with Embedded.start(shared_home) as embedded:
        database, cache = embedded.servers.database_url, embedded.servers.redis_url
        for wrong in ("wrong", ""):
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(database, password=wrong)
        for stranger in ("wrong", None):
            with pytest.raises(redis.AuthenticationError):
                redis.Redis(port=urlsplit(cache).port or 0, password=stranger, retry=AT_ONCE).ping()


async def test_they_listen_on_loopback_only(shared_home: Path) -> None:
    """Each server has exactly one listening socket, on 127.0.0.1, and none in the file system."""
    with Embedded.start(shared_home):
        sockets = [sock for pid in living(shared_home) for sock in psutil.Process(pid).net_connections("all")]
    doors = {sock.laddr for sock in sockets if sock.status == psutil.CONN_LISTEN}
    assert [ip for ip, _ in doors] == ["127.0.0.1", "127.0.0.1"]
    assert not [sock.laddr for sock in sockets if sock.family == socket.AF_UNIX and str(shared_home) in sock.laddr]


async def test_no_password_can_be_seen_by_others(shared_home: Path) -> None:
    """The passwords are in no command line and in no environment, and only in files that we alone read."""
    with Embedded.start(shared_home):
        secrets = json.loads((shared_home / "secrets.json").read_text()).values()
        shown = [
            " ".join([*psutil.Process(pid).cmdline(), *psutil.Process(pid).environ().values()])
            for pid in living(shared_home)
        ]
        private = [(shared_home / name).stat().st_mode & 0o077 for name in ("secrets.json", "running.json")]
    assert not any(secret in line for secret in secrets for line in shown)
    assert private == [0, 0]


async def test_a_lost_password_file_does_not_lock_the_owner_out(shared_home: Path) -> None:
    """Whoever owns the files owns the data: without secrets.json the cluster takes a new password."""
    (shared_home / "secrets.json").unlink()
    with Embedded.start(shared_home) as embedded:
        assert await ask(embedded.servers.database_url, "SELECT 1") == 1


async def test_a_home_below_a_closed_directory_works(passable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a 0700 directory, root's servers keep their data where their account reaches it, even after a move."""
    monkeypatch.setattr(home, "FALLBACK", passable / "var-lib")
    closed = passable / "closed"
    closed.mkdir(mode=0o700)
    with Embedded.start(closed / ".prosa") as embedded:
        await ask(embedded.servers.owner_url, "CREATE TABLE kept AS SELECT 42 AS answer")
    assert closed.stat().st_mode & 0o077 == 0
    (closed / ".prosa").rename(closed / "moved")
    with Embedded.start(closed / "moved") as embedded:
        assert await ask(embedded.servers.owner_url, "SELECT answer FROM kept") == 42


@pytest.mark.parametrize("product", [postgres, valkey])
def test_programs_that_the_servers_account_cannot_read_are_copied(passable: Path, product: ModuleType) -> None:
    """An installation below a 0700 directory is run from a whole copy beside the data, made once."""
    installed = product.installation()
    closed = passable / "closed"
    closed.mkdir(mode=0o700)
    for part in installed.parts:
        shutil.copytree(installed.base / part, closed / part, symlinks=True)
    place = home.open_home(passable / ".prosa")
    program = reachable(replace(installed, base=closed), place)
    for sibling in program.parent.iterdir():
        assert place.run(sibling, "--version", seconds=PATIENCE).returncode == 0, sibling.name
    assert reachable(replace(installed, base=closed), place) == program


def test_a_home_of_another_account_is_refused(passable: Path) -> None:
    """Root doesn't leave its files in an ordinary account's home, nor that account in root's."""
    foreign = passable / ".prosa"
    foreign.mkdir()
    if os.geteuid() == 0:
        os.chown(foreign, 12345, 12345)
    else:
        (foreign / "data").symlink_to("/var/lib/prosa/of-root")
    with pytest.raises(EmbeddedError, match=r"pertence a outra conta.*conta dona"):
        Embedded.start(foreign)
