"""`prosa test`: everything by default, only pytest when asked for something special."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psutil
import pytest

from bot.operator import selftest
from tests import children
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


def test_types_that_are_wrong_fail_a_run_whose_tests_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are read beside the tests, and a word at the end says where to look."""
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(selftest, "ROOT", tmp_path)
    monkeypatch.setattr(selftest, "TYPES", types := ("tipos", ("-c", "raise SystemExit(1)"), 60.0))
    monkeypatch.setattr(selftest, "STEPS", (types, ("testes", ("-c", ""), 60.0)))
    assert selftest.run([]) == 1
    assert "os tipos não estão certos" in capfd.readouterr().err


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

    def remember(_name: str, command: Sequence[str], _seconds: float, _env: object) -> int:
        ran.append(list(command))
        return 0

    monkeypatch.setattr(selftest, "_bounded", remember)
    assert selftest.run(args) == 0
    assert len(ran) == steps
    if args == ["--nightly"]:
        assert ran.pop() == ["proofs/scripts/mutation.py"]
    assert ran[-1] == ["-m", "pytest", *tests]
    assert all(command in [list(step) for _, step, _ in selftest.STEPS] for command in ran[:-1])


def test_changed_runs_the_tests_that_are_two_imports_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those that import the changed file, or what imports it, or whose ``conftest.py`` does; no others."""
    files = {
        "house/leaf.py": "",
        "house/user.py": "from house import leaf",
        "house/far.py": "from house.user import x",
        "tests/conftest.py": "",
        "tests/near/conftest.py": "def f():\n    import house.leaf",
        "tests/near/test_fixture.py": "",
        "tests/test_leaf.py": "import house.leaf",
        "tests/test_user.py": "from house.user import x",
        "tests/test_far.py": "from house.far import x",
        "tests/helper.py": "import house.leaf",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(selftest, "ROOT", tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        children.run([*git, *words], cwd=tmp_path, check=True)
    (tmp_path / "house/leaf.py").write_text("x = 1")
    near = ["tests/near/test_fixture.py", "tests/test_leaf.py", "tests/test_user.py"]
    assert selftest.changed() == near
    children.run([*git, "commit", "-qam", "second"], cwd=tmp_path, check=True)
    assert selftest.changed() == near
    (tmp_path / "page.md").write_text("x")
    assert selftest.run(["--changed"]) == 0
    assert "nenhum teste" in capfd.readouterr().err


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
