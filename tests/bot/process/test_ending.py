"""How a process that runs for long ends: asked, in a hurry, stuck, killed; and what it leaves behind."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bot.process.run
from persistence.embedded import Embedded
from tests.bot.process.prosa_process import END_SECONDS, ORPHAN_SECONDS, eventually, left, started
from tests.held_port import held_port, listening
from tests.nightly import size

if TYPE_CHECKING:
    from collections.abc import Iterator

NATIONAL = {"PROSA_GATEWAY": "nacional", "PROSA_PLUGNOTAS_API_KEY": "", "PROSA_GATEWAY_WEBHOOK_SECRET": ""}
LONG = ("serve", "web", "worker", "api", "demo", "chat")
OWN = {"PROSA_PORT": "0"}
ASKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# A loop that never finishes, one that holds the event loop, and one that lets no other thread run either.
STUCK = {
    "a task": "await asyncio.Event().wait()",
    "the event loop": "while True: time.sleep(1)",
    "the interpreter": "re.match('(a+)+$', 'a' * 64 + 'b')",
}
HANGS = """
import asyncio, re, time, bot.wiring.outside
async def withdraw(self):
    print("stuck now", flush=True)
    {how}
bot.wiring.outside.Breakers._withdraw = withdraw
bot.wiring.outside.PATIENCE = 1e6
"""
STEPS = size(2, 32)  # moments of a start at which it is killed
FIRST_START = 1.6  # seconds that a quiet machine takes; what is later is killed while it runs


@pytest.fixture
def place() -> Iterator[Path]:
    """A working directory whose parents everybody may pass through: root's servers run as nobody."""
    path = Path(tempfile.mkdtemp(prefix="prosa-end-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def warm() -> Iterator[Path]:
    """A working directory with all homes made, for tests that leave it as usable as they found it."""
    path = Path(tempfile.mkdtemp(prefix="prosa-warm-"))
    path.chmod(0o755)
    for home in (path / ".prosa", path / ".prosa" / "demo", path / ".prosa" / "chat"):
        Embedded.start(home).stop()
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize(
    ("command", "number"),
    [*((command, signal.SIGTERM) for command in LONG), *(("demo", number) for number in ASKED[1:])],
)
def test_a_signal_ends_it_in_order(warm: Path, command: str, number: signal.Signals) -> None:
    """SIGTERM, Ctrl-C and a closed terminal: status 0, in time, and its servers end with it."""
    with started(warm, command, env=OWN, anew=True) as prosa:
        prosa.up()
        family = prosa.family()
        assert len(family) >= 2
        prosa.signal(number)
        assert prosa.wait() == 0, prosa.said
        assert [child for child in family if child.is_running()] == []
    assert left(warm) == []
    assert "Traceback" not in prosa.said
    assert "exception" not in prosa.said


def test_ctrl_c_in_a_terminal_reaches_it_alone(warm: Path) -> None:
    """The terminal signals the whole group: the servers stay for our own last writes, and end after us."""
    with started(warm, "demo", env=OWN, anew=True) as prosa:
        prosa.up()
        os.killpg(prosa.process.pid, signal.SIGINT)
        assert prosa.wait() == 0, prosa.said
    assert left(warm) == []


@pytest.mark.parametrize(
    ("command", "more"), [("serve", {}), ("web", {}), ("worker", {}), ("serve", NATIONAL), ("worker", NATIONAL)]
)
def test_without_redis_or_gateway_it_runs_and_ends(
    place: Path, database_url: str, command: str, more: dict[str, str]
) -> None:
    """Redis that refuses keeps nobody from working, nor does PlugNotas without a key where no company issues there."""
    with held_port() as port:
        redis_url = f"redis://127.0.0.1:{port}/0"
        env = {**OWN, "PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url, **more}
        with started(place, command, env=env) as prosa:
            prosa.up()
            if command != "worker":
                address = prosa.said.partition('"address":"')[2].partition('"')[0]
                with urllib.request.urlopen(f"{address}/readyz", timeout=END_SECONDS) as answer:  # noqa: S310 - ours
                    assert b"degraded" in answer.read()
            prosa.signal(signal.SIGTERM)
            assert prosa.wait() == 0, prosa.said


@pytest.mark.parametrize("command", ["serve", "web", "worker"])
def test_sigterm_while_it_waits_for_the_database(place: Path, redis_url: str, command: str) -> None:
    """Nothing is in hand yet: it ends at once, without waiting for an answer that may never come."""
    with listening() as silent:
        url = f"postgresql://a:b@127.0.0.1:{silent.getsockname()[1]}/c"
        with started(place, command, env={**OWN, "PROSA_DATABASE_URL": url, "PROSA_REDIS_URL": redis_url}) as prosa:
            silent.settimeout(END_SECONDS)
            with silent.accept()[0]:
                prosa.signal(signal.SIGTERM)
                assert prosa.wait() == 128 + signal.SIGTERM  # an end in order is 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_first_start_that_is_cut_short(place: Path, step: int, number: signal.Signals) -> None:
    """Whatever it was doing, it ends, its servers with it, and the next start comes up on the same files."""
    with started(place, "demo", env=OWN) as prosa:
        home = place / ".prosa" / "demo"
        eventually((home / "lock").exists, END_SECONDS)  # only now it starts servers
        time.sleep(FIRST_START * step / STEPS)
        prosa.signal(number)
        assert prosa.wait() in {0, -number, 128 + number}, prosa.said
        eventually(lambda: not left(place), ORPHAN_SECONDS if number == signal.SIGKILL else END_SECONDS)
        assert "Traceback" not in prosa.said
    with Embedded.start(home) as embedded:
        assert not embedded.attached


def test_a_log_that_cannot_be_written_stops_nothing(warm: Path) -> None:
    """The disk of the log is full: lines are lost, and the work goes on."""
    with started(warm, "demo", "--verbose", env=OWN, wrap=("sh", "-c", 'exec "$0" "$@" 2>/dev/full')) as prosa:
        prosa.up()
        prosa.signal(signal.SIGTERM)
        assert prosa.wait() in {0, 120}  # 120: the interpreter itself found at its end that a line was left over
    assert left(warm) == []


@pytest.mark.parametrize("command", ["serve", "worker", "demo"])
def test_its_servers_die_with_it_when_it_is_killed(warm: Path, command: str) -> None:
    """After kill -9 nothing of it is left, and a start right after it comes up."""
    with started(warm, command, env=OWN) as prosa:
        prosa.up()
        family = prosa.family()
        assert len(family) > 2  # PostgreSQL's own children among them
        prosa.signal(signal.SIGKILL)
        prosa.wait()
        with started(warm, command, env=OWN) as again:
            eventually(lambda: not [child for child in family if child.is_running()], ORPHAN_SECONDS)
            again.up()


def test_the_promise() -> None:
    """The end is cut before a container is killed, and before the ten seconds that operators read."""
    assert bot.process.run.END_SECONDS + bot.process.run.DEAF_SECONDS < 10.0


@pytest.mark.parametrize("how", STUCK)
def test_an_end_that_hangs_is_cut(place: Path, database_url: str, redis_url: str, how: str) -> None:
    """What does not end in time is ended, whatever it is stuck in; status 1, and a sentence where one can be said."""
    env = {**OWN, "PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url}
    with started(place, "serve", env=env, before=HANGS.format(how=STUCK[how])) as prosa:
        prosa.up()
        prosa.signal(signal.SIGTERM)
        assert prosa.wait() == 1, prosa.said
    assert ("foi cortado" in prosa.said) is (how != "the interpreter")
    assert "Traceback" not in prosa.said


@pytest.mark.parametrize(("how", "number"), [*(("a task", number) for number in ASKED), ("the event loop", ASKED[0])])
def test_a_second_signal_ends_at_once(
    place: Path, database_url: str, redis_url: str, how: str, number: signal.Signals
) -> None:
    """Whoever asks twice does not want to wait for what is in hand."""
    env = {**OWN, "PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url}
    with started(place, "serve", env=env, before=HANGS.format(how=STUCK[how])) as prosa:
        prosa.up()
        prosa.signal(signal.SIGTERM)
        eventually(lambda: "stuck now" in prosa.said, END_SECONDS)
        prosa.signal(number)
        assert prosa.wait() == 128 + number, prosa.said


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_its_own_database_that_ends_ends_it(warm: Path, command: str) -> None:
    """Nobody else would start it again: the process says so and ends, and the next start recovers."""
    with started(warm, command, env=OWN) as prosa:
        prosa.up()
        data = warm / ".prosa" / ("demo" if command == "demo" else "") / "postgres"
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        assert prosa.wait() == 1, prosa.said
    assert "O postgres embutido parou" in prosa.said
    assert "Traceback" not in prosa.said
    assert left(warm) == []


def test_a_process_of_somebody_else_is_left_alone(warm: Path) -> None:
    """Who looks around in the data directory is no server of ours, whatever an old pid file says."""
    data = (warm / ".prosa" / "demo" / "postgres").resolve()
    with started(data, "contatos", env={"PROSA_DATABASE_URL": "postgresql://a:b@127.0.0.1:1/c"}) as visitor:
        visitor.signal(signal.SIGSTOP)
        (data / "postmaster.pid").write_text(f"{visitor.process.pid}\n")
        with started(warm, "demo", env=OWN) as prosa:
            prosa.up()
            assert visitor.process.poll() is None
            prosa.signal(signal.SIGTERM)
            assert prosa.wait() == 0, prosa.said
