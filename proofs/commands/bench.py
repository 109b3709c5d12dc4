"""The words of ``prosa bench``: its options, made into a plan of measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def bench(
    only: Annotated[list[str] | None, typer.Option(help="Só estas linhas da tabela; repetível.")] = None,
    seconds: Annotated[float, typer.Option(min=0.2, help="Segundos de carga por lado e rodada.")] = 10.0,
    rounds: Annotated[int, typer.Option(min=1, help="Rodadas.")] = 3,
    people: Annotated[int, typer.Option(min=1, help="Pessoas ao mesmo tempo, na linha conversations.")] = 120,
    json: Annotated[Path | None, typer.Option(help="Grava o resultado completo aqui.")] = None,
    report: Annotated[Path | None, typer.Option(help="Grava uma página HTML com gráficos aqui.")] = None,
) -> None:
    """Mede velocidade e custo, em servidores próprios, nesta máquina."""
    from proofs.bench.command import run
    from proofs.bench.plan import Plan
    from proofs.bench.rows.table import ROWS
    from telemetry.logs import configure

    unknown = [name for name in only or () if name not in ROWS]
    if unknown:
        typer.secho(f"--only {unknown[0]}: não existe. As linhas são: {', '.join(ROWS)}", fg="red", err=True)
        raise typer.Exit(1)
    configure("ERROR", "console")
    plan = Plan(seconds, rounds, people, step=lambda _: None)
    raise typer.Exit(run([name for name in ROWS if not only or name in only], plan, json, report))
