"""Checks a model's answer against the user's own words: a value that they do not hold is dropped.

What a model says beside the fields, as far as the user's words hold it: roles of amounts, and several invoices.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, assert_never

from extractor.amounts.roles import Role, roles_of
from extractor.contract import Context
from extractor.fields.dates import mark_dates
from extractor.model.prompt import Question, Resposta
from extractor.requests.several import around
from extractor.rules import RulesReading
from extractor.service.capitals import Places
from extractor.service.whole import has_substance, is_talk, trimmed
from extractor.text.folding import read
from extractor.text.marks import NOISE, Canvas, Kind, Mark
from state_machine.invoice.field_table import FIELDS, Field, FieldKind
from state_machine.invoice.fields import Campo, Candidate, Confianca, Origem
from state_machine.values.money import ValorInvalido, centavos

ALIAS: Final = re.compile(r"\[(?:DOC|FONE|EMAIL)\d+\]")
# Roles under which a number is not what the invoice costs: a model's word for it is asked.
NEVER_A_PRICE: Final = frozenset(
    {
        Role.OLD, Role.NEGATED, Role.QUANTITY, Role.UNIT, Role.INSTALMENT, Role.DISCOUNT, Role.DELTA, Role.APPROXIMATE,
        Role.RATE, Role.EITHER, Role.PLURAL, Role.STRAY,
    }
)  # fmt: skip
PRICED: Final = re.compile(r"[VDBE]")  # a mark of another field
MAX_DESCRIPTION: Final = 200  # longer "spans" are the message itself


def ground(resposta: Resposta, question: Question, reading: RulesReading, contexto: Context) -> tuple[Candidate, ...]:
    """Return the candidates of an answer whose spans stand in the question and parse; ``confianca`` is ``PROVAVEL``."""
    spans = ((row, getattr(resposta, campo.value)) for campo, row in FIELDS.items() if row.read)
    found = [_grounded(row, span, question, reading, contexto) for row, span in spans]
    return tuple(c for c in found if c is not None)


def _grounded(
    row: Field, span: str | None, question: Question, reading: RulesReading, contexto: Context
) -> Candidate | None:
    match row.kind:
        case FieldKind.DOCUMENTO:
            return _document(row.campo, span, question, reading, contexto)
        case FieldKind.DINHEIRO:
            return _value(row.campo, span, reading)
        case FieldKind.PROSA | FieldKind.TEXTO:
            return _text(row.campo, span, reading)
        case FieldKind.EMAIL:
            return _email(row.campo, span, question)
        case FieldKind.MES:
            return _date(row.campo, Kind.MONTH, span, question, contexto)
        case FieldKind.DIA:
            return _date(row.campo, Kind.DAY, span, question, contexto)
        case FieldKind.CODIGO | FieldKind.ENDERECO | FieldKind.LUGAR | FieldKind.ITENS | FieldKind.MODELO:
            return None  # a fiscal code is nobody's guess, an address is asked for, products are the company's own
        case kind:
            assert_never(kind)


def _document(
    campo: Campo, span: str | None, question: Question, reading: RulesReading, contexto: Context
) -> Candidate | None:
    mark = client(span, question, reading, contexto)
    return _candidate(campo, mark.value, reading.skeleton.text.verbatim(mark.start, mark.end)) if mark else None


def client(span: str | None, question: Question, reading: RulesReading, contexto: Context) -> Mark | None:
    """Accept only an alias of a whole document that is the user's word and not our own."""
    mark = _aliased(span, question)
    if mark is None or mark.kind is not Kind.DOCUMENT or mark.motivo is not None or mark.start >= reading.limit:
        return None
    return None if mark.value in contexto.proprios else mark


def _value(campo: Campo, span: str | None, reading: RulesReading) -> Candidate | None:
    """Return an amount, doubtful where the rules see that it plays another part; one that is denied is none."""
    fits = prices(span, reading)
    found = amounts(span, reading).items()
    said = fits or [mark for mark, roles in found if Role.NEGATED not in roles or Role.EITHER in roles]
    valor = money(said[0]) if len({mark.amount for mark in said}) == 1 else None
    if valor is None:
        return None
    candidate = _candidate(campo, valor, reading.skeleton.text.verbatim(said[0].start, said[0].end))
    return candidate if fits else replace(candidate, confianca=Confianca.DUVIDOSA)


def prices(span: str | None, reading: RulesReading) -> list[Mark]:
    """Return where an amount stands that the rules also see and that plays no part but the price."""
    fits = [mark for mark, roles in amounts(span, reading).items() if not roles & NEVER_A_PRICE]
    return fits if len({mark.amount for mark in fits}) == 1 else []


def amounts(span: str | None, reading: RulesReading) -> dict[Mark, set[Role]]:
    """Return the amounts of the text that a span may be, with the roles that the rules give them."""
    plain = read(span or "").plain.strip()
    text = reading.skeleton.text
    return {
        m: roles
        for m, roles in roles_of(reading.skeleton).items()
        if plain and m.end <= reading.limit and m.amount is not None and not m.negative
        and (plain == text.plain[m.start : m.end].strip() or _same_amount(plain, m))
    }  # fmt: skip


