"""Cuts a turn at its marks and pauses and cleans what is left between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractor.text.folding import EMOJI, Cued
from extractor.text.marks import NOISE, NOISE_MARKS, TALK, Skeleton, is_work
from extractor.words.lists import words

CUT: Final = re.compile("[DBFEVUTHQ]")  # numbers, months, percentages and identifiers may belong to the description
PAUSE: Final = re.compile(
    rf"\n|[;|!?{EMOJI}]|"
    r"\.(?=\s|$)|,(?!\d)|\s[-/]\s|[()\[\]{}\"*_]|:\s|\s(?=(?:mas|porem|pois)\b)|"
    r"\s(?=(?:e )?(?:o )?(?:valor|preco|cnpj|cpf)\b)"
)
WORD: Final = re.compile(r"[a-z0-9$&]+|[A-Z]")
LEAD: Final = re.compile(
    r"(?:\W+|(?:oi+e*|ola|opa|bom dia|boa tarde|boa noite|tudo bem|olha|(?:o )?seguinte|(?:mas |porem )?(?:na"
    r" verdade|na real|alias|ops|opa|digo|quer dizer)|em vez|eu|a gente|nos|[oa]|eh?|foi|foram|sao|era|que|"
    r"[nd][oa]s?|de|em|por|pel[oa]s?|referentes?(?: (?:ao?s?|as))?|refere-se ao?|sobre|um|uma|os|as|e|com|mais|so|"
    r"entao|ai|ja|bom|ta|no caso|fiz(?:emos)?|fez|prestei|prestamos|realizei|realizamos|executei|feit[oa]s?|"
    r"realizad[oa]s?|prestad[oa]s?|cobr(?:a|ar|e|ei|ando)|deu|custou|ficou|fica|total|seria|sera|vai ser|ser|for|the|"
    r"of|an?|to|coloc(?:a|ar|que)|bot(?:a|ar|e)|poe|por|anot(?:a|ar|e)|escrev[ea]r?|pode|descricao|discriminacao|"
    r"(?:a|o|por)? ?(?:hora|hr|mes|cada)(?: cada)?|trata-se d[eoa]|tipo|tambem|concerning|regarding|about|del?|la|el|"
    r"un|una|por concepto de|valor(?: (?:eh|de|total))*|(?:cliente|tomador|paciente|contratante|aluna?)|dei|menos|ou"
    r" menos|(?:mensa(?:l|is)|a vista|avista|via pix|no pix|pelo pix|por mes|mensalmente|liquidos?|brutos?|redondos?|"
    r"reais|certinhos?|exatos?|cravados?|em dinheiro|a prazo))(?![a-z]))"
)
TRAIL: Final = re.compile(
    r"(?:(?<!\W)\W++|\W{1,9}|\s{1,9}+e (?:el[ea]s?|o cliente|a cliente) (?:quer|precisa|pediu|querem|precisam)\b.*|"
    r"\s{1,9}+que (?:eu |a gente |nos |ele |ela )?(?:fiz|fizemos|prestei|prestamos|realizei|realizamos|fez|"
    r"foi (?:feit|realizad|prestad)[oa])\b.*|\s(?:prestad|realizad|executad)[oa]s?(?: (?:em|no|na))?(?: mes)?(?:"
    r" de)?(?: M)?|(?<![a-z])(?<!\bs[./])(?:por favor|obrigado|valeu|por|de|d[oa]s?|no|na|em|com|e|eh|a|o|por|"
    r"pel[oa]|para|pra|pro|mas|que|foi|deu|ficou|fica|sao|custou|cnpj|cpf|documento|doc|valor|total|no valor|ta|ok|"
    r"viu|ne|blz|beleza|tche|visse|oxe|uai|tudo|so|isso|email|cliente|tomador|empresa|por gentileza|abracos?|att|"
    r"thanks|please|thank you|hein|ai|la|ja|gracias|kk+|rs(?:rs)*|nome|nota|cobr(?:a|ar|ei)|fechado|preco|custo|"
    r"del[ea]s?|mes|hoje|ontem|competencia|data|dia|chave|pix|for|to|at|is|of|vence|vencimento|pago|pagos|cada))$"
)

TAIL: Final = 200  # characters at the end in which they are looked for: "que eu fiz ontem na loja dele"
TRAILS: Final = 40  # of them after each other; as many words as the longest description has

# "preciso emitir uma nota fiscal de serviço": an order, of which nothing is the description.
ORDER: Final = Cued(
    "not",
    r".{0,60}?\bnotas?\b(?:-e\b)?(?: (?:fiscal|fiscais|eletronica|avulsa|nova|agora|hoje|pra mim|para mim|pra gente|"
    r"por favor|ai|de servicos?(?= d[eoa]| referente)))*",
)
ASKED_FOR: Final = re.compile(r"\b(?:pediu|quer|queria|precisa|pedindo|solicitou)(?: (?:a|uma|de))* nota")
BARE_LABEL: Final = re.compile(r"servicos? (?!d[eoa]s?\b)(?P<w>[a-z]+)")
BUILT: Final = frozenset({"obra", "obras"})
BUILDING: Final = Cued("obr", r"(?<!mao de )\bobras?\b")  # labour ("mão de obra") is a part of a price
INTRODUCES: Final = Cued(
    "aqu fal me nom sou", r"\b(?:aqui (?:eh|e|quem fala)|meu nome eh|me chamo|quem fala eh|(?:eu )?sou [oa])\b"
)
BY: Final = Cued("pel ref", r"\s(?=(?:pel[oa]s?|referente)\s)")
FOR: Final = re.compile(r"\s{0,9}+(?:pra|pro|para)(?: [ao])?\s")
PREPOSITIONS: Final = words("name_joints")
MAX_NAME_WORDS: Final = 6  # longer names are companies, and those carry capitals or a label


@dataclass(frozen=True, slots=True)
class Fragment:
    """A cleaned stretch ``line[start:end]`` of a skeleton, and how it stood there."""

    start: int
    end: int
    lead: str  # what was stripped before it, e.g. "pela "
    words: tuple[str, ...]
    content: int  # words of substance
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
    line, words = skeleton.before(end)
    bounds: list[tuple[int, int]] = []
    at = 0
    for i in sorted({m.start() for m in CUT.finditer(line)}.union(i for i in cuts if i < len(line))):
        bounds.append((at, i))
        at = i + 1
    bounds.append((at, len(line)))
    found: list[Fragment] = []
    for a, b in bounds:
        if line[a:b].isspace() or a == b:
            continue
        pieces = _pieces(line, a, b, words)
        for n, (start, stop) in enumerate(pieces):
            first = not line[a:start].strip(" ,")  # "500, barbearia" follows its price as "500 barbearia" does
            fragment = _clean(
                line,
                start,
                stop,
                words,
                after=line[a - 1] if a and first else "",
                before=line[b : b + 1] if n == len(pieces) - 1 else "",
            )
            if fragment is not None:
                found.append(fragment)
    return found


def _pieces(line: str, a: int, b: int, words: frozenset[str]) -> list[tuple[int, int]]:
    pieces, at = [], a
    for pause in PAUSE.finditer(line, a, b):
        pieces.append((at, pause.start()))
        at = pause.end()
    pieces.append((at, b))
    return [part for piece in pieces for part in _by(line, *piece, words)]


def _name_then_work(line: str, a: int, b: int, *, shortest: int) -> tuple[int, int] | None:
    """Find where a lower-case name ends and work begins: "joão da silva | serviço de pedreiro"."""
    previous = None
    for count, match in enumerate(WORD.finditer(line, a, b)):
        if count > MAX_NAME_WORDS:
            return None
        if is_work(match[0]):
            apart = previous is not None and count >= shortest and previous[0] not in PREPOSITIONS
            return (previous.end(), match.start()) if apart and previous is not None else None
        previous = match
    return None


def _by(line: str, a: int, b: int, words: frozenset[str]) -> list[tuple[int, int]]:
    """Split "do João | pela pintura": who is on the left, what on the right."""
    opened = FOR.match(line, a, b)
    after_document = line[a - 1 : a] in {"D", "B"}
    if opened or after_document:
        split = _name_then_work(line, opened.end() if opened else a, b, shortest=1 if opened else 2)
        if split is not None:
            return [(a, split[0]), (split[1], b)]
    if BY.cues.isdisjoint(words):
        return [(a, b)]
    for match in BY.pattern.finditer(line, a, b):
        left, right = WORD.findall(line, a, match.start()), WORD.findall(line, match.end(), b)
        if left and not any(map(is_work, left)) and any(map(is_work, right)):
            return [(a, match.start()), (match.end(), b)]
    return [(a, b)]


def _skip_order(line: str, start: int, end: int, words: frozenset[str]) -> int:
    """Step over "preciso emitir uma nota fiscal de serviço" when nothing but an order stands before the description."""
    match = None if ORDER.cues.isdisjoint(words) else ORDER.pattern.match(line, start, end)
    if match is None or any(is_work(w) for w in re.findall(r"[a-z]+", match[0]) if not w.startswith("servico")):
        return start
    unknown = [w for w in re.findall(r"[a-z]+", match[0]) if w not in NOISE and w not in TALK]
    asked_by_somebody = len(unknown) <= 2 and ASKED_FOR.search(match[0])  # noqa: PLR2004 - "a Ana Paula pediu nota"
    return match.end() if not unknown or asked_by_somebody else start


def trail_begins(line: str, start: int, end: int) -> int:
    """Return where the words at the end of ``line[start:end]`` begin that tell nothing of what was done."""
    for _ in range(TRAILS):
        if start >= end or (match := TRAIL.search(line, max(start, end - TAIL), end)) is None:
            break
        end = match.start()
    return end


def _clean(line: str, start: int, end: int, stems: frozenset[str], *, after: str, before: str) -> Fragment | None:
    if WORD.search(line, start, end) is None:
        return None
    begin = start
    start = _skip_order(line, start, end, stems)
    while start < end and (match := LEAD.match(line, start, end)):
        start = match.end()
    label = BARE_LABEL.match(line, start, end)
    if label and is_work(label["w"]):
        start = label.end("w") - len(label["w"])  # "serviço maquiagem" is a label without its colon
    end = trail_begins(line, start, end)
    if not INTRODUCES.cues.isdisjoint(stems) and INTRODUCES.pattern.search(line, begin, end):
        return None
    words = tuple(m[0] for m in WORD.finditer(line, start, end))
    built = not BUILDING.cues.isdisjoint(stems) and BUILDING.pattern.search(line, start, end) is not None
    content = [
        w
        for w in words
        if (w not in NOISE or (built and w in BUILT)) and not (w.isupper() or w.isdecimal() or NOISE_MARKS.fullmatch(w))
    ]
    if not content or all(len(w) < 2 for w in content):  # noqa: PLR2004 - single letters are slips
        return None
    return Fragment(
        start,
        end,
        line[begin:start],
        words,
        len(content),
        after_money=after in {"V", "N", "U"} and bool(after),
        before_document=before in {"D", "B"} and bool(before),
    )
