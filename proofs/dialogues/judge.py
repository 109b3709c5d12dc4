"""Judges a played dialogue: what was stored, what each line brought about, repetition, and the notes in the end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from extractor.contract import Ato
from proofs.dialogues.script import fold, names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.dialogues.play import Played, Standing, Turn
    from proofs.dialogues.script import Nota

# What a line may bring about beside its answer. A draft that the label itself demands is always allowed.
_DRAFT, _CLOSED, _ISSUED = "mudou o rascunho", "encerrou a nota", "emitiu"
MAY: Final[dict[Ato, frozenset[str]]] = {
    **{ato: frozenset() for ato in (Ato.ESPERA, Ato.PERGUNTA, Ato.SOCIAL, Ato.FORA, Ato.REGISTRO, Ato.PESSOA)},
    **{ato: frozenset({_DRAFT}) for ato in (Ato.DADOS, Ato.CORRIGE, Ato.REPETE, Ato.VARIAS, Ato.FISCAL, Ato.DEPOIS)},
    **{ato: frozenset({_DRAFT, _CLOSED}) for ato in (Ato.NEGA, Ato.RECUSA, Ato.RECLAMA, Ato.CANCELA_NOTA)},
    Ato.CONFIRMA: frozenset({_DRAFT, _ISSUED}),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A field that a label names: what should stand after that line, and what does; ``asked``: it is doubtful."""

    texto: str
    field: str
    wanted: str | None
    got: str | None
    asked: bool

    @property
    def right(self) -> bool:
        """Documents and amounts are the same; of a service or name, one word is shared."""
        if self.wanted is None or self.got is None or self.field in {"documento", "valor"}:
            return self.wanted == self.got
        return any(names(self.got, [word]) for word in self.wanted.split())

    @property
    def wrong(self) -> bool:
        """Something stands unmarked that must not: worse than a question."""
        return not self.right and self.got is not None and not self.asked


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was judged of one dialogue. ``wrong_notes`` should be empty, whatever else fails.

    ``needless`` pairs a line with the field that was asked for after it, although the person had said it. ``beyond`` is
    how many turns more than the fewest the person needed; ``silent`` are lines that got no answer;
    ``acts`` pairs a line with what it must not have brought about.
    """

    played: Played
    wrong_notes: tuple[Nota, ...]
    other_service: tuple[Nota, ...]
    lacking: tuple[Nota, ...]
    unsaid: bool
    answers: int
    repeated: tuple[str, ...]
    silent: tuple[str, ...]
    needless: tuple[tuple[str, str], ...]
    beyond: int
    drafts: tuple[Draft, ...]
    judged_acts: int
    acts: tuple[tuple[str, str], ...]

    @property
    def right(self) -> bool:
        """Exactly the wanted notes were issued, and what had to be said was said."""
        bad = self.wrong_notes or self.other_service or self.lacking or self.unsaid or self.played.stuck
        return not bad

    @property
    def strict(self) -> bool:
        """It is right, and nobody was asked what they had said: an amount, a document, a service that was missed."""
        return self.right and not self.needless


def judge(played: Played) -> Verdict:
    """Return what came of it beside what was wanted."""
    fim = played.roteiro.fim
    lacking, others, wrong = list(fim.notas), [], []
    for nota in played.issued:
        same = [each for each in lacking if (each.documento, each.valor) == (nota.documento, nota.valor)]
        fits = [each for each in same if names(nota.servico[0], each.servico)]
        for found in (fits or same)[:1]:
            lacking.remove(found)
        if not same:
            wrong.append(nota)
        elif not fits:
            others.append(nota)
    answers = [text for turn in played.turns for text in turn.answers]
    drafts = [draft for turn in played.turns for draft in _drafts(turn)]
    judged = [turn for turn in played.turns if turn.fala and turn.fala.ato]
    said = fold("\n".join(answers))
    return Verdict(
        played,
        tuple(wrong),
        tuple(others),
        tuple(lacking),
        unsaid=bool(fim.contem) and not any(fold(word) in said for word in fim.contem),
        answers=len(answers),
        repeated=tuple(text for before, text in pairwise(answers) if text == before),
        silent=tuple(turn.texto for turn in played.turns if not turn.answers),
        needless=tuple(_needless(played)),
        beyond=max(0, sum(turn.fala is None for turn in played.turns) - played.roteiro.needed),
        drafts=tuple(drafts),
        judged_acts=len(judged),
        acts=tuple((turn.texto, done) for turn in judged for done in _done(turn) if not _allowed(turn, done)),
    )


def _needless(played: Played) -> Iterator[tuple[str, str]]:
    """Yield each line after which a field is asked for that its invoice's lines, or an answer, have named."""
    said: set[str] = set()
    words = ""
    for turn in played.turns:
        named = turn.fala.depois.model_dump(exclude_unset=True) if turn.fala else {}
        said = {*said, *named} - {name for name, value in named.items() if value is None}
        if turn.fala is None and turn.antes.pedido:
            said.add(turn.antes.pedido)
        words += f" {turn.texto}"
        if any(nota.servico and names(words, nota.servico) for nota in played.roteiro.fim.notas):
            said.add("servico")
        if turn.depois.pedido in said:
            yield turn.texto, turn.depois.pedido
        if turn.issued or (turn.antes.aberta and not turn.depois.aberta):
            said, words = set(), ""


def _drafts(turn: Turn) -> list[Draft]:
    if turn.fala is None:
        return []
    depois = turn.fala.depois
    return [
        Draft(turn.texto, name, getattr(depois, name), turn.depois.values.get(name), asked=name in turn.depois.doubtful)
        for name in sorted(depois.model_fields_set)
    ]


def _done(turn: Turn) -> list[str]:
    """Say what this line brought about."""
    if turn.issued:
        return [_ISSUED]
    if turn.antes.aberta and not turn.depois.aberta:
        return [_CLOSED]
    return [_DRAFT] if _stored(turn.antes) != _stored(turn.depois) else []


def _stored(standing: Standing) -> dict[str, str]:
    return {name: value for name, value in standing.values.items() if name != "nome"}


def _allowed(turn: Turn, done: str) -> bool:
    if turn.fala is None or turn.fala.ato is None:
        return True
    demanded = done == _DRAFT and bool(turn.fala.depois.model_fields_set) and all(d.right for d in _drafts(turn))
    return demanded or done in MAY[turn.fala.ato]
