"""``prosa bench`` as a person sees it: progress, a table, files."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import uvloop
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from proofs.bench.figure import number
from proofs.bench.machine.machine import describe
from proofs.bench.machine.place import Place, open_place
from proofs.bench.page import page
from proofs.bench.rows.table import ROWS
from proofs.storm.labels import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from proofs.bench.figure import Figure
    from proofs.bench.plan import Plan


def run(names: Sequence[str], plan: Plan, json_file: Path | None, report: Path | None) -> int:
    """Measure the rows, print and write them; returns 0 when every row could be measured (reached or not)."""
    console = Console(stderr=True)
    console.print(f"bench · {', '.join(names)} · {plan.rounds} rodadas de {written(plan.seconds)} s por lado")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with open_place() as place, Progress(*columns, console=console) as progress:
        bar = progress.add_task("servidores", total=len(names))

        def step(name: str, what: str) -> None:
            progress.update(bar, description=f"{name}: {what}")
            if not console.is_terminal:  # a log has no bar
                console.print(f"{name}: {what}", markup=False)

        figures, broken = uvloop.run(_measure(place, names, plan, step, lambda: progress.advance(bar)))
    Console(width=None if Console().is_terminal else 160).print(table(figures))
    for name, what in broken.items():
        console.print(f"{name} não pôde ser medida: {what}", style="red", markup=False)
    result = as_dict(names, plan, figures, broken)
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if report is not None:
        report.write_text(page(result), encoding="utf-8")
    return 1 if broken else 0


async def _measure(
    place: Place, names: Sequence[str], plan: Plan, step: Callable[[str, str], None], advance: Callable[[], object]
) -> tuple[list[Figure], dict[str, str]]:
    """One row after the other; one that breaks is told, and the others are still measured."""
    await place.prepare()
    figures: list[Figure] = []
    broken: dict[str, str] = {}
    for name in names:
        mine = replace(plan, step=partial(step, name))
        try:
            figures += await ROWS[name](place, mine)
        except Exception as error:  # noqa: BLE001 - told at the end; the other rows can still be measured
            broken[name] = f"{type(error).__name__}: {error}"
        advance()
        await asyncio.sleep(0)
    return figures, broken


def as_dict(names: Sequence[str], plan: Plan, figures: Sequence[Figure], broken: dict[str, str]) -> dict[str, Any]:
    """Return the whole run as JSON."""
    return {
        "command": f"prosa bench {' '.join(f'--only {name}' for name in names)} --seconds {plan.seconds:g} "
        f"--rounds {plan.rounds}",
        "machine": describe(),
        "plan": {name: getattr(plan, name) for name in ("seconds", "rounds", "people")},
        "figures": [figure.as_dict() for figure in figures],
        "broken": broken,
    }


def table(figures: Sequence[Figure]) -> Table:
    """Return the figures as a person reads them."""
    shown = Table("linha", "medida", "nosso", "faixa", "meta", title="medianas")
    for figure in figures:
        least, most = figure.spread
        mark = {True: " [green]atingida[/]", False: " [red]não atingida[/]", None: ""}[figure.reached]
        shown.add_row(
            figure.row,
            figure.name,
            f"{number(figure.value)} {figure.unit}",
            f"{number(least)}-{number(most)}",
            f"{str(figure.reach).replace('.', ',')}{mark}" if figure.reach else "",
        )
    return shown
