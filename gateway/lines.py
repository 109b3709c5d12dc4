"""Owns one line for each company and kind of call to a gateway: its circuit breaker and its places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.http.wire import BUSY, NotSentError
from state_machine.protocol.retry import Breaker, Probes

FORGET_AFTER = 3600.0  # seconds without a call: a company that comes back later starts with a closed breaker
PROBES = 5  # in vain per cooldown, over all companies: with 60 s each they leave most of a worker's slots free


class CallKind(StrEnum):
    """What a call is for; each has its own connections, and no kind stops another."""

    SUBMISSION = "envio"
    QUESTION = "consulta"
    CANCELLATION = "cancelamento"
    DOWNLOAD = "documento"


@dataclass(frozen=True, slots=True)
class Quota:
    """How many calls of one kind may be under way in this process: over all companies, and of one."""

    all: int
    company: int


# As many as there are slots in the pumps, and half of them for one company: the rest stays free for others.
QUOTAS: Mapping[CallKind, Quota] = {
    CallKind.SUBMISSION: Quota(40, 20),
    CallKind.QUESTION: Quota(40, 20),
    CallKind.CANCELLATION: Quota(10, 5),
    CallKind.DOWNLOAD: Quota(
        15, 10
    ),  # of 20 slots for messages: no text waits for files, and fewer would bounce bursts
}


@dataclass(slots=True)
class Line:
    """One company's line of one kind."""

    breaker: Breaker
    used_at: float
    running: int = 0


@dataclass(slots=True)
class _Kind:
    probes: Probes
    lines: dict[str, Line] = field(default_factory=dict)  # the one that was called last is the last
    open: set[str] = field(default_factory=set)
    running: int = 0


class Lines:
    """The lines of one channel in one process; a company that is not called for an hour is forgotten.

    ``clock`` gives seconds that only grow; ``on_change`` hears of which kind how many companies' breakers are open.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        threshold: int = 10,
        cooldown: float = 10.0,
        quotas: Mapping[CallKind, Quota] = QUOTAS,
        on_change: Callable[[CallKind, int], None] | None = None,
    ) -> None:
        self._clock = clock
        self._threshold = threshold
        self._cooldown = cooldown
        self._quotas = quotas
        self._on_change = on_change
        self._kinds = {kind: _Kind(Probes(PROBES, clock=clock, cooldown=cooldown)) for kind in CallKind}

    def breaker(self, company: str, kind: CallKind) -> Breaker:
        """Return the breaker of this company (CNPJ); whoever calls asks it first."""
        return self._line(company, kind).breaker

    def open(self, kind: CallKind) -> frozenset[str]:
        """Return the companies whose breaker is open."""
        self._forget(kind)
        return frozenset(self._kinds[kind].open)

    @contextmanager
    def call(self, company: str, kind: CallKind) -> Iterator[Breaker]:
        """Take a place for one call and return the breaker that hears of it.

        Raises ``NotSentError`` at once when there is none: nothing was sent, and nobody waits in a slot.
        """
        line, all_of_kind, quota = self._line(company, kind), self._kinds[kind], self._quotas[kind]
        if line.running >= quota.company or all_of_kind.running >= quota.all:
            raise NotSentError(BUSY, "all places of this line are taken")
        line.running += 1
        all_of_kind.running += 1
        try:
            yield line.breaker
        finally:
            line.running -= 1
            all_of_kind.running -= 1

    def _line(self, company: str, kind: CallKind) -> Line:
        self._forget(kind)
        lines, now = self._kinds[kind].lines, self._clock()
        line = lines.pop(company, None) or Line(self._breaker(company, kind), now)
        line.used_at = now
        lines[company] = line
        return line

    def _breaker(self, company: str, kind: CallKind) -> Breaker:
        def changed(opened: bool) -> None:
            self._changed(company, kind, opened=opened)

        return Breaker(
            clock=self._clock,
            threshold=self._threshold,
            cooldown=self._cooldown,
            on_change=changed,
            probes=self._kinds[kind].probes,
        )

    def _changed(self, company: str, kind: CallKind, *, opened: bool) -> None:
        names = self._kinds[kind].open
        if opened:
            names.add(company)
        else:
            names.discard(company)
        if self._on_change:
            self._on_change(kind, len(names))

    def _forget(self, kind: CallKind) -> None:
        """Drop whom nobody called for long; a call lasts a minute, so none of theirs is under way."""
        state = self._kinds[kind]
        while state.lines:
            company, line = next(iter(state.lines.items()))
            if self._clock() - line.used_at < FORGET_AFTER:
                return
            del state.lines[company]
            if line.breaker.open:
                self._changed(company, kind, opened=False)
