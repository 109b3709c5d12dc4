"""Compares every field of every note in the authority's ledger with what its person saw and had planned to say."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from proofs.storm.crowd import name_of
from proofs.storm.judge.confirmations import CUT
from proofs.storm.judge.note import ABSENT, BRASILIA, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from proofs.storm.crowd import Wish
    from proofs.storm.judge.confirmations import Phones, Seen, Summary
    from proofs.storm.judge.note import Note, Reader


def owner(note: Note, phones: Phones, wishes: Mapping[str, Wish]) -> str:
    """Return whose wish a note is: of the phone that showed its session, else of whoever wants that amount; or ""."""
    who = phones.owners.get(note.key.sessao_id)
    return who or next(
        (wish.who for wish in wishes.values() if note.valor in {wish.valor, wish.antes, wish.trocado}), ""
    )


def wrong_notes(
    notes: Sequence[Note],
    readers: Mapping[str, Reader],
    phones: Phones,
    wishes: Mapping[str, Wish],
    again: Collection[str] = (),
) -> tuple[list[str], int]:
    """Return what is wrong with the notes of confirmed revisions, and how many fields were compared.

    Who is ``again`` may have asked again after a loss, and then for the last amount at once.
    """
    wrong: list[str] = []
    compared = 0
    confirmed, shown = phones.confirmed, phones.shown
    made = {note.chave: note for note in notes if note.chave}
    for note in notes:
        yes = confirmed.get(note.key)
        wish = wishes.get(yes.who) if yes else None
        if yes is None or wish is None:
            continue  # the judge names it as unconfirmed
        before = [summary for summary in shown[note.key] if summary.at <= yes.at]
        old = made.get(note.replaces)
        said = wish if old is None and yes.who in again and note.valor == wish.valor else _as_said(wish, old)
        complaints, count = _compare(note, readers[note.channel], said, before)
        if note.replaces and (wish.trocado is None or old is None or owner(old, phones, wishes) != wish.who):
            complaints.append(f"substitui a nota {quoted(note.replaces)}, e ninguém pediu")
        compared += count
        wrong += [f"{wish.who} {note.key}: {complaint}" for complaint in complaints]
    return wrong, compared


def _as_said(wish: Wish, old: Note | None) -> Wish:
    """Return what the person wants of the first note, or of the one that takes its place and keeps its day."""
    if wish.trocado is None:
        return wish
    if old is None:
        return replace(wish, valor=wish.trocado)
    return replace(wish, data=f"{date.fromisoformat(old.competencia):%d/%m/%Y}")


def _compare(note: Note, reader: Reader, wish: Wish, summaries: list[Summary]) -> tuple[list[str], int]:
    summary = summaries[-1]
    seen = summary.seen
    if seen is None:
        return ["o resumo não pode ser lido"], 0
    complaints = ["o resumo veio com dois conteúdos"] if any(other.seen != seen for other in summaries) else []
    customer = wish.recusado if note.refused and wish.recusado else wish.tomador
    complaints += [
        f"o resumo diz {name} {quoted(shown)}, e não {quoted(said)}"
        for name, shown, said in _said(wish, seen, customer)
    ]
    if note.channel != wish.emitente.canal:
        complaints.append(f"foi emitida no canal {note.channel}, e não no {wish.emitente.canal}")
    sent, due = note.content, reader.due(note, wish, summary, customer)
    if reader.competence not in due:
        due[reader.competence] = ABSENT
    complaints += list(_competence(reader.competence, str(due[reader.competence]), seen, summary))
    for path in sorted(due.keys() | sent.keys()):
        has, needs = sent.get(path, ABSENT), due.get(path, ABSENT)
        if _plain(has) != _plain(needs):
            complaints.append(f"{path} é {quoted(has)}, e não {quoted(needs)}")
    return complaints, len(due.keys() | sent.keys())


def _said(wish: Wish, seen: Seen, customer: str) -> Iterator[tuple[str, object, object]]:
    """Yield (field, as shown, as planned) where the summary does not say what its person had said."""
    name = name_of(customer)
    if seen.nome and not (seen.nome == name or (seen.nome.endswith(CUT) and name.startswith(seen.nome[:-1]))):
        yield "Cliente", seen.nome, name
    pairs = {
        "CNPJ": (seen.documento, customer),
        "Tipo": (seen.tipo, {"nfe": "NF-e", "nfce": "NFC-e"}.get(wish.emitente.canal)),
        "Valor": (seen.valor, wish.valor),
        "Serviço": (seen.servico, wish.servico),
        "Emitente": (seen.emitente, wish.emitente.razao_social),
        "E-mail": (seen.email, wish.email),
        "Competência": (seen.competencia, wish.competencia),
        "Data do serviço": (seen.data, wish.data),
    }
    yield from ((field, shown, said) for field, (shown, said) in pairs.items() if shown != said)


def _competence(path: str, sent: str, seen: Seen, summary: Summary) -> Iterator[str]:
    """The day on the summary, else the last of its month so far, else the day on which it was made and shown."""
    shown_on = summary.at.astimezone(BRASILIA).date()
    if seen.data:
        day, month, year = map(int, seen.data.split("/"))
        first = last = date(year, month, day)
    elif seen.competencia:
        month, year = map(int, seen.competencia.split("/"))
        begins = date(year, month, 1)
        ends = date(year, month, monthrange(year, month)[1])
        first = last = min(ends, shown_on) if begins <= shown_on else begins
    else:
        first, last = summary.asked_at.astimezone(BRASILIA).date(), shown_on
    try:
        fits = first <= date.fromisoformat(sent) <= last
    except ValueError:
        fits = False
    if not fits:
        yield f"{path} é {quoted(sent)}, e não {last.isoformat()!r}"


def _plain(value: Any) -> Any:
    """Return a number as the exact decimal that its shortest text says; a truth value is no number."""
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value
