"""The words of ``prosa storm``: its options, made into a plan of the fault test."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Selection(StrEnum):
    """Which channels a storm goes over."""

    PLUGNOTAS = "plugnotas"
    NACIONAL = "nacional"
    PAULISTANA = "paulistana"
    NFE = "nfe"
    NFCE = "nfce"
    AMBOS = "ambos"  # the first two
    TODOS = "todos"


def storm(
    emissions: Annotated[int, typer.Option(min=1, help="Quantas notas, cada uma de uma pessoa.")] = 300,
    seed: Annotated[int, typer.Option(help="Repete o mesmo plano de falhas.")] = 1,
    people: Annotated[int, typer.Option(min=1, help="Quantas pessoas conversam ao mesmo tempo.")] = 30,
    workers: Annotated[int, typer.Option(min=1, help="Quantos processos worker.")] = 2,
    minutes_max: Annotated[float, typer.Option(help="Depois disto ninguém mais começa.")] = 60.0,
    kills_every: Annotated[str, typer.Option(help="Segundos entre golpes, como 0.3-6.")] = "0.3-6",
    gateway_faults: Annotated[float, typer.Option(min=0, max=1, help="Parte das chamadas que falha.")] = 0.2,
    troca_leiaute: Annotated[
        bool, typer.Option("--troca-leiaute", help="No meio, a SEFIN passa ao leiaute da NT 009 sem avisar.")
    ] = False,
    unique: Annotated[bool, typer.Option("--unique/--not-unique", help="O gateway barra a segunda cópia?")] = True,
    canal: Annotated[
        Selection, typer.Option(help="Por onde as notas saem: um canal, ambos os primeiros, ou todos ao mesmo tempo.")
    ] = (Selection.PLUGNOTAS),
    json: Annotated[Path | None, typer.Option(help="Grava o resultado completo aqui.")] = None,
    report: Annotated[Path | None, typer.Option(help="Grava uma página HTML aqui.")] = None,
) -> None:
    """Prova de falhas: mata, congela e mente à vontade, e confere cada nota no livro da autoridade simulada.

    Termina com 0 (prometido e cumprido), 1 (quebrado) ou 3 (sem veredito: faltaram golpes ou livros inteiros).
    """
    from proofs.storm.channels.table import CHANNELS
    from proofs.storm.command import run
    from proofs.storm.plan import Plan
    from telemetry.logs import configure

    least, _, most = kills_every.partition("-")
    try:
        between = float(least), float(most)
    except ValueError:
        between = (0.0, 0.0)
    if not 0 < between[0] <= between[1]:
        typer.secho("--kills-every: dois números acima de zero com hífen, como 0.3-6", fg="red", err=True)
        raise typer.Exit(1)
    configure("ERROR", "console")
    several = {Selection.AMBOS: ("plugnotas", "nacional"), Selection.TODOS: tuple(CHANNELS)}
    plan = Plan(
        emissions,
        seed,
        workers=workers,
        people=people,
        minutes_max=minutes_max,
        kills_every=between,
        gateway_faults=gateway_faults,
        unique=unique,
        new_layout=troca_leiaute,
        channels=several.get(canal, (canal.value,)),
    )
    raise typer.Exit(run(plan, json, report))
