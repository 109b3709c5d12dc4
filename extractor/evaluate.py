"""Scores an extractor on labelled conversations, turn by turn as the bot merges them; tunes nothing."""

from __future__ import annotations

import asyncio
import re
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from rich.console import Console
from rich.progress import track
from rich.table import Table

from extractor.contract import Context, Intent
from state_machine.documents import DocumentoInvalido, parse_documento
from state_machine.fields import OBRIGATORIOS, Campo, Confianca

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from extractor.contract import Extraction, Extractor

JUDGED: Final = ("documento", "valor", "descricao", "nome", "email", "competencia", "data", "intent")
CRITICAL: Final = ("documento", "valor")  # a wrong one is worse than a question
TOKEN_F1: Final = 0.8  # the corpus format's threshold for "the same description"
STATE_KEYS: Final = {"cnpj": Campo.DOCUMENTO, "cpf": Campo.DOCUMENTO} | {c.value: c for c in Campo}
QUESTIONS: Final = (
    (re.compile(r"cnpj|cpf|documento", re.IGNORECASE), Campo.DOCUMENTO),
    (re.compile(r"valor|quanto", re.IGNORECASE), Campo.VALOR),
    (re.compile(r"servi[cç]o|descri[cç][aã]o", re.IGNORECASE), Campo.DESCRICAO),
)  # fmt: skip
VALUE_QUESTION: Final = re.compile(r"\bvalor\b|\bquanto\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """What stood after one turn, and what was asked in it."""

    standing: Mapping[str, str | None]
    intent: str
    ask: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """One judged field that came out differently."""

    case: str
    turn: int
    campo: str
    text: str
    expected: object
    got: object


@dataclass(slots=True)
class Report:
    """The scores of one run over a corpus; rates are fractions of one, times are milliseconds."""

    total: Counter[str] = field(default_factory=Counter)
    correct: Counter[str] = field(default_factory=Counter)
    tag_total: Counter[str] = field(default_factory=Counter)
    tag_exact: Counter[str] = field(default_factory=Counter)
    cases: list[tuple[str, list[Turn]]] = field(default_factory=list)
    exact: int = 0
    critical_wrong: list[str] = field(default_factory=list)
    answerable: int = 0
    asked: int = 0
    latencies: list[float] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def accuracy(self, campo: str) -> float:
        """Return the share of judged turns in which ``campo`` was right."""
        return self.correct[campo] / self.total[campo] if self.total[campo] else 1.0

    @property
    def exact_case(self) -> float:
        """Return the share of cases in which every judged field of every turn was right."""
        return self.exact / len(self.cases) if self.cases else 1.0

    @property
    def ask_rate(self) -> float:
        """Return how often a required field was asked although the label has a value for it."""
        return self.asked / self.answerable if self.answerable else 0.0

    def percentile(self, share: float) -> float:
        """Return a latency percentile in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the report in the shape that ``prosa evaluate --json`` writes."""
        return {
            "fields": {
                c: {"n": self.total[c], "correct": self.correct[c], "accuracy": round(self.accuracy(c), 4)}
                for c in JUDGED
                if self.total[c]
            },
            "exact_case": round(self.exact_case, 4),
            "critical_wrong": self.critical_wrong,
            "ask_rate": round(self.ask_rate, 4),
            "latency_ms": {"p50": round(self.percentile(0.5), 3), "p95": round(self.percentile(0.95), 3)},
            "cases": [
                {"id": i, "turns": [{**t.standing, "intent": t.intent, "ask": list(t.ask)} for t in turns]}
                for i, turns in self.cases
            ],
        }


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
    complete = all(c in state for c in OBRIGATORIOS)
    pendente = None if complete or not said else _asked_in(said[-1])
    proprios = frozenset(str(p) for p in case.get("own") or [])
    hoje = date.fromisoformat(case.get("today") or "2026-11-21")
    return Context(hoje=hoje, pendente=pendente, resumo_mostrado=complete, conhecidos=state, proprios=proprios)


def following(before: Context, standing: Mapping[Campo, str], extraction: Extraction) -> Context:
    """Build the context of the next turn: the bot asks what is in doubt or missing, or shows the summary."""
    doubtful = [d.campo for d in extraction.doubts]
    missing = [c for c in OBRIGATORIOS if c not in standing]
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
    cases = [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    report = Report()
    shown: Iterable[dict[str, Any]] = track(cases, "Avaliando", console=progress) if progress else cases
    for case in shown:
        await _run_case(case, extractor, report)
    return report


async def _run_case(case: dict[str, Any], extractor: Extractor, report: Report) -> None:
    contexto, turns, before = initial(case), [], len(report.failures)
    critical = False
    for number, turn in enumerate(case["turns"]):
        started = time.perf_counter()
        extraction = await extractor.extract(turn["user"], contexto)
        report.latencies.append((time.perf_counter() - started) * 1000)
        standing = merge(contexto.conhecidos, extraction)
        got = Turn(
            standing={c.value: standing.get(c) for c in Campo},
            intent=extraction.intent.value,
            ask=tuple(dict.fromkeys(d.campo.value for d in extraction.doubts)),
        )
        turns.append(got)
        critical |= _judge(case["id"], number, turn, got, report)
        contexto = following(contexto, standing, extraction)
    report.cases.append((case["id"], turns))
    exact = len(report.failures) == before
    report.exact += exact
    if critical:
        report.critical_wrong.append(case["id"])
    for tag in case.get("tags") or ():
        report.tag_total[tag] += 1
        report.tag_exact[tag] += exact


def _judge(case: str, number: int, turn: dict[str, Any], got: Turn, report: Report) -> bool:
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
        if campo in OBRIGATORIOS and expect[campo] is not None:
            report.answerable += 1
            report.asked += campo in got.ask
    asked = set(expect.get("ask") or ()) - set(got.ask)
    if asked:
        report.failures.append(Failure(case, number + 1, "ask", turn["user"], sorted(expect["ask"]), list(got.ask)))
    return _is_critical(expect, got)


def _is_critical(expect: dict[str, Any], got: Turn) -> bool:
    forbidden = {str(v) for v in (expect.get("must_not") or {}).values()}
    for campo in CRITICAL:
        value = got.standing.get(campo)
        if value is not None and (value in forbidden or (campo in expect and not matches(campo, expect[campo], value))):
            return True
    return False


def matches(campo: str, expected: object, got: str | None) -> bool:
    """Compare one field with its label."""
    if campo == "descricao" and isinstance(expected, dict):
        return got is not None and _describes(expected, got)
    if expected is None or got is None:
        return expected is None and got is None
    if campo == "documento":
        try:
            return parse_documento(str(expected)).numero == got
        except DocumentoInvalido:
            return str(expected) == got
    if campo in {"nome", "email"}:
        return _fold(str(expected)) == _fold(got)
    return str(expected) == got


def token_f1(expected: str, got: str) -> float:
    """Return the F1 of the two texts' words, ignoring case and accents."""
    a, b = Counter(_fold(expected).split()), Counter(_fold(got).split())
    common = sum((a & b).values())
    return 2 * common / (sum(a.values()) + sum(b.values())) if common else 0.0


def _describes(expected: dict[str, Any], got: str) -> bool:
    if "is" in expected and not any(token_f1(text, got) >= TOKEN_F1 for text in expected["is"]):
        return False
    folded = _fold(got)
    return all(_fold(t) in folded for t in expected.get("has") or ()) and not any(
        _fold(t) in folded for t in expected.get("not") or ()
    )


def _fold(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[\w@.&-]*\w", bare))


def _asked_in(text: str) -> Campo | None:
    """Say which field the bot's last words asked for."""
    if VALUE_QUESTION.search(text):
        return Campo.VALOR
    return next((campo for pattern, campo in QUESTIONS if pattern.search(text)), None)


def render(report: Report, console: Console) -> None:
    """Print fields, tags and every failure."""
    fields = Table("Campo", "Casos", "Certos", "Acurácia", title="Por campo")
    for campo in JUDGED:
        if report.total[campo]:
            fields.add_row(campo, str(report.total[campo]), str(report.correct[campo]), f"{report.accuracy(campo):.1%}")
    tags = Table("Etiqueta", "Casos", "Exatos", title="Por etiqueta")
    for tag, n in report.tag_total.most_common():
        tags.add_row(tag, str(n), f"{report.tag_exact[tag] / n:.0%}")
    failures = Table("Caso", "Campo", "Texto", "Esperado", "Lido", title="O que falhou")
    for f in report.failures:
        failures.add_row(f"{f.case}.{f.turn}", f.campo, f.text, str(f.expected), str(f.got))
    console.print(fields, tags)
    if report.failures:
        console.print(failures)
    console.print(
        f"Casos exatos {report.exact_case:.1%} · erros críticos {len(report.critical_wrong)} {report.critical_wrong or ''} · "
        f"perguntas a mais {report.ask_rate:.1%} · p50 {report.percentile(0.5):.1f} ms · p95 {report.percentile(0.95):.1f} ms"
    )


def run(path: Path, extractor: Extractor, *, json_path: Path | None = None, fail_under: float | None = None) -> int:
    """Evaluate, print, write the JSON, and return the exit code: 1 when exact cases fall under ``fail_under``."""
    console = Console()
    report = asyncio.run(evaluate(path, extractor, progress=console))
    render(report, console)
    if json_path is not None:
        json_path.write_bytes(orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    failed = fail_under is not None and (report.exact_case < fail_under or bool(report.critical_wrong))
    return int(failed)
