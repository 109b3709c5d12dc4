"""The deadline of every test: dumps the stacks of all threads and asyncio tasks, fails the test or ends its process.

pytest-timeout reads how long a test may take (``timeout`` in pyproject.toml, ``@pytest.mark.timeout``). What happens
then is decided here, because its own methods leave gaps: its timer is gone after the first failure, so that a tear-down
may hang; its exception comes once, and asyncio keeps it when it strikes inside a task; its signal waits for C code.

Set-up (of session fixtures too), call and tear-down have the whole time each. Then an exception fails the phase, again
and again within a grace. After that, or when C code keeps the signal from being handled, the process ends with status
1; pytest-xdist reports the test as failed and goes on in a new process.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pytest_timeout import is_debugging
from xdist.scheduler import LoadFileScheduling

from tests.nightly import size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

LONGEST = 900.0  # seconds that a marker may ask for in an ordinary run: whoever needs more makes the proof smaller
NIGHTLY_TIMES = 100  # the long sizes take up to a hundred times as long
GRACE = 30.0  # seconds from the first exception to the end of the process
STRIKES = 3  # exceptions within the grace
EXIT_SECONDS = 60.0  # for what follows the last test: servers stopped, threads joined

_seconds = pytest.StashKey[float]()
_stderr = os.dup(2)  # before pytest captures it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a marker that switches the deadline off, or asks for one that is no bound."""
    for item in items:
        for marker in item.iter_markers("timeout"):
            match marker.args:
                case [int() | float() as asked] if not marker.kwargs and 0 < asked <= LONGEST:
                    continue
            raise pytest.UsageError(f"{item.nodeid}: a deadline is one number of seconds, at most {LONGEST:g}")


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """Remember how long the test may take; each phase has a timer of its own."""
    item.stash[_seconds] = settings.timeout * size(1, NIGHTLY_TIMES)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    """Keep pytest-timeout from ending the deadline at a test's first failure: the tear-down is still to come."""
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Bound the fixtures, whatever their scope."""
    with _deadline(item, "setup"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Bound the test."""
    with _deadline(item, "call"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Bound the end of the fixtures, after a failure too."""
    with _deadline(item, "teardown"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    """Keep the garbage collector out of the making of a report.

    A task that was left hanging logs its end with a traceback when it is collected. Where that happens while pytest
    parses the source of a failed test, CPython 3.11 raises ``SystemError`` (gh-106905), and the whole run ends.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return (yield)
    finally:
        if collects:
            gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Bound the end of the interpreter, which waits for every thread that is no daemon."""
    faulthandler.dump_traceback_later(EXIT_SECONDS, exit=True, file=_stderr)


@contextmanager
def _deadline(item: pytest.Item, phase: str) -> Iterator[None]:
    seconds = item.stash.get(_seconds, None)
    if seconds is None or is_debugging():
        yield
        return
    grace = min(GRACE, seconds)
    strikes = 0
    telling = False

    def strike(_number: int, _frame: FrameType | None) -> None:
        __tracebackhide__ = True
        nonlocal strikes, telling
        if telling or is_debugging():  # to tell takes longer than the next strike, on a busy machine
            return
        strikes += 1
        sentence = f"{phase} has passed its deadline of {seconds:g} s"
        if strikes == 1 or strikes > STRIKES:
            telling = True
            stacks = dump()
            os.write(_stderr, f"\n{item.nodeid}: {sentence}\n{stacks}\n".encode())
            telling = False
            item.add_report_section(phase, "deadline", stacks)
        if strikes > STRIKES:
            os._exit(1)
        pytest.fail(f"{sentence}; the stacks of that moment are on standard error and in this report")

    before = signal.signal(signal.SIGALRM, strike)
    faulthandler.dump_traceback_later(seconds + 1.5 * grace, exit=True, file=_stderr)  # needs no interpreter
    signal.setitimer(signal.ITIMER_REAL, seconds, grace / STRIKES)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def dump() -> str:
    """Return the stacks of all threads, and of all asyncio tasks of all loops that have not ended."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        parts += [f"--- thread {names.get(ident, '?')} ({ident})\n", *traceback.format_stack(frame)]
    for task in [found for found in gc.get_objects() if issubclass(type(found), asyncio.Task)]:
        if not task.done():
            parts += [f"--- task {task!r}\n", *_chain(task.get_coro())]
    return "".join(parts)


def _chain(awaited: Any) -> Iterator[str]:
    """Where a coroutine stands, and whatever it awaits, down to the future: ``Task.get_stack`` knows only the first."""
    while awaited is not None:
        frame = _first(awaited, "cr_frame", "gi_frame", "ag_frame")
        if frame is not None:
            yield f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_qualname}\n'
        awaited = _first(awaited, "cr_await", "gi_yieldfrom", "ag_await")


def _first(owner: object, *names: str) -> Any:
    return next((found for name in names if (found := getattr(owner, name, None)) is not None), None)


class EachOnce(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """File by file; a test that ends its process is not run again, which would end the next process too."""

    def remove_node(self, node: Any) -> str | None:
        """Return the test that ended the process, if one did, and hand the rest of its file on."""
        work = self.assigned_work.pop(node)
        crashed: str | None = next((test for file in work.values() for test, done in file.items() if not done), None)
        if crashed is None:
            return None
        for name, file in work.items():
            if crashed in file:
                file[crashed] = True
            if not all(file.values()):
                self.workqueue[name] = file
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Replace pytest-xdist's own way of going on after a process has ended."""
    return EachOnce(config, log) if config.getvalue("dist") == "loadfile" else None
