"""Reads documents that were dictated ("onze, duzentos… mil ao contrário"); takes only what check digits confirm."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from extractor.fields.documents import LABEL_BEFORE, MIN_BROKEN
from extractor.text.marks import Kind, Mark
from extractor.text.numerals import SMALL, group
from state_machine.invoice.fields import Campo, Motivo
from state_machine.values.documents import CNPJ_LENGTH, CPF_LENGTH, DocumentoInvalido, parse_documento

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.text.marks import Canvas

WORD: Final = re.compile(r"[a-z]+|\d+|[^\w\s]|[A-Z]+|\n")
SEPARATORS: Final = frozenset(
    {"ponto", "barra", "traco", "hifen", "tracinho", "e", ",", ".", "-", "/", "\n", "dash", "slash"}
)
REVERSED_THOUSAND: Final = (("mil", "ao", "contrario"), ("mil", "contra"), ("mil", "invertido"), ("mil", "reverso"))
REPEATED_ZEROS: Final = {("tres", "zeros"): "000", ("dois", "zeros"): "00", ("quatro", "zeros"): "0000"}
SIX: Final = "meia"
LETTERS: Final = re.compile(r"[a-z]+")
SPOKEN: Final = frozenset({*SMALL, SIX, "mil"})  # one of them is in everything that was dictated
MIN_UNLABELLED: Final = 8  # fewer spoken digits in a row, with no word "cnpj" or "cpf" before, may be anything


@dataclass(frozen=True, slots=True)
class _Atom:
    digits: str
    start: int
    end: int
    spoken: bool


def mark_spoken(canvas: Canvas, contexto: Context) -> None:
    """Mark documents that were dictated."""
    if SPOKEN.isdisjoint(LETTERS.findall(canvas.masked)):
        return
    tokens = [(m[0], m.start(), m.end()) for m in WORD.finditer(canvas.masked)]
    words = [t[0] for t in tokens]
    i = 0
    while i < len(tokens):
        atoms, after = _sequence(tokens, words, i)
        if atoms:
            _mark(canvas, atoms, contexto)
        i = max(after, i + 1)


def _sequence(tokens: list[tuple[str, int, int]], words: list[str], i: int) -> tuple[list[_Atom], int]:
    atoms: list[_Atom] = []
    at = i
    while at < len(words):
        atom = _atom(tokens, words, at)
        if atom is not None:
            atoms.append(atom[0])
            at = atom[1]
        elif atoms and words[at] in SEPARATORS and at + 1 < len(words):
            at += 1
        else:
            break
    return atoms, at


def _atom(tokens: list[tuple[str, int, int]], words: list[str], i: int) -> tuple[_Atom, int] | None:
    for phrase in REVERSED_THOUSAND:
        if tuple(words[i : i + len(phrase)]) == phrase:
            return _Atom("0001", tokens[i][1], tokens[i + len(phrase) - 1][2], spoken=True), i + len(phrase)
    zeros = REPEATED_ZEROS.get((words[i], words[i + 1])) if i + 1 < len(words) else None
    if zeros:
        return _Atom(zeros, tokens[i][1], tokens[i + 1][2], spoken=True), i + 2
    if words[i] == SIX:
        return _Atom("6", tokens[i][1], tokens[i][2], spoken=True), i + 1
    if words[i].isdecimal():
        return _Atom(words[i], tokens[i][1], tokens[i][2], spoken=False), i + 1
    if words[i] not in SMALL:
        return None
    spoken = group(words, i)
    if spoken is None:
        return None
    value, after = spoken
    return _Atom(str(value), tokens[i][1], tokens[after - 1][2], spoken=True), after


def _mark(canvas: Canvas, atoms: list[_Atom], contexto: Context) -> None:
    if not any(a.spoken for a in atoms):
        return
    label_match = LABEL_BEFORE.pattern.search(canvas.masked[max(0, atoms[0].start - 60) : atoms[0].start])
    label = label_match[1] if label_match else None
    lengths = {"cpf": (CPF_LENGTH,), "cnpj": (CNPJ_LENGTH,)}.get(label or "", (CNPJ_LENGTH, CPF_LENGTH))
    for i in range(len(atoms)):
        for length in lengths:
            digits, j = "", i
            while j < len(atoms) and len(digits) < length:
                digits += atoms[j].digits
                j += 1
            if len(digits) == length and _is_valid(digits):
                canvas.add(
                    Mark(
                        Kind.DOCUMENT, atoms[i].start, atoms[j - 1].end, value=digits, labelled=bool(label), words=True
                    )
                )
                return
    total = sum(len(a.digits) for a in atoms)
    asked = label or (contexto.pendente is Campo.DOCUMENTO and total >= MIN_UNLABELLED)
    if asked and total >= MIN_BROKEN and len(atoms) > 2:  # noqa: PLR2004 - "duzentos e cinquenta" alone is an amount
        motivo = Motivo.DIGITO_NAO_BATE if total in lengths else Motivo.INCOMPLETO
        canvas.add(Mark(Kind.BROKEN, atoms[0].start, atoms[-1].end, motivo=motivo, labelled=bool(label), words=True))


def _is_valid(digits: str) -> bool:
    try:
        parse_documento(digits)
    except DocumentoInvalido:
        return False
    return True
