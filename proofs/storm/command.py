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
from proofs.storm.report import page
from proofs.storm.run import Result, storm
from proofs.storm.servers import open_servers

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.storm.plan import Plan

EXAMPLES = 5  # of each kind of failure on the terminal; the JSON file has all
STATUS = {KEPT: 0, BROKEN: 1, NOT_PROVEN: 3}  # 2 is the command line's own, for words it does not understand
SENTENCE = {
    KEPT: "KEPT: exactly one invoice each, and each what its person confirmed.",
    BROKEN: "BROKEN.",
    NOT_PROVEN: "NOT PROVEN: this run can neither keep nor break the promise.",
}


def run(plan: Plan, json_file: Path | None, report: Path | None) -> int:
    """Run the storm, print and write its verdict; returns the exit status: 0 kept, 1 broken, 3 not proven."""
    console = Console(stderr=True)
    # Killed processes reset their connections to the simulators; that is expected.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    console.print(f"storm · seed {plan.seed} · {plan.emissions} emissions · {plan.webs} web, {plan.workers} worker")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with open_servers() as (servers, home), Progress(*columns, console=console) as progress:
        bars = {what: progress.add_task(what, total=plan.emissions) for what in ("begun", "confirmed", "received")}
        result = uvloop.run(storm(plan, servers, home, lambda what, more: progress.advance(bars[what], more)))
    console.print(table(result))
    for name, found in result.verdict.faults.items():
        for example in found[:EXAMPLES]:
            console.print(f"  {name}: {example}", style="red", markup=False)
    for line in (*result.verdict.unusable, *result.verdict.lacking):
        console.print(f"  not proven: {line}", style="yellow", markup=False)
    for line in result.broken:
        console.print(f"  the storm itself broke: {line}", style="red", markup=False)
    if json_file is not None:
        json_file.write_text(json.dumps(result.as_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if report is not None:
        report.write_text(page(result), encoding="utf-8")
    console.print(SENTENCE[result.word], style="bold")
    return STATUS[result.word]


def table(result: Result) -> Table:
    """Return the verdict in numbers."""
    verdict, figures = result.verdict, result.figures
    shown = Table("what", "figure", title=f"seed {result.plan.seed}", title_justify="left")
    drained = "not within the limit" if result.drained_after is None else f"{result.drained_after:.1f} s"
    tap = figures["tap_to_note_seconds"]
    rows = {
        "confirmed / notes / messages": f"{verdict.confirmed} / {verdict.notes} / {verdict.sent}",
        **{name.replace("_", " "): str(len(found)) for name, found in verdict.faults.items()},
        **{f"judged: {what}": str(count) for what, count in verdict.judged.items()},
        **{f"exercised: {what}": str(count) for what, count in verdict.exercised.items()},
        "blows": ", ".join(f"{count} {kind}" for kind, count in result.as_dict()["blows"].items()),
        "kills": f"{figures['kills']}, {figures['kills_per_emission']} per emission",
        "faulty gateway calls": f"{figures['gateway']['faulty']} of {figures['gateway']['calls']}",
        "drained after the faults": drained,
        "tap to note": f"median {tap['p50']} s, p95 {tap['p95']} s, most {tap['max']} s",
        "lasted": f"{result.seconds:.0f} s",
    }
    for what, figure in rows.items():
        shown.add_row(what, figure)
    return shown
