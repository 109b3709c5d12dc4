from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

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
from state_machine.protocol.reconciliation import (
    ABSENT_TWICE_AFTER,
    ASKED_PAUSE,
    ASSENTADOS,
    GIVE_UP_ASKING_AFTER,
    HUMAN_AFTER,
    after_query,
    after_send,
    may_send,
)
from tests.state_machine.made_emissions import ID, POLITICA, PRESTADOR, RECUSA, S, andamento, nota
from tests.state_machine.made_sessions import AGORA, CNPJ, MORE, OUTRO_CNPJ

esperas = st.none() | st.floats(0, 86_400)
notas = st.builds(
    nota,
    st.sampled_from(Situacao),
    id_integracao=st.sampled_from([ID, ID, ID, "outra"]),
    valor=st.sampled_from([None, Decimal("1500.0"), Decimal("1500.01")]),
    tomador=st.sampled_from([None, CNPJ, OUTRO_CNPJ]),
    prestador=st.sampled_from([None, PRESTADOR, OUTRO_CNPJ]),
    numero=st.sampled_from([None, "7"]),
    descricao=st.sampled_from([None, "Consultoria de gestão", "CONSULTORIA DE GESTAO", "Outro serviço"]),
    competencia=st.sampled_from([None, "2026-11-01", "2026-10-21"]),
    codigo_servico=st.sampled_from([None, "17.01", "14.10"]),
    ja_existe=st.booleans(),
)
outcomes = st.one_of(
    st.builds(NotSent, st.just("x")),
    st.builds(Accepted, st.none(), st.none()),
    st.just(RECUSA),
    st.builds(Duplicate, notas),
    st.builds(Postponed, esperas, st.just("x")),
    st.builds(Unknown, st.just("x")),
    st.builds(Misconfigured, st.just("x")),
)
findings = st.one_of(st.builds(Found, notas), st.builds(Absent), st.builds(CannotTell, st.just("x"), esperas))
idades = st.floats(-60, 9 * 86_400).map(lambda s: timedelta(seconds=s))
andamentos = st.builds(
    andamento,
    st.sampled_from([s for s in S if s is not S.ENVIANDO]),  # whoever finds one that was being sent calls it unknown
    consultas=st.integers(0, 60),
    envios=st.integers(0, 5000),
    ausente_desde=st.none() | idades.map(lambda d: AGORA + d),
    avisado=st.booleans(),
    duvida=st.booleans(),
    recusa=st.none() | st.just(RECUSA),
    rodadas=st.integers(0, 9),
    sem_conteudo_desde=st.none() | idades.map(lambda d: AGORA + d),
    desejado_em=st.none() | idades.map(lambda d: AGORA + d),
)


def igual(uma):
    """Is the note what the user confirmed, as far as the gateway says?"""
    return (
        uma.id_integracao == ID
        and uma.valor in {None, Decimal(1500)}
        and uma.tomador in {None, CNPJ}
        and uma.prestador in {None, PRESTADOR}
        and uma.descricao in {None, "Consultoria de gestão", "CONSULTORIA DE GESTAO"}
        and uma.competencia in {None, "2026-11-01"}
        and uma.codigo_servico in {None, "17.01"}
    )


def passo_de(antes, resposta, idade):
    """Return the standing before and the step that follows from any answer in it; what may be sent isn't asked for."""
    agora = AGORA + idade
    if isinstance(resposta, Found | Absent | CannotTell):
        antes = replace(antes, status=S.DESCONHECIDO) if antes.status is S.PENDENTE else antes
        return antes, after_query(antes, resposta, agora, POLITICA)
    antes = replace(antes, status=S.PENDENTE)
    return antes, after_send(antes, resposta, agora, POLITICA)


law = settings(max_examples=200 * MORE)


@law
@given(andamentos, st.builds(Unknown, st.just("x")) | st.builds(CannotTell, st.just("x"), esperas), idades)
def test_nothing_unknown_is_ever_final(antes, resposta, idade):
    """A lost answer settles nothing, and somebody keeps asking."""
    antes, passo = passo_de(antes, resposta, idade)
    novo = passo.andamento.status
    assert novo in {antes.status, S.DESCONHECIDO, S.ERRO}
    assert novo not in ASSENTADOS or novo is antes.status
    if antes.status not in ASSENTADOS and idade <= GIVE_UP_ASKING_AFTER:
        assert passo.daqui is not None


