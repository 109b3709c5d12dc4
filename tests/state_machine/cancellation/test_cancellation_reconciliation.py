from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_machine.cancellation.reconciliation import (
    AlreadyCancelled,
    AndamentoCancelamento,
    Cancelled,
    Envio,
    InProcess,
    Refused,
    Stands,
    Unreadable,
    after_query,
    after_send,
    in_error,
    interrompido,
    may_send,
)
from state_machine.protocol.emission import (
    Accepted,
    CannotTell,
    Misconfigured,
    Nota,
    NotSent,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from state_machine.protocol.reconciliation import ABSENT_TWICE_AFTER, GIVE_UP_ASKING_AFTER, HUMAN_AFTER, MOST_REFUSALS
from state_machine.protocol.retry import Politica, Retentativas

AGORA = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLITICA = Politica(retentativas=Retentativas(jitter=0.0))
NEW = AndamentoCancelamento(Envio.A_ENVIAR, AGORA)
CANCELADA = Nota("a" * 24, "k", Situacao.CANCELADA)
OUTCOMES = st.sampled_from(
    [
        NotSent("x"),
        Accepted(None, "p1"),
        Rejected("fora do prazo"),
        AlreadyCancelled(),
        Postponed(7.0, "x"),
        Postponed(None, "x"),
        Unknown("x"),
        Unknown("x", recusada=True),
        Unreadable("x"),
        Misconfigured("x"),
    ]
)
FINDINGS = st.sampled_from(
    [Cancelled(CANCELADA), Refused("não"), InProcess(), Stands(), CannotTell("x"), CannotTell("x", 99.0)]
)
TICKS = st.lists(st.tuples(OUTCOMES, FINDINGS, st.sampled_from([0, 1, 29, 31, 3600, 90_000])), max_size=40)


@given(TICKS)
def test_it_ends_only_by_the_authoritys_word_and_is_never_repeated_blind(ticks):
    """Along any history: an end has its proof, an unknown one is asked about, and there is always a next step."""
    andamento, agora = NEW, AGORA
    certain = True  # what was sent last certainly did not arrive, or stood twice, half a minute apart
    stood_at = None
    sent = 0
    avisos = []
    for outcome, finding, seconds in ticks:
        if andamento.envio is Envio.ENCERRADO:
            break
        agora += timedelta(seconds=seconds)
        if may_send(andamento):
            assert certain
            passo = after_send(andamento, outcome, agora, POLITICA)
            certain = isinstance(outcome, NotSent | Postponed | Misconfigured)
            stood_at = None
            sent += 1
            if isinstance(outcome, Postponed) and outcome.retry_after and passo.andamento.envio is Envio.A_ENVIAR:
                assert passo.daqui is not None
                assert passo.daqui >= outcome.retry_after
            assert (passo.andamento.envio is Envio.ENCERRADO) == isinstance(outcome, AlreadyCancelled)
        else:
            passo = after_query(andamento, finding, agora, POLITICA)
            if isinstance(finding, Stands | Refused):
                stood_at = stood_at or agora
                certain = agora - stood_at >= ABSENT_TWICE_AFTER
            elif isinstance(finding, InProcess):
                stood_at = None
            if passo.aviso == "cancelada":
                assert isinstance(finding, Cancelled)
            if passo.aviso == "negada":
                assert isinstance(finding, Refused) or (isinstance(finding, Stands) and andamento.recusa)
                assert passo.motivo
                assert stood_at is not None
                assert sent == 1 or agora - stood_at >= ABSENT_TWICE_AFTER
        andamento = passo.andamento
        avisos += [passo.aviso] if passo.aviso else []
        if andamento.envio is not Envio.ENCERRADO and agora - AGORA <= GIVE_UP_ASKING_AFTER:
            assert passo.daqui is not None
    assert len(avisos) == len(set(avisos))  # no news twice


@given(OUTCOMES, FINDINGS)
def test_after_a_day_people_take_over_and_nothing_is_sent(outcome, finding):
    """Then it is asked about only, and still ends when the authority speaks."""
    late = AGORA + HUMAN_AFTER + timedelta(seconds=1)
    passo = after_send(NEW, outcome, late, POLITICA)
    assert not may_send(passo.andamento)
    if passo.andamento.envio is Envio.COM_GENTE:
        assert passo.aviso == "falhou"
        again = after_query(passo.andamento, finding, late, POLITICA)
        assert not may_send(again.andamento)
        assert (again.andamento.envio is Envio.ENCERRADO) == (
            isinstance(finding, Cancelled | Refused)
            or (isinstance(finding, Stands) and again.andamento.recusa is not None)
        )


def test_a_refused_request_reverts_only_when_the_note_is_seen_to_stand():
    """The refusal is kept, the note is asked about at once; cancelled meanwhile counts as cancelled."""
    passo = after_send(NEW, Rejected("fora do prazo"), AGORA, POLITICA)
    assert (passo.andamento.envio, passo.daqui, passo.aviso) == (Envio.RECUSADO, 0.0, None)
    assert after_query(passo.andamento, Stands(), AGORA, POLITICA).aviso == "negada"
    assert after_query(passo.andamento, Cancelled(CANCELADA), AGORA, POLITICA).aviso == "cancelada"


def test_a_lost_answer_is_sent_again_after_the_note_stood_twice():
    """Not after once, and not sooner than half a minute."""
    a = after_send(NEW, Unknown("reset"), AGORA, POLITICA).andamento
    once = after_query(a, Stands(), AGORA, POLITICA)
    assert (once.andamento.envio, once.daqui) == (Envio.DESCONHECIDO, 30.0)
    soon = after_query(once.andamento, Stands(), AGORA + timedelta(seconds=29), POLITICA)
    assert soon.andamento.envio is Envio.DESCONHECIDO
    then = after_query(soon.andamento, Stands(), AGORA + timedelta(seconds=30), POLITICA)
    assert (then.andamento.envio, then.daqui) == (Envio.A_ENVIAR, 0.0)


def _sent_again(before: AndamentoCancelamento) -> AndamentoCancelamento:
    """Return the second call, refused after the first one was lost and the note stood twice."""
    once = after_query(before, Stands(), AGORA, POLITICA).andamento
    again = after_query(once, Stands(), AGORA + ABSENT_TWICE_AFTER, POLITICA).andamento
    assert may_send(again)
    passo = after_send(again, Rejected("E0822"), AGORA + ABSENT_TWICE_AFTER, POLITICA)
    assert (passo.andamento.envio, passo.daqui) == (Envio.RECUSADO, 0.0)
    return passo.andamento


@pytest.mark.parametrize(
    "lost",
    [
        after_send(NEW, Unknown("read timeout"), AGORA, POLITICA).andamento,
        interrompido(AndamentoCancelamento(Envio.ENVIANDO, AGORA)),
    ],
)
@pytest.mark.parametrize("look", [Stands(), Refused("E0822")])
def test_a_refusal_after_a_lost_call_ends_it_only_at_a_second_look(lost, look):
    """The lost call may still be carried out: one look right after the refusal proves nothing, and nothing is sent."""
    refused = _sent_again(lost)
    first = AGORA + ABSENT_TWICE_AFTER + timedelta(milliseconds=200)
    once = after_query(refused, look, first, POLITICA)
    assert (once.andamento.envio, once.daqui, once.aviso) == (Envio.RECUSADO, 30.0, None)
    soon = after_query(once.andamento, look, first + timedelta(seconds=29), POLITICA)
    assert (soon.andamento.envio, soon.daqui, soon.aviso) == (Envio.RECUSADO, 1.0, None)
    then = after_query(soon.andamento, look, first + ABSENT_TWICE_AFTER, POLITICA)
    assert (then.andamento.envio, then.aviso, then.motivo) == (Envio.ENCERRADO, "negada", "E0822")
    assert after_query(soon.andamento, Cancelled(CANCELADA), first, POLITICA).aviso == "cancelada"


def test_found_in_a_dead_workers_hand_it_is_unknown():
    """It may have left: ask, and count it as sent."""
    dead = interrompido(AndamentoCancelamento(Envio.ENVIANDO, AGORA))
    assert (dead.envio, dead.envios) == (Envio.DESCONHECIDO, 1)
    assert interrompido(NEW) == NEW


def test_the_user_is_told_once_that_it_takes_long():
    """At the time that the policy names, and the next look is in time for it."""
    first = after_send(NEW, Accepted(None, "p"), AGORA, POLITICA)
    late = AGORA + POLITICA.avisar_apos
    told = after_query(first.andamento, InProcess(), late, POLITICA)
    assert told.aviso == "demorou"
    assert after_query(told.andamento, InProcess(), late, POLITICA).aviso is None


@pytest.mark.parametrize("envio", sorted(Envio))
def test_work_that_raises_again_and_again_is_for_people(envio):
    """Who waits hears it once, nothing is sent any more, and what has ended stays so."""
    passo = in_error(AndamentoCancelamento(envio, AGORA), "our own work")
    over = envio in {Envio.ENCERRADO, Envio.COM_GENTE}
    assert (passo.status, passo.aviso) == ((envio, None) if over else (Envio.COM_GENTE, "falhou"))
    assert (passo.daqui, passo.motivo) == (None, "our own work")


def test_what_the_authority_cannot_read_is_for_people_at_once():
    """The same request says the same to-morrow; how the note stands is asked about on."""
    passo = after_send(NEW, Unreadable("RNG6110"), AGORA, POLITICA)
    assert (passo.status, passo.aviso, passo.motivo) == (Envio.COM_GENTE, "falhou", "RNG6110")
    assert passo.daqui is not None
    assert after_query(passo.andamento, Cancelled(CANCELADA), AGORA, POLITICA).aviso == "cancelada"


def test_a_cancellation_is_not_refused_for_ever():
    """Refusals that nobody here knows, each followed by a note that stands, end in people."""
    atual, agora = NEW, AGORA
    for volta in range(1, MOST_REFUSALS + 1):
        passo = after_send(atual, Unknown("HTTP 400", recusada=True), agora, POLITICA)
        while volta < MOST_REFUSALS and not may_send(passo.andamento):
            agora += timedelta(seconds=max(passo.daqui or 0.0, 1.0))
            passo = after_query(passo.andamento, Stands(), agora, POLITICA)
        atual = passo.andamento
    assert (passo.status, passo.aviso, atual.recusas) == (Envio.COM_GENTE, "falhou", MOST_REFUSALS)
    assert agora - AGORA < timedelta(hours=1)
