"""Runs what proves this clone: style, types, layers, tests; it proves nothing itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"  # it has no `-m`
NIGHTLY = "--nightly"
PROFILE = "PROSA_TEST_PROFILE"  # read by tests/nightly.py
PYTEST = ("tests", ("-m", "pytest"))
# Each process has servers of its own, and a file's tests stay together. More than four have not been tried.
SPREAD = ("--numprocesses=logical", "--maxprocesses=4", "--dist=loadfile")
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("style", ("-m", "ruff", "check", ".")),
    ("format", ("-m", "ruff", "format", "--check", ".")),
    ("types", ("-m", "mypy")),
    ("layers", ("-c", LINT_IMPORTS)),
    PYTEST,
)
MUTANTS = ("mutants", ("scripts/mutation.py",))  # after the tests: it judges by them


def run(args: list[str]) -> int:
    """Run every step up to the first that fails; with `args`, only pytest, which takes them.

    Without them the tests are spread over the cores. ``--nightly`` among them makes the long sizes of the proofs run
    (docs/reliability.md), an hour or more of them, one after the other, and then breaks the critical lines
    (scripts/mutants.toml) to see that the tests notice.

    Returns:
        The exit code of the last step that ran: 0 when all is well.
    """
    if not (ROOT / "tests").is_dir():
        Console(stderr=True).print("prosa test needs a clone of the repository: the installed package has no tests.")
        return 2
    env = dict(os.environ)
    steps = STEPS if not args or args == [NIGHTLY] else (PYTEST,)
    more = args or SPREAD
    if NIGHTLY in args:
        more = [arg for arg in args if arg != NIGHTLY]
        env[PROFILE] = "nightly"
        steps = steps if more else (*steps, MUTANTS)
    code = 0
    for name, command in steps:
        Console(stderr=True).rule(name, align="left")
        own = more if command is PYTEST[1] else ()
        code = subprocess.run([sys.executable, *command, *own], cwd=ROOT, env=env, check=False).returncode  # noqa: S603 - our table
        if code:
            break
    return code
