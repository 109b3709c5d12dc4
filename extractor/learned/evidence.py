"""What speaks for each amount of a message being the invoice's: both readers' views, its neighbours, its arithmetic.

What was said before a message, in the corpus' words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Final

from extractor.amounts.roles import Role, roles_of
from extractor.contract import INTENTS, Context
from extractor.learned.reader import LONGEST, MOST_WORDS, LearnedReading, Mencao, Rotulo, Word, act_features, cut
from extractor.rules import RulesReading
from extractor.text.marks import Kind, Mark
from state_machine.invoice.fields import Campo
from state_machine.values.money import LIMITE

INICIO, RESUMO = "inicio", "resumo"
ASKED: Final = {Campo.VALOR: "pede_valor", Campo.DOCUMENTO: "pede_documento", Campo.DESCRICAO: "pede_servico"}
CORPUS: Final = frozenset({INICIO, RESUMO, *ASKED.values()})  # the corpus has others, which no turn can tell yet


def situation(contexto: Context) -> str:
    """Return the situation of a turn: the summary is shown, a field is asked, or anything else."""
    if contexto.resumo_mostrado:
        return RESUMO
    return ASKED.get(contexto.pendente, INICIO) if contexto.pendente else INICIO


LEVELS: Final = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
NEAR: Final = 5  # words on each side that are seen with their place
LEFT, RIGHT = 10, 8  # words that are seen without it
COMPARED: Final = 8  # other amounts that sums and products are looked for among
MANY: Final = 40  # amounts: a list, of which none is taken for the invoice's


@dataclass(frozen=True, slots=True)
class Evidence:
    """One amount of the message: its value, where it stands, whether the rules take it, and its features."""

    valor: str  # "1500.00"
    start: int
    end: int
    taken: bool  # by the rules, as the invoice's
    read: bool  # by the rules, as what may be the invoice's
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Amount:
    mark: Mark
    start: int
    end: int
    roles: frozenset[Role]

    @property
    def valor(self) -> str:
        return format(self.mark.amount, ".2f")


def evidence(reading: RulesReading, learned: LearnedReading, contexto: Context) -> list[Evidence]:
    """Return the evidence for each distinct amount, that of its best place; nothing for a message full of amounts."""
    texto = reading.skeleton.text.original
    words = cut(texto, LONGEST, MOST_WORDS)
    marks = [m for m in reading.skeleton.marks if _is_amount(m)]
    if not words or not 0 < len(marks) <= MANY:
        return []
    if any(reading.skeleton.text.starts[mark.start] >= words[-1].end for mark in marks):
        return []  # of what is not read to its end nothing is taken
    amounts = list(_amounts(reading, marks))
    whole = [*_of_message(words, reading, learned, contexto), f"valores={min(len({a.valor for a in amounts}), 5)}"]
    best: dict[str, tuple[float, Evidence]] = {}
    for amount in amounts:
        mentions = [m for m in learned.mencoes if m.start < amount.end and m.end > amount.start]
        view = _view(reading, amount.valor, texto[amount.start : amount.end])
        others = [other for other in amounts if other.valor != amount.valor]
        features = (
            *whole,
            *_of_views(view, amount, mentions, words, contexto, learned),
            *_of_relations(amount, others, amounts, contexto, learned),
            *_of_place(amount, words),
            f"outras={_level(min((m.certeza for m in _numbers(learned) if m not in mentions), default=1.0))}",
            f"totais={_totals(learned, amounts)}|{amount.valor in _total_values(learned, amounts)}",
        )
        weight = 2.0 * (view == "taken") + sum(1 + m.certeza / 10 for m in mentions if m.rotulo is Rotulo.TOTAL)
        if amount.valor not in best or weight > best[amount.valor][0]:
            read = view == "taken" or view.startswith("in:")
            found = Evidence(amount.valor, amount.start, amount.end, view == "taken", read, features)
            best[amount.valor] = (weight, found)
    return [found for _, found in best.values()]


def _is_amount(mark: Mark) -> bool:
    said = mark.kind in {Kind.MONEY, Kind.NUMBER} and not mark.negative
    return said and mark.amount is not None and 0 < mark.amount < LIMITE


def _amounts(reading: RulesReading, marks: Iterable[Mark]) -> Iterator[_Amount]:
    skeleton, roles = reading.skeleton, roles_of(reading.skeleton)
    for mark in marks:
        start, end = skeleton.text.starts[mark.start], skeleton.text.ends[mark.end - 1]
        yield _Amount(mark, start, end, frozenset(roles.get(mark, ())))


def _view(reading: RulesReading, valor: str, verbatim: str) -> str:
    """Say what the rules think of an amount: "taken", "other" was, "in:" or "out:" of a doubt for a reason, "none"."""
    extraction = reading.extraction
    taken = next((c.valor for c in extraction.candidates if c.campo is Campo.VALOR), None)
    if taken is not None:
        return "taken" if taken == valor else "other"
    doubt = next((d for d in extraction.doubts if d.campo is Campo.VALOR), None)
    if doubt is None:
        return "none"
    return f"{'in' if verbatim in doubt.trecho else 'out'}:{doubt.motivo}"


def _of_message(
    words: Sequence[Word], reading: RulesReading, learned: LearnedReading, contexto: Context
) -> Iterator[str]:
    here = situation(contexto)
    yield from (f"m:{feature}" for feature in act_features(words, here))
    yield f"situacao={here}"
    yield f"ato={learned.ato}"
    yield f"ato={learned.ato}|{_level(learned.certeza)}"
    yield f"intent={INTENTS[reading.extraction.ato]}"
    for rotulo, count in Counter(mencao.rotulo for mencao in learned.mencoes).items():
        yield f"ha:{rotulo}={min(count, 3)}"


def _of_views(
    view: str,
    amount: _Amount,
    mentions: Sequence[Mencao],
    words: Sequence[Word],
    contexto: Context,
    learned: LearnedReading,
) -> Iterator[str]:
    rotulo = mentions[0].rotulo if mentions else "O"
    level = _level(mentions[0].certeza) if mentions else "0"
    mine = _numerals(words, amount.start, amount.end)
    same = any(_numerals(words, mention.start, mention.end) == mine for mention in mentions)
    yield f"regras={view}"
    yield f"regras={view}|{situation(contexto)}"
    yield f"regras={view}|{learned.ato}"
    yield f"rotulo={rotulo}"
    yield f"rotulo={rotulo}|{level}"
    yield f"rotulo={rotulo}|{view}"
    yield f"rotulo={rotulo}|{level}|{view}"
    yield f"trecho={'igual' if same else 'parte' if mentions else 'nenhum'}"
    yield f"tipo={amount.mark.kind}"
    for role in sorted(amount.roles):
        yield f"papel={role}"
        yield f"papel={role}|{rotulo}"
    yield f"papeis={'+'.join(sorted(amount.roles))}"


def _of_relations(
    amount: _Amount, others: Sequence[_Amount], amounts: Sequence[_Amount], contexto: Context, learned: LearnedReading
) -> Iterator[str]:
    mine = _value(amount)
    values = [_value(other) for other in others[:COMPARED]]
    yield from _arithmetic(mine, values)
    if values:
        yield "maior" if mine >= max(values) else "menor" if mine <= min(values) else "meio"
    yield f"vezes={min(sum(other.valor == amount.valor for other in amounts), 3)}"
    yield f"grandeza={len(str(int(mine)))}"
    if mine % 100 == 0:
        yield "redondo"
    if contexto.conhecidos.get(Campo.VALOR) == amount.valor:
        yield f"de_antes|{situation(contexto)}"
        yield f"de_antes|{learned.ato}"


def _arithmetic(mine: Decimal, values: Sequence[Decimal]) -> Iterator[str]:
    for one, two in combinations(values, 2):
        if one + two == mine:
            yield "soma"
        if one * two == mine:
            yield "produto"
        if abs(one - two) == mine:
            yield "diferenca"
    if mine * 2 in values:
        yield "metade"
    if mine / 2 in values:
        yield "dobro"


def _of_place(amount: _Amount, words: Sequence[Word]) -> Iterator[str]:
    inside = [at for at, word in enumerate(words) if word.start < amount.end and word.end > amount.start]
    if not inside:
        return
    first, last = inside[0], inside[-1]

    def shape(place: int) -> str:
        return words[place].shape if 0 <= place < len(words) else "<>"

    for offset in range(1, NEAR + 1):
        yield f"-{offset}:{shape(first - offset)}"
        yield f"+{offset}:{shape(last + offset)}"
    before, after = words[max(0, first - LEFT) : first], words[last + 1 : last + 1 + RIGHT]
    yield f"antes2:{_joined(before[-2:])}"
    yield f"antes3:{_joined(before[-3:])}"
    yield f"depois2:{_joined(after[:2])}"
    yield from (f"antes:{word.shape}" for word in before if word.kind == "w")
    yield from (f"depois:{word.shape}" for word in after if word.kind == "w")
    yield f"escrito:{_joined(words[first : last + 1])}"
    yield f"escrito={''.join(word.kind for word in words[first : last + 1])}"
    yield f"sozinho={len(inside) == len(words)}"
    yield f"comeca={first == 0}"
    yield f"palavras={min(len(words), 12)}"


def _total_values(learned: LearnedReading, amounts: Sequence[_Amount]) -> set[str]:
    totals = learned.of(Rotulo.TOTAL)
    return {a.valor for a in amounts if any(m.start < a.end and m.end > a.start for m in totals)}


def _totals(learned: LearnedReading, amounts: Sequence[_Amount]) -> int:
    return len(_total_values(learned, amounts))


def _numbers(learned: LearnedReading) -> Iterable[Mencao]:
    return (mencao for mencao in learned.mencoes if mencao.rotulo.startswith("num-"))


def _numerals(words: Sequence[Word], start: int, end: int) -> list[int]:
    return [word.start for word in words if word.start < end and word.end > start and word.kind in "DN"]


def _joined(words: Sequence[Word]) -> str:
    return " ".join(word.shape for word in words)


def _level(certeza: float) -> str:
    return next((str(level) for level in LEVELS if certeza < level), "1")


def _value(amount: _Amount) -> Decimal:
    assert amount.mark.amount is not None  # noqa: S101 - ``_amounts`` leaves the others out
    return amount.mark.amount
