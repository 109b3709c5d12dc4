"""Tells whether a storm was one: whole ledgers, the people of the plan, and every fault that its size demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.sandbox.faults import Fault
from proofs.storm.channels.table import CHANNELS, channels_of
from proofs.storm.crowd import CONSUMERS, MAY_REPLACE
from proofs.storm.judge.numbers import numbered, refused_numbers
from proofs.storm.judge.webhooks import heard
from proofs.storm.labels import KINDS, LABELS
from proofs.storm.plan import SMALLEST, Demand, demands
from proofs.storm.weather import META, REGISTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.storm.channels.channel import Channel
    from proofs.storm.judge.books import Book, Evidence
    from proofs.storm.judge.confirmations import Phones
    from proofs.storm.judge.note import Note

GATEWAY_FAULT = Demand(every=300, start=200)  # of each kind
WEBHOOK_FAULT = Demand(every=100, start=100)
META_FAULT = Demand(every=100, start=100)
REGISTER_FAULT = Demand(every=10_000, start=100)  # of any kind: it is asked once for each customer
PATH = Demand(every=200, start=200)  # of each thing that only some people do
FORGOTTEN = 0.5  # of the people, at most: the database may have forgotten something of theirs
HEARD = 0.5  # of the notes, at least: a webhook of the gateway was stored


def unusable(evidence: Evidence) -> Iterator[str]:
    """Name what makes the evidence worthless, whatever it says."""
    books = {"da Meta": evidence.meta} | ({"do cadastro": evidence.register} if _of_companies(evidence) else {})
    books |= {f"do canal {name}": book for name, book in evidence.books.items()}
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
    late = lost = copies = 0
    told: set[str] = set()
    for name, book in evidence.books.items():
        channel = CHANNELS[name]
        late += book.struck.get(Fault.ACCEPT_LATE, 0)
        lost += sum(book.struck.get(fault, 0) for fault in channel.after.keys() - {Fault.ACCEPT_LATE})
        copies += channel.reader.copies(book)
        told |= heard(book, evidence.house)
    gaps = sum(len(refused_numbers(given)) for given in numbered(notes).values())
    return {
        "corrections": sum(key.revisao > first[key.sessao_id] for key in confirmed),
        "taps on an outdated summary": sum(not yes.current for yes in yeses),
        "taps beyond the first": len([yes for yes in yeses if yes.current]) - len(confirmed),
        "confirmations in words": sum(yes.in_words for yes in yeses),
        "refusals with a second attempt": len(settled & refused - {None}),
        "cancellations": sum(note.cancelled and not note.replaced for note in notes),
        "substitutions": sum(note.replaced for note in notes),
        "RPS numbers of our own": sum(note.rps is not None for note in notes),
        "gaps with their refusal": gaps,
        "late acceptances": late,
        "lost answers": lost,
        "orders that met a duplicate": copies,
        "notes heard of by webhook": len(told & {note.id for note in notes}),
    }


def lacking(evidence: Evidence, done: Mapping[str, int], settled: Mapping[str, int], forgotten: int) -> Iterator[str]:
    """Name what a storm of this size needs and this one had not; ``settled``: notes with a number, by channel.

    Of ``forgotten`` people too little was promised for them to be most of a proof.
    """
    planned, begun = evidence.plan.emissions, len(evidence.wishes)
    if planned < SMALLEST:
        yield f"{planned} notas: menos de {SMALLEST} não provam nada"
    if begun < planned:
        yield f"{begun} de {planned} pessoas começaram"
    if forgotten > begun * FORGOTTEN:
        yield f"{forgotten} de {begun} pessoas estavam ao lado de um esquecimento"
    for kind, demand in demands(evidence.plan):
        yield from _short(KINDS[kind], evidence.blows.get(kind, 0), demand, planned)
    channels = channels_of(evidence.plan.channels)
    for channel in channels:
        yield from _of_channel(channel, evidence, planned // len(channels), settled.get(channel.name, 0))
    for fault in META:
        yield from _struck("Meta", evidence.meta, fault, META_FAULT, planned)
    asked = sum(evidence.register.struck.get(fault, 0) for fault in REGISTER)
    if _of_companies(evidence):
        yield from _short("cadastro: qualquer falha", asked, REGISTER_FAULT, planned)
    replaces = any((issuer.canal, issuer.regime) == MAY_REPLACE for c in channels for issuer in c.issuers)
    for what in (*SOME_PEOPLE, *(["substitutions"] if replaces else [])):
        yield from _short(LABELS[what], done[what], PATH, planned)
    told, by_webhook = "notes heard of by webhook", sum(settled.get(c.name, 0) for c in channels if c.webhooks)
    if planned >= SMALLEST and done[told] < by_webhook * HEARD:
        yield f"{LABELS[told]}: {done[told]} de {by_webhook}"


def _of_companies(evidence: Evidence) -> bool:
    """Say whether somebody's customer is a company: of consumers the register is asked nothing."""
    return not evidence.wishes or any(wish.tomador not in CONSUMERS for wish in evidence.wishes.values())


SOME_PEOPLE = (
    "corrections",
    "taps on an outdated summary",
    "taps beyond the first",
    "confirmations in words",
    "refusals with a second attempt",
    "cancellations",
    "RPS numbers of our own",
)


def _of_channel(channel: Channel, evidence: Evidence, planned: int, settled: int) -> Iterator[str]:
    """Name the faults that this channel's share of the people needs."""
    book = evidence.books.get(channel.name)
    if book is None:
        yield f"{channel.label}: nenhum livro"
        return
    for fault in (*channel.before, *channel.after, *channel.chances):
        yield from _struck(channel.label, book, fault, GATEWAY_FAULT, planned)
    for fault in channel.webhooks:
        yield from _struck(channel.label, book, fault, WEBHOOK_FAULT, planned)
    if planned and not settled:
        yield f"{channel.label}: nenhuma nota"


def _struck(where: str, book: Book, fault: Fault, demand: Demand, planned: int) -> Iterator[str]:
    yield from _short(f"{where}: {fault.value}", book.struck.get(fault, 0), demand, planned)


def _short(what: str, had: int, demand: Demand, planned: int) -> Iterator[str]:
    needed = demand.least(planned)
    if had < needed:
        yield f"{what}: {had} de {needed}"
