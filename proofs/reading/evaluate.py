"""Runs an extractor over labelled conversations, turn by turn as the bot merges them."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import orjson
from rich.console import Console
from rich.progress import track

from extractor.contract import INTENTS, Context
from extractor.hybrid import HybridExtractor, ModelExtractor
from extractor.rules import RulesExtractor
from extractor.two_readers import TwoReaders
from proofs.reading.authors import AuthorsReport, evaluate_authors
from proofs.reading.authors import render as render_authors
from proofs.reading.report import JUDGED, Failure, Report, TurnJudged, render
from proofs.reading.scoring import is_critical, is_shown, matches
from state_machine.invoice.field_table import obrigatorios
from state_machine.invoice.fields import Campo, Confianca

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from extractor.contract import Extraction, Extractor
    from extractor.hybrid import Proposer

STATE_KEYS: Final = {"cnpj": Campo.DOCUMENTO, "cpf": Campo.DOCUMENTO} | {c.value: c for c in Campo}
QUESTIONS: Final = (
    (re.compile(r"\bvalor\b|\bquanto\b", re.IGNORECASE), Campo.VALOR),
    (re.compile(r"cnpj|cpf|documento", re.IGNORECASE), Campo.DOCUMENTO),
    (re.compile(r"servi[cç]o|descri[cç][aã]o", re.IGNORECASE), Campo.DESCRICAO),
)  # "Qual o valor do serviço?" asks for the amount, so that comes first


def merge(standing: Mapping[Campo, str], extraction: Extraction) -> dict[Campo, str]:
    """Apply one turn as the bot does: take back, take out what is in doubt, fill what is certain or probable."""
    gone = extraction.clear | {d.campo for d in extraction.doubts}
    merged = {c: v for c, v in standing.items() if c not in gone}
    merged |= {
        c.campo: c.valor for c in extraction.candidates if c.confianca is not Confianca.DUVIDOSA and c.campo not in gone
    }
    return merged


def initial(case: Mapping[str, Any]) -> Context:
    """Build the context in which a case begins, from its state and the bot's last words."""
    state = {STATE_KEYS[k]: str(v) for k, v in (case.get("state") or {}).items() if k in STATE_KEYS and v is not None}
    said = [h["text"] for h in case.get("history") or [] if h.get("role") == "bot"]
    complete = all(c in state for c in obrigatorios())
    pendente = None if complete or not said else _asked_in(said[-1])
    proprios = frozenset(str(p) for p in case.get("own") or [])
    hoje = date.fromisoformat(case.get("today") or "2026-11-21")
    return Context(hoje=hoje, pendente=pendente, resumo_mostrado=complete, conhecidos=state, proprios=proprios)


def following(before: Context, standing: Mapping[Campo, str], extraction: Extraction) -> Context:
    """Build the context of the next turn: the bot asks what is in doubt or missing, or shows the summary."""
    doubtful = [d.campo for d in extraction.doubts]
    missing = [c for c in obrigatorios() if c not in standing]
    pendente = next((c for c in (*doubtful, *missing) if c not in standing), None)
    return Context(
        hoje=before.hoje,
        pendente=pendente,
        resumo_mostrado=not missing,
        conhecidos=dict(standing),
        proprios=before.proprios,
    )


async def evaluate(path: Path, extractor: Extractor, *, progress: Console | None = None) -> Report:
    """Run every case of a JSONL corpus through ``extractor`` and score it."""
    lines = await asyncio.to_thread(path.read_bytes)
    cases = [orjson.loads(line) for line in lines.splitlines() if line.strip()]
    report = Report()
    shown: Iterable[dict[str, Any]] = track(cases, "Avaliando", console=progress) if progress else cases
    for case in shown:
        await _run_case(case, extractor, report)
    return report


