"""The user's words made comparable, with the way back to every verbatim span.

The words that carry meaning in an order, with the ways people misspell and shorten them.

Patterns that know which words they cannot do without, so that most of them are never run.

Finds where a turn starts posing as the system's voice; what stands there is at most asked about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import DamerauLevenshtein

from extractor.words.lists import meanings, words

# How people shorten and misspell what they type every day; exact matches only.
ABBREVIATIONS: Final = {**meanings("abbreviations"), **meanings("number_spellings")}

# Cue words that may be recognised one edit away.
CUES: Final = tuple(meanings("cues"))
# Words one edit away from a cue that mean what they say.
NOT_TYPOS: Final = words("not_typos")
MIN_FUZZY: Final = 4  # shorter words have too many neighbours


@lru_cache(maxsize=4096)  # the same few hundred words make up most messages
def canonical(word: str) -> str | None:
    """Return the cue word that ``word`` (lower case, without accents except a lone ``é``) stands for, or ``None``."""
    if word in ABBREVIATIONS:
        return ABBREVIATIONS[word]
    return None if word in NOT_TYPOS or word in CUES else near(word)


def near(word: str) -> str | None:
    """Return the first cue word that begins like ``word`` and is at most one edit away, ``None`` without any."""
    if len(word) < MIN_FUZZY or word[-1] in "./":
        return None
    alike = [c for c in CUES if c[0] == word[0] and abs(len(c) - len(word)) <= 1]
    return next((c for c in alike if DamerauLevenshtein.distance(word, c, score_cutoff=1) <= 1), None)


STEM: Final = re.compile(r"([a-z]{1,3})[a-z]*")


def stems(text: str) -> frozenset[str]:
    r"""Return how the words of ``text`` begin: up to three letters of every unbroken run of a to z.

    Plain text and skeletons share their words, for a mark stands where other characters stood: a pattern that asks
    for a word's boundary (``\b``, a space) before a cue finds no more words in a skeleton than its plain text has.
    """
    return frozenset(STEM.findall(text))


class Cued:
    """A pattern, and the cues one of which is in every text that it matches.

    A cue is the beginning of a word (three letters, or all of a shorter word) that the pattern has at a word's
    boundary; ``signs`` are cues of any other kind, found wherever they stand. Between them they speak for every
    alternative of the pattern: ``tests/extractor/text/test_cues.py`` looks for texts that break this.
    """

    __slots__ = ("cues", "pattern", "signs")

    def __init__(self, cues: str, *alternatives: str, signs: tuple[str, ...] = ()) -> None:
        self.cues: Final = frozenset(cues.split())
        self.signs: Final = signs
        self.pattern: Final = re.compile("|".join(alternatives))

    def search(self, text: str, words: AbstractSet[str]) -> re.Match[str] | None:
        """Search ``text``, whose stems are among ``words``."""
        if self.cues.isdisjoint(words) and not self._signed(text):
            return None
        return self.pattern.search(text)

    def finditer(self, text: str, words: AbstractSet[str]) -> Iterable[re.Match[str]]:
        """Find every match in ``text``, whose stems are among ``words``."""
        if self.cues.isdisjoint(words) and not self._signed(text):
            return ()
        return self.pattern.finditer(text)

    def _signed(self, text: str) -> bool:
        for sign in self.signs:  # noqa: SIM110 - a generator costs more than most of the searches it would spare
            if sign in text:
                return True
        return False


FOLDED: Final = 4096  # characters whose plain form is remembered: people write with a few hundred
MAX_CHARS: Final = 1500  # an order fits in a tenth of this; longer text is pasted matter that only costs time
KEEP_AS_TYPED: Final = frozenset("ºª°²³¹½¼¾")  # NFKC would turn "nº" into "no" and "m²" into "m2"
DASHES: Final = frozenset("‐‑‒–—―−﹘﹣－")
EMOJI: Final = "\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff"  # inside [...]: arrows, symbols, pictographs
QUOTES: Final = {"“": '"', "”": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "´": "'"}
CONTROL_TOKEN: Final = re.compile(r"<\|[^|<>]{0,40}\|>")  # self-hosted servers read these as turn boundaries
CONTROL: Final = "\ue000"  # stands in for a control token, so that ``hostile`` still sees where one was
CODE: Final = re.compile(
    r"(?<![0-9a-z])(?=[a-z./-]{0,60}[0-9])[0-9a-z]+(?:[./-][0-9a-z]+){2,}"
)  # "b6.nfe.rju/vupp-65" is no sentence
# A point or a slash belongs to what it shortens ("p/"); in "S/A" it shortens nothing.
WORD: Final = re.compile(r"(?<![\w])[a-zéª]+(?![\wéª])(?:\.(?=[\s\d])|(?<!\bs)/(?=\s|[a-z]|$)|/(?=\s|(?!a\b)[a-z]|$))?")

# A lone "p" or "d" is "pra" or "de" only behind an amount, a note or a verb, or between two words, and before a word.
LONE: Final = re.compile(
    r"(?P<n>\b[Nn]ta)\b|(?:\d|\b(?i:reais|mil|contos?|notas?|nf|uma|outra|mand[ao]|envi[ao]|faz|emite|"
    r"[a-z]{2,}(?:ei|iu|ou))) (?P<p>p) (?=[^\W\d]{2}|\d)"
    r"|\b(?i:notas?|nf|uma|outra) (?P<d>d) (?=[^\W\d]{2}|\d)|"
    r"\b(?!(?i:vitamina|n[ií]vel|bloco|classe|tipo|letra|categoria|"
    r"grupo|turma|quadra|torre|plano|hepatite)\b)[^\W\d]{4,} "
    r"(?P<e>d) (?=[^\W\d]{2})"
)
_LONE_WORDS: Final = {"n": "nota", "p": "pra", "d": "de", "e": "de"}


def written_out(texto: str) -> str:
    """Return the words with "nta", and a lone "p" and "d" where they are plain, as their long forms."""
    for _ in range(2):  # one may stand where another is looked behind
        texto = LONE.sub(_long, texto)
    return texto


def _long(found: re.Match[str]) -> str:
    kind, typed = found.lastgroup or "", found[0]
    start, end = (each - found.start() for each in found.span(kind))
    return f"{typed[:start]}{_LONE_WORDS[kind]}{typed[end:]}"


@dataclass(frozen=True, slots=True)
class Text:
    """One turn, twice: ``original`` as typed, ``plain`` lower case, without accents, abbreviations spelled out.

    ``starts[i]`` and ``ends[i]`` are the slice of ``original`` that the character ``plain[i]`` came from; ``stems``
    are those of ``plain``.
    """

    original: str
    plain: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    stems: frozenset[str]

    def verbatim(self, start: int, end: int) -> str:
        """Return what the user typed for ``plain[start:end]``."""
        if start >= end:
            return ""
        return self.original[self.starts[start] : self.ends[end - 1]]


def read(original: str) -> Text:
    """Fold width, case, accents, dashes and invisible characters; spell out abbreviations and typed-wrong cue words."""
    original = original[:MAX_CHARS]
    if "<|" in original:
        original = CONTROL_TOKEN.sub(lambda m: CONTROL.ljust(len(m[0])), original)
    folded = list(map(_fold, original))
    plain = "".join(folded)
    alone = original.isascii() or not any(map(unicodedata.combining, original))
    if alone and len(plain) == len(original) and "" not in folded:  # one for one, as in nearly every message
        return _spell_out(original, plain, range(len(plain)), range(1, len(plain) + 1))
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(original):
        if len(chars) >= MAX_CHARS:  # one character may fold to eighteen
            break
        for char in _fold(original[start:end]):
            chars.append(char)
            starts.append(start)
            ends.append(end)
    return _spell_out(original, "".join(chars[:MAX_CHARS]), starts[:MAX_CHARS], ends[:MAX_CHARS])


def _clusters(original: str) -> list[tuple[int, int]]:
    """Slices of a base character with its combining marks, so that decomposed accents fold like composed ones."""
    bounds = [i for i, c in enumerate(original) if i == 0 or not unicodedata.combining(c)]
    return list(zip(bounds, [*bounds[1:], len(original)], strict=False))  # the last one ends where the text ends


@lru_cache(FOLDED)
def _fold(cluster: str) -> str:
    first = cluster[0]
    if first in KEEP_AS_TYPED:
        return first
    if first in "\n\r":
        return "\n"
    if first in DASHES:
        return "-"
    if first in QUOTES:
        return QUOTES[first]
    category = unicodedata.category(first)
    if category in {"Zs", "Zl", "Zp"} or first == "\t":
        return " "
    if category in {"Cf", "Cc", "Mn", "Me"}:
        return ""
    folded = unicodedata.normalize("NFKC", cluster).lower()
    if folded == "é":
        return folded  # the copula "é" and the conjunction "e" differ by this accent alone: see ``_spell_out``
    bare = unicodedata.normalize("NFD", folded)
    return "".join(c for c in bare if not unicodedata.combining(c))


def _spell_out(original: str, folded: str, starts: Sequence[int], ends: Sequence[int]) -> Text:
    found = _spelled(folded)
    if not found:
        plain = folded.replace("é", "e")
        return Text(original, plain, tuple(starts), tuple(ends), stems(plain))
    out: list[str] = []
    out_starts: list[int] = []
    out_ends: list[int] = []

    def keep(a: int, b: int) -> None:
        out.append(folded[a:b].replace("é", "e"))
        out_starts.extend(starts[a:b])
        out_ends.extend(ends[a:b])

    at = 0
    for start, stop, whole in found:
        keep(at, start)
        out.append(whole)
        out_starts.extend([starts[start]] * len(whole))
        out_ends.extend([ends[stop - 1]] * len(whole))
        at = stop
    keep(at, len(folded))
    plain = "".join(out)
    return Text(original, plain, tuple(out_starts), tuple(out_ends), stems(plain))


def _spelled(folded: str) -> list[tuple[int, int, str]]:
    """Return the slices that stand for another word, and that word."""
    found: list[tuple[int, int, str]] = []
    separated = sum(map(folded.count, "./-")) > 1  # a code has two separators
    codes = [m.span() for m in CODE.finditer(folded)] if separated else []
    for match in WORD.finditer(folded):
        if codes and any(a <= match.start() < b for a, b in codes):
            continue
        word = match[0]
        whole = canonical(word)
        if whole is None and word[-1] in "./":
            word = word[:-1]
            whole = canonical(word)
        if whole is None:
            continue
        whole += " " if word.endswith("/") else ""
        found.append((match.start(), match.start() + len(word), whole))
    return found


ROLE: Final = Cued(
    "ins mod ove",
    r"(?:^|[\s.;,\"'`(\[{>#*-])(?:system|assistant|developer|sistema|assistente|desenvolvedor|administrador|admin|"
    r"tool|function|root|openai|chatgpt)(?: (?:prompt|message|mensagem|override|instruction\w*|note|role|"
    r"user))?\s*[\"'\]>]{0,9}\s{0,9}+(?::|>|\])|\[/?(?:inst|sys|system)\]|<</?sys>>|</?(?:system|s|instructions?|"
    r"prompt|im_start|im_end|user|assistant|tool)>|###\s*\w+|\"(?:role|status|intent|transition|state|estado|"
    r"confirmad[oa]|validated?|validado|emitir|action|comando|tool)\"\s*:|\b(?:nova instrucao|novas instrucoes|new"
    r" instructions?|instrucao do sistema|modo (?:desenvolvedor|admin|debug)|developer mode|override)\b",
    signs=(":", ">", "]", "<", "#", '"'),
)
COMMANDING: Final = Cued(
    "des dis esq for ign mar sem wit",
    r"\b(?:ignor\w+|desconsider\w+|esquec\w+|disregard|forget)\b[^.\n]{0,40}\b(?:instruc\w+|"
    r"regras|prompt|anterior\w*|previous|instructions|acima)\b"
    r"|\bsem (?:pedir |precisar de |minha |nenhuma |a )?(?:confirma\w+|perguntar|validar|validacao)"
    r"\b|\bwithout (?:asking|confirm\w+)\b|\bmarque? (?:tudo|todos|os campos)\b[^.\n]{0,30}\bvalid\w+",
)

# Said to us, not about the work: as the only words of a clause they would else become a service.
ABUSE: Final = re.compile(
    r"\b(?:vai|va|vao)(?: \w{1,8})? (?:tomar (?:banho|no \w{1,6})|catar coquinho|pro inferno|a merda|"
    r"se (?:fod|fud|lasc)\w*)[^.;\n]*|\b(?:foda-se|fodase|vsf|vtnc|pqp|fdp)\b"
    r"|\b(?:seu|sua|seus|suas) (?:burr|idiot|imbecil|otari|palhac|lix)\w*"
)


def begins(text: Text) -> int:
    """Return the index at which the hostile part of a turn begins; its length when there is none."""
    plain = text.plain
    match = ROLE.search(plain, text.stems)
    control = plain.find(CONTROL)
    if match is None or 0 <= control < match.start():
        return control if control >= 0 else len(plain)
    brace = plain.rfind("{", 0, match.start() + 1)
    return brace if brace >= 0 and "}" not in plain[brace : match.start()] else match.start()


def commands(text: Text) -> bool:
    """Say whether the turn tries to steer the reader; its fields count, its free text does not become a description."""
    return COMMANDING.search(text.plain, text.stems) is not None
