"""Runs what proves this clone: style, types, layers, tests."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
from rich.console import Console

from persistence.embedded.home import die_with_parent

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"  # it has no `-m`
NIGHTLY = "--nightly"
FAST = "--fast"
CHANGED = "--changed"
IMPORTS_AWAY = 2  # a test farther from what changed has nearer ones beside it; nearly all are within four
QUICK_ONES = ("-m", "not slow and not storm")  # tests/conftest.py says which are slow
PROFILE = "PROSA_TEST_PROFILE"  # read by tests/nightly.py
# Each process has servers of its own, and a file's tests stay together, in the order of tests/conftest.py. Most tests
# wait for something, so two cores bear five processes.
SPREAD = ("--numprocesses=5", "--dist=loadfile", "--no-loadscope-reorder")
QUICK_SECONDS = 900.0  # a check takes seconds, a first one of mypy on a busy machine minutes
TESTS_SECONDS = 5_400.0  # measured: 13 min on two quiet cores, 30 min on busy ones
NIGHT_SECONDS = 86_400.0  # the long sizes take hours
LAST_WORDS_SECONDS = 10.0  # for the stacks of a step that is ended
PYTEST = ("testes", ("-m", "pytest"), TESTS_SECONDS)
TYPES = ("tipos", ("-m", "mypy"), QUICK_SECONDS)
STEPS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("estilo", ("-m", "ruff", "check", "."), QUICK_SECONDS),
    ("formato", ("-m", "ruff", "format", "--check", "."), QUICK_SECONDS),
    TYPES,
    ("camadas", ("-c", LINT_IMPORTS), QUICK_SECONDS),
    PYTEST,
)
MUTANTS = ("mutantes", ("proofs/scripts/mutation.py",), NIGHT_SECONDS)  # after the tests: it judges by them


def run(args: list[str]) -> int:
    """Run every step up to the first that fails; with `args`, only pytest, which takes them.

    Without them the tests are spread over the cores; ``--fast`` leaves out those that are slow, ``--changed`` those
    that are more than two imports away from what was changed, and the storms. ``--nightly`` among
    them makes the long sizes of the proofs run (docs/reliability.md), an hour or more of them, one after the other, and
    then breaks the critical lines (proofs/scripts/mutants.toml) to see that the tests notice. A step that takes longer
    than it may is ended.

    Returns:
        The exit code of the last step that ran: 0 when all is well.
    """
    if not (ROOT / "tests").is_dir():
        Console(stderr=True).print(
            "prosa test precisa de um clone do repositório, e o pacote instalado não tem testes."
        )
        return 2
    env = {**os.environ, "PYTHONFAULTHANDLER": "1"}  # so that a step that is ended says where it stood
    steps = STEPS if args in ([], [NIGHTLY], [FAST]) else (PYTEST,)
    more: Sequence[str] = args or SPREAD
    if FAST in args:
        more = [*(arg for arg in args if arg != FAST), *SPREAD, *QUICK_ONES]
    if CHANGED in args:
        found = changed()
        if not found:
            Console(stderr=True).print("prosa test: nenhum teste importa de perto o que mudou.")
            return 0
        more = [*found, *(arg for arg in args if arg != CHANGED), "-m", "not storm"]
    if NIGHTLY in args:
        more = [arg for arg in args if arg != NIGHTLY]
        env[PROFILE] = "nightly"
        steps = steps if more else (*steps, MUTANTS)
    tests = (PYTEST[0], (*PYTEST[1], *more), NIGHT_SECONDS if NIGHTLY in args else TESTS_SECONDS)
    return _all_of([tests if step is PYTEST else step for step in steps], env)


def _all_of(steps: Sequence[tuple[str, tuple[str, ...], float]], env: Mapping[str, str]) -> int:
    """Run the steps up to the first that fails; the types are read beside those that follow, which often wait."""
    code = 0
    types: Future[int] | None = None
    with ThreadPoolExecutor() as beside:
        for step in steps:
            Console(stderr=True).rule(step[0], align="left")
            if step is TYPES:
                types = beside.submit(_bounded, *step, env)
            elif code := _bounded(*step, env):
                break
        untrue = types.result() if types else 0
    if untrue:
        Console(stderr=True).print("prosa test: os tipos não estão certos; o que o mypy disse está acima.")
    return code or untrue


def changed() -> list[str]:
    """Return the tests near what differs from the last commit; where nothing does, near what that commit changed.

    Pages and data are reached by no import: what checks them runs with the whole.
    """
    names = _git("diff", "--name-only", "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    near = set(names or _git("diff", "--name-only", "HEAD~1"))
    users = _users()
    for _ in range(IMPORTS_AWAY):
        near |= {user for name in near for user in users[name]}
    return sorted(name for name in near if Path(name).match("test_*.py") and (ROOT / name).is_file())


def _users() -> Mapping[str, set[str]]:
    """Who imports each file of the repository; a folder's ``conftest.py`` is imported by all tests below it."""
    files = _git("ls-files", "--cached", "--others", "--exclude-standard", "*.py")
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in files}
    users: defaultdict[str, set[str]] = defaultdict(set)
    for name in files:
        if (ROOT / name).is_file():
            for module in _imports(ast.parse((ROOT / name).read_bytes())):
                users[modules.get(module, module)].add(name)
        if name.startswith("tests/"):
            for folder in Path(name).parents:
                users[f"{folder}/conftest.py"].add(name)
    return users


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _git(*words: str) -> list[str]:
    said = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, check=False, text=True)  # noqa: S603, S607 - our words; git of the PATH
    return said.stdout.splitlines()


def _bounded(name: str, command: Sequence[str], seconds: float, env: Mapping[str, str]) -> int:
    """Run one step; ended, with whatever it started, when it takes longer or when we are killed."""
    words = [sys.executable, *command]
    leash = die_with_parent(signal.SIGKILL)
    with subprocess.Popen(words, cwd=ROOT, env=env, preexec_fn=leash) as process:  # noqa: S603, PLW1509 - our table; two system calls
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            Console(stderr=True).print(f"prosa test: a etapa {name} foi encerrada: não terminou em {seconds:.0f} s.")
            family = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGABRT)  # faulthandler prints all stacks
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST_WORDS_SECONDS)
            process.kill()
            for member in family:
                with suppress(psutil.NoSuchProcess):
                    member.kill()
            return 1