async def _run_case(case: dict[str, Any], extractor: Extractor, report: Report) -> None:
    contexto, turns, before = initial(case), [], len(report.failures)
    critical = False
    alternatives: dict[str, Any] = case.get("alt") or {}
    for number, turn in enumerate(case["turns"]):
        started = time.perf_counter()
        extraction = await extractor.extract(turn["user"], contexto)
        report.latencies.append((time.perf_counter() - started) * 1000)
        standing = merge(contexto.conhecidos, extraction)
        got = TurnJudged(
            standing={c.value: standing.get(c) for c in Campo},
            intent=INTENTS.get(extraction.ato, extraction.ato),  # the corpora have no word for what only a model names
            ask=tuple(dict.fromkeys(d.campo.value for d in extraction.doubts)),
            shown=tuple(d.campo.value for d in extraction.doubts if is_shown(d)),
        )
        turns.append(got)
        critical |= _judge(case["id"], number, _accepted(turn, alternatives.get(str(number)), got), got, report)
        contexto = following(contexto, standing, extraction)
    report.cases.append((case["id"], turns))
    exact = len(report.failures) == before
    report.exact += exact
    if critical:
        report.critical_wrong.append(case["id"])
    for tag in case.get("tags") or ():
        report.tag_total[tag] += 1
        report.tag_exact[tag] += exact


def _accepted(turn: dict[str, Any], alternatives: dict[str, list[Any]] | None, got: TurnJudged) -> dict[str, Any]:
    """Return the turn with the label that fits, of those that a careful person accepts; ``None``: not filled, or asked.

    ``alternatives`` are labels by field. A question that the label demands is not demanded where a value is accepted.
    """
    expect = dict(turn.get("expect") or {})
    for campo, labels in (alternatives or {}).items():
        value = got.intent if campo == "intent" else got.standing.get(campo)
        fitting = [label for label in labels if matches(campo, label, value)]
        if fitting:
            expect[campo] = fitting[0]
            expect["ask"] = [asked for asked in expect.get("ask") or () if asked != campo]
    return {**turn, "expect": expect}


def _judge(case: str, number: int, turn: dict[str, Any], got: TurnJudged, report: Report) -> bool:
    """Score one turn; return whether it is critically wrong."""
    expect: dict[str, Any] = turn.get("expect") or {}
    for campo in JUDGED:
        if campo not in expect:
            continue
        value = got.intent if campo == "intent" else got.standing.get(campo)
        report.total[campo] += 1
        if matches(campo, expect[campo], value):
            report.correct[campo] += 1
        else:
            report.failures.append(Failure(case, number + 1, campo, turn["user"], expect[campo], value))
        if campo in obrigatorios() and expect[campo] is not None:
            report.answerable += 1
            report.asked += campo in got.ask and campo not in got.shown
            report.shown += campo in got.shown
    asked = set(expect.get("ask") or ()) - set(got.ask)
    if asked:
        report.failures.append(Failure(case, number + 1, "ask", turn["user"], sorted(expect["ask"]), list(got.ask)))
    return is_critical(expect, dict(got.standing))


def _asked_in(text: str) -> Campo | None:
    """Say which field the bot's last words asked for."""
    return next((campo for pattern, campo in QUESTIONS if pattern.search(text)), None)


def run(
    path: Path,
    extractor: str = "prosa",
    json_path: Path | None = None,
    fail_under: float | None = None,
    *,
    model: Proposer | None = None,
) -> int:
    """Evaluate ``prosa``, ``rules``, ``model`` or ``both``; print; write the JSON; return the exit code.

    ``path`` is a file of cases, or a folder of authors' files; ``model`` answers the questions of the last two. The
    code is 1 when ``fail_under`` is given and the share of exact cases (of authors: of amounts right or rightly asked;
    0 to 1) is below it or a case is critically wrong.
    """
    console = Console()
    authors = sorted(path.glob("*.jsonl")) if path.is_dir() else []

    async def measure(chosen: Extractor) -> Report | AuthorsReport:
        if authors:
            return await evaluate_authors(authors, chosen)
        return await evaluate(path, chosen, progress=console)

    async def work() -> Report | AuthorsReport:
        if model is None:
            return await measure(RulesExtractor() if extractor == "rules" else TwoReaders())
        async with (ModelExtractor if extractor == "model" else HybridExtractor)(model) as chosen:
            return await measure(chosen)

    report = asyncio.run(work())
    if json_path is not None:
        json_path.write_bytes(orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if isinstance(report, AuthorsReport):
        render_authors(report, console)
        return int(fail_under is not None and report.whole.valor < fail_under * report.whole.messages)
    render(report, console)
    return int(fail_under is not None and (report.exact_case < fail_under or bool(report.critical_wrong)))
