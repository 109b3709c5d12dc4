"""A gateway of the protocol, in memory: what it accepts, whose answer is lost, what it accepts late."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.protocol.emission import (
    Absent,
    Accepted,
    CannotTell,
    Duplicate,
    Found,
    Misconfigured,
    NotSent,
    Postponed,
    Situacao,
    Unknown,
)
from state_machine.protocol.reconciliation import after_query, after_send, may_send
from tests.state_machine.made_emissions import POLITICA, S, andamento, depois, nota
from tests.state_machine.made_sessions import MORE


@dataclass
class Gateway:
    """Accepts, loses answers, accepts late; ``unique``: refuses a second note under the same key."""

    unique: bool = True
    authorises_after: float = 5.0
    now: float = 0.0
    arriving: list[float] = field(default_factory=list)  # when requests that are under way will be accepted
    accepted: list[float] = field(default_factory=list)  # the ledger: when each note was made

    def advance(self, seconds):
        """Let time pass; what was under way arrives."""
        self.now += seconds
        for at in sorted(a for a in self.arriving if a <= self.now):
            self.arriving.remove(at)
            if not (self.unique and self.accepted):
                self.accepted.append(at)

    def _nota(self):
        pronta = self.now - self.accepted[0] >= self.authorises_after
        return nota(Situacao.AUTORIZADA if pronta else Situacao.PROCESSANDO)

    def submit(self, fault):
        """Answer to a sending."""
        match fault:
            case "not_sent":
                return NotSent("ConnectError")
            case "forbidden":
                return Misconfigured("HTTP 401")
            case ("postponed", float(seconds)):
                return Postponed(seconds, "HTTP 429")
            case ("late", float(seconds)):  # the answer is lost; acceptance comes when it comes
                self.arriving.append(self.now + seconds)
                self.advance(0.0)
                return Unknown("ReadTimeout")
            case "swallowed":  # it never gets there, but nobody knows
                return Unknown("ReadTimeout")
            case _ if self.unique and self.accepted:
                return Duplicate(self._nota())
            case _:
                self.accepted.append(self.now)
                return Accepted("ext", "protocolo")

    def find(self, fault):
        """Answer to a question about our key."""
        match fault:
            case ("cannot", seconds):
                return CannotTell("HTTP 503", seconds)
            case _:
                return Found(self._nota()) if self.accepted else Absent()


def emite(gateway, ao_enviar, ao_perguntar, quedas=()):
    """Drive one confirmed intent to its end, as the worker does; ``quedas``: sendings after which the worker dies."""
    ao_enviar, ao_perguntar, quedas = list(ao_enviar), list(ao_perguntar), list(quedas)
    atual, avisos = andamento(S.PENDENTE), []
    for _ in range(400):
        agora = depois(gateway.now)
        if may_send(atual):
            outcome = gateway.submit(ao_enviar.pop(0) if ao_enviar else None)
            if quedas and quedas.pop(0):  # stored as "enviando", found again after the lease as "desconhecido"
                atual = replace(atual, status=S.DESCONHECIDO)
                gateway.advance(90.0)
                continue
            passo = after_send(atual, outcome, agora, POLITICA)
        else:
            passo = after_query(atual, gateway.find(ao_perguntar.pop(0) if ao_perguntar else None), agora, POLITICA)
        atual = passo.andamento
        avisos += [passo.aviso] if passo.aviso else []
        if passo.daqui is None:
            return atual, avisos
        gateway.advance(passo.daqui)
    raise AssertionError("no end in 400 steps")


def falhas(ate):
    """Faults of sending; acceptance up to ``ate`` seconds late."""
    return st.lists(
        st.one_of(
            st.sampled_from(["not_sent", "forbidden", "swallowed", ("late", 0.0)]),
            st.tuples(st.just("late"), st.floats(0, ate)),
            st.tuples(st.just("postponed"), st.floats(0, 600)),
        ),
        max_size=6,
    )


perguntas = st.lists(st.none() | st.tuples(st.just("cannot"), st.none() | st.floats(0, 600)), max_size=8)
quedas_ = st.lists(st.booleans(), max_size=4)


@settings(max_examples=400 * MORE, deadline=None)
@given(falhas(3600), perguntas, quedas_, st.floats(0, 3600))
def test_exactly_one_note_for_each_intent(ao_enviar, ao_perguntar, quedas, demora):
    """Lost answers, acceptance up to an hour late, crashes, refusals to answer: one note, and we know of it."""
    gateway = Gateway(authorises_after=demora)
    fim, avisos = emite(gateway, ao_enviar, ao_perguntar, quedas)
    gateway.advance(7200.0)  # whatever was still under way arrives
    assert len(gateway.accepted) == 1
    assert fim.status is S.CONCLUIDO
    assert avisos[-1] == "autorizada"
    assert avisos[:-1] in ([], ["demorou"])


@settings(max_examples=200 * MORE, deadline=None)
@given(falhas(30), perguntas, quedas_)
def test_asking_twice_is_enough_where_acceptance_shows_within_half_a_minute(ao_enviar, ao_perguntar, quedas):
    """Even at a gateway that is not unique, as long as what it accepts shows itself within 30 s of sending."""
    gateway = Gateway(unique=False)
    fim, _ = emite(gateway, ao_enviar, ao_perguntar, quedas)
    gateway.advance(7200.0)
    assert (len(gateway.accepted), fim.status) == (1, S.CONCLUIDO)


def test_asking_twice_is_not_enough_without_uniqueness():
    """The residual: accepted two minutes late by a gateway that is not unique makes two notes; uniqueness makes one."""
    notas = {}
    for unique in (False, True):
        gateway = Gateway(unique=unique)
        emite(gateway, [("late", 120.0)], [])
        gateway.advance(7200.0)
        notas[unique] = len(gateway.accepted)
    assert notas == {False: 2, True: 1}
