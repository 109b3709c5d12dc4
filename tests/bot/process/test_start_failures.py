"""What keeps a process from starting, or from going on: a sentence that names what to change, status 1, no child."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from persistence.embedded import Embedded
from tests.bot.process.prosa_process import END_SECONDS, eventually, left, started
from tests.held_port import held_port, taken_port
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Env = dict[str, str]

ALL = ("serve", "web", "worker")
START_SECONDS = 30.0  # a busy machine spends most of it on imports; alone it takes 1 s, or 6 where a time-out must pass
PORT = {"serve": "PROSA_PORT", "web": "PROSA_PORT", "worker": "PROSA_PROBE_PORT", "demo": "--port"}
HOME = {"serve": "PROSA_HOME", "worker": "PROSA_HOME", "demo": "--home"}
# A loop of each kind that raises some moments after everything is up, in the process itself.
DIES = {
    "lanes": ("bot.loops.worker", "LaneWorker.run"),
    "deliveries": ("bot.loops.pump", "Pump.run"),
    "breakers": ("bot.wiring.outside", "Breakers.run"),
    "schedule": ("bot.loops.jobs", "Schedule.run"),
}
KILLER = """
import asyncio, {module}
kept = {module}.{method}
async def run(self):
    if getattr(self, "_name", "{loop}") != "{loop}":
        return await kept(self)
    await asyncio.sleep(0.3)
    raise ValueError("a secret of somebody")
{module}.{method} = run
"""
SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))"


@pytest.fixture
def place() -> Iterator[Path]:
    """A working directory whose parents everybody may pass through: root's servers run as nobody."""
    path = Path(tempfile.mkdtemp(prefix="prosa-start-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A home with a cluster, to be copied."""
    path = Path(tempfile.mkdtemp(prefix="prosa-made-"))
    Embedded.start(path, durable=False).stop()
    yield path
    shutil.rmtree(path)


def refused(place: Path, *words: str, env: Env | None = None, before: str = "", after: str = "") -> str:
    """See it start and, once it said ``after``, end with status 1, in time, nothing left; returns what it said."""
    with started(place, *words, env=env, before=before) as prosa:
        if after:
            eventually(lambda: after in prosa.said or prosa.process.poll() is not None, PATIENCE)
        status = prosa.wait(END_SECONDS if after else START_SECONDS)
        said = prosa.said
    assert status == 1, said
    assert "Traceback" not in said
    assert left(place) == []
    return said


def wrong_password(url: str) -> str:
    """The same address with another password."""
    return url.replace(f":{urlsplit(url).password}@", ":wrong@")


def with_port(command: str, port: int) -> tuple[tuple[str, ...], Env]:
    """The words and settings that make it listen there."""
    return ((command, "--port", str(port)), {}) if command == "demo" else ((command,), {PORT[command]: str(port)})


@pytest.mark.parametrize("command", PORT)
def test_a_port_that_is_taken(place: Path, command: str) -> None:
    """The sentence names the option or setting; no server of ours was even started."""
    with taken_port() as port:
        words, env = with_port(command, port)
        said = refused(place, *words, env=env)
    assert f"A porta {port} de 127.0.0.1 já está em uso" in said
    assert PORT[command] in said
    assert not (place / ".prosa").exists()


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_port_that_does_not_exist(place: Path, command: str) -> None:
    """It is refused, not folded into another one."""
    words, env = with_port(command, 99_999)
    said = refused(place, *words, env=env)
    assert "A porta 99999 não existe" in said
    assert PORT[command] in said


def test_an_address_of_another_machine(place: Path) -> None:
    """An address that this machine does not have (RFC 5737) is told with its setting."""
    said = refused(place, "serve", env={"PROSA_HOST": "203.0.113.1", "PROSA_PORT": "0"})
    assert "O endereço 203.0.113.1 não é desta máquina. Corrija PROSA_HOST" in said


@pytest.mark.parametrize("command", ALL)
def test_a_database_that_refuses(place: Path, redis_url: str, command: str) -> None:
    """Nobody listens where the database should be."""
    with held_port() as port:
        env = {"PROSA_DATABASE_URL": f"postgresql://a:b@127.0.0.1:{port}/c", "PROSA_REDIS_URL": redis_url}
        assert "Confira PROSA_DATABASE_URL" in refused(place, command, env={**env, "PROSA_PORT": "0"})


@pytest.mark.parametrize("command", ALL)
def test_a_database_that_does_not_answer(place: Path, redis_url: str, command: str) -> None:
    """Somebody takes the connection and says nothing."""
    with taken_port() as port:
        env = {"PROSA_DATABASE_URL": f"postgresql://a:b@127.0.0.1:{port}/c", "PROSA_REDIS_URL": redis_url}
        said = refused(place, command, env={**env, "PROSA_PORT": "0"})
    assert "não respondeu a tempo" in said
    assert "PROSA_DATABASE_URL" in said


@pytest.mark.parametrize(
    ("command", "changed", "sentence"),
    [
        *((command, wrong_password, "recusou o usuário ou a senha. Confira PROSA_DATABASE_URL") for command in ALL),
        ("serve", lambda url: f"{url}_of_nobody", "não tem um banco com esse nome. Confira PROSA_DATABASE_URL"),
        ("serve", lambda url: urlsplit(url)._replace(path="/postgres").geturl(), "a esta versão: prosa migrate"),
        ("serve", lambda _: "mysql://a@b/c", "PROSA_DATABASE_URL"),
    ],
    ids=[*ALL, "name", "schema", "kind"],
)
def test_a_database_that_is_not_ours(
    place: Path, database_url: str, redis_url: str, command: str, changed: Callable[[str], str], sentence: str
) -> None:
    """Wrong password, wrong name, another schema, another product: each has its sentence."""
    env = {"PROSA_DATABASE_URL": changed(database_url), "PROSA_REDIS_URL": redis_url, "PROSA_PORT": "0"}
    said = refused(place, command, env=env)
    assert sentence in said
    assert "wrong" not in said


@pytest.mark.parametrize("command", HOME)
def test_a_home_that_cannot_be_written(place: Path, command: str) -> None:
    """Its place is below a file; the sentence names what chooses another one."""
    (place / "file").touch()
    home = place / "file" / "home"
    words = (command, "--home", str(home)) if command == "demo" else (command,)
    said = refused(place, *words, env={"PROSA_HOME": str(home), "PROSA_PORT": "0"})
    assert "Não foi possível gravar em" in said
    assert f"use outro diretório com {HOME[command]}" in said


@pytest.mark.parametrize("command", HOME)
def test_a_full_disk(place: Path, made: Path, command: str) -> None:
    """PostgreSQL finds no room for what it writes at a start; the sentence says so, and what to do."""
    home = place / "home"
    shutil.copytree(made, home, symlinks=True)
    data = (home / "data").readlink() if (home / "data").is_symlink() else home
    for path in (data / "postgres", *(data / "postgres").rglob("*")):
        shutil.chown(path, (made / "postgres").owner(), (made / "postgres").group())
    (data / "postgres" / "postmaster.opts").unlink()
    (data / "postgres" / "postmaster.opts").symlink_to("/dev/full")
    words = (command, "--home", str(home)) if command == "demo" else (command,)
    said = refused(place, *words, env={"PROSA_HOME": str(home), "PROSA_PORT": "0"})
    assert f"O disco de {home} está cheio" in said
    assert f"use outro diretório com {HOME[command]}" in said


def test_a_first_start_that_cannot_write_its_cluster(place: Path) -> None:
    """What makes the cluster fails in the middle: its words are told, and nothing half made is taken for whole."""
    said = refused(place, "serve", env={"PROSA_PORT": "0"}, before=SMALL_FILES)
    assert "não conseguiu criar seu diretório de dados" in said
    assert not (place / ".prosa" / "postgres").exists()


@pytest.mark.parametrize(
    ("command", "loop"),
    [*(("serve", loop) for loop in DIES), ("worker", "lanes"), ("demo", "lanes")],
)
def test_a_loop_that_dies(place: Path, database_url: str, redis_url: str, command: str, loop: str) -> None:
    """The process ends with it; the sentence names the loop and the place, and quotes nobody."""
    module, method = DIES[loop]
    killer = KILLER.format(module=module, method=method, loop=loop)
    env = {"PROSA_DATABASE_URL": database_url, "PROSA_REDIS_URL": redis_url, "PROSA_PORT": "0"}
    said = refused(place, command, env=env, before=killer, after="loop_ended")
    assert f'A tarefa interna "{loop}" parou (ValueError em <string>:' in said
    assert "secret" not in said
