"""What a storm leaves behind: the simulators' ledgers, read whole, and what the product's tables hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proofs.sandbox.courier import ABANDONED, DELIVERED, FAILED, QUEUED
from proofs.sandbox.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from proofs.sandbox.ledger import Ledger, Record
    from proofs.storm.crowd import Wish
    from proofs.storm.machines.oblivion import Loss
    from proofs.storm.plan import Kind, Plan

STRUCK = "fault"  # the kind of fact in which a simulator says that a fault of its own fell
UNREAD = frozenset({"read", "status"})  # of no use to the judge, and many
END_DELIVERED, END_ABANDONED = "delivered", "abandoned"


@dataclass(slots=True)
class Hook:
    """One webhook: ``answers`` are HTTP statuses in order, 0 where nobody answered.

    ``end`` is empty while it is on its way, ``body`` where the book was read without bodies.
    """

    refs: tuple[str, ...]
    body: str
    answers: list[int] = field(default_factory=list)
    end: str = ""
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Book:
    """One simulator's book. ``damage`` says why it proves nothing; empty when it is whole.

    ``records`` are its facts but webhooks, calls and faults; ``struck`` counts the faults that fell, ``dropped`` are
    the references of webhooks that the simulator itself was told to swallow; ``calls`` counts (method, status).
    """

    records: Sequence[Record]
    hooks: Mapping[str, Hook]
    struck: Mapping[Fault, int]
    dropped: frozenset[str]
    calls: Mapping[tuple[str, int], int]
    damage: tuple[str, ...] = ()

    def of(self, *kinds: str) -> list[Record]:
        """Return the facts of these kinds, oldest first."""
        return [record for record in self.records if record.kind in kinds]


def open_book(ledger: Ledger, *, bodies: bool) -> Book:
    """Read a simulator's book from its file; ``bodies``: keep those of webhooks."""
    return read_book(ledger.replay(), ledger.written, bodies=bodies)


def read_book(facts: Iterable[Record], written: int, *, bodies: bool = True) -> Book:
    """Return the book; it is damaged when it does not hold the ``written`` facts, numbered from 1 without a gap."""
    reading = _Reading(bodies)
    try:
        for fact in facts:
            reading.take(fact)
    except (ValueError, KeyError, TypeError) as error:  # a torn line, or one that is no fact of this simulator
        reading.damage(f"uma linha não pôde ser lida: {type(error).__name__}")
    return reading.close(written)


class _Reading:
    """A book on its way from facts to subjects."""

    def __init__(self, bodies: bool) -> None:
        self._bodies = bodies
        self._records: list[Record] = []
        self._hooks: dict[str, Hook] = {}
        self._struck: Counter[Fault] = Counter()
        self._dropped: set[str] = set()
        self._calls: Counter[tuple[str, int]] = Counter()
        self._damage: list[str] = []
        self._last = 0

    def take(self, fact: Record) -> None:
        """Enter one fact."""
        if fact.seq != self._last + 1:
            self.damage(f"o registro {fact.seq} vem depois do registro {self._last}")
        self._last = fact.seq
        data = fact.data
        if fact.kind == STRUCK:
            self._struck[Fault(data["fault"])] += 1
            if data["fault"] == Fault.NO_WEBHOOK:
                self._dropped.add(data["key"])
        elif fact.kind == "call":
            self._calls[data["method"], data["status"]] += 1
        elif fact.kind == QUEUED:
            self._hooks[data["id"]] = Hook(tuple(data["refs"]), data["body"] if self._bodies else "")
        elif fact.kind in {DELIVERED, FAILED, ABANDONED}:
            self._answered(fact)
        elif fact.kind not in UNREAD:
            self._records.append(fact)

    def _answered(self, fact: Record) -> None:
        """Enter what became of one delivery; the answer of an abandoned one was entered when it failed."""
        kind, data = fact.kind, fact.data
        hook = self._hooks.get(data["id"])
        if hook is None:
            self.damage(f"o webhook {data['id']} foi respondido e nunca foi criado")
            return
        if kind != ABANDONED:
            hook.answers.append(data["status"])
        if kind != FAILED:
            hook.ended = fact.at
            hook.end = END_DELIVERED if kind == DELIVERED else END_ABANDONED

    def damage(self, why: str) -> None:
        """Enter why the book proves nothing."""
        self._damage.append(why)

    def close(self, written: int) -> Book:
        """Return the book, of which ``written`` facts were to be read."""
        if self._last != written:
            self.damage(f"termina no registro {self._last}, e foram escritos {written}")
        if not written:
            self.damage("está vazio")
        dropped, damage = frozenset(self._dropped), tuple(self._damage)
        return Book(self._records, self._hooks, self._struck, dropped, self._calls, damage)


@dataclass(frozen=True, slots=True)
class Session:
    """The last snapshot of a session: its state, why that was stored, and whose it is."""

    sessao_id: str
    estado: str
    reason: str
    who: str = ""


@dataclass(frozen=True, slots=True)
class RecordedNote:
    """A note as the product's own table has it."""

    id_externo: str
    numero: str
    chave: str
    status: str


@dataclass(frozen=True, slots=True)
class House:
    """What the product's tables hold: asked for what is still open or missing, never for what a person confirmed.

    ``inbox`` are all its keys, ``hints`` the stored bodies of the gateway's webhooks as canonical JSON, ``emissions``
    (id_integracao, status) of every attempt; ``open_rows`` counts per table what is still to be done or went wrong.
    ``gaps`` are the numbers of our own that it lists as unused: (issuer, series, number); ``served`` says of all whose
    they are, and ``steps`` of each attempt what was done with it, for who looks into a verdict.
    """

    sessions: Sequence[Session]
    inbox: frozenset[str]
    hints: frozenset[str]
    notes: Sequence[RecordedNote]
    emissions: Sequence[tuple[str, str]]
    open_rows: Mapping[str, int]
    gaps: frozenset[tuple[str, str, int]] = frozenset()
    served: Mapping[tuple[str, str, int], str] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the judge looks at: ``wishes`` of those who began; ``media`` returns a file's bytes by its id.

    ``books`` are those of the channels of the plan, by channel; ``losses`` are what the database was made to forget.
    """

    plan: Plan
    wishes: Mapping[str, Wish]
    meta: Book
    books: Mapping[str, Book]
    register: Book
    media: Callable[[str], bytes | None]
    house: House
    blows: Mapping[Kind, int]
    losses: Sequence[Loss] = ()
    listed: Sequence[str] = ()  # addresses of the list that was sent
    mails: Sequence[tuple[str, str, datetime]] = ()  # (address, Message-ID, when) of each mail that was taken


@dataclass(frozen=True, slots=True)
class Key:
    """What a confirmation is bound to."""

    sessao_id: str
    revisao: int

    def __str__(self) -> str:
        return f"{self.sessao_id} r{self.revisao}"
