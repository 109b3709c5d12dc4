"""`prosa test`: everything by default, only pytest when asked for something special."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot import selftest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_arguments_go_to_pytest_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """With arguments no other step runs."""
    assert selftest.run(["--version"]) == 0
    said = capfd.readouterr()
    assert "style" not in said.err
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
    assert "style" in said.err
    assert "format" not in said.err


def test_an_installed_package_says_that_tests_need_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the tests beside it the command refuses with a sentence instead of finding nothing."""
    monkeypatch.setattr(selftest, "ROOT", tmp_path)
    assert selftest.run([]) == 2
    assert "clone" in capfd.readouterr().err
