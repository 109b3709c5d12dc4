"""Whatever hangs in a test ends, with its stacks, and the rest of the suite goes on."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests import children, deadlines

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = module
asyncio_default_test_loop_scope = module
timeout = 1
"""
END = "from tests import deadlines\ndeadlines.EXIT_SECONDS = {}\n"  # conftest.py
HANGS = """
import asyncio, subprocess, threading, time
import pytest
from tests import deadlines

async def inner(future):
    await future

async def test_a_future():
    other = asyncio.create_task(inner(asyncio.Event().wait()), name="the other task")
    await inner(asyncio.get_running_loop().create_future())

async def test_after_a_future():
    await asyncio.sleep(0)

async def test_a_loop_that_is_never_idle():
    done = False
    while not done:
        await asyncio.sleep(0)

def test_a_subprocess():
    subprocess.run(["sleep", "600"])

def test_a_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def test_told_slowly(monkeypatch):
    dump = deadlines.dump
    monkeypatch.setattr(deadlines, "dump", lambda: (time.sleep(0.6), dump())[1])  # a strike comes every 0.33 s
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

@pytest.fixture
def slow():
    time.sleep(600)

def test_setup(slow):
    pass

@pytest.fixture
async def never():
    await asyncio.get_running_loop().create_future()

async def test_async_setup(never):
    pass

@pytest.fixture
async def held():
    yield
    await asyncio.get_running_loop().create_future()

async def test_async_teardown(held):
    pass

async def test_teardown_after_a_failure(held):
    pytest.fail("first")

@pytest.fixture(scope="session")
def session():
    yield
    time.sleep(600)

def test_session_teardown(session):
    pass
"""
IN_C = """
import itertools

def test_before():
    pass

def test_in_c():
    sum(itertools.repeat(0))  # holds the interpreter, and looks at no signal

def test_after():
    pass
"""
SWALLOWED = """
import pytest

def test_swallowed():
    while True:
        try:
            while True:
                pass
        except pytest.fail.Exception:
            pass
"""
THREAD = """
import threading, time

def test_leaves_a_thread():
    threading.Thread(target=time.sleep, args=(600,)).start()
"""
OTHERS = """
import pytest

@pytest.mark.parametrize("number", range(9))
def test_other(number):
    pass
"""


def run_pytest(path: Path, *words: str, exit_seconds: int = 60, **files: str) -> tuple[int, str]:
    """Run pytest on these files, with the deadlines of this suite; returns its status and all that it said."""
    for name, content in files.items():
        (path / f"{name}.py").write_text(content)
    (path / "pytest.ini").write_text(SETTINGS)
    (path / "conftest.py").write_text(END.format(exit_seconds))
    names = [f"{name}.py" for name in files]
    done = children.run(
        [sys.executable, "-m", "pytest", "-p", "tests.deadlines", "-p", "no:cacheprovider", "-rA", *words, *names],
        cwd=path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def outcomes(said: str) -> dict[str, set[str]]:
    """Return the summary's lines: which tests failed, broke in a fixture, or passed."""
    found: dict[str, set[str]] = {"FAILED": set(), "ERROR": set(), "PASSED": set()}
    for outcome, name in re.findall(r"^(FAILED|ERROR|PASSED) \S+::(\w+)", said, re.MULTILINE):
        found[outcome].add(name)
    return found


def test_whatever_hangs_fails_alone(tmp_path: Path) -> None:
    """A future, a busy loop, a process, a lock, fixtures of every scope: each is told with its stacks, others pass."""
    code, said = run_pytest(tmp_path, test_hangs=HANGS)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert outcomes(said) == {
        "FAILED": {
            "test_a_future",
            "test_a_loop_that_is_never_idle",
            "test_a_subprocess",
            "test_a_lock",
            "test_told_slowly",  # not cut off by the second strike
            "test_teardown_after_a_failure",
        },
        "ERROR": {
            "test_setup",
            "test_async_setup",
            "test_async_teardown",
            "test_teardown_after_a_failure",
            "test_session_teardown",
        },
        "PASSED": {"test_after_a_future", "test_async_teardown", "test_session_teardown"},
    }, said
    assert said.count("has passed its deadline of 1 s\n") == 10, said  # each told once on standard error
    section = said[said.index("deadline") :]
    assert "--- thread MainThread" in section
    assert "name='the other task'" in section
    assert re.search(r"line \d+, in test_a_future\n.*line \d+, in inner\n", section)  # down to what it awaits


def test_what_cannot_be_interrupted_ends_its_process_and_the_others_go_on(tmp_path: Path) -> None:
    """C code that holds the interpreter: the worker ends, once, and the rest of its file and all others run."""
    code, said = run_pytest(tmp_path, "-n2", "--dist=loadfile", test_in_c=IN_C, test_others=OTHERS)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert outcomes(said) == {
        "FAILED": {"test_in_c"},
        "ERROR": set(),
        "PASSED": {"test_before", "test_after", "test_other"},
    }, said
    assert "in test_in_c" in said
    assert "1 failed, 11 passed" in said


def test_who_swallows_the_failure_ends_its_process(tmp_path: Path) -> None:
    """The exception is repeated; after the grace the process ends."""
    code, said = run_pytest(tmp_path, test_swallowed=SWALLOWED)
    assert code == 1
    assert "call has passed its deadline" in said  # twice, where the machine lets it write the second time
    assert "in test_swallowed" in said


def test_a_thread_that_is_left_does_not_hold_the_end(tmp_path: Path) -> None:
    """The interpreter would wait for it for ever; the run that leaves it ends with a failure."""
    code, said = run_pytest(tmp_path, exit_seconds=2, test_thread=THREAD)
    assert code == 1
    assert "1 passed" in said
    assert "Timeout" in said


@pytest.mark.parametrize(
    ("args", "named"),
    [([0], {}), ([None], {}), ([deadlines.LONGEST + 1], {}), ([5], {"func_only": True}), ([], {"timeout": 5})],
)
def test_a_marker_cannot_switch_it_off(
    request: pytest.FixtureRequest, args: list[float | None], named: dict[str, int]
) -> None:
    """No deadline, one that is no bound, or one that leaves fixtures out: nothing runs."""
    marked = pytest.Function.from_parent(request.node.parent, name="test_marked", callobj=lambda: None)
    deadlines.pytest_collection_modifyitems([marked])
    marked.add_marker(pytest.mark.timeout(*args, **named))  # what is refused here
    with pytest.raises(pytest.UsageError, match="a deadline is one number of seconds"):
        deadlines.pytest_collection_modifyitems([marked])


def test_nobody_switches_it_off(pytestconfig: pytest.Config) -> None:
    """The default stands in pyproject.toml, and what acts on it is loaded."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["timeout"] == 240
    assert not {"timeout_func_only", "timeout_disable_debugger_detection"} & set(options)
    assert "no:timeout" not in options["addopts"]
    assert pytestconfig.pluginmanager.has_plugin("timeout")
    assert pytestconfig.pluginmanager.has_plugin("tests.deadlines")
