"""Measures an extractor on messages labelled by their authors: by author and by family, with confidence intervals."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from extractor.learned.reader import MONEY, Rotulo
from proofs.reading.corpus import messages
from proofs.reading.scoring import is_shown, is_whole, words
from state_machine.invoice.fields import Campo, Confianca

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import Console

    from extractor.contract import Extraction, Extractor
    from proofs.reading.corpus import Labelled

ASKED: Final = "?"
# What is no part of a service: the customer's name and document, and the invoice's amount.
OTHER_FIELDS: Final = (Rotulo.NOME, Rotulo.DOC_CLIENTE, Rotulo.TOTAL)
Z95: Final = 1.96


@dataclass(slots=True)
class Score:
    """What was judged of some messages: counts of messages, of those with money, and of what came out."""

    messages: int = 0
    amounts: int = 0  # messages that name money
    wrong: int = 0  # an amount taken as certain that no careful person would take
    alone: int = 0  # the only reading that is shown, and no label's
    due: int = 0  # messages that name the invoice's amount
    shown: int = 0  # of these: doubtful, and right among what the summary shows to choose from
    marked: int = 0  # of these: right, and marked as doubtful
    needless: int = 0  # of these: asked, or not seen
    valor: int = 0  # right, or rightly asked
    services: int = 0
    descricao: int = 0
    names: int = 0  # messages that name the customer, or of which a name was read
    nome: int = 0  # of these: the same words
    other_names: int = 0  # of these: other words, or a name where the label has none
    acts: int = 0  # messages of which an act was told
    ato: int = 0

    @property
    def wrong_share(self) -> tuple[float, float, float]:
        """Wrong amounts for each message with money, with its 95 % interval (Wilson)."""
        return wilson(self.wrong, self.amounts)


@dataclass(slots=True)
class AuthorsReport:
    """The scores of one run: all messages, and by author and family.

    ``failures`` are the wrong amounts that were taken as certain, ``alone`` those that the summary shows with no other.
    """

    whole: Score = field(default_factory=Score)
    authors: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    families: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    failures: list[tuple[Labelled, str]] = field(default_factory=list)
    alone: list[tuple[Labelled, str]] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)  # ms

    def percentile(self, share: float) -> float:
        """Return a latency percentile in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the report in the shape that ``prosa evaluate --json`` writes."""
        return {
            "whole": _as_json(self.whole),
            "authors": {name: _as_json(score) for name, score in sorted(self.authors.items())},
            "families": {name: _as_json(score) for name, score in sorted(self.families.items())},
            "latency_ms": {"p50": round(self.percentile(0.5), 3), "p99": round(self.percentile(0.99), 3)},
            "wrong": _listed(self.failures),
            "alone": _listed(self.alone),
        }


def _listed(found: Iterable[tuple[Labelled, str]]) -> list[dict[str, Any]]:
    return [{"autor": m.autor, "texto": m.texto, "certo": list(m.valores), "lido": read} for m, read in found]


def wilson(hits: int, of: int) -> tuple[float, float, float]:
    """Return a share and its 95 % interval by Wilson's score."""
    if not of:
        return 0.0, 0.0, 1.0
    share = hits / of
    scale = 1 + Z95**2 / of
    middle = (share + Z95**2 / (2 * of)) / scale
    half = Z95 * sqrt(share * (1 - share) / of + Z95**2 / (4 * of**2)) / scale
    return share, max(0.0, middle - half), min(1.0, middle + half)


async def evaluate_authors(files: Iterable[Path], extractor: Extractor) -> AuthorsReport:
    """Run every message of these files through ``extractor`` and score it."""
    report = AuthorsReport()
    for message in messages(files):
        started = time.perf_counter()
        extraction = await extractor.extract(message.texto, message.contexto)
        report.latencies.append((time.perf_counter() - started) * 1000)
        scores = (report.whole, report.authors[message.autor], report.families[message.ato.value])
        read = _amount(extraction)
        if read not in {None, ASKED} and read not in message.valores:
            report.failures.append((message, str(read)))
        if _alone(message, extraction):
            report.alone.append((message, _shown(extraction)[0]))
        for score in scores:
            _judge(score, message, extraction, read)
    return report


