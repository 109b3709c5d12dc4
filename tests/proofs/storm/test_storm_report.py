"""What a person reads of a storm: the page in Portuguese, the JSON file with the names that programs look for."""

from __future__ import annotations

import re
from datetime import timedelta

from proofs.storm.command import table
from proofs.storm.judge.verdict import BROKEN
from proofs.storm.plan import Kind
from proofs.storm.report import page, rows
from proofs.storm.run import Result
from proofs.storm.weather import Struck
from tests.proofs.storm.storm_books import ENGLISH, START, another_note, good


def broken() -> Result:
    """One note too many, one blow, and a drain that never came to rest."""
    stage = good()
    another_note()(stage)
    spread = {"count": 1, "p50": 1.25, "p95": 40.0, "max": 40.0}
    return Result(
        plan=stage.plan,
        verdict=stage.verdict(),
        started_at=START,
        seconds=61.5,
        drained_after=None,
        struck=(Struck(START + timedelta(seconds=3), Kind.FREEZE, "worker", 17.0),),
        settled=[(1.0, 1.25), (2.0, 40.0)],
        figures={
            "kills": 0,
            "kills_per_emission": 0.0127,
            "gateway": {"calls": 1000, "faulty": 200, "share": 0.2},
            "tap_to_note_seconds": spread,
            "recovery_seconds": {Kind.FREEZE: spread},
        },
        events={},
        broken=["kill -9 em web: RuntimeError prosa web não iniciou"],
    )


def test_the_page_is_in_portuguese() -> None:
    """Headings, labels, blows, figures and cases; only the JSON at its end has the English names."""
    result = broken()
    read, _, machine = page(result).partition("Resultado completo (JSON)")
    words = read.partition("</style>")[2]
    assert '<html lang="pt-BR">' in read
    assert '<span class="broken">QUEBRADA</span>' in words
    assert "notas em dobro: " in words
    assert "worker congelado (1)" in words
    assert "<td>worker congelado</td><td>mediana 1,25 s, p95 40 s, máximo 40 s; golpes: 1</td>" in words
    assert "a própria prova falhou: kill -9 em web" in words
    assert "não dentro do limite" in words
    assert not ENGLISH.search(re.sub(r"<[^>]*>", " ", words))
    assert "&quot;duplicates&quot;: [" in machine
    assert "&quot;freeze worker&quot;: 1" in machine


def test_the_terminal_shows_the_rows_of_the_page() -> None:
    """One list for both; the JSON word stays what programs compare."""
    result = broken()
    assert table(result).row_count == len(rows(result))
    assert rows(result)["mortes"] == "0 (0,0127 por nota)"
    assert result.as_dict()["word"] == BROKEN == "BROKEN"
