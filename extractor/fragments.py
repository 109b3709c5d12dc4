"""Cuts a turn at its marks and pauses and cleans what is left between them; knows no field."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from extractor.vocabulary import NOISE, NOISE_MARKS, TALK, is_work

if TYPE_CHECKING:
    from extractor.marks import Skeleton

CUT_KINDS: Final = frozenset("DBFEVUTH")  # numbers, months, percentages and identifiers may belong to the description
PAUSE: Final = re.compile(r"\n|[;|!?]|\.(?=\s|$)|,(?!\d)|\s[-/]\s|[()\[\]{}\"*_]|:\s|\s(?=(?:mas|porem|pois)\b)")
WORD: Final = re.compile(r"[a-z0-9$&]+|[A-Z]")
LEAD: Final = re.compile(
    r"(?:\W+|(?:[oa]|eh?|foi|foram|sao|era|que|[nd][oa]s?|de|em|por|pel[oa]s?|referentes?(?: (?:ao?s?|as))?|refere-se ao?|sobre|um|uma|os|as|"
    r"e|com|mais|so|entao|ai|ja|bom|ta|no caso|fiz(?:emos)?|fez|prestei|prestamos|realizei|realizamos|executei|feit[oa]s?|"
    r"realizad[oa]s?|prestad[oa]s?|cobr(?:a|ar|e|ei|ando)|deu|custou|ficou|fica|total|seria|sera|vai ser|ser|for|the|of|an?|to|"
    r"coloc(?:a|ar|que)|bot(?:a|ar|e)|poe|por|anot(?:a|ar|e)|escrev[ea]r?|pode|descricao|discriminacao|"
    r"(?:a|o|por)? ?(?:hora|hr|mes|cada)(?: cada)?|trata-se d[eoa]|tipo|tambem|concerning|regarding|about|del?|la|el|un|una|por concepto de|"
    r"valor(?: (?:eh|de|total))*|"
    r"(?:mas |porem )?(?:na verdade|na real|alias|ops|opa|digo|quer dizer))(?![a-z]))"
)
TRAIL: Final = re.compile(
    r"(?:\W+|(?<![a-z])(?:por favor|obrigado|valeu|por|de|d[oa]s?|no|na|em|com|e|eh|a|o|por|pel[oa]|para|pra|pro|mas|que|foi|deu|ficou|"
    r"fica|sao|custou|cnpj|cpf|documento|doc|valor|total|no valor|ta|ok|viu|ne|blz|beleza|tudo|so|isso|email|cliente|tomador|"
    r"por gentileza|abracos?|att|thanks|please|thank you|hein|ai|la|ja|gracias|kk+|rs(?:rs)*|nome|nota|cobr(?:a|ar|ei)|fechado|"
    r"preco|custo|del[ea]s?|mes|hoje|ontem|competencia|data|dia|chave|pix|for|to|at|is|of|vence|vencimento|pago|pagos|cada))$"
)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A cleaned stretch ``line[start:end]`` of a skeleton, and how it stood there."""

    start: int
    end: int
    lead: str  # what was stripped before it, e.g. "pela "
    words: tuple[str, ...]
    after_money: bool
    before_document: bool

    @property
    def works(self) -> bool:
        """Whether one of its words names work."""
        return any(is_work(w) for w in self.words)

    @property
    def talks(self) -> bool:
        """Whether it is conversation."""
        return any(w in TALK for w in self.words)


def fragments(skeleton: Skeleton, cuts: frozenset[int], end: int) -> list[Fragment]:
    """Return the cleaned fragments of ``line[:end]``; ``cuts`` are positions of marks that were used up."""
    line = skeleton.line[:end]
    bounds: list[tuple[int, int]] = []
    at = 0
    for i, char in enumerate(line):
        if i in cuts or char in CUT_KINDS:
            bounds.append((at, i))
            at = i + 1
    bounds.append((at, len(line)))
    found: list[Fragment] = []
    for a, b in bounds:
        pieces = _pieces(line, a, b)
        for n, (start, stop) in enumerate(pieces):
            fragment = _clean(
                line,
                start,
                stop,
                after=line[a - 1] if a and n == 0 else "",
                before=line[b : b + 1] if n == len(pieces) - 1 else "",
            )
            if fragment is not None:
                found.append(fragment)
    return found


def _pieces(line: str, a: int, b: int) -> list[tuple[int, int]]:
    pieces, at = [], a
    for pause in PAUSE.finditer(line, a, b):
        pieces.append((at, pause.start()))
        at = pause.end()
    pieces.append((at, b))
    return pieces


def _clean(line: str, start: int, end: int, *, after: str, before: str) -> Fragment | None:
    begin = start
    while start < end and (match := LEAD.match(line, start, end)):
        start = match.end()
    while start < end and (match := TRAIL.search(line, start, end)):
        end = match.start()
    words = tuple(m[0] for m in WORD.finditer(line, start, end))
    content = [
        w for w in words if w not in NOISE and not w.isupper() and not NOISE_MARKS.fullmatch(w) and not w.isdigit()
    ]
    if not content or all(len(w) < 2 for w in content):  # noqa: PLR2004 - single letters are slips
        return None
    return Fragment(
        start,
        end,
        line[begin:start],
        words,
        after_money=after in {"V", "N", "U"} and bool(after),
        before_document=before in {"D", "B"} and bool(before),
    )
