"""The verdict over a storm: a pure function of what each subject of the judge found."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from proofs.storm.channels.table import CHANNELS, channels_of
from proofs.storm.judge.confirmations import read_phones
from proofs.storm.judge.exercise import exercised, lacking, unusable
from proofs.storm.judge.files import delivered, missing_files, shared, wrong_files
from proofs.storm.judge.forgotten import beside, doubled, may_be_forgotten, numbers, recalled, without
from proofs.storm.judge.messages import last_words, twice, untold, untrue
from proofs.storm.judge.notes import owner, wrong_notes
from proofs.storm.judge.numbers import misnumbered
from proofs.storm.judge.webhooks import ends, unaccounted, unstored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from proofs.storm.judge.books import Evidence, House, Key
    from proofs.storm.judge.confirmations import Phones, Yes
    from proofs.storm.judge.note import Note

APPROVED = ("aprovado", "webhook_success")  # how a session with its note ends
REFUSED = ("rejeitado", "webhook_rejected")  # how one ends whose note the authority refused
SETTLED_STATUS, REFUSED_STATUS = "concluido", "rejeitado"  # of an attempt
STANDS, CANCELLED = "autorizado", "cancelado"  # of a note in the house's own table
OUTBOUND_LIMIT = 0.001  # of all messages that Meta accepted
TOLERATED = "outbound_duplicates"
KEPT, BROKEN, NOT_PROVEN = "KEPT", "BROKEN", "NOT PROVEN"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Every list of ``faults`` names what is wrong; empty lists are what was promised.

    ``confirmed`` people, ``notes`` with a number, ``sent`` messages that Meta accepted; ``judged`` and ``exercised``
    count what was looked at and what happened. ``unusable`` and ``lacking`` say why nothing is proven.
    """

    confirmed: int
    notes: int
    sent: int
    duplicates: list[str] = field(default_factory=list)  # more than one note with a number for one wish
    lost: list[str] = field(default_factory=list)  # confirmed, and no note
    unconfirmed: list[str] = field(default_factory=list)  # a note without a yes to that very revision before it
    wrong: list[str] = field(default_factory=list)  # a field of a note, or of its summary, is not what was wanted
    misnumbered: list[str] = field(default_factory=list)  # a number given twice, or missing with no refusal to tell why
    unsound: list[str] = field(default_factory=list)  # a signature that does not hold, a number with other bytes
    stuck: list[str] = field(default_factory=list)  # not ended, or ended otherwise than it should
    untold: list[str] = field(default_factory=list)  # PDF, XML or the word of it never reached the phone
    misfiled: list[str] = field(default_factory=list)  # a file that is not the one of its person's note
    untrue: list[str] = field(default_factory=list)  # a person was told what is not so
    uncancelled: list[str] = field(default_factory=list)  # cancelled unasked, twice, or not at all
    misrecorded: list[str] = field(default_factory=list)  # our own table says another thing than the authority
    unmailed: list[str] = field(default_factory=list)  # an address of the list without its mail, or with two
    unstored: list[str] = field(default_factory=list)  # a webhook was answered 2xx and is not in the inbox
    unaccounted: list[str] = field(default_factory=list)  # a webhook without an end, or refused
    outbound_duplicates: list[str] = field(default_factory=list)  # one message of ours on the phone twice
    unusable: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    judged: dict[str, int] = field(default_factory=dict)
    exercised: dict[str, int] = field(default_factory=dict)

    @property
    def faults(self) -> dict[str, list[str]]:
        """The lists, by name."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in {"unusable", "lacking"}}
        return {name: value for name, value in found.items() if isinstance(value, list)}

    @property
    def broken(self) -> bool:
        """Whether the promise was broken: anything wrong, or outbound duplicates beyond their limit."""
        grave = [name for name, found in self.faults.items() if found and name != TOLERATED]
        return bool(grave) or len(self.outbound_duplicates) > self.sent * OUTBOUND_LIMIT

    @property
    def word(self) -> str:
        """The one word: damaged books prove nothing, a broken promise needs no more blows to be one."""
        if self.unusable:
            return NOT_PROVEN
        if self.broken:
            return BROKEN
        return NOT_PROVEN if self.lacking else KEPT


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict."""
    phones = read_phones(evidence.meta)
    notes = notes_of(recalled(evidence, phones))
    readers = {name: channel.reader for name, channel in CHANNELS.items()}
    confirmed, wishes = phones.confirmed, evidence.wishes
    settled = [note for note in notes if note.settled is not None]
    mine: dict[str, list[Note]] = defaultdict(list)  # notes with a number, by whose wish they are
    ended: dict[str, list[Note]] = defaultdict(list)  # those whose place another one took
    for note in settled:
        (ended if note.replaced else mine)[owner(note, phones, wishes)].append(note)
    first = {who: found[0] for who, found in mine.items() if who}
    people = {yes.who for yes in confirmed.values()}
    lost = beside(evidence, phones, notes)
    rest = without(evidence, lost)  # what was never forgotten
    owned = {who: note for who, note in first.items() if who not in lost}
    sent = evidence.meta.of("outbound")
    files = delivered(evidence.meta, evidence.media)
    wrong, compared = wrong_notes(notes, readers, phones, wishes, lost)
    issuers = [issuer for channel in channels_of(evidence.books) for issuer in channel.issuers]
    done = exercised(evidence, phones, notes)
    return Verdict(
        confirmed=len(people & wishes.keys()),
        notes=len(settled),
        sent=len(sent),
        duplicates=[
            line
            for who, theirs in mine.items()
            if who
            for line in _doubled(evidence, who, theirs, forgotten=who in lost)
        ],
        lost=list(
            _lost(
                evidence,
                {key: yes for key, yes in confirmed.items() if yes.who not in lost},
                notes,
                people & wishes.keys() - mine.keys(),
            )
        ),
        unconfirmed=[
            f"{note.key}: {note.id}"
            for note in notes
            if note.key not in confirmed or confirmed[note.key].at > note.at or confirmed[note.key].who not in wishes
        ],
        wrong=wrong,
        misnumbered=list(
            misnumbered(
                notes, issuers, evidence.house, numbers(evidence, phones, notes, lost), skips=bool(evidence.losses)
            )
        ),
        unsound=[
            line
            for name, book in evidence.books.items()
            for line in readers[name].unsound(book, [note for note in notes if note.channel == name])
        ],
        stuck=list(_stuck(rest, phones, notes, lost)),
        untold=[
            *(
                line
                for who, note in owned.items()
                for each, theirs in shared(files.get(who, ()), note, ended.get(who, ()))
                if each is not None
                for line in missing_files({who: theirs}, each, who, readers)
            ),
            *untold(rest.meta, owned, readers),
        ],
        misfiled=[
            line
            for who, found in files.items()
            if who not in lost
            for note, theirs in shared(found, first.get(who), ended.get(who, ()))
            for line in wrong_files(theirs, note, readers, who)
        ],
        untrue=list(untrue(rest.meta, owned, rest.wishes.values(), ended)),
        uncancelled=list(
            _uncancelled(rest, phones, owned, [note for note in notes if owner(note, phones, wishes) not in lost])
        ),
        misrecorded=list(_misrecorded(evidence.house, settled, {note.id for who in lost for note in mine[who]})),
        unstored=list(unstored(rest.meta, rest.books.values(), evidence.house)),
        unaccounted=list(unaccounted(evidence.meta, evidence.books.values())),
        outbound_duplicates=list(twice(rest.meta)),
        unusable=list(unusable(evidence)),
        lacking=list(lacking(evidence, done, Counter(note.channel for note in settled), len(lost))),
        unmailed=list(_unmailed(evidence)),
        judged={
            "people": len(wishes),
            "people beside a loss": len(lost),
            "confirmed revisions": len(confirmed),
            "fields of notes": compared,
            "files": sum(map(len, files.values())),
            "sessions": len(evidence.house.sessions),
            **{f"webhooks of Meta {what}": count for what, count in ends([evidence.meta]).items()},
            **{f"webhooks of the gateway {what}": count for what, count in ends(evidence.books.values()).items()},
        },
        exercised=done,
    )


