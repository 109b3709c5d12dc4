"""`prosa test`: everything by default, only pytest when asked for something special."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psutil
import pytest

from bot.operator import selftest
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_arguments_go_to_pytest_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """With arguments no other step runs."""
    assert selftest.run(["--version"]) == 0
    said = capfd.readouterr()
    assert "estilo" not in said.err
    assert "pytest" in said.out + said.err


def test_it_stops_at_the_first_step_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without arguments the steps run in order, and nothing runs after a failure, whose code is returned."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "wrong.py").write_text("import os\n")
    monkeypatch.setattr(selftest, "ROOT", tmp_path)
    assert selftest.run([]) == 1
    said = capfd.readouterr()
    assert "estilo" in said.err
    assert "formato" not in said.err


def test_an_installed_package_says_that_tests_need_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the tests beside it the command refuses with a sentence instead of finding nothing."""
    monkeypatch.setattr(selftest, "ROOT", tmp_path)
    assert selftest.run([]) == 2
    assert "clone" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("args", "steps", "tests"),
    [
        ([], 5, ["--numprocesses=5", "--dist=loadfile", "--no-loadscope-reorder"]),
        (["--nightly"], 6, []),
        (["--fast"], 5, [*selftest.SPREAD, "-m", "not slow and not storm"]),
        (["--fast", "tests/extractor"], 1, ["tests/extractor", *selftest.SPREAD, "-m", "not slow and not storm"]),
        (["tests/bot", "-x"], 1, ["tests/bot", "-x"]),
        (["--nightly", "tests/storm"], 1, ["tests/storm"]),
    ],
)
def test_only_the_whole_is_spread_over_the_cores(
    args: list[str], steps: int, tests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody picked, and the long sizes, run in one process, in order; other steps take no arguments."""
    ran: list[list[str]] = []

    def remember(_name: str, command: Sequence[str], _env: object, _seconds: float) -> int:
        ran.append(list(command))
        return 0

    monkeypatch.setattr(selftest, "_bounded", remember)
    assert selftest.run(args) == 0
    assert len(ran) == steps
    if args == ["--nightly"]:
        assert ran.pop() == ["proofs/scripts/mutation.py"]
    assert ran[-1] == ["-m", "pytest", *tests]
    assert all(command in [list(step) for _, step, _ in selftest.STEPS] for command in ran[:-1])


HANGS = """
import pathlib, subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path("other").write_text(str(other.pid))
def where_it_hangs():
    time.sleep(600)
where_it_hangs()
"""


def test_a_step_that_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Past its time it says where it stands, and it is gone with whatever it started; the steps behind do not run."""
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(selftest, "ROOT", tmp_path)
    monkeypatch.setattr(selftest, "STEPS", (("tipos", ("-c", HANGS), 1.0), ("camadas", ("-c", ""), 1.0)))
    assert selftest.run([]) == 1
    said = capfd.readouterr().err
    assert "a etapa tipos foi encerrada" in said
    assert "where_it_hangs" in said
    assert "camadas" not in said
    other = int((tmp_path / "other").read_text())
    end = time.monotonic() + PATIENCE
    while psutil.pid_exists(other) and psutil.Process(other).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.01)
