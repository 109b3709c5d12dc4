"""Nothing that a test starts outlives the test process."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests import children
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
EVERY_KIND = """
import asyncio, os, pathlib, sys, tempfile
import pytest
from playwright.async_api import async_playwright
from tests import children
from tests.faults.fault_processes import open_forks
from tests.proofs.sandbox.phone.test_phone_page import CHROMIUM, FLAGS
from tests.road.road_stage import open_stage
from persistence.embedded import Embedded
from persistence.db.migrate import upgrade

@pytest.fixture(scope="module")
def urls():
    with Embedded.start(pathlib.Path(tempfile.mkdtemp()), durable=False) as embedded:
        upgrade(embedded.servers.owner_url, embedded.servers.database_url)
        yield embedded.servers.database_url, embedded.servers.redis_url

@pytest.mark.timeout(600)
async def test_every_kind(urls, tmp_path):
    async with open_stage(*urls, tmp_path) as stage, open_forks(*urls, tmp_path) as forks:
        await stage.start()
        await forks.start()
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            sandbox = await children.start(sys.executable, "-m", "proofs.sandbox", stdout=asyncio.subprocess.PIPE)
            await sandbox.stdout.readline()
            with children.started(["sleep", "600"]):
                pathlib.Path(os.environ["READY"]).touch()
                children.run(["sleep", "600"], timeout=600)
"""
KINDS = ("postgres", "valkey", "machines.zygote", "fault_points", "chrom", "sandbox", "sleep")
ALONE = {"asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "os.fork", "os.popen"}
STARTERS = {"run", "Popen", "call", "check_call", "check_output", "getoutput"}


@pytest.fixture
def homes() -> Iterator[Path]:
    """A directory for temporary files of the killed, which nobody else removes; the servers' account may pass."""
    path = Path(tempfile.mkdtemp(prefix="prosa-killed-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.mark.timeout(500)  # starts one of everything
def test_every_kind_of_process_dies_with_a_killed_pytest(tmp_path: Path, homes: Path) -> None:
    """After ``kill -9`` of pytest its worker is gone, and each server, product, simulator and browser of the worker."""
    ready, file = tmp_path / "ready", tmp_path / "test_every_kind.py"
    file.write_text(EVERY_KIND)
    words: list[str | Path] = [sys.executable, "-m", "pytest", "-p", "tests.children"]
    words += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    env = {
        **os.environ,
        "READY": str(ready),
        "TMPDIR": str(homes),
        "PYTHONPATH": str(ROOT),
    }
    with (tmp_path / "said").open("w") as said:
        process = children.popen([*words, "-n1", file], env=env, cwd=tmp_path, stdout=said, stderr=said)
    family: list[psutil.Process] = []
    try:
        _until(lambda: ready.exists() or process.poll() is not None, 4 * PATIENCE)
        assert ready.exists(), (tmp_path / "said").read_text()
        _until(lambda: _kinds(psutil.Process(process.pid).children(recursive=True)) == set(KINDS), PATIENCE)
        family = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _, left = psutil.wait_procs(family, timeout=5)
        assert [member for member in left if _alive(member)] == []
    finally:
        for member in family:
            if _alive(member):
                member.kill()
        children.kill_group(process.pid)
        process.wait()


def test_every_test_starts_its_processes_by_the_helper() -> None:
    """A process that ``tests/children.py`` did not start outlives a test that is ended."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text()
        if path.name == "children.py" or not any(name in source for name in ("subprocess", "os.fork", "os.popen")):
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            module, _, function = name.rpartition(".")
            if name in ALONE or (module == "subprocess" and function in STARTERS):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}; see tests/children.py")
    assert found == []


def _kinds(family: list[psutil.Process]) -> set[str]:
    found = set()
    for member in family:
        try:
            words = " ".join(member.cmdline())
        except psutil.Error:
            continue
        found |= {kind for kind in KINDS if kind in words}
    return found


def _alive(member: psutil.Process) -> bool:
    try:
        return member.is_running() and member.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _until(condition: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"in vain for {seconds:g} s"
        time.sleep(0.05)
