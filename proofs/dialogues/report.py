"""``prosa evaluate --dialogues`` as a person sees it: tables by author and family, every wrong note, an exit status."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from proofs.dialogues.judge import judge
from proofs.dialogues.play import play
from proofs.reading.authors import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bot.settings import Settings
    from extractor.hybrid import Proposer
    from proofs.dialogues.judge import Verdict
    from proofs.dialogues.script import Nota, Roteiro

COLUMNS: Final = ("Diálogos", "Certos", "Estritos", "Notas erradas", "Repetidas", "A mais", "Rascunho", "Errado", "Ato")


@dataclass(slots=True)
class Score:
    """Counts of some dialogues: each failure beside the number of what was judged."""

    dialogues: int = 0
    right: int = 0
    strict: int = 0  # right, and nobody was asked what they had said
    notes: int = 0  # that were issued
    wrong_notes: int = 0  # another document or amount, or one too many
    other_service: int = 0
    answers: int = 0
    repeated: int = 0  # word for word the answer before
    lines: int = 0
    silent: int = 0
    beyond: int = 0  # turns
    drafts: int = 0  # fields
    drafts_right: int = 0
    drafts_wrong: int = 0  # something stands that must not; the rest is asked or missing
    acts: int = 0
    acts_wrong: int = 0
    words: list[int] = field(default_factory=list)  # of each answer that is no file

    def add(self, verdict: Verdict) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.right += verdict.right
        self.strict += verdict.strict
        self.notes += len(verdict.played.issued)
        self.wrong_notes += len(verdict.wrong_notes)
        self.other_service += len(verdict.other_service)
        self.answers += verdict.answers
        self.repeated += len(verdict.repeated)
        self.lines += len(verdict.played.turns)
        self.silent += len(verdict.silent)
        self.beyond += verdict.beyond
        self.drafts += len(verdict.drafts)
        self.drafts_right += sum(draft.right for draft in verdict.drafts)
        self.drafts_wrong += sum(draft.wrong for draft in verdict.drafts)
        self.acts += verdict.judged_acts
        self.acts_wrong += len(verdict.acts)
        answers = (answer for turn in verdict.played.turns for answer in turn.answers)
        self.words += [len(answer.split()) for answer in answers if not answer.endswith("]")]

    @property
    def shares(self) -> dict[str, tuple[int, int]]:
        """What the totals say with an interval: hits and of how many."""
        return {
            "diálogos certos": (self.right, self.dialogues),
            "diálogos certos sem pergunta à toa": (self.strict, self.dialogues),
            "notas erradas": (self.wrong_notes, self.notes),
            "respostas iguais à anterior": (self.repeated, self.answers),
            "campos do rascunho certos": (self.drafts_right, self.drafts),
            "campos do rascunho errados": (self.drafts_wrong, self.drafts),
            "falas que fizeram o que não deviam": (self.acts_wrong, self.acts),
        }

    def words_at(self, share: int) -> int:
        """Return how many words the answer has that ``share`` per cent of all do not exceed; 0 without one."""
        return sorted(self.words)[max(0, -(-len(self.words) * share // 100) - 1)] if self.words else 0

    def as_json(self) -> dict[str, Any]:
        """Return all counts, the words of an answer, and the shares with their 95 % intervals."""
        counts = {name: getattr(self, name) for name in self.__slots__ if name != "words"}
        counts["words"] = {f"p{share}": self.words_at(share) for share in (50, 90)}
        rounded = {what: [round(part, 4) for part in wilson(*pair)] for what, pair in self.shares.items()}
        return counts | {"shares": rounded}


@dataclass(slots=True)
class DialogueReport:
    """The scores of one run, and every verdict."""

    whole: Score = field(default_factory=Score)
    authors: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    families: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    verdicts: list[Verdict] = field(default_factory=list)

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> DialogueReport:
        """Add them up."""
        report = cls()
        for verdict in verdicts:
            roteiro = verdict.played.roteiro
            for score in (report.whole, report.authors[roteiro.autor], report.families[family(roteiro)]):
                score.add(verdict)
            report.verdicts.append(verdict)
        return report

    def as_json(self) -> dict[str, Any]:
        """Return the shape that ``--json`` writes."""
        return {
            "whole": self.whole.as_json(),
            "authors": {name: score.as_json() for name, score in sorted(self.authors.items())},
            "families": {name: score.as_json() for name, score in sorted(self.families.items())},
            "dialogues": [_as_json(verdict) for verdict in self.verdicts],
        }


def family(roteiro: Roteiro) -> str:
    """Return the family's name as all authors write it."""
    return roteiro.familia.replace("-", "_")


