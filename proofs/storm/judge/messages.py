"""Judges the messages on the phones: whether each came once and is true."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from proofs.storm.judge.confirmations import shown_in, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from proofs.sandbox.ledger import Record
    from proofs.storm.crowd import Wish
    from proofs.storm.judge.books import Book, Key
    from proofs.storm.judge.note import Note, Reader

ISSUED = re.compile(r"NF[SC]?-e (\d+) autorizada")
CANCELLED = "cancelada"
REPLACED = "foi substituída por esta"
NOT_CANCELLED = ("O cancelamento da nota", "não foi cancelada", "Pedi o cancelamento")


def twice(meta: Book) -> Iterator[str]:
    """Name what came again: one message, a summary unasked, the same words oftener than their reader wrote anything."""
    marks: set[tuple[str, str]] = set()
    summary: dict[str, Key] = {}  # the last one on the phone, while its reader does nothing
    written: Counter[str] = Counter()
    told: Counter[tuple[str, str]] = Counter()
    for record in meta.of("inbound", "outbound"):
        who = record.data["user"]["key"]
        if record.kind == "inbound":
            summary.pop(who, None)
            written[who] += 1
            continue
        payload = record.data["payload"]
        mark, key, text = (who, str(payload.get("biz_opaque_callback_data"))), shown_in(payload), text_of(payload)
        told[who, text] += bool(text)
        if mark in marks:
            yield f"{who}: a mensagem {mark[1]} de novo"
        elif key and summary.get(who) == key:
            yield f"{who}: o resumo de {key} de novo"
        elif told[who, text] > max(1, written[who]):
            yield f"{who}: o mesmo texto de novo: {text[:60]}"
        marks.add(mark)
        if key:
            summary[who] = key


def untold(meta: Book, notes: Mapping[str, Note], readers: Mapping[str, Reader]) -> Iterator[str]:
    """Name people who never read their note's number, its page, or that it was cancelled; ``notes`` by person."""
    texts = _texts(meta)
    for who, note in notes.items():
        if not any(note.numero in ISSUED.findall(text) for text in texts.get(who, ())):
            yield f"{who} {note.key}: nunca soube que a nota {note.numero} foi emitida"
        page = readers[note.channel].page
        if page is not None and not any(page(note) in text for text in texts.get(who, ())):
            yield f"{who} {note.key}: nunca leu onde está a nota {note.numero}"
        if note.cancelled and not any(_cancelled(text, note) for text in texts.get(who, ())):
            yield f"{who} {note.key}: nunca soube que a nota {note.numero} foi cancelada"
        if note.replaces and not any(REPLACED in text for text in texts.get(who, ())):
            yield f"{who} {note.key}: nunca soube que a nota {note.numero} substituiu a sua"


def untrue(
    meta: Book, notes: Mapping[str, Note], wishes: Iterable[Wish], replaced: Mapping[str, Sequence[Note]] | None = None
) -> Iterator[str]:
    """Name people who were told of a cancellation that is none, or of another note's number.

    ``replaced`` are the notes whose place the one of a person took.
    """
    texts = _texts(meta)
    for wish in wishes:
        note = notes.get(wish.who)
        for text in texts.get(wish.who, ()):
            if note is not None and not note.cancelled and _cancelled(text, note):
                yield f"{wish.who}: leu que a nota {note.numero} foi cancelada; ela continua valendo"
            own = {each.numero for each in (*(replaced or {}).get(wish.who, ()), *([note] if note else ()))}
            if not own.issuperset(ISSUED.findall(text)):
                yield f"{wish.who}: leu sobre uma nota que não é sua: {text[:60]}"


def last_words(meta: Book, who: str) -> str:
    """Return how the last message on a phone begins, for whoever looks for the cause."""
    return " ".join((_texts(meta).get(who) or ["nada"])[-1].split())[:100]


def _cancelled(text: str, note: Note) -> bool:
    return (
        CANCELLED in text
        and f"ota {note.numero} " in f"{text} ".replace("*", " ")
        and not any(words in text for words in NOT_CANCELLED)
    )


def _texts(meta: Book) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in meta.of("outbound"):
        found.setdefault(_who(record), []).append(text_of(record.data["payload"]))
    return found


def _who(record: Record) -> str:
    return str(record.data["user"]["key"])
