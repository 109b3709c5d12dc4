"""``prosa storm`` as a person sees it: progress, a table, files, an exit status."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from proofs.storm.judge.verdict import BROKEN, KEPT, NOT_PROVEN
from proofs.storm.labels import LABELS
from proofs.storm.machines.servers import open_servers
from proofs.storm.report import WORDS, page, rows
from proofs.storm.run import Result, storm

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.storm.plan import Plan

EXAMPLES = 5  # of each kind of failure on the terminal; the JSON file has all
STATUS = {KEPT: 0, BROKEN: 1, NOT_PROVEN: 3}  # 2 is the command line's own, for words it does not understand
SENTENCE = {
    KEPT: "uma nota para cada pessoa, e cada uma como a pessoa confirmou.",
    BROKEN: "a promessa foi quebrada; os casos estão acima.",
    NOT_PROVEN: "esta execução não prova nem desmente a promessa; o que faltou está acima.",
}

BARS = {"begun": "começaram", "confirmed": "confirmaram", "received": "receberam"}


def run(plan: Plan, json_file: Path | None, report: Path | None) -> int:
    """Run the storm, print and write its verdict; returns the exit status: 0 kept, 1 broken, 3 not proven."""
    console = Console(stderr=True)
    # Killed processes reset their connections to the simulators; that is expected.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    console.print(f"storm · semente {plan.seed} · {plan.emissions} notas · {plan.webs} web, {plan.workers} worker")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with open_servers() as (servers, home), Progress(*columns, console=console) as progress:
        bars = {what: progress.add_task(BARS[what], total=plan.emissions) for what in BARS}
        result = uvloop.run(storm(plan, servers, home, lambda what, more: progress.advance(bars[what], more)))
    console.print(table(result))
    for name, found in result.verdict.faults.items():
        for example in found[:EXAMPLES]:
            console.print(f"  {LABELS[name]}: {example}", style="red", markup=False)
    for line in (*result.verdict.unusable, *result.verdict.lacking):
        console.print(f"  sem prova: {line}", style="yellow", markup=False)
    for line in result.broken:
        console.print(f"  a própria prova falhou: {line}", style="red", markup=False)
    if json_file is not None:
        json_file.write_text(json.dumps(result.as_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if report is not None:
        report.write_text(page(result), encoding="utf-8")
    console.print(f"{WORDS[result.word]}: {SENTENCE[result.word]}", style="bold")
    return STATUS[result.word]


def table(result: Result) -> Table:
    """Return the verdict in numbers."""
    shown = Table("o quê", "valor", title=f"semente {result.plan.seed}", title_justify="left")
    for what, figure in rows(result).items():
        shown.add_row(what, figure)
    return shown