async def measure(
    roteiros: Sequence[Roteiro], settings: Settings, database_url: str, redis_url: str, model: Proposer | None = None
) -> DialogueReport:
    """Play the dialogues on these stores, with ``model`` where there is one, and judge them."""
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("diálogos", total=len(roteiros))
        played = await play(
            roteiros, settings, database_url, redis_url, model=model, progress=lambda: progress.advance(bar)
        )
    return DialogueReport.of(map(judge, played))


def tell(report: DialogueReport, json_file: Path | None = None, fail_under: float | None = None) -> int:
    """Print, write the JSON, and return the exit status.

    It is 1 when a wrong note was issued, or when fewer dialogues than ``fail_under`` (0 to 1) are right.
    """
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    render(report, Console())
    short = fail_under is not None and report.whole.right < fail_under * report.whole.dialogues
    return int(bool(report.whole.wrong_notes) or short)


def render(report: DialogueReport, console: Console) -> None:
    """Print authors, families, totals with their intervals, and every wrong note."""
    for title, rows in (("Por autor", report.authors), ("Por família", report.families)):
        table = Table(title, *COLUMNS, title=title)
        for name, score in sorted(rows.items()):
            table.add_row(name, *_cells(score))
        table.add_row("todos", *_cells(report.whole), style="bold")
        console.print(table)
    for what, (hits, of) in report.whole.shares.items():
        share, low, high = wilson(hits, of)
        console.print(f"{what}: {hits} de {of} ({share:.1%}, intervalo de 95 %: {low:.1%} a {high:.1%})")
    console.print(f"falas sem resposta: {report.whole.silent} · notas com outro serviço: {report.whole.other_service}")
    median, long = report.whole.words_at(50), report.whole.words_at(90)
    console.print(f"palavras por resposta: {median} na mediana, {long} em 90 % delas")
    for verdict in report.verdicts:
        roteiro = verdict.played.roteiro
        for nota in verdict.wrong_notes:
            wanted = "; ".join(map(_told, roteiro.fim.notas)) or "nenhuma"
            line = (
                f"NOTA ERRADA {roteiro.autor}:{roteiro.linha} {roteiro.familia}: saiu {_told(nota)}; pedida: {wanted}"
            )
            console.print(line, style="bold red", markup=False)


def _told(nota: Nota) -> str:
    return f"{nota.documento} R$ {nota.valor} {' '.join(nota.servico)}"


def _cells(score: Score) -> tuple[str, ...]:
    return (
        str(score.dialogues),
        f"{score.right / score.dialogues:.0%}",
        f"{score.strict / score.dialogues:.0%}",
        str(score.wrong_notes),
        f"{score.repeated} de {score.answers}",
        str(score.beyond),
        f"{score.drafts_right} de {score.drafts}",
        str(score.drafts_wrong),
        f"{score.acts - score.acts_wrong} de {score.acts}",
    )


def _as_json(verdict: Verdict) -> dict[str, Any]:
    roteiro = verdict.played.roteiro
    return {
        "autor": roteiro.autor,
        "linha": roteiro.linha,
        "familia": roteiro.familia,
        "right": verdict.right,
        "strict": verdict.strict,
        "stuck": verdict.played.stuck,
        "wrong_notes": [nota.model_dump() for nota in verdict.wrong_notes],
        "other_service": [nota.model_dump() for nota in verdict.other_service],
        "lacking": [nota.model_dump() for nota in verdict.lacking],
        "unsaid": verdict.unsaid,
        "repeated": verdict.repeated,
        "silent": verdict.silent,
        "needless": verdict.needless,
        "beyond": verdict.beyond,
        "drafts": [
            {"texto": d.texto, "field": d.field, "wanted": d.wanted, "got": d.got, "asked": d.asked}
            for d in verdict.drafts
            if not d.right
        ],
        "acts": verdict.acts,
        "turns": [{"texto": turn.texto, "answers": turn.answers} for turn in verdict.played.turns],
    }