def notes_of(evidence: Evidence) -> list[Note]:
    """Return the notes of all channels, oldest first."""
    found = [
        note for name, book in evidence.books.items() for note in CHANNELS[name].reader.notes(book, evidence.house)
    ]
    return sorted(found, key=lambda note: note.at)


def _doubled(evidence: Evidence, who: str, notes: Sequence[Note], *, forgotten: bool) -> Iterator[str]:
    """One wish has one note, however many sessions and keys there were, unless the database forgot the first."""
    if forgotten:
        yield from doubled(evidence, who, notes)
    elif len(notes) > 1:
        yield f"{who}: {len(notes)} notas: " + ", ".join(f"{note.numero} ({note.reference})" for note in notes)


def _lost(evidence: Evidence, confirmed: Mapping[Key, Yes], notes: Sequence[Note], without: set[str]) -> Iterator[str]:
    """A yes without a note or a refusal; a person who said yes and has no note at all."""
    answered = {note.key for note in notes if note.settled is not None or note.refused}
    yield from (f"{yes.who} {key}" for key, yes in confirmed.items() if key not in answered)
    for who in sorted(without):
        yield f"{who}: nenhuma nota; última mensagem: {last_words(evidence.meta, who)}"


def _stuck(evidence: Evidence, phones: Phones, notes: Sequence[Note], forgotten: Collection[str]) -> Iterator[str]:
    house = evidence.house
    confirmed = {key: yes for key, yes in phones.confirmed.items() if yes.who not in forgotten}
    people = {yes.who for yes in confirmed.values()}
    for who in sorted(evidence.wishes.keys() - people):
        yield f"{who}: não chegou a confirmar; última mensagem: {last_words(evidence.meta, who)}"
    theirs = {key.sessao_id for key, yes in phones.confirmed.items() if yes.who in forgotten}
    refused = {note.key.sessao_id for note in notes if note.refused} - theirs
    issued = {note.key.sessao_id for note in notes if note.settled is not None}
    due = {key.sessao_id: APPROVED for key in confirmed}
    due |= dict.fromkeys(refused - issued, REFUSED)
    stored = {session.sessao_id for session in house.sessions}
    yield from (f"{sessao_id}: terminou sem snapshot" for sessao_id in due if sessao_id not in stored)
    for session in house.sessions:
        wish = evidence.wishes.get(session.who)
        if wish and wish.proposta and session.sessao_id not in phones.owners:
            continue  # a greeting, of which nothing came
        if (session.estado, session.reason) != due.get(session.sessao_id):
            yield f"{session.sessao_id}: {session.estado} ({session.reason})"
    ended = {note.reference: SETTLED_STATUS for note in notes if note.settled is not None}
    ended |= {note.reference: REFUSED_STATUS for note in notes if note.refused}
    for id_integracao, status in house.emissions:
        if evidence.plan.new_layout and status == REFUSED_STATUS and _made_again(id_integracao, ended):
            continue  # its layout was refused, of which SEFIN's book of documents knows nothing
        if status != ended.get(id_integracao):
            did = f"; {house.steps[id_integracao]}" if id_integracao in house.steps else ""
            yield f"{id_integracao}: {status}; na prefeitura: {ended.get(id_integracao, 'nada')}{did}"
    yield from (f"{name}: {count} em aberto" for name, count in house.open_rows.items() if count)


