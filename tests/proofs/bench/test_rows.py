"""The harness at its smallest, judged by counts; how fast anything was is not looked at."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from proofs.__main__ import app
from proofs.bench.load.channels import authority_notes, gateway_notes
from proofs.bench.rows.table import ROWS
from tests import children
from tests.nightly import size

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(600)  # the bench starts servers and processes for each row
CHECKED = size((), ("start", "turns"))  # `conversations` below starts the same processes
LIMIT = 540.0  # seconds, on a machine that others keep busy


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The command's JSON and its page, for all rows that are looked at here: they share its servers."""
    home = tmp_path_factory.mktemp("bench")
    out, page = home / "bench.json", home / "bench.html"
    only = [f"--only={name}" for name in (*CHECKED, "conversations")]
    done = children.run(
        [sys.executable, "-m", "proofs", "bench", *only, "--seconds=1", "--rounds=1", "--people=6",
         f"--json={out}", f"--report={page}"],
        cwd=ROOT, timeout=LIMIT, capture_output=True, text=True,
    )  # fmt: skip
    assert out.exists(), done.stderr
    result: dict[str, Any] = json.loads(out.read_text())
    assert result["broken"] == {}, done.stderr
    assert done.returncode == 0
    return result, page.read_text()


def test_a_run_tells_every_figure_of_its_rows(run: tuple[dict[str, Any], str]) -> None:
    """Rows check themselves: all 200s stored, each message answered once, each note once; then they tell figures."""
    result, page = run
    assert {figure["row"] for figure in result["figures"]} == {*CHECKED, "conversations"}
    assert all(figure["median"] > 0 for figure in result["figures"] if figure["row"] in CHECKED)
    turns = "CPU nossa por turno (web + workers)"
    for parts in (figure["parts"] for figure in result["figures"] if figure["name"] == turns):
        assert {"web", "worker 1", "worker 2", "postgres", "valkey", "load"} == parts.keys()
    assert page.startswith("<!doctype html>")


def test_a_row_that_does_not_exist_is_named() -> None:
    """A typo starts nothing, and the rows are listed."""
    done = CliRunner().invoke(app, ["bench", "--only=turnss"])
    assert done.exit_code == 1
    assert "turnss" in done.stderr
    assert all(name in done.stderr for name in ROWS)


@pytest.mark.parametrize(("numbers", "found"), [(("1",), (1, 0)), (("1", "2"), (2, 1)), ((None,), (0, 0))])
def test_a_second_note_under_one_key_is_a_duplicate(numbers: tuple[str | None, ...], found: tuple[int, int]) -> None:
    """The gateway's own book is counted by our key; a rejected note is none."""
    records: list[dict[str, Any]] = []
    for place, numero in enumerate(numbers):
        payload = {"idIntegracao": "key"}
        records.append({"kind": "note.created", "id": str(place), "payload": payload})
        records.append({"kind": "note.settled", "id": str(place), "numero": numero})
    assert gateway_notes(records) == found


def test_a_second_note_of_one_reference_is_a_duplicate_at_the_authority() -> None:
    """SEFIN's own book is counted by the reference that a DPS carries, whatever its number."""
    records = [{"kind": "nfse.issued", "c_int_contrib": reference} for reference in ("a", "b", "a")]
    assert authority_notes(records) == (3, 1)


def test_whole_conversations_are_counted_on_both_channels(run: tuple[dict[str, Any], str]) -> None:
    """Each person ends with one note and both files, by the book of PlugNotas and by SEFIN's."""
    told = {figure["name"]: figure for figure in run[0]["figures"]}
    assert "pelo livro do gateway" in told["conversas até a nota autorizada"]["note"]
    direct = told["nacional: conversas até a nota autorizada, com PDF nosso"]
    assert direct["median"] > 0
    assert "pelo livro da SEFIN" in direct["note"]
