"""The list of mutations of critical lines fits the code as it is, and its judge tells a survivor from a death."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from proofs.scripts import mutation
from proofs.scripts.mutation import Mutant, Run, load, stale, verdict
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

LEAST = 60  # entries; fewer would leave lines without a watch on which an invoice hangs
MUTANT = Mutant("one", "code.py", "a == b", "a >= b", ("tests/test_code.py::test_it",))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree to which ``MUTANT`` fits."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "code.py").write_text("def same(a, b):\n    return a == b\n")
    (tmp_path / "tests" / "test_code.py").write_text("async def test_it():\n    pass\n")
    return tmp_path


def test_the_list_fits_the_code() -> None:
    """Each mutation can be made and has its tests: whoever changes a critical line changes its entry."""
    mutants = load()
    assert stale(mutants) == []
    assert len(mutants) >= LEAST


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"old": "a is b"}, "occurs 0 times"),
        ({"old": "a"}, "occurs 3 times"),
        ({"file": "gone.py"}, "occurs 0 times in gone.py"),
        ({"new": "a == b"}, "changes nothing"),
        ({"new": "a >"}, "no Python"),
        ({"tests": ()}, "names no test"),
        ({"tests": ("tests/test_code.py::test_other",)}, "no test tests/test_code.py::test_other"),
        ({"tests": ("tests/test_gone.py",)}, "no test tests/test_gone.py"),
        ({"equivalent": " "}, "without a reason"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_a_stale_entry_is_named(tree: Path, change: dict[str, Any], complaint: str) -> None:
    """What cannot be applied exactly once, or names no test, is said instead of being skipped."""
    assert stale([MUTANT], tree) == []
    [wrong] = stale([replace(MUTANT, **change)], tree)
    assert wrong.startswith("one: ")
    assert complaint in wrong


def test_an_id_names_one_mutation(tree: Path) -> None:
    """Two entries of one id could not be told apart in the report."""
    assert stale([MUTANT, MUTANT], tree) == ["one: the id is there 2 times"]


@pytest.mark.parametrize(
    ("code", "equivalent", "good", "said"),
    [
        (1, None, True, "killed by tests/test_code.py::test_it"),
        (None, None, True, "killed by the time limit"),
        (0, None, False, "SURVIVED"),
        (2, None, False, "BROKEN"),
        (4, None, False, "BROKEN"),
        (0, "nobody can tell", True, "as equivalent"),
        (1, "nobody can tell", False, "LISTED AS EQUIVALENT"),
        (2, "nobody can tell", False, "BROKEN"),
    ],
)
def test_only_a_failing_test_kills(code: int | None, equivalent: str | None, good: bool, said: str) -> None:
    """Tests that pass, or that could not even run, prove nothing; a reason that a test refutes is none."""
    run = Run(code, 1.0, "FAILED tests/test_code.py::test_it - assert False\n")
    well, what = verdict(replace(MUTANT, equivalent=equivalent), run)
    assert well is good
    assert said in what


RUNS = """
from code_under_test import same

def test_equal():
    assert same(1, 1)
    assert not same(2, 1)
"""


def _run(tree: Path, monkeypatch: pytest.MonkeyPatch, *changes: dict[str, Any]) -> int:
    """Judge one mutant for each of ``changes``, in a tree whose tests really run."""
    (tree / "code_under_test.py").write_text("def same(a, b):\n    return a == b\n")
    (tree / "tests" / "test_it.py").write_text(RUNS)
    mutant = replace(MUTANT, file="code_under_test.py", tests=("tests/test_it.py::test_equal",))
    mutants = [replace(mutant, id=f"m{number}", **change) for number, change in enumerate(changes)]
    monkeypatch.setattr(mutation, "ROOT", tree)
    assert stale(mutants, tree) == []
    return asyncio.run(mutation.judge(mutants, 1, 20.0))


def test_every_death_is_status_0(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed by a test, or alive with a reason."""
    assert _run(tree, monkeypatch, {}, {"new": "b == a", "equivalent": "equality is symmetric"}) == 0
    said = capsys.readouterr().out
    assert "m0: killed by tests/test_it.py::test_equal" in said
    assert "2 mutants: 1 killed, 1 listed as equivalent, 0 to look at" in said


def test_a_survivor_is_status_1(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named again at the end."""
    assert _run(tree, monkeypatch, {"new": "b == a"}, {}) == 1
    assert capsys.readouterr().out.rstrip().endswith("m0 (code_under_test.py): SURVIVED")


def test_tests_that_fail_anyway_kill_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken baseline is status 2, and no mutant is run."""
    monkeypatch.setattr(sys.modules[__name__], "RUNS", f"{RUNS}\n    assert False\n")
    assert _run(tree, monkeypatch, {"tests": ("tests/test_it.py",)}) == 2


def test_what_does_not_end_is_killed_by_the_time_limit(tree: Path, tmp_path: Path) -> None:
    """The run is over soon after its limit, and its process is gone."""
    (tree / "tests" / "test_it.py").write_text("import time\n\ndef test_ends():\n    time.sleep(600)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutation, "ROOT", tree)
        copy = mutation.Copy(tmp_path / "copy")
        run = asyncio.run(asyncio.wait_for(copy.test(["tests/test_it.py"], 3.0), PATIENCE))  # the test sleeps 600 s
    assert verdict(MUTANT, run) == (True, "killed by the time limit")


def test_a_mutation_is_made_in_a_copy_and_undone(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout stays as it is, and the copy is as before afterwards."""
    monkeypatch.setattr(mutation, "ROOT", tree)
    copy = mutation.Copy(tmp_path / "copy")
    original = (tree / "code.py").read_text()
    with copy.mutated(MUTANT):
        assert "a >= b" in (copy.place / "code.py").read_text()
        assert (tree / "code.py").read_text() == original
    assert (copy.place / "code.py").read_text() == original
