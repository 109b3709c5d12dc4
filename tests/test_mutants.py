"""The list of mutations of critical lines fits the code as it is, and its judge tells a survivor from a death."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scripts import mutation
from scripts.mutation import Mutant, Run, load, stale, verdict

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
def test_a_stale_entry_is_named(tree: Path, change: dict[str, object], complaint: str) -> None:
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


def test_a_mutation_is_made_in_a_copy_and_undone(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout stays as it is, and the copy is as before afterwards."""
    monkeypatch.setattr(mutation, "ROOT", tree)
    copy = mutation.Copy(tmp_path / "copy")
    original = (tree / "code.py").read_text()
    with copy.mutated(MUTANT):
        assert "a >= b" in (copy.place / "code.py").read_text()
        assert (tree / "code.py").read_text() == original
    assert (copy.place / "code.py").read_text() == original