@law
@given(andamentos, outcomes | findings, idades)
def test_nothing_is_sent_again_unless_it_is_certainly_not_there(antes, resposta, idade):
    """``pendente`` follows only from what was refused at the door, or from two absences half a minute apart."""
    antes, passo = passo_de(antes, resposta, idade)
    if not may_send(passo.andamento):
        return
    if AGORA + idade - (antes.desejado_em or AGORA) > HUMAN_AFTER:
        # Only what nobody accepted is not with people, and then its person is asked, and has an hour to say no.
        assert not passo.andamento.duvida
        assert passo.retida == "pessoa"
        assert passo.daqui is None or passo.daqui >= ASKED_PAUSE
    if isinstance(resposta, Absent):
        assert antes.ausente_desde is not None
        assert AGORA + idade - antes.ausente_desde >= ABSENT_TWICE_AFTER
        assert antes.status in {S.ENVIADO, S.DESCONHECIDO}
    else:
        assert isinstance(resposta, NotSent | Postponed | Misconfigured)


@law
@given(andamentos, outcomes | findings, idades)
def test_only_our_own_authorised_note_concludes_and_nothing_undoes_it(antes, resposta, idade):
    """A note with other content, or without a number, is never adopted; what is concluded stays concluded."""
    antes, passo = passo_de(antes, resposta, idade)
    novo = passo.andamento.status
    if antes.status is S.CONCLUIDO:
        assert (novo, passo.aviso) == (S.CONCLUIDO, None)
    elif novo is S.CONCLUIDO:
        assert isinstance(resposta, Found)
        assert igual(resposta.nota)
        assert resposta.nota.situacao is Situacao.AUTORIZADA
        assert resposta.nota.numero
        assert passo.aviso == "autorizada"


@law
@given(andamentos, outcomes | findings, idades)
def test_no_pause_that_the_gateway_asked_for_is_shortened(antes, resposta, idade):
    """Retry-After is a floor, for sending and for asking; no pause is negative."""
    _, passo = passo_de(antes, resposta, idade)
    if passo.daqui is not None:
        assert passo.daqui >= (getattr(resposta, "retry_after", None) or 0.0)


@law
@given(andamentos, outcomes | findings, idades)
def test_each_piece_of_news_is_told_on_the_step_that_makes_it_news(antes, resposta, idade):
    """Slow once, refused with its reason, failed on becoming an error or a conflict and not again."""
    antes, passo = passo_de(antes, resposta, idade)
    novo = passo.andamento.status
    match passo.aviso:
        case "demorou":
            assert passo.andamento.avisado > antes.avisado
            assert novo not in ASSENTADOS | {S.ERRO}
        case "falhou":
            assert novo in {S.ERRO, S.CONFLITO}
            assert antes.status not in {S.ERRO, novo}
        case "rejeitada":
            assert (novo is S.REJEITADO) > (antes.status is S.REJEITADO)
            assert passo.recusa is not None
        case "ainda_quer":
            assert (novo, passo.andamento.duvida, passo.retida) == (S.PENDENTE, False, "pessoa")
            assert (passo.daqui is not None) == (passo.andamento.envios > 0)
        case None:
            assert antes.status is novo or novo in {S.PENDENTE, S.ENVIADO, S.DESCONHECIDO, S.CONFLITO}
    if novo in ASSENTADOS and antes.status not in ASSENTADOS:
        assert (passo.daqui, passo.andamento.consultas) == (None, 0)


@law
@given(andamentos, outcomes | findings, idades)
def test_no_refusal_is_final_while_a_call_may_have_been_accepted(antes, resposta, idade):
    """In doubt a refusal ends nothing but by the note's own word, or once the key was absent twice after it."""
    antes, passo = passo_de(antes, resposta, idade)
    if passo.andamento.status is not S.REJEITADO or antes.status is S.REJEITADO:
        return
    match resposta:
        case Found(nota=uma):
            assert (uma.situacao, uma.ja_existe) == (Situacao.REJEITADA, False)
        case Absent():
            assert antes.recusa is not None
            assert AGORA + idade - antes.ausente_desde >= ABSENT_TWICE_AFTER
        case _:
            assert not antes.duvida


@law
@given(andamentos, outcomes | findings, idades)
def test_doubt_once_there_stays_until_the_end(antes, resposta, idade):
    """No later answer makes certain what an earlier call did."""
    antes, passo = passo_de(antes, resposta, idade)
    assert passo.andamento.duvida >= antes.duvida
    assert passo.andamento.duvida >= isinstance(resposta, Accepted | Unknown | Duplicate)
