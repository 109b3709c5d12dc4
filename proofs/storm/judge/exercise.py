"""Tells whether a storm was one: whole ledgers, the people of the plan, and every fault that its size demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.sandbox.faults import Fault
from proofs.storm.judge.webhooks import heard
from proofs.storm.labels import KINDS, LABELS
from proofs.storm.plan import BLOWS, SMALLEST, Demand
from proofs.storm.weather import AFTER, BEFORE, GATEWAY_WEBHOOKS, META, REGISTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.storm.judge.books import Book, Evidence
    from proofs.storm.judge.confirmations import Phones
    from proofs.storm.judge.notes import Note

GATEWAY_FAULT = Demand(every=300, start=200)  # of each kind
WEBHOOK_FAULT = Demand(every=100, start=100)
META_FAULT = Demand(every=100, start=100)
REGISTER_FAULT = Demand(every=10_000, start=100)  # of any kind: it is asked once for each customer
PATH = Demand(every=200, start=200)  # of each thing that only some people do
HEARD = 0.5  # of the notes, at least: a webhook of the gateway was stored


def unusable(evidence: Evidence) -> Iterator[str]:
    """Name what makes the evidence worthless, whatever it says."""
    books = {"da Meta": evidence.meta, "do gateway": evidence.gateway, "do cadastro": evidence.register}
    for name, book in books.items():
        yield from (f"livro {name}: {damage}" for damage in book.damage)
    if not evidence.wishes:
        yield "ninguém começou"


def exercised(evidence: Evidence, phones: Phones, notes: list[Note]) -> dict[str, int]:
    """Return how often each thing happened that only some people, or only bad weather, bring about."""
    yeses, confirmed = phones.yeses, phones.confirmed
    first: dict[str, int] = {}  # the revision that a session showed first
    for summary in phones.summaries:
        first.setdefault(summary.key.sessao_id, summary.key.revisao)
    settled = {phones.owners.get(note.key.sessao_id) for note in notes if note.settled}
    refused = {phones.owners.get(note.key.sessao_id) for note in notes if note.refused}
    struck = evidence.gateway.struck
    return {
        "corrections": sum(key.revisao > first[key.sessao_id] for key in confirmed),
        "taps on an outdated summary": sum(not yes.current for yes in yeses),
        "taps beyond the first": len([yes for yes in yeses if yes.current]) - len(confirmed),
        "confirmations in words": sum(yes.in_words for yes in yeses),
        "refusals with a second attempt": len(settled & refused - {None}),
        "cancellations": sum(note.cancelled for note in notes),
        "RPS numbers of our own": sum("numero" in (note.payload.get("rps") or {}) for note in notes),
        "late acceptances": struck.get(Fault.ACCEPT_LATE, 0),
        "lost answers": sum(count for fault, count in struck.items() if fault in AFTER and fault != Fault.ACCEPT_LATE),
        "orders that met a duplicate": evidence.gateway.calls.get(("POST", 409), 0),
        "notes heard of by webhook": len(heard(evidence.gateway, evidence.house) & {note.id for note in notes}),
    }


def lacking(evidence: Evidence, done: Mapping[str, int], notes: int) -> Iterator[str]:
    """Name what a storm of this size needs and this one had not."""
    planned, begun = evidence.plan.emissions, len(evidence.wishes)
    if planned < SMALLEST:
        yield f"{planned} notas: menos de {SMALLEST} não provam nada"
    if begun < planned:
        yield f"{begun} de {planned} pessoas começaram"
    for kind, demand in BLOWS.items():
        yield from _short(KINDS[kind], evidence.blows.get(kind, 0), demand, planned)
    for fault in (*BEFORE, *AFTER, Fault.NO_NUMBER):
        yield from _struck("gateway", evidence.gateway, fault, GATEWAY_FAULT, planned)
    for fault in GATEWAY_WEBHOOKS:
        yield from _struck("gateway", evidence.gateway, fault, WEBHOOK_FAULT, planned)
    for fault in META:
        yield from _struck("Meta", evidence.meta, fault, META_FAULT, planned)
    asked = sum(evidence.register.struck.get(fault, 0) for fault in REGISTER)
    yield from _short("cadastro: qualquer falha", asked, REGISTER_FAULT, planned)
    for what in SOME_PEOPLE:
        yield from _short(LABELS[what], done[what], PATH, planned)
    told = "notes heard of by webhook"
    if planned >= SMALLEST and done[told] < notes * HEARD:
        yield f"{LABELS[told]}: {done[told]} de {notes}"


SOME_PEOPLE = (
    "corrections",
    "taps on an outdated summary",
    "taps beyond the first",
    "confirmations in words",
    "refusals with a second attempt",
    "cancellations",
    "RPS numbers of our own",
)


def _struck(where: str, book: Book, fault: Fault, demand: Demand, planned: int) -> Iterator[str]:
    yield from _short(f"{where}: {fault.value}", book.struck.get(fault, 0), demand, planned)


def _short(what: str, had: int, demand: Demand, planned: int) -> Iterator[str]:
    needed = demand.least(planned)
    if had < needed:
        yield f"{what}: {had} de {needed}"
