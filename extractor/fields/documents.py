"""Finds CNPJs and CPFs in a turn, whole, broken or spoken, and what only looks like one; repairs no digit.

Reads documents that were dictated ("onze, duzentos… mil ao contrário"); takes only what check digits confirm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

import phonenumbers

from extractor.contract import Context
from extractor.text.folding import Cued, Text
from extractor.text.marks import Canvas, Kind, Mark
from extractor.text.numerals import SMALL, group
from state_machine.invoice.fields import Campo, Motivo
from state_machine.values.documents import CNPJ_LENGTH, CPF_LENGTH, DocumentoInvalido, parse_documento

LABEL: Final = r"(?:cnpj|cpf|documento)"
LABEL_BEFORE: Final = Cued(
    "", rf"\b({LABEL})\b(?:[ ,/]+[a-z]+){{0,4}}[\s:.,;#=*º°(-]*$", signs=("cnpj", "cpf", "documento")
)
PHONE_BEFORE: Final = re.compile(
    r"\b(?:telefone|celular|whatsapp|contato|liga\w*|ligue|fone|numero d(?:ele|ela)|chama\w*|phone)\b[^.;\nDBN]{0,25}$"
)
ORDER_BEFORE: Final = re.compile(
    r"\b(?:pedido|protocolo|ordem|boleto|chave|matricula|contrato|processo|rastreio|conta|"
    r"agencia|inscricao|rg|cnh|codigo|"
    r"guia|ean|nit|pis|titulo|ie|im|os)(?:\s+(?:de|da|do|compra|servico|municipal|estadual|"
    r"barras|acesso|fiscal|numero|n[º°.o]?)){0,3}[\s:.#º°-]*$"
)
MASKED_ALNUM: Final = Cued(
    "",
    r"(?<![a-z0-9])[0-9a-z]{2}[. ]{0,2}[0-9a-z]{3}[. ]{0,2}[0-9a-z]{3} {0,2}[/\\] {0,2}[0-9a-z]{4} {0,2}[-. "
    r"]? {0,2}[0-9]{2}(?![a-z0-9])"
    r"|(?<![a-z0-9])[0-9a-z]{2}\.[0-9a-z]{3}\.[0-9a-z]{3}[./ -]?[0-9a-z]{4}[-. ]?[0-9]{2}(?![a-z0-9])",
    signs=("/", "\\", "."),
)
BARE_ALNUM: Final = re.compile(
    r"(?:(?<![a-z0-9.])(?!cpf|cnpj)|(?<=\bcnpj))(?=[0-9]*[a-z])(?=[a-z]*[0-9])[0-9a-z]{12}[0-9]{2}(?![a-z0-9])"
)
SPACED_ALNUM: Final = re.compile(r"(?<![a-z0-9])[0-9a-z]{2} [0-9a-z]{3} [0-9a-z]{3} [0-9a-z]{4} [0-9]{2}(?![a-z0-9])")
MIXED: Final = re.compile(
    r"(?=[0-9a-z]{0,10}[0-9][a-z])(?=[0-9a-z]{0,10}[a-z][0-9])[0-9a-z]{12}"
)  # no word, and no word with a number
PARTIAL_ALNUM: Final = Cued(
    "",
    r"(?<![a-z0-9])(?=[0-9./]{0,17}[a-z])[0-9a-z]{2}\.[0-9a-z]{3}\.[0-9a-z]{3}(?:/[0-9a-z]{0,6}(?:-[0-9]?)?)?(?![a-z0-9])",
    signs=(".",),
)
SHORT_ALNUM: Final = re.compile(
    r"(?<![a-z0-9])(?!cpf|cnpj)(?=(?:[a-z]{0,16}[0-9]){5})(?=[0-9]{0,16}[a-z])[0-9a-z]{11,16}(?![a-z0-9])"
)
SAID: Final = "(?:ponto|barra|traco|tracinho|hifen)"  # a sign between digits, dictated
DIGIT_RUN: Final = re.compile(
    rf"(?:(?<![\w,])|(?<=\bcnpj)|(?<=\bcpf))\d+(?: ?[./\\-] {{0,2}}\d+| {{1,2}}\d+| {SAID} \d+)*(?![a-z0-9])"
)
SAID_ON: Final = re.compile(rf",? {SAID} [a-z]")  # the rest was dictated in words, and is read as such
DIGITS: Final = re.compile(r"\d+")
CPF_BEHIND: Final = re.compile(r"\W{1,3}(?:(?:eh|e|esse|o) ){0,3}cpf\b(?!\W{0,3}(?:eh )?\d)")
ROUNDED: Final = Cued("", r"(?<![\w.,])\d[.,]\d+ ?e ?\+ ?1[0-3]\b", signs=("+",))  # out of a spreadsheet: "1,23E+13"
CNPJ_CUTS: Final = frozenset({2, 5, 8, 12})
CPF_CUTS: Final = frozenset({3, 6, 9})
CUTS: Final = {CNPJ_LENGTH: CNPJ_CUTS, CPF_LENGTH: CPF_CUTS}
MAX_GROUPS: Final = 6  # the official grouping has five; more are a list of numbers
CNPJ_ROOT: Final = 8
MIN_PHONE: Final = 10  # area code and landline
SHORTEST_PHONE: Final = 9  # digits of the shortest that is recognised by its dash
MIN_BROKEN: Final = 5  # fewer digits after "cnpj" are something else
PARTIAL_MASK: Final = re.compile(
    r"\d{2}\.\d{3}\.\d{3}(?:[/\\].*)?|\d{3}\.\d{3}\.\d{3}(?:-\d?)?|\d{8}[/\\].*|.{0,40}/000\d.*"
)
FORMATTED_PHONE: Final = re.compile(
    r"(?<![\w.])(?:\+?55[ .-]?)?\(0?\d{2}\) ?9?[ .-]?\d{4}[ .-]?\d{4}(?!\d)|\+55 ?\d{2} ?9? ?\d{4}[ .-]?\d{4}(?!\d)"
    r"|(?<![\w.])(?:55 )?\d{2} 9 ?\d{4}[ -]\d{4}(?!\d)|(?<![\w.])\d{2}[ -]9\d{4}-?\d{4}(?!\d)"
    r"|(?<![\w.,])9\d{4}-\d{4}(?!\d)"
)


@dataclass(frozen=True)  # no slots: what is counted once is kept
class _Run:
    """Digit groups that stand together, e.g. "66 976 480 0001 39"."""

    groups: list[tuple[int, int]]
    plain: str

    def digits(self, i: int, j: int) -> str:
        return "".join(self.plain[a:b] for a, b in self.groups[i:j])

    def cuts(self, i: int, j: int) -> set[int]:
        cuts, at = set(), 0
        for a, b in self.groups[i : j - 1]:
            at += b - a
            cuts.add(at)
        return cuts

    @cached_property
    def single_digits(self) -> list[int]:
        """How many groups of one digit stand in a row from each group on: "4 1 7 2 …"."""
        rows = [0]
        for start, end in reversed(self.groups):
            rows.append(rows[-1] + 1 if end - start == 1 else 0)
        return rows[:0:-1]


def is_phone(digits: str) -> bool:
    """Say whether bare digits are a Brazilian phone number in use, by the public numbering plan."""
    try:
        number = phonenumbers.parse(digits, "BR")
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_valid_number(number)


def mark_documents(canvas: Canvas, contexto: Context) -> None:
    """Mark every document, broken document and phone number written in characters."""
    _mark_phones(canvas)
    for match in canvas.unread(MASKED_ALNUM):
        _mark_whole(canvas, match, contexto, certain=True)
    for pattern in (BARE_ALNUM, SPACED_ALNUM):
        for match in pattern.finditer(canvas.masked):
            _mark_whole(canvas, match, contexto, certain=False)
    for match in (*canvas.unread(ROUNDED), *canvas.unread(PARTIAL_ALNUM)):
        if not match[0].replace(".", "").isalpha():
            _mark_broken(canvas, *match.span(), CNPJ_LENGTH)
    if contexto.pendente is Campo.DOCUMENTO:
        for match in SHORT_ALNUM.finditer(canvas.masked):
            _mark_broken(canvas, *match.span(), CNPJ_LENGTH)
    for match in DIGIT_RUN.finditer(canvas.masked):
        if len(match[0]) >= MIN_BROKEN:  # shorter is no document, not even a broken one, and no phone
            _mark_run(canvas, match, contexto)


def _mark_phones(canvas: Canvas) -> None:
    """Mark phone numbers written as such, unless they are called a document."""
    if sum(map(len, DIGITS.findall(canvas.masked))) < SHORTEST_PHONE:
        return
    for match in FORMATTED_PHONE.finditer(canvas.masked):
        label = LABEL_BEFORE.pattern.search(canvas.masked, 0, match.start())
        if label is None and is_phone(re.sub(r"[^\d+]", "", match[0])):
            canvas.add(Mark(Kind.PHONE, *match.span()))


def _mark_whole(canvas: Canvas, match: re.Match[str], contexto: Context, *, certain: bool) -> None:
    label = _label(canvas, match.start())
    asked = contexto.pendente is Campo.DOCUMENTO
    try:
        documento = parse_documento(match[0])
    except DocumentoInvalido as e:
        code = not MIXED.match(match[0]) or ORDER_BEFORE.search(canvas.masked, 0, match.start())
        if certain or label or asked or not code:
            canvas.add(
                Mark(Kind.BROKEN, *match.span(), motivo=e.motivo, detalhe=_missing(e.faltam), labelled=bool(label))
            )
        return
    bare = " " not in match[0] or any(c.isdecimal() for c in match[0][:-2])  # "na rua sao joao 12" is no document
    if certain or label or asked or bare or _shouts(canvas.text, match):
        canvas.add(Mark(Kind.DOCUMENT, *match.span(), value=documento.numero, labelled=bool(label)))


def _shouts(text: Text, match: re.Match[str]) -> bool:
    """Say whether words that may be a document stand in capitals, as the rest of the message does not."""
    return text.verbatim(*match.span()).isupper() and not text.original.isupper()


def _mark_run(canvas: Canvas, match: re.Match[str], contexto: Context) -> None:
    groups = [(match.start() + m.start(), match.start() + m.end()) for m in DIGITS.finditer(match[0])]
    run = _Run(groups, canvas.text.plain)
    i = 0
    while i < len(groups):
        found = _window(run, i, valid=True) or _window(run, i, valid=False)
        if found is None:
            i += 1
            continue
        _mark_window(canvas, run, i, found, contexto)
        i = found
    if not any(m.start < match.end() and m.end > match.start() for m in canvas.marks):
        _mark_short(canvas, run, contexto)


def _window(run: _Run, i: int, *, valid: bool) -> int | None:
    """Return the end of a document that begins at group ``i``: as officially grouped, unbroken, or digit by digit."""
    single = run.single_digits[i]
    if single in {CNPJ_LENGTH, CPF_LENGTH} and (not valid or _is_valid(run.digits(i, i + single))):
        return i + single
    sizes = list(accumulate(end - start for start, end in run.groups[i : i + MAX_GROUPS]))
    for j in range(i + len(sizes), i, -1):
        expected = CUTS.get(sizes[j - i - 1])
        if expected is None:
            continue
        digits, cuts = run.digits(i, j), run.cuts(i, j)
        if not cuts <= expected:
            continue
        if _is_valid(digits) if valid else not cuts or cuts == expected:
            return j
    return None


def _is_valid(digits: str) -> bool:
    try:
        parse_documento(digits)
    except DocumentoInvalido:
        return False
    return True


def _mark_window(canvas: Canvas, run: _Run, i: int, j: int, contexto: Context) -> None:
    start, end = run.groups[i][0], run.groups[j - 1][1]
    digits, label = run.digits(i, j), _label(canvas, start)
    before = canvas.masked[:start]
    bare_eleven = len(digits) == CPF_LENGTH and j - i == 1
    phone = bare_eleven and digits[2] == "9" and label is None and is_phone(digits)
    if label is None and PHONE_BEFORE.search(before) and len(digits) == CPF_LENGTH:
        canvas.add(Mark(Kind.PHONE, start, end))
    elif label is None and ORDER_BEFORE.search(before) and j - i == 1:
        canvas.add(Mark(Kind.IDENTIFIER, start, end))
    elif _is_valid(digits):
        motivo = Motivo.TELEFONE_OU_CPF if phone and not CPF_BEHIND.match(canvas.masked, end) else None
        canvas.add(Mark(Kind.DOCUMENT, start, end, value=digits, motivo=motivo, labelled=bool(label)))
    elif phone and contexto.pendente is not Campo.DOCUMENTO:
        canvas.add(Mark(Kind.PHONE, start, end))
    else:
        canvas.add(Mark(Kind.BROKEN, start, end, motivo=Motivo.DIGITO_NAO_BATE, labelled=bool(label)))


def _mark_short(canvas: Canvas, run: _Run, contexto: Context) -> None:
    """Mark a document with digits missing or too many: it looks like one, is called one, or was asked for."""
    tight = 1
    while tight < len(run.groups) and run.plain[run.groups[tight - 1][1] : run.groups[tight][0]].strip():
        tight += 1
    if len(run.digits(0, tight)) < MIN_BROKEN:
        tight = len(run.groups)
    start, end = run.groups[0][0], run.groups[tight - 1][1]
    digits, typed = run.digits(0, tight), run.plain[run.groups[0][0] : end]
    if SAID_ON.match(canvas.masked, run.groups[-1][1]):
        return
    label = _label(canvas, start)
    masked = PARTIAL_MASK.fullmatch(typed) and (contexto.pendente is Campo.DOCUMENTO or re.search(r"[/\\-]", typed))
    shortest = MIN_BROKEN if Campo.VALOR in contexto.conhecidos else CNPJ_ROOT  # shorter may still be the amount
    asked = contexto.pendente is Campo.DOCUMENTO and len(digits) >= shortest and not is_phone(digits)
    if label is None and not masked and len(digits) >= MIN_PHONE and is_phone(digits):
        canvas.add(Mark(Kind.PHONE, start, end))
        return
    if len(digits) < MIN_BROKEN or not (label or masked or asked):
        return
    if label is None and (PHONE_BEFORE.search(canvas.masked, 0, start) or ORDER_BEFORE.search(canvas.masked, 0, start)):
        return
    _mark_broken(canvas, start, end, _expected(label, digits, typed))


def _mark_broken(canvas: Canvas, start: int, end: int, expected: int) -> None:
    typed = canvas.text.plain[start:end]
    detalhe = _missing(expected - sum(c.isalnum() for c in typed))
    labelled = _label(canvas, start) is not None
    canvas.add(Mark(Kind.BROKEN, start, end, motivo=Motivo.INCOMPLETO, detalhe=detalhe, labelled=labelled))


def _expected(label: str | None, digits: str, typed: str) -> int:
    if label == "cpf" or (label is None and re.match(r"\d{3}\.\d{3}\.\d{3}", typed)):
        return CPF_LENGTH
    if label == "cnpj" or "/" in typed or re.match(r"\d{2}\.\d{3}\.", typed):
        return CNPJ_LENGTH
    return CPF_LENGTH if len(digits) <= CPF_LENGTH else CNPJ_LENGTH


def _label(canvas: Canvas, start: int) -> str | None:
    match = LABEL_BEFORE.search(canvas.masked[max(0, start - 60) : start], canvas.text.stems)
    return match[1] if match else None


def _missing(faltam: int) -> str | None:
    if not faltam:
        return None
    verb = ("falta" if faltam == 1 else "faltam") if faltam > 0 else ("sobra" if faltam == -1 else "sobram")
    return f"{verb} {abs(faltam)} {'dígito' if abs(faltam) == 1 else 'dígitos'}"


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
