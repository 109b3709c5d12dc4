"""Who met a database that forgot: of them less is promised, and what is, is judged as of everybody."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from proofs.storm.judge.notes import owner

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from proofs.sandbox.ledger import Record
    from proofs.storm.judge.books import Evidence, Hook
    from proofs.storm.judge.confirmations import Phones
    from proofs.storm.judge.note import Note


ATTEMPTS = 9  # of one revision, at most: a repaired refusal makes another one


def beside(evidence: Evidence, phones: Phones, notes: Sequence[Note]) -> frozenset[str]:
    """Return the people of whom the database may have forgotten something: they, their notes or their webhooks."""
    if not evidence.losses:
        return frozenset()
    people: dict[str, str] = {}  # by what a webhook names: a message, or a note
    found: set[str] = set()
    for record in evidence.meta.of("inbound", "outbound"):
        who = str(record.data["user"]["key"])
        people[_name(record)] = who
        if may_be_forgotten(evidence, record.at):
            found.add(who)
    for note in notes:
        who = people[note.id] = owner(note, phones, evidence.wishes)
        if any(may_be_forgotten(evidence, at) for at in (note.at, note.settled, *note.asked) if at is not None):
            found.add(who)
    for book in (evidence.meta, *evidence.books.values()):
        for hook in book.hooks.values():
            if hook.ended is not None and may_be_forgotten(evidence, hook.ended):
                found |= {people[ref] for ref in hook.refs if ref in people}
    return frozenset(found & evidence.wishes.keys())


def recalled(evidence: Evidence, phones: Phones) -> Evidence:
    """Return the evidence with the attempts that the house may have forgotten: of every revision that was confirmed."""
    if not evidence.losses:
        return evidence
    known = {reference for reference, _ in evidence.house.emissions}
    made = (f"{key.sessao_id}-r{key.revisao}-{n}" for key in phones.confirmed for n in range(1, ATTEMPTS + 1))
    emissions = [*evidence.house.emissions, *((reference, "esquecida") for reference in made if reference not in known)]
    return replace(evidence, house=replace(evidence.house, emissions=emissions))


def without(evidence: Evidence, people: Collection[str]) -> Evidence:
    """Return what is judged of everybody else, and the webhooks whose storing nobody made forgotten."""
    if not people:
        return evidence
    kept = [r for r in evidence.meta.records if (r.data.get("user") or {}).get("key") not in people]
    return replace(
        evidence,
        wishes={who: wish for who, wish in evidence.wishes.items() if who not in people},
        meta=replace(evidence.meta, records=kept, hooks=_remembered(evidence, evidence.meta.hooks)),
        books={name: replace(b, hooks=_remembered(evidence, b.hooks)) for name, b in evidence.books.items()},
        house=replace(evidence.house, sessions=[s for s in evidence.house.sessions if s.who not in people]),
    )


def doubled(evidence: Evidence, who: str, notes: Sequence[Note]) -> Iterator[str]:
    """Name notes beyond the one of a session, and sessions with a note beyond one for each loss and the first."""
    sessions = Counter(note.key.sessao_id for note in notes)
    for sessao_id, count in sessions.items():
        if count > 1:
            same = [note for note in notes if note.key.sessao_id == sessao_id]
            theirs = ", ".join(f"{note.numero} ({note.reference}, {note.channel})" for note in same)
            yield f"{who}: {count} notas da sessão {sessao_id}: {theirs}"
    if len(sessions) > 1 + len(evidence.losses):
        yield f"{who}: notas de {len(sessions)} sessões, e o banco esqueceu {len(evidence.losses)} vezes"


def numbers(
    evidence: Evidence, phones: Phones, notes: Sequence[Note], people: Collection[str]
) -> frozenset[tuple[str, str, int]]:
    """Return the numbers of such people's attempts: issuer, series and number."""
    theirs = [note for note in notes if people and owner(note, phones, evidence.wishes) in people]
    return frozenset((note.prestador, *note.rps) for note in theirs if note.rps is not None)


def _remembered(evidence: Evidence, hooks: Mapping[str, Hook]) -> dict[str, Hook]:
    return {
        name: hook for name, hook in hooks.items() if hook.ended is None or not may_be_forgotten(evidence, hook.ended)
    }


def may_be_forgotten(evidence: Evidence, at: datetime) -> bool:
    """Say whether the database may know nothing of what was seen then."""
    return any(loss.holds(at) for loss in evidence.losses)


def _name(record: Record) -> str:
    return str(record.data["message"]["id"] if record.kind == "inbound" else record.data["wamid"])