def _uncancelled(evidence: Evidence, phones: Phones, first: Mapping[str, Note], notes: Sequence[Note]) -> Iterator[str]:
    """A cancellation follows its person's own last word over that very note, once."""
    for note in notes:
        who = owner(note, phones, evidence.wishes)
        words = [said.at for said in phones.cancellings if said.who == who and f"-e {note.numero} " in f"{said.text} "]
        if note.asked and not any(at <= note.asked[0] for at in words):
            yield f"{who} {note.key}: a nota {note.numero} foi cancelada sem pedido"
        if len(note.asked) > 1:
            yield f"{who} {note.key}: o cancelamento foi pedido {len(note.asked)} vezes"
    said = {words.who for words in phones.cancellings}
    for who, wish in evidence.wishes.items():
        if wish.cancela and who in first and not first[who].cancelled:
            why = "continua valendo" if who in said else "não teve o cancelamento pedido"
            told = last_words(evidence.meta, who)
            yield f"{who} {first[who].key}: a nota {first[who].numero} {why}; última mensagem: {told}"
        if wish.trocado is not None and who in first and not first[who].replaces:
            told = last_words(evidence.meta, who)
            yield f"{who} {first[who].key}: a nota {first[who].numero} não foi substituída; última mensagem: {told}"


def _unmailed(evidence: Evidence) -> Iterator[str]:
    """Each address has one mail; a copy is the same mail again, whose answer was lost or whose sender died.

    What a database that was put back forgot, the list's author said yes to once more.
    """
    came: dict[str, set[str]] = defaultdict(set)
    again: Counter[str] = Counter()
    for address, message, at in evidence.mails:
        came[address].add(message)
        again[address] += may_be_forgotten(evidence, at)
    for address in evidence.listed:
        if not 1 <= len(came[address]) <= 1 + again[address]:
            yield f"{address}: {len(came[address])} e-mails"
    yield from (f"{address}: ninguém pediu" for address in came.keys() - set(evidence.listed))


def _made_again(id_integracao: str, ended: Mapping[str, str]) -> bool:
    """Say whether a later attempt at the same revision came to the authority, which made a note of it or refused it."""
    revision, _, attempt = id_integracao.rpartition("-")
    later = range(int(attempt) + 1, int(attempt) + 4)
    return any(f"{revision}-{each}" in ended for each in later)


def _misrecorded(house: House, settled: Sequence[Note], forgotten: Collection[str]) -> Iterator[str]:
    """Our own table has each note of the authority once, as the authority has it, and no other.

    It may lack ``forgotten`` ones, and what became of them.
    """
    ours = Counter(kept.id_externo for kept in house.notes)
    theirs = {note.id: note for note in settled}
    missing = [note for note in settled if not ours[note.id] and note.id not in forgotten]
    yield from (f"{note.key}: a nota {note.numero} não está na nossa tabela" for note in missing)
    for kept in house.notes:
        note = theirs.get(kept.id_externo)
        if note is None:
            yield f"{kept.id_externo}: a nota {kept.numero} só está na nossa tabela"
            continue
        due = (note.numero, note.chave, CANCELLED if note.cancelled else STANDS)
        if (kept.numero, kept.chave, kept.status) != due and note.id not in forgotten:
            yield f"{note.key}: na nossa tabela {kept.numero} {kept.chave} {kept.status}; na prefeitura {' '.join(due)}"
        if ours[kept.id_externo] > 1:
            yield f"{note.key}: na nossa tabela {ours[kept.id_externo]} vezes"
