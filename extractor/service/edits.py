"""Obeys corrections of the service's text: words added to it, put in its place, or taken out of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from extractor.fields.description import OF
from extractor.text.cues import Cued
from extractor.text.folding import read
from state_machine.invoice.fields import Campo, Candidate

if TYPE_CHECKING:
    from extractor.text.folding import Text

_TEXT: Final = r"(?:descricao|discriminacao|texto|servicos?|detalhamento|historico)"
_ADD: Final = (
    r"(?:acrescent\w+|adicion\w+|inclu\w+|complement\w+|(?:coloc\w+|poe|ponha|bot\w+|escrev\w+) (?:tambem|mais))"
)
_MORE: Final = r"(?: (?:ai|tambem|mais|ainda|la|o texto|o seguinte|que foi|que eh|que))*"
# As in "acrescenta na descrição, pedido 4500187162".
ADDED_AFTER: Final = Cued(
    "acr adi inc com col poe pon bot esc",
    rf"\b{_ADD}{_MORE} (?:n[ao]|ao?) (?:(?:{_TEXT}){OF}|nota(?= ?:)){_MORE} ?[:,-]? ?[\"']?(?P<d>[^\s\"':,-].*)",
)
# As in "acrescenta com material incluso na descrição".
ADDED_BEFORE: Final = Cued(
    "acr adi inc com",
    rf"\b{_ADD}{_MORE}[: ]+[\"']?(?P<d>[^\s\"'].{{0,300}}?)[\"']? "
    rf"(?:n[ao]|ao?|no fim d[ao]|ao final d[ao]) {_TEXT}\W*$",
)
REPLACED: Final = Cued(
    "alt atu bot cha col cor dei esc mud poe pon sub tro",
    r"\b(?:troc\w+|mud\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|substitu\w+|coloc\w+|poe|bot\w+|ponha|deix\w+|"
    rf"escrev\w+)(?: (?:ai|la|o|a|n[ao]|tambem|so))* {_TEXT}{OF} (?:(?:de|do) .{{1,60}}? )?(?:para|pra|pro|por|como|"
    r"que foi|que eh|assim)[: ]+[\"']?(?P<d>[^\s\"'].*)",
)
# As in "serviço põe remoção de 3 veículos".
PUT: Final = Cued(
    "col poe pon bot dei esc",
    rf"(?:^|[.;!\n])\W{{0,3}}(?:[oa] |n[ao] )?{_TEXT}{OF} (?:coloc\w+|poe|ponha|bot\w+|deix\w+|escrev\w+)"
    r"(?: (?:ai|la|assim|so|o seguinte|como))*[: ,-]+[\"']?(?P<d>[^\s\"'].*)",
)
# As in "são 57 leggings, viu" where the text has 56 of them.
COUNTED: Final = Cued("sao era for", r"\b(?:sao|eram|foram)(?: so)? (?P<d>\d{1,5} [a-z]{3,})\b")
_OUT: Final = r"(?:tir[aeo]\w*|remov\w+|apag\w+|exclu\w+|retir\w+|delet\w+)(?: (?:ai|la|por favor|so))*"
REMOVED_BEFORE: Final = Cued(
    "tir rem apa exc ret del", rf"\b{_OUT} (?P<d>\S.{{0,120}}?) (?:la )?(?:d[ao]|n[ao]) (?:texto d[ao] )?{_TEXT}\W*$"
)
REMOVED_AFTER: Final = Cued(
    "tir rem apa exc ret del", rf"\b{_OUT} (?:d[ao]|n[ao]) {_TEXT}{OF} ?[:,-]? ?(?P<d>\S.{{0,120}})"
)
# Where the words of a correction end: another field is named, or the person thanks.
ENDS: Final = re.compile(
    r"[,.;\n]?\s{1,9}(?:e |mas )?(?:o |a )?(?:valor|cnpj|cpf|preco|email|e-mail)\b\s{0,9}"
    r"(?:[:=]|eh?\b|de\b|para\b|pra\b|certo).*"
    r"|[,;\n]\s{0,9}(?:e )?(?:o )?(?:valor|cnpj|cpf|preco)\s{1,9}(?:r\$ ?)?\d.*"
    r"|[,.;!\n]?\s{0,9}\b(?:por favor|por gentileza|obrigad[oa]|valeu|fazendo favor|pf|pfv)\b.*|[\s\"'!.,;]{1,9}$",
    re.DOTALL,
)
ARTICLE: Final = re.compile(
    r"(?:(?:o|a|os|as|esse|essa|aquele|aquela|um|uma|so|isso d[eo]|parte d[aeo]|palavra|trecho)\s)+"
)
MONEY: Final = re.compile(r"(?:r\$ ?|mais )?\d[\d.,]*(?: ?(?:reais|conto|pila|mil|k))?[ .!]{0,9}")
GOES_ON: Final = re.compile(r"(?:com|sem|para|pra|pro|de|d[ao]s?|n[ao]s?|em|conforme|por|pel[ao])\s")
LEFT_OVER: Final = re.compile(r"(?:\s{0,9}[,;+(]|\s{1,9}(?:e|de|d[ao]s?|com|em|n[ao]|para|pra|por))\s{0,9}$")
LONGEST_JOINT: Final = 30  # characters at the end of the text in which what joined the words to it stands


@dataclass(frozen=True, slots=True)
class Edit:
    """A correction of the known service: its new text, and where its words stand in the plain text."""

    candidate: Candidate
    start: int
    end: int


def service_edit(text: Text, known: str) -> Edit | None:
    """Return the known service as the message corrects it, ``None`` where it corrects no text of it."""
    for pattern, new in (
        (ADDED_AFTER, _added),
        (ADDED_BEFORE, _added),
        (REPLACED, _replaced),
        (PUT, _replaced),
        (COUNTED, _counted),
        (REMOVED_AFTER, _removed),
        (REMOVED_BEFORE, _removed),
    ):
        match = pattern.search(text.plain, text.stems)
        if match is None:
            continue
        end = _end(text.plain, *match.span("d"))
        typed = " ".join(text.verbatim(match.start("d"), end).split())
        if not typed or MONEY.fullmatch(text.plain, match.start("d"), end):
            continue  # "acrescenta 200 na nota" speaks of the amount
        valor = new(known, typed)
        if valor is not None:
            verbatim = text.verbatim(match.start("d"), end)
            return Edit(Candidate(Campo.DESCRICAO, valor, verbatim), match.start("d"), end)
    return None


def _end(plain: str, start: int, end: int) -> int:
    for match in ENDS.finditer(plain, start + 1, end):
        return match.start()
    return end


def _added(known: str, typed: str) -> str:
    joint = " " if GOES_ON.match(read(typed).plain) else ", "
    return f"{known.rstrip(' .;,')}{joint}{typed}"


def _replaced(_known: str, typed: str) -> str:
    return typed


def _counted(known: str, typed: str) -> str | None:
    """Return the text with another number before the same word, ``None`` where it has no such place or several."""
    folded, (number, what) = read(known), read(typed).plain.split(" ")
    places = [m.span(1) for m in re.finditer(rf"(?<![\w.,])(\d{{1,5}}) {re.escape(what)}(?!\w)", folded.plain)]
    if len(places) != 1:
        return None
    [(start, end)] = places
    return f"{folded.verbatim(0, start)}{number}{folded.verbatim(end, len(folded.plain))}"


def _removed(known: str, typed: str) -> str | None:
    """Return the text without words that stand in it once, ``None`` where they do not or nothing would be left."""
    folded, gone = read(known), read(typed).plain
    article = ARTICLE.match(gone)
    gone = gone[article.end() :] if article else gone
    places = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(gone)}(?!\w)", folded.plain)] if gone else []
    if len(places) != 1:
        return None
    [(start, end)] = places
    before, after = folded.verbatim(0, start), folded.verbatim(end, len(folded.plain)).strip()
    while joint := LEFT_OVER.search(before, max(0, len(before) - LONGEST_JOINT)):
        before = before[: joint.start()]
    before = before.rstrip()
    if not before:
        after = re.sub(r"^(?:[\s,;+)]|(?:e|com|de|d[ao])\s)+", "", after)
    space = "" if not before or not after or after[0] in ",;.)" else " "
    return f"{before}{space}{after}".strip() or None
