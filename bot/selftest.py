"""Runs what proves this clone: style, types, layers, tests; it proves nothing itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"  # it has no `-m`
PYTEST = ("tests", ("-m", "pytest"))
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("style", ("-m", "ruff", "check", ".")),
    ("format", ("-m", "ruff", "format", "--check", ".")),
    ("types", ("-m", "mypy")),
    ("layers", ("-c", LINT_IMPORTS)),
    PYTEST,
)


def run(args: list[str]) -> int:
    """Run every step up to the first that fails; with `args`, only pytest, which takes them.

    Returns:
        The exit code of the last step that ran: 0 when all is well.
    """
    if not (ROOT / "tests").is_dir():
        Console(stderr=True).print("prosa test needs a clone of the repository: the installed package has no tests.")
        return 2
    code = 0
    for name, command in STEPS if not args else (PYTEST,):
        Console(stderr=True).rule(name, align="left")
        code = subprocess.run([sys.executable, *command, *args], cwd=ROOT, check=False).returncode  # noqa: S603 - our table
        if code:
            break
    return code