def _judge(score: Score, message: Labelled, extraction: Extraction, read: str | None) -> None:
    score.messages += 1
    score.amounts += any(rotulo in MONEY for rotulo, _, _ in message.mentions)
    due = message.valores[0] not in {None, ASKED}
    fits = read in message.valores
    score.due += due
    score.valor += fits or (read == ASKED and message.valores[0] is not None)
    shown = _shown(extraction)
    offered = due and read == ASKED and not set(shown).isdisjoint(message.valores)
    score.shown += offered
    score.marked += offered and len(shown) == 1
    score.needless += due and not fits and not offered and read in {None, ASKED}
    score.alone += _alone(message, extraction)
    score.wrong += not fits and read not in {None, ASKED}
    said, service = message.snippets(Rotulo.SERVICO), _read(extraction, Campo.DESCRICAO)
    if said or service:
        score.services += 1
        others = message.snippets(*OTHER_FIELDS)
        score.descricao += service is not None and any(is_whole(each, service, others) for each in said)
    called, name = message.snippets(Rotulo.NOME), _read(extraction, Campo.NOME)
    if called or name:
        score.names += 1
        right = name is not None and any(set(words(each)) == set(words(name)) for each in called)
        score.nome += right
        score.other_names += name is not None and not right
    if extraction.agreed is not None:
        score.acts += 1
        score.ato += extraction.agreed in message.atos


def _alone(message: Labelled, extraction: Extraction) -> bool:
    """Say whether one reading is shown, and no label's. One that is shown as a sum asks, where the label does too."""
    shown = _shown(extraction)
    asks = any(d.campo is Campo.VALOR and d.conta for d in extraction.doubts) and set(message.valores) <= {ASKED, None}
    asks &= ASKED in message.valores
    return len(shown) == 1 and not asks and shown[0] not in message.valores


def _read(extraction: Extraction, campo: Campo) -> str | None:
    return next((candidate.valor for candidate in extraction.candidates if candidate.campo is campo), None)


def _shown(extraction: Extraction) -> tuple[str, ...]:
    """Return the readings of a doubtful amount that the summary shows, none where it must be asked."""
    return next((d.leituras for d in extraction.doubts if d.campo is Campo.VALOR and is_shown(d)), ())


def _amount(extraction: Extraction) -> str | None:
    if any(doubt.campo is Campo.VALOR for doubt in extraction.doubts):
        return ASKED
    sure = (c for c in extraction.candidates if c.campo is Campo.VALOR and c.confianca is not Confianca.DUVIDOSA)
    return next((candidate.valor for candidate in sure), None)


def render(report: AuthorsReport, console: Console) -> None:
    """Print the whole, the authors, the acts, and every wrong amount."""
    heads = ("Mensagens", "Com dinheiro", "Errados", "Só um, errado", "A mais", "Valor", "Descrição", "Nome", "Ato")
    for title, rows in (("Por autor", report.authors), ("Por ato", report.families)):
        table = Table(title, *heads, title=title)
        for name, score in sorted(rows.items()):
            table.add_row(name, *_cells(score))
        table.add_row("todos", *_cells(report.whole), style="bold")
        console.print(table)
    kinds = (("Valores tomados como certos e errados", report.failures), ("Só um valor, e errado", report.alone))
    for title, found in kinds:
        wrong = Table("Autor", "Texto", "Certo", "Lido", title=title)
        for message, read in found:
            wrong.add_row(message.autor, message.texto[:120], str(message.valores), read)
        if found:
            console.print(wrong)
    share, low, high = report.whole.wrong_share
    console.print(
        f"Valores errados: {report.whole.wrong} de {report.whole.amounts} mensagens com dinheiro "
        f"({share:.2%}, intervalo de 95 %: {low:.2%} a {high:.2%})"
    )
    console.print(f"p50 {report.percentile(0.5):.2f} ms · p99 {report.percentile(0.99):.2f} ms por mensagem")


def _cells(score: Score) -> tuple[str, ...]:
    return (
        str(score.messages),
        str(score.amounts),
        f"{score.wrong} ({score.wrong_share[0]:.1%})",
        str(score.alone),
        _share(score.needless, score.due),
        _share(score.valor, score.messages),
        _share(score.descricao, score.services),
        f"{_share(score.nome, score.names)}, {score.other_names} de outro",
        _share(score.ato, score.acts),
    )


def _share(hits: int, of: int) -> str:
    return f"{hits / of:.1%} de {of}" if of else "0"


def _as_json(score: Score) -> dict[str, Any]:
    share, low, high = score.wrong_share
    return {
        "messages": score.messages,
        "amounts": score.amounts,
        "wrong": score.wrong,
        "alone": score.alone,
        "wrong_share": round(share, 5),
        "wrong_interval": [round(low, 5), round(high, 5)],
        "due": score.due,
        "shown": score.shown,
        "marked": score.marked,
        "needless": score.needless,
        "valor": round(score.valor / score.messages, 4) if score.messages else None,
        "descricao": round(score.descricao / score.services, 4) if score.services else None,
        "nome": round(score.nome / score.names, 4) if score.names else None,
        "other_names": score.other_names,
        "ato": round(score.ato / score.acts, 4) if score.acts else None,
        "acts": score.acts,
    }
