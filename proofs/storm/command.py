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
    KEPT: "KEPT: uma nota para cada pessoa, e cada uma como a pessoa confirmou.",
    BROKEN: "BROKEN: a promessa foi quebrada; os casos estão acima.",
    NOT_PROVEN: "NOT PROVEN: esta execução não prova nem desmente a promessa; o que faltou está acima.",
}

BARS = {"begun": "começaram", "confirmed": "confirmaram", "received": "receberam"}
# What the verdict calls each thing, as the terminal shows it; the JSON file and the page keep the verdict's names.
LABELS = {
    "duplicates": "notas em dobro",
    "lost": "notas perdidas",
    "unconfirmed": "notas sem confirmação",
    "wrong": "notas com dado errado",
    "stuck": "sessões paradas",
    "untold": "notas não avisadas",
    "misfiled": "arquivos errados",
    "untrue": "mensagens falsas",
    "uncancelled": "cancelamentos errados",
    "misrecorded": "notas mal registradas",
    "unstored": "webhooks não guardados",
    "unaccounted": "webhooks sem explicação",
    "outbound_duplicates": "mensagens em dobro",
    "people": "pessoas",
    "confirmed revisions": "revisões confirmadas",
    "fields of notes": "campos de notas",
    "files": "arquivos",
    "sessions": "sessões",
    "webhooks of Meta answered 2xx": "webhooks da Meta: respondidos com 2xx",
    "webhooks of Meta given up": "webhooks da Meta: abandonados",
    "webhooks of Meta swallowed": "webhooks da Meta: engolidos pela prova",
    "webhooks of Meta tries without an answer": "webhooks da Meta: tentativas sem resposta",
    "webhooks of the gateway answered 2xx": "webhooks do gateway: respondidos com 2xx",
    "webhooks of the gateway given up": "webhooks do gateway: abandonados",
    "webhooks of the gateway swallowed": "webhooks do gateway: engolidos pela prova",
    "webhooks of the gateway tries without an answer": "webhooks do gateway: tentativas sem resposta",
    "corrections": "correções",
    "taps on an outdated summary": "toques em um resumo antigo",
    "taps beyond the first": "toques repetidos",
    "confirmations in words": "confirmações por palavras",
    "refusals with a second attempt": "recusas com segunda tentativa",
    "cancellations": "cancelamentos",
    "RPS numbers of our own": "números de RPS nossos",
    "late acceptances": "aceites atrasados",
    "lost answers": "respostas perdidas",
    "orders that met a duplicate": "pedidos que encontraram duplicata",
    "notes heard of by webhook": "notas avisadas por webhook",
}


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
    console.print(SENTENCE[result.word], style="bold")
    return STATUS[result.word]


def table(result: Result) -> Table:
    """Return the verdict in numbers."""
    verdict, figures = result.verdict, result.figures
    shown = Table("o quê", "valor", title=f"semente {result.plan.seed}", title_justify="left")
    drained = "não dentro do limite" if result.drained_after is None else f"{result.drained_after:.1f} s"
    tap = figures["tap_to_note_seconds"]
    rows = {
        "confirmadas / notas / mensagens": f"{verdict.confirmed} / {verdict.notes} / {verdict.sent}",
        **{LABELS[name]: str(len(found)) for name, found in verdict.faults.items()},
        **{f"conferido: {LABELS[what]}": str(count) for what, count in verdict.judged.items()},
        **{f"exercitado: {LABELS[what]}": str(count) for what, count in verdict.exercised.items()},
        "golpes": ", ".join(f"{count} {kind}" for kind, count in result.as_dict()["blows"].items()),
        "mortes": f"{figures['kills']}, {figures['kills_per_emission']} por nota",
        "chamadas ao gateway com falha": f"{figures['gateway']['faulty']} de {figures['gateway']['calls']}",
        "tudo resolvido depois das falhas": drained,
        "do toque à nota": f"mediana {tap['p50']} s, p95 {tap['p95']} s, máximo {tap['max']} s",
        "duração": f"{result.seconds:.0f} s",
    }
    for what, figure in rows.items():
        shown.add_row(what, figure)
    return shown
