"""Compares the webhooks of Meta and of the gateway that got a 2xx with what was stored."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from proofs.storm.judge.books import END_ABANDONED, END_DELIVERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proofs.storm.judge.books import Book, Hook, House

AWAY = frozenset({0, 503})  # nobody there, or "come back later": whatever else is said of ours is a refusal
SETTLING = {  # each of these facts is announced by a webhook of its own
    "note.settled": "resultado da nota",
    "cancel.settled": "resultado do cancelamento",
}


def unstored(meta: Book, channels: Iterable[Book], house: House) -> Iterator[str]:
    """Name every webhook that was answered 2xx and of which nothing is stored; a channel without webhooks has none."""
    ticks = {key.split(":")[1] for key in house.inbox if key.startswith("status:")}
    for hook in meta.hooks.values():
        if hook.end == END_DELIVERED:
            missing = [ref for ref in hook.refs if ref not in house.inbox and ref not in ticks]
            yield from (f"Meta {ref}: respondido com {hook.answers[-1]} e não guardado" for ref in missing)
    for hook in (hook for book in channels for hook in book.hooks.values()):
        if hook.end == END_DELIVERED and canonical(hook.body) not in house.hints:
            yield f"gateway {' '.join(hook.refs)}: respondido com {hook.answers[-1]} e não guardado"


def unaccounted(meta: Book, channels: Iterable[Book]) -> Iterator[str]:
    """Name what should have been announced and has no end: never made, still on its way, refused, given up by Meta."""
    books = tuple(channels)
    for name, book in (("Meta", meta), *(("gateway", book) for book in books)):
        for hook in book.hooks.values():
            what = f"{name} {' '.join(hook.refs)}"
            if not hook.end:
                yield f"{what}: ainda a caminho"
            refusals = sorted({status for status in hook.answers if not 200 <= status < 300} - AWAY)  # noqa: PLR2004 - HTTP
            if refusals:
                yield f"{what}: recusado com {', '.join(map(str, refusals))}"
            if hook.end == END_ABANDONED and name == "Meta":
                yield f"{what}: abandonado"  # it insists for seven days
    messages = {ref for hook in meta.hooks.values() for ref in hook.refs}
    for record in meta.of("inbound"):
        if record.data["message"]["id"] not in messages:
            yield f"Meta {record.data['message']['id']}: mensagem sem webhook"
    for book in books:
        yield from _unannounced(book)


def _unannounced(gateway: Book) -> Iterator[str]:
    """The gateway announces each final word: by a webhook, unless the storm itself swallowed it."""
    made = Counter(_subject(hook) for hook in gateway.hooks.values())
    for record in gateway.of(*SETTLING):
        note_id = record.data["id"]
        if not made[note_id] and note_id not in gateway.dropped:
            yield f"gateway {note_id}: {SETTLING[record.kind]} sem webhook"


def heard(gateway: Book, house: House) -> set[str]:
    """Return the ids of the notes of which a webhook of the gateway was answered 2xx and is stored."""
    return {
        _subject(hook)
        for hook in gateway.hooks.values()
        if hook.end == END_DELIVERED and canonical(hook.body) in house.hints
    }


def ends(books: Iterable[Book]) -> dict[str, int]:
    """Return how many webhooks were stored, given up and swallowed by the storm, and how many tries failed."""
    read = tuple(books)
    hooks = [hook for book in read for hook in book.hooks.values()]
    count = Counter(hook.end for hook in hooks)
    failed = sum(status in AWAY for hook in hooks for status in hook.answers)
    return {
        "answered 2xx": count[END_DELIVERED],
        "given up": count[END_ABANDONED],
        "swallowed": sum(len(book.dropped) for book in read),
        "tries without an answer": failed,
    }


def canonical(body: str) -> str:
    """Return JSON in one spelling, so that bodies compare by content; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(body), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return body


def _subject(hook: Hook) -> str:
    return hook.refs[0] if hook.refs else ""
