"""The result of an evaluation: counts, rates and failures, as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from state_machine.invoice.field_table import FIELDS

if TYPE_CHECKING:
    from rich.console import Console

JUDGED: Final = (*(campo.value for campo in FIELDS), "intent")


@dataclass(frozen=True, slots=True)
class TurnJudged:
    """What stood after one turn, and what was in doubt in it; ``shown``: of these, what the summary shows marked."""

    standing: dict[str, str | None]
    intent: str
    ask: tuple[str, ...]
    shown: tuple[str, ...] = ()


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
    cases: list[tuple[str, list[TurnJudged]]] = field(default_factory=list)
    exact: int = 0
    critical_wrong: list[str] = field(default_factory=list)
    answerable: int = 0
    asked: int = 0
    shown: int = 0  # in the summary, as the only reading or one of two: no question
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
            "answerable": self.answerable,
            "asked": self.asked,
            "shown": self.shown,
            "latency_ms": {"p50": round(self.percentile(0.5), 3), "p95": round(self.percentile(0.95), 3)},
            "cases": [
                {"id": i, "turns": [{**t.standing, "intent": t.intent, "ask": list(t.ask)} for t in turns]}
                for i, turns in self.cases
            ],
        }


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
    wrong = ", ".join(report.critical_wrong) or "nenhum"
    console.print(
        f"Casos exatos {report.exact_case:.1%} · perguntas a mais {report.ask_rate:.1%} · erros críticos: {wrong}"
    )
    console.print(f"p50 {report.percentile(0.5):.1f} ms · p95 {report.percentile(0.95):.1f} ms por mensagem")
