"""Breaks critical lines one at a time, in a copy of the tree, and says which breaks the closest tests do not notice.

The list is ``proofs/scripts/mutants.toml``. The status is 0 when every mutant dies, save those listed as equivalent;
1 when one survives or the list is wrong about one; 2 when the list is stale or its tests fail without any mutation;
130 when it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "proofs" / "scripts" / "mutants.toml"
LIMIT_SECONDS = 120.0  # for one mutant; most need four to fifteen
BASELINE_FACTOR = 10  # the tests of the whole list take at most so many times the limit
STOP_SECONDS = 15.0  # for pytest to stop its servers
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules")
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=short")
STOPPED = 130  # as a shell says it of Ctrl-C
PASSED, FAILED = 0, 1  # pytest's exit codes; the others mean that it could not run


@dataclass(frozen=True, slots=True)
class Mutant:
    """One break: ``old`` becomes ``new`` in ``file``, and one of ``tests`` must fail.

    ``equivalent`` says why nobody can tell the difference; such a mutant must survive.
    """

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What pytest said: its exit code, ``None`` after the time limit, and how long it took in seconds."""

    code: int | None
    seconds: float
    output: str


def load(table: Path = TABLE) -> list[Mutant]:
    """Read the list. Raises ``TypeError`` for a key that an entry does not have, or lacks."""
    entries = tomllib.loads(table.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def stale(mutants: Sequence[Mutant], root: Path = ROOT) -> list[str]:
    """Say what is wrong with the list, one line each; empty when every mutation can be applied and has its tests."""
    wrong = [
        f"{name}: the id is there {count} times" for name, count in Counter(m.id for m in mutants).items() if count > 1
    ]
    for mutant in mutants:
        path = root / mutant.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (count := text.count(mutant.old)) != 1:
            wrong.append(f"{mutant.id}: {mutant.old!r} occurs {count} times in {mutant.file}")
        elif mutant.new == mutant.old:
            wrong.append(f"{mutant.id}: it changes nothing")
        elif path.suffix == ".py" and (error := _syntax(text.replace(mutant.old, mutant.new), mutant.file)):
            wrong.append(f"{mutant.id}: {error}")
        if not mutant.tests:
            wrong.append(f"{mutant.id}: it names no test")
        wrong += [f"{mutant.id}: there is no test {test}" for test in mutant.tests if not _exists(test, root)]
        if mutant.equivalent is not None and not mutant.equivalent.strip():
            wrong.append(f"{mutant.id}: equivalent without a reason")
    return wrong


def _syntax(text: str, file: str) -> str | None:
    try:
        compile(text, file, "exec")
    except SyntaxError as error:
        return f"the mutation is no Python: {error.msg}"
    return None


def _exists(test: str, root: Path) -> bool:
    file, _, name = test.partition("::")
    path = root / file
    if not path.is_file():
        return False
    wanted = name.partition("[")[0]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return not name or any(
        isinstance(each, functions) and each.name == wanted for each in ast.parse(path.read_text()).body
    )


class Copy:
    """A copy of the tree in which one mutation at a time is made and undone."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.copytree(ROOT, place, ignore=LEFT_OUT, symlinks=True)

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Make the change, and undo it afterwards."""
        path = self.place / mutant.file
        text = path.read_text(encoding="utf-8")
        compiled = Path(cache_from_source(str(path)))  # may look as young as another text of the same length
        compiled.unlink(missing_ok=True)
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            compiled.unlink(missing_ok=True)

    async def test(self, tests: Iterable[str], seconds: float) -> Run:
        """Run these tests in the copy."""
        dropped = ("PROSA_", "PYTHONDONTWRITEBYTECODE")  # compiled modules make the next start quicker
        env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        env["PYTHONPATH"] = str(self.place)
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *PYTEST,
            *tests,
            cwd=self.place,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(seconds):
                output, _ = await process.communicate()
        except TimeoutError:
            return Run(None, time.monotonic() - started, "")
        finally:
            await _stop(process)
        return Run(process.returncode, time.monotonic() - started, output.decode(errors="replace"))


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Let pytest stop its servers; then end whatever is left of it."""
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.communicate()
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@contextlib.asynccontextmanager
async def copies(count: int) -> AsyncIterator[asyncio.Queue[Copy]]:
    """Make so many copies of the tree, gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="prosa-mutants-"))
    try:
        free: asyncio.Queue[Copy] = asyncio.Queue()
        for number in range(count):
            free.put_nowait(Copy(home / str(number)))
        yield free
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def baseline(free: asyncio.Queue[Copy], mutants: Sequence[Mutant], seconds: float) -> str | None:
    """Run every test of the list unmutated; return what failed, for a test that fails anyway kills nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    files = sorted({test.partition("::")[0] for test in tests})
    jobs = free.qsize()

    async def share(number: int) -> Run:
        ours = set(files[number::jobs])
        copy = await free.get()
        try:
            chosen = [test for test in tests if test.partition("::")[0] in ours]
            return await copy.test(chosen, seconds * BASELINE_FACTOR) if chosen else Run(PASSED, 0.0, "")
        finally:
            free.put_nowait(copy)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(share(number)) for number in range(jobs)]
    runs = [task.result() for task in tasks]
    broken = [run.output or "the time limit was reached" for run in runs if run.code != PASSED]
    return "\n".join(broken) or None


def verdict(mutant: Mutant, run: Run) -> tuple[bool, str]:
    """Say whether all is well with a mutant that was run, and what became of it."""
    if run.code not in {PASSED, FAILED, None}:
        return False, f"BROKEN: pytest could not run its tests (status {run.code})"
    if run.code == PASSED:
        return mutant.equivalent is not None, "survived, as equivalent" if mutant.equivalent else "SURVIVED"
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", run.output, re.MULTILINE)
    killer = "the time limit" if run.code is None else found[1] if found else "its tests"
    if mutant.equivalent is not None:
        return False, f"LISTED AS EQUIVALENT, killed by {killer}"
    return True, f"killed by {killer}"


async def judge(mutants: Sequence[Mutant], jobs: int, seconds: float) -> int:
    """Run the baseline and then every mutant; print what became of each. Returns the exit status."""
    started = time.monotonic()
    this = asyncio.current_task()
    assert this is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)  # so that nothing is left behind
    async with copies(jobs) as free:
        if broken := await baseline(free, mutants, seconds):
            print(broken, "The tests fail without any mutation.", sep="\n\n")
            return 2
        print(f"baseline: the tests pass unmutated ({time.monotonic() - started:.0f} s)", flush=True)

        async def one(mutant: Mutant) -> tuple[Mutant, bool, str]:
            copy = await free.get()
            try:
                with copy.mutated(mutant):
                    run = await copy.test(mutant.tests, seconds)
            finally:
                free.put_nowait(copy)
            good, what = verdict(mutant, run)
            print(f"{run.seconds:5.1f} s  {mutant.id}: {what}", flush=True)
            if what.startswith("BROKEN"):
                print(run.output, flush=True)
            return mutant, good, what

        async with asyncio.TaskGroup() as group:  # which ends all when one fails, or when we are told to stop
            tasks = [group.create_task(one(mutant)) for mutant in mutants]
    judged = [task.result() for task in tasks]
    bad = [(mutant, what) for mutant, good, what in judged if not good]
    spared = sum(mutant.equivalent is not None for mutant in mutants)
    took = time.monotonic() - started
    print(f"{len(mutants)} mutants: {len(mutants) - spared - len(bad)} killed, {spared} listed as equivalent, ", end="")
    print(f"{len(bad)} to look at; {took:.0f} s")
    for mutant, what in bad:
        print(f"  {mutant.id} ({mutant.file}): {what}")
    return 1 if bad else 0


def main(args: Sequence[str] | None = None) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="proofs/scripts/mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--only", metavar="ID", action="append", help="only this mutant; may be given several times")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="so many at a time")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds for one mutant")
    options = parser.parse_args(args)
    mutants = load()
    if wrong := stale(mutants):
        print("The list is stale:", *wrong, sep="\n  ")
        return 2
    if options.only:
        if unknown := set(options.only) - {mutant.id for mutant in mutants}:
            parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
        mutants = [mutant for mutant in mutants if mutant.id in options.only]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.id}  {mutant.file}" + (f"  equivalent: {mutant.equivalent}" if mutant.equivalent else ""))
        return 0
    try:
        return asyncio.run(judge(mutants, max(1, min(options.jobs, len(mutants))), options.limit))
    except (asyncio.CancelledError, KeyboardInterrupt):
        print("Stopped: the rest was not run.")
        return STOPPED


if __name__ == "__main__":
    sys.exit(main())
