"""Turns the ledgers and the faults of a storm into figures: how much, how fast, how soon recovered."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from proofs.sandbox.faults import Fault
from proofs.storm.channels.table import CHANNELS
from proofs.storm.judge.confirmations import read_phones
from proofs.storm.judge.verdict import notes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from proofs.storm.judge.books import Book, Evidence
    from proofs.storm.weather import Struck

UNREACHED = frozenset(  # no "call" in the book
    {Fault.DROP_BEFORE, Fault.TOO_MANY, Fault.ERROR_500, Fault.UNAVAILABLE, Fault.HTML}
)


def spread(seconds: Iterable[float]) -> dict[str, float]:
    """Return count, median, 95th percentile and maximum; all zero for nothing."""
    ordered = sorted(seconds)
    if not ordered:
        return {"count": 0, "p50": 0.0, "p95": 0.0, "max": 0.0}
    p50, p95 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95))
    return {"count": len(ordered), "p50": round(p50, 2), "p95": round(p95, 2), "max": round(ordered[-1], 2)}


def latencies(evidence: Evidence) -> list[tuple[datetime, float]]:
    """Return (first valid yes, seconds until the authority's number), for every note."""
    confirmed = read_phones(evidence.meta).confirmed
    return sorted(
        (confirmed[note.key].at, (note.settled - confirmed[note.key].at).total_seconds())
        for note in notes_of(evidence)
        if note.settled is not None and note.key in confirmed
    )


def recoveries(struck: Iterable[Struck], meta: Book) -> dict[str, dict[str, float]]:
    """Return by kind of blow: seconds until Meta accepted the product's next message after it."""
    sent = [record.at for record in meta.of("outbound")]
    found: dict[str, list[float]] = {}
    for blow in struck:
        place = bisect_right(sent, blow.at)
        if place < len(sent):
            found.setdefault(blow.kind, []).append((sent[place] - blow.at).total_seconds())
    return {kind: spread(seconds) for kind, seconds in sorted(found.items())}


def gateway_share(books: Mapping[str, Book]) -> dict[str, Any]:
    """Return how many API calls the channels saw and how many of them went wrong on the wire."""
    calls = wrong = 0
    for name, book in books.items():
        channel = CHANNELS[name]
        wire = (*channel.before, *channel.after, *channel.chances)
        wrong += sum(book.struck.get(fault, 0) for fault in wire)
        calls += sum(book.calls.values()) + sum(book.struck.get(fault, 0) for fault in UNREACHED)
    return {"calls": calls, "faulty": wrong, "share": round(wrong / calls, 3) if calls else 0.0}
