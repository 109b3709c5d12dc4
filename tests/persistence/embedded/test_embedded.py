"""The embedded servers: nothing lost, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from persistence.embedded import Embedded, EmbeddedError
from tests import children
from tests.patience import PATIENCE
from tests.persistence.embedded.embedded_homes import ask, living

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
AT_ONCE = Retry(NoBackoff(), 0)  # redis-py would try a refused password again, for seconds
OWNER = """
import json, sys
from pathlib import Path
from persistence.embedded import Embedded, process
if "unguarded" in sys.argv:
    process.die_with_parent = lambda number: None
with Embedded.start(Path(sys.argv[1])) as embedded:
    print(json.dumps({"database_url": embedded.servers.database_url}), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def owner(shared_home: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts another process that owns the servers of `shared_home`; those still alive are killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = children.popen(
            [sys.executable, "-c", OWNER, str(shared_home), *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        for line in process.stdout or ():  # the log may come first
            if line.startswith("{"):
                return process
        raise AssertionError("the owner ended before its servers were up")

    yield start
    for process in started:
        process.kill()
        process.communicate()
    eventually(lambda: not living(shared_home), "no server is left")


def eventually(condition: Callable[[], Any], what: str) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s in vain until {what}"
        time.sleep(0.02)


async def test_what_was_written_is_there_after_a_stop_and_a_start(passable: Path) -> None:
    """A start finds the rows and keys of the run before, with the same passwords, even in a path with spaces."""
    with Embedded.start(passable / ".prosa") as first:
        await ask(first.servers.owner_url, "CREATE TABLE kept AS SELECT 42 AS answer")
        redis.Redis.from_url(first.servers.redis_url).set("kept", "yes")
    assert living(passable / ".prosa") == []
    with Embedded.start(passable / ".prosa") as second:
        assert await ask(second.servers.owner_url, "SELECT answer FROM kept") == 42
        assert redis.Redis.from_url(second.servers.redis_url).get("kept") == b"yes"
        assert not second.attached


async def test_the_servers_die_with_a_killed_owner_and_nothing_is_lost(
    shared_home: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    """After kill -9 of the owner no server lives on, and what was committed is there at the next start."""
    process = owner()
    url = json.loads((shared_home / "running.json").read_text())["owner_url"]
    await ask(url, "CREATE TABLE survivors AS SELECT 7 AS count")
    assert len(living(shared_home)) > 2
    process.kill()
    process.wait()
    eventually(lambda: not living(shared_home), "both servers have ended by themselves")
    with Embedded.start(shared_home) as embedded:
        assert await ask(embedded.servers.owner_url, "SELECT count FROM survivors") == 7


async def test_a_start_right_after_a_kill_waits_for_the_old_servers(
    shared_home: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    """A new owner may come while the servers of the dead one are still shutting down."""
    process = owner()
    process.kill()
    process.wait()
    with Embedded.start(shared_home) as embedded:
        assert await ask(embedded.servers.database_url, "SELECT 1") == 1


async def test_servers_that_outlived_their_owner_are_stopped_before_a_new_start(
    shared_home: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    """Where the kernel doesn't end them with their owner, the next start does, and keeps their data."""
    process = owner("unguarded")
    url = json.loads((shared_home / "running.json").read_text())["owner_url"]
    await ask(url, "CREATE TABLE orphaned AS SELECT 1 AS one")
    process.kill()
    process.wait()
    orphans = living(shared_home)
    with Embedded.start(shared_home) as embedded:
        assert await ask(embedded.servers.owner_url, "SELECT one FROM orphaned") == 1
        assert not set(orphans) & set(living(shared_home))
    assert orphans


async def test_a_second_process_joins_and_does_not_stop_them(
    shared_home: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    """While one process owns the servers, another gets the same ones and leaves them running."""
    process = owner()
    with Embedded.start(shared_home) as joined:
        assert joined.attached
        pids = {server.pid for server in psutil.Process(process.pid).children()}  # their own children come and go
    assert len(pids) >= 2
    assert pids <= set(living(shared_home))
    assert await ask(joined.servers.database_url, "SELECT 1") == 1


async def test_joining_fails_over_to_owning_when_the_owner_ends(
    shared_home: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    """The announcement of an owner that was killed misleads nobody: the next process owns new servers."""
    process = owner()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (shared_home / "running.json").exists()
    with Embedded.start(shared_home) as embedded:
        assert not embedded.attached
        assert await ask(embedded.servers.database_url, "SELECT 1") == 1
    assert not (shared_home / "running.json").exists()


async def test_a_pid_file_of_a_dead_run_does_not_stop_a_start(shared_home: Path) -> None:
    """A postmaster.pid whose number now belongs to another program is not taken for a running server."""
    stale = shared_home / "postgres" / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n{shared_home / 'postgres'}\n")
    with Embedded.start(shared_home) as embedded:
        assert await ask(embedded.servers.database_url, "SELECT 1") == 1


async def test_an_interrupted_first_start_is_made_anew(passable: Path) -> None:
    """A cluster that was only half made when the machine stopped is thrown away, not started."""
    (passable / "postgres.unfinished").mkdir()
    (passable / "postgres.unfinished" / "PG_VERSION").write_text("18\n")
    with Embedded.start(passable) as embedded:
        assert await ask(embedded.servers.database_url, "SELECT current_database()") == "prosa"


def test_data_of_another_postgresql_is_left_alone(shared_home: Path) -> None:
    """A cluster of another major version is refused with words that say what to do, and stays as it was."""
    version = shared_home / "postgres" / "PG_VERSION"
    written = version.read_text()
    version.write_text("12\n")
    try:
        with pytest.raises(EmbeddedError, match=r"PostgreSQL 12; .*Nada mudou.*pg_dump"):
            Embedded.start(shared_home)
    finally:
        version.write_text(written)
    assert living(shared_home) == []


def test_a_server_that_cannot_start_says_why_and_leaves_none_running(shared_home: Path) -> None:
    """The error quotes the server's own log, says that the data was kept, and the other server is stopped again."""
    manifest = shared_home / "valkey" / "appendonlydir" / "appendonly.aof.manifest"
    whole = manifest.read_text()
    manifest.write_text("nonsense\n")
    try:
        with pytest.raises(EmbeddedError, match=r"(?s)valkey .*não iniciou.*como estavam.*valkey\.log.*manifest"):
            Embedded.start(shared_home)
    finally:
        manifest.write_text(whole)
    assert living(shared_home) == []


def test_a_thread_may_not_start_them(shared_home: Path) -> None:
    """Linux ends them with the thread that started them, so only the main thread may."""
    refused: list[RuntimeError] = []

    def start() -> None:
        try:
            Embedded.start(shared_home)
        except RuntimeError as error:
            refused.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in str(refused[0])