def money(mark: Mark) -> str | None:
    """Return what an amount is worth, ``None`` where no invoice can be of it."""
    try:
        return str(centavos(mark.amount)) if mark.amount is not None else None
    except ValorInvalido:
        return None


def _same_amount(plain: str, mark: Mark) -> bool:
    """Let a model leave out or add the currency around the very digits of a mark."""
    return mark.literal is not None and mark.literal in re.findall(r"\d[\d.,]*\d|\d", plain)


def _text(campo: Campo, span: str | None, reading: RulesReading) -> Candidate | None:
    if not span or ALIAS.search(span) or len(span) > MAX_DESCRIPTION:
        return None
    text = reading.skeleton.text
    wanted = re.sub(r"\s+", " ", read(span).plain).strip(" .,;:!")
    if not wanted or all(w in NOISE for w in re.findall(r"[a-z0-9]+", wanted)):
        return None
    match = re.search(r"(?<!\w)" + r"\s+".join(map(re.escape, wanted.split())) + r"(?!\w)", text.plain[: reading.limit])
    if match is None or (campo is Campo.NOME and not _may_be_called(match, wanted, reading)):
        return None
    said: str | None = text.verbatim(*match.span())
    typed = _whole(said, reading) if said and FIELDS[campo].kind is FieldKind.PROSA else said
    return _candidate(campo, " ".join(typed.split()), typed) if typed else None


def _may_be_called(match: re.Match[str], wanted: str, reading: RulesReading) -> bool:
    """Tell whether somebody may have this name: two letters in a row, and nothing of an amount in money."""
    money_in = (m for m in roles_of(reading.skeleton) if m.kind is Kind.MONEY)
    return re.search("[a-z]{2}", wanted) is not None and not any(
        m.start < match.end() and match.start() < m.end for m in money_in
    )


def _whole(typed: str, reading: RulesReading) -> str | None:
    """Return a service without the words that none begins or ends with; ``None`` for talk, and beside a price."""
    line = reading.skeleton.line
    span = Places(reading.skeleton).of(typed)
    span = span and trimmed(line, *span)
    if span is None or not has_substance(line, span) or is_talk(line, span) or PRICED.search(line, *span):
        return None
    return reading.skeleton.verbatim(*span)


def _email(campo: Campo, span: str | None, question: Question) -> Candidate | None:
    mark = _aliased(span, question)
    return _candidate(campo, mark.value.lower(), mark.value) if mark is not None and mark.kind is Kind.EMAIL else None


def _date(campo: Campo, kind: Kind, span: str | None, question: Question, contexto: Context) -> Candidate | None:
    if not span or read(span).plain.strip() not in read(question.text).plain:
        return None
    canvas = Canvas(read(span))
    mark_dates(canvas, contexto.hoje)
    values = {m.value for m in canvas.marks if m.kind is kind and m.value}
    return _candidate(campo, values.pop(), span) if len(values) == 1 else None


def _aliased(span: str | None, question: Question) -> Mark | None:
    match = ALIAS.fullmatch((span or "").strip().upper())
    return question.aliases.get(match[0]) if match else None


def _candidate(campo: Campo, valor: str, trecho: str) -> Candidate:
    return Candidate(campo, valor, trecho, origem=Origem.MODELO, confianca=Confianca.PROVAVEL)


def roles(resposta: Resposta, reading: RulesReading) -> dict[str, str]:
    """Return what amounts of the text are beside the price, by their value."""
    named = ((money(mark), outro.papel) for outro in resposta.outros for mark in amounts(outro.trecho, reading))
    return {valor: papel for valor, papel in named if valor is not None}


def sees_several(resposta: Resposta, reading: RulesReading) -> bool:
    """Say whether an answer names two invoices or more, and an amount of the text for one of them."""
    return len(resposta.notas) > 1 and any(amounts(nota.valor, reading) for nota in resposta.notas)


def pieces(
    texto: str, resposta: Resposta, question: Question, reading: RulesReading, contexto: Context
) -> tuple[str, ...]:
    """Return a piece of the text for each invoice that an answer names.

    None unless each has a customer's document of its own and an amount, and ends before the next one begins.
    """
    text = reading.skeleton.text
    spans: list[tuple[int, int]] = []
    customers: set[str] = set()
    for nota in resposta.notas:
        begin = spans[-1][1] if spans else 0
        documento = client(nota.documento, question, reading, contexto)
        valor = next((mark for mark in prices(nota.valor, reading) if text.starts[mark.start] >= begin), None)
        if documento is None or documento.value in customers or valor is None:
            return ()
        customers.add(documento.value)
        said = [(text.starts[mark.start], text.ends[mark.end - 1]) for mark in (documento, valor)]
        found = ((words, text.original.find(words, begin)) for words in (nota.descricao, nota.nome) if words)
        said += [(at, at + len(words)) for words, at in found if at >= 0]
        spans.append((min(at for at, _ in said), max(end for _, end in said)))
    return around(texto, spans)
