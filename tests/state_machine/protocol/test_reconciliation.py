from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from state_machine.protocol.channel import Natureza
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Duplicate,
    Found,
    Issued,
    Misconfigured,
    NotSent,
    Outcome,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from state_machine.protocol.reconciliation import (
    ABSENCE_HOLDS,
    ABSENT_TWICE_AFTER,
    ASKED_PAUSE,
    ASSENTADOS,
    CONTENT_WITHIN,
    GIVE_UP_ASKING_AFTER,
    MOST_REFUSALS,
    Anterior,
    Parecer,
    absent_long_ago,
    after_query,
    after_send,
    count_earlier,
    in_error,
    judge,
    may_send,
    must_ask,
    without_call,
)
from state_machine.protocol.retry import Politica
from tests.state_machine.made_emissions import DIA, ID, POLITICA, RECUSA, S, andamento, depois, nota
from tests.state_machine.made_sessions import AGORA, OUTRO_CNPJ


@pytest.mark.parametrize(
    ("outcome", "status", "daqui", "aviso"),
    [
        (NotSent("ConnectError"), S.PENDENTE, 1.0, None),
        (Postponed(None, "HTTP 503"), S.PENDENTE, 1.0, None),
        (Postponed(77.0, "HTTP 429"), S.PENDENTE, 77.0, None),
        (Postponed(0.0, "HTTP 429"), S.PENDENTE, 1.0, None),
        (Misconfigured("HTTP 401"), S.PENDENTE, 15.0, None),
        (Accepted("ext", "p"), S.ENVIADO, 2.0, None),
        (Unknown("ReadTimeout"), S.DESCONHECIDO, 2.0, None),
        (RECUSA, S.REJEITADO, None, "rejeitada"),
        (Duplicate(), S.DESCONHECIDO, 0.0, None),  # a question, whatever it says stands there
        (Duplicate(nota()), S.DESCONHECIDO, 0.0, None),
        (Duplicate(nota(Situacao.REJEITADA)), S.DESCONHECIDO, 0.0, None),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_what_follows_from_an_answer_to_sending(outcome, status, daqui, aviso):
    """The whole table of outcomes of a first attempt."""
    passo = after_send(andamento(S.PENDENTE), outcome, depois(), POLITICA)
    assert (passo.andamento.status, passo.daqui, passo.aviso) == (status, daqui, aviso)
    assert passo.andamento.envios == 1
    assert (passo.suspender is not None) == isinstance(outcome, Misconfigured)
    assert may_send(passo.andamento) == (status is S.PENDENTE)


ABERTOS = (S.ENVIADO, S.DESCONHECIDO)
NOTAS = {
    "autorizada": nota(),
    "processando": nota(Situacao.PROCESSANDO),
    "sem_numero": nota(numero=None),
    "rejeitada": nota(Situacao.REJEITADA, mensagem="E123"),
    "ja_existe": nota(Situacao.REJEITADA, mensagem="E0014", ja_existe=True),
    "sem_xml": nota(descricao=None, competencia=None, codigo_servico=None),
    "cancelada": nota(Situacao.CANCELADA),
    "outra": nota(tomador=OUTRO_CNPJ),
}
# After asking: what was found, the status before → the status after and the news for the user.
ACHADOS: dict[str, dict[S, tuple[S, str | None]]] = {
    "autorizada": dict.fromkeys([*ABERTOS, S.ERRO, S.REJEITADO, S.CONFLITO, S.DISPENSADO], (S.CONCLUIDO, "autorizada")),
    "processando": dict.fromkeys(ABERTOS, (S.ENVIADO, None)),
    "ja_existe": dict.fromkeys(ABERTOS, (S.DESCONHECIDO, None)),
    "sem_xml": dict.fromkeys(ABERTOS, (S.ENVIADO, None)),
    "sem_numero": dict.fromkeys(ABERTOS, (S.ENVIADO, None)),
    "rejeitada": dict.fromkeys([*ABERTOS, S.ERRO, S.CONFLITO, S.DISPENSADO], (S.REJEITADO, "rejeitada")),
    "cancelada": {
        **dict.fromkeys([*ABERTOS, S.REJEITADO, S.DISPENSADO], (S.CONFLITO, "falhou")),
        S.ERRO: (S.CONFLITO, None),  # the user was told when it became an error
    },
    "outra": {
        **dict.fromkeys([*ABERTOS, S.REJEITADO, S.DISPENSADO], (S.CONFLITO, "falhou")),
        S.ERRO: (S.CONFLITO, None),
    },
}
PERGUNTADOS = (*ABERTOS, S.ERRO, *sorted(ASSENTADOS))


@pytest.mark.parametrize("achado", NOTAS)
@pytest.mark.parametrize("antes", PERGUNTADOS)
def test_what_follows_from_a_note_that_was_found(antes, achado):
    """The whole table of notes; what is not in it leaves status and user as they were."""
    passo = after_query(andamento(antes), Found(NOTAS[achado]), depois(), POLITICA)
    status, aviso = ACHADOS[achado].get(antes, (antes, None))
    assert (passo.andamento.status, passo.aviso) == (status, aviso)
    assert passo.nota == NOTAS[achado]
    if status in ASSENTADOS and achado not in {"processando", "sem_numero", "ja_existe", "sem_xml"}:
        assert passo.daqui is None


@pytest.mark.parametrize("antes", PERGUNTADOS)
def test_what_follows_when_the_gateway_says_it_has_none(antes):
    """Once proves nothing; twice, half a minute apart, lets the bytes go again; settled or with people: never."""
    uma = after_query(andamento(antes), Absent(), depois(10), POLITICA)
    if antes not in ABERTOS:
        assert uma.andamento.status is antes
        return
    assert (uma.andamento.status, uma.daqui) == (S.DESCONHECIDO, ABSENT_TWICE_AFTER.total_seconds())
    cedo = after_query(uma.andamento, Absent(), depois(30), POLITICA)
    assert (cedo.andamento.status, cedo.daqui) == (S.DESCONHECIDO, 10.0)
    duas = after_query(cedo.andamento, Absent(), depois(40), POLITICA)
    assert (duas.andamento.status, duas.daqui) == (S.PENDENTE, 0.0)


@pytest.mark.parametrize("antes", PERGUNTADOS)
def test_what_follows_when_the_gateway_can_not_tell(antes):
    """No answer changes nothing, and the next question comes on the ladder."""
    passo = after_query(andamento(antes), CannotTell("HTTP 502"), depois(), POLITICA)
    assert (passo.andamento.status, passo.daqui, passo.aviso) == (antes, 10.0, None)


def test_absence_seen_before_a_sighting_or_another_sending_does_not_count():
    """Two absences are of one sending, with nothing found between them; a clock that went back starts anew."""
    uma = after_query(andamento(), Absent(), depois(10), POLITICA).andamento
    vista = after_query(uma, Found(nota(Situacao.PROCESSANDO)), depois(20), POLITICA).andamento
    assert vista.ausente_desde is None
    assert after_query(vista, Absent(), depois(60), POLITICA).andamento.status is S.DESCONHECIDO
    enviada = after_send(replace(uma, status=S.PENDENTE), Unknown("reset"), depois(50), POLITICA).andamento
    assert enviada.ausente_desde is None
    atras = after_query(uma, Absent(), depois(-3600), POLITICA)
    assert (atras.andamento.ausente_desde, atras.daqui) == (depois(-3600), 30.0)


def test_the_ladder_is_climbed_rung_by_rung_and_its_last_rung_repeats():
    """2 s after sending, then 10 s, 30 s … and every hour."""
    agora, esperas = depois(0), []
    atual = after_send(andamento(S.PENDENTE, avisado=True), Unknown("timeout"), agora, POLITICA)
    for _ in range(9):
        assert atual.daqui is not None
        esperas.append(atual.daqui)
        agora += timedelta(seconds=atual.daqui)
        atual = after_query(atual.andamento, CannotTell("HTTP 502"), agora, POLITICA)
    assert esperas == [2, 10, 30, 120, 300, 900, 3600, 3600, 3600]


def test_sending_again_doubles_its_pause_up_to_the_cap_for_ever():
    """1, 2, 4 … 30 s; two thousand refused connections later it is still 30 s."""
    atual, esperas = andamento(S.PENDENTE, avisado=True), []
    for _ in range(2000):
        passo = after_send(atual, NotSent("ConnectError"), depois(), POLITICA)
        esperas.append(passo.daqui)
        atual = passo.andamento
    assert esperas[:7] == [1, 2, 4, 8, 16, 30, 30]
    assert set(esperas[5:]) == {POLITICA.retentativas.teto}


def test_the_user_is_told_once_that_it_takes_long_and_in_time():
    """We wake up for it between two rungs; later questions say nothing."""
    politica = Politica(avisar_apos=timedelta(seconds=25))
    passo = after_query(andamento(consultas=1), CannotTell("HTTP 502"), depois(12), politica)
    assert (passo.daqui, passo.aviso) == (13.0, None)
    passo = after_query(passo.andamento, CannotTell("HTTP 502"), depois(25), politica)
    assert (passo.aviso, passo.andamento.avisado) == ("demorou", True)
    assert after_query(passo.andamento, CannotTell("HTTP 502"), depois(60), politica).aviso is None


def test_what_nobody_accepted_is_asked_about_after_twenty_hours_and_never_dies():
    """It is tried each hour until its cause ends; a yes counts for a day, then its person is asked again."""
    agora = AGORA + timedelta(hours=20, seconds=1)
    for outcome in (NotSent("ConnectError"), Postponed(None, "HTTP 503"), Misconfigured("HTTP 403")):
        passo = after_send(andamento(S.PENDENTE, envios=3, avisado=True), outcome, agora, POLITICA)
        assert (passo.andamento.status, passo.aviso, passo.daqui) == (S.PENDENTE, "ainda_quer", ASKED_PAUSE)
        assert passo.retida == "pessoa"
        assert must_ask(andamento(S.PENDENTE, envios=3), agora)
        perguntada = replace(passo.andamento, retida=passo.retida)
        assert not must_ask(perguntada, agora + 3 * DIA)
        outra_vez = after_send(perguntada, outcome, agora + 3 * DIA, POLITICA)
        assert (outra_vez.aviso, outra_vez.daqui, outra_vez.retida) == (None, ASKED_PAUSE, "pessoa")
    esperou = without_call(andamento(S.PENDENTE, avisado=True), 60.0, "circuito", agora, POLITICA)
    assert (esperou.aviso, esperou.daqui, esperou.retida) == ("ainda_quer", ASKED_PAUSE, "pessoa")
    querido = andamento(S.PENDENTE, avisado=True, desejado_em=agora)
    assert not must_ask(querido, agora + timedelta(hours=19))
    assert after_send(querido, NotSent("x"), agora + timedelta(hours=19), POLITICA).daqui is not None
    assert must_ask(querido, agora + timedelta(hours=21))
    aceito = after_send(querido, Accepted("ext", "p"), agora + timedelta(seconds=1), POLITICA)
    assert (aceito.andamento.status, aceito.aviso) == (S.ENVIADO, None)


def test_what_prosa_never_tried_waits_for_its_person_word():
    """Nobody refused it and nothing of ours held it: Prosa itself was away, and nothing goes out as a surprise."""
    passo = without_call(andamento(S.PENDENTE), 0.0, "pessoa", AGORA + DIA, POLITICA)
    assert (passo.aviso, passo.daqui, passo.retida) == ("ainda_quer", None, "pessoa")


@pytest.mark.parametrize(
    "outcome", [Accepted("ext", "p"), Unknown("read timeout"), Duplicate(), Issued(nota(descricao=None))]
)
def test_the_day_of_what_went_out_after_its_question_begins_when_it_is_heard(outcome):
    """Three days old, and its answer is waited for as on the first day: no error, no word of failure."""
    agora = AGORA + 3 * DIA
    passo = after_send(andamento(S.PENDENTE, envios=3, avisado=True, retida="pessoa"), outcome, agora, POLITICA)
    assert passo.status in {S.ENVIADO, S.DESCONHECIDO}
    assert (passo.aviso, passo.retida, passo.andamento.causa_fim_em) == (None, None, agora)
    interrompida = andamento(S.DESCONHECIDO, avisado=True, duvida=True, retida="pessoa")
    depois_da_queda = after_query(interrompida, CannotTell("HTTP 502"), agora, POLITICA)
    assert (depois_da_queda.status, depois_da_queda.aviso) == (S.DESCONHECIDO, None)


@pytest.mark.parametrize("status", [S.PENDENTE, *ABERTOS])
@pytest.mark.parametrize("avisado", [False, True])
@pytest.mark.parametrize("idade", [DIA + timedelta(seconds=1), 8 * DIA])
def test_after_a_day_people_take_over_and_the_user_hears_it_once(status, avisado, idade):
    """``erro`` and "falhou" once; nothing is sent by itself any more; the questions go on for a week."""
    agora = AGORA + idade
    atual = andamento(status, avisado=avisado, envios=3, duvida=True)
    if may_send(atual):
        passo = after_send(atual, NotSent("ConnectError"), agora, POLITICA)
    else:
        passo = after_query(atual, CannotTell("HTTP 502"), agora, POLITICA)
    assert (passo.andamento.status, passo.aviso, passo.daqui) == (S.ERRO, "falhou", POLITICA.escada[-1])
    for finding in (CannotTell("HTTP 502"), Absent(), Absent(), Found(nota(Situacao.PROCESSANDO))):
        agora += timedelta(hours=1)
        passo = after_query(passo.andamento, finding, agora, POLITICA)
        assert (passo.andamento.status, passo.aviso) == (S.ERRO, None)
        assert (passo.daqui is None) == (agora - AGORA > GIVE_UP_ASKING_AFTER)


@pytest.mark.parametrize("espera", [None, 3 * 3600.0])
def test_an_error_that_is_authorised_after_all_is_adopted(espera):
    """Days later, from a question or a hint: the authority's word prevails."""
    parado = after_query(andamento(avisado=True), CannotTell("HTTP 503", espera), AGORA + 2 * DIA, POLITICA)
    assert parado.daqui == max(POLITICA.escada[-1], espera or 0)
    passo = after_query(parado.andamento, Found(nota()), AGORA + 6 * DIA, POLITICA)
    assert (passo.andamento.status, passo.aviso, passo.daqui) == (S.CONCLUIDO, "autorizada", None)


def test_a_hint_about_a_settled_note_is_followed_up_the_ladder_each_time():
    """A refused note whose webhook says otherwise is asked for until the ladder ends, and anew at the next hint."""
    settled = after_query(andamento(consultas=30), Found(NOTAS["rejeitada"]), depois(), POLITICA)
    for _ in range(2):
        atual, esperas = settled.andamento, []
        while True:
            passo = after_query(atual, CannotTell("HTTP 502"), depois(), POLITICA)
            atual = passo.andamento
            if passo.daqui is None:
                break
            esperas.append(passo.daqui)
        assert esperas == list(POLITICA.escada[1:])
        assert atual == settled.andamento


def test_what_was_refused_is_never_sent_again_by_a_later_sighting():
    """Refused, then "processing", then absent twice: the user may have issued a mended one meanwhile."""
    atual = after_send(andamento(S.PENDENTE), RECUSA, depois(), POLITICA).andamento
    for finding in (Found(nota(Situacao.PROCESSANDO)), Absent(), Absent(), Absent()):
        passo = after_query(atual, finding, depois(3600), POLITICA)
        atual = passo.andamento
        assert (atual.status, passo.aviso) == (S.REJEITADO, None)


@pytest.mark.parametrize(
    ("diferente", "campo"),
    [
        ({"id_integracao": "outra-r1-1"}, "id_integracao"),
        ({"valor": Decimal("1500.01")}, "valor"),
        ({"tomador": OUTRO_CNPJ}, "tomador"),
        ({"prestador": OUTRO_CNPJ}, "prestador"),
        ({"descricao": "Outro serviço"}, "descricao"),
        ({"competencia": "2026-10-31"}, "competencia"),
        ({"codigo_servico": "14.10"}, "codigo_servico"),
    ],
)
def test_a_note_with_other_content_is_a_conflict_for_people(diferente, campo):
    """Never adopted, and the record says in what it differs; where the gateway is silent there is no difference."""
    passo = after_query(andamento(), Found(nota(**diferente)), depois(), POLITICA)
    assert passo.andamento.status is S.CONFLITO
    assert campo in (passo.motivo or "")
    calada = nota(valor=None, tomador=None, prestador=None)
    assert after_query(andamento(), Found(calada), depois(), POLITICA).andamento.status is S.CONCLUIDO


@pytest.mark.parametrize(
    "escrita",
    [
        {"descricao": "CONSULTORIA  DE GESTAO."},
        {"competencia": "2026-11"},
        {"competencia": "2026-11-01"},
        {"codigo_servico": "17.01"},
        {"codigo_servico": "170101"},
    ],
)
def test_another_spelling_of_the_same_content_is_no_conflict(escrita):
    """Authorities change case, accents and dots, and name a month by any of its days."""
    assert after_query(andamento(), Found(nota(**escrita)), depois(), POLITICA).andamento.status is S.CONCLUIDO


def test_a_row_that_is_not_what_its_fingerprint_says_adopts_nothing():
    """Whoever changed our own columns after the confirmation makes no note pass for the confirmed one."""
    mexida = replace(andamento(), impressao="0" * 64)
    passo = after_query(mexida, Found(nota()), depois(), POLITICA)
    assert (passo.andamento.status, "impressao" in (passo.motivo or "")) == (S.CONFLITO, True)


def test_a_note_is_adopted_when_its_content_was_seen_or_its_xml_never_comes():
    """Looked at again soon and less and less often; after a minute the summary is believed."""
    sem = Found(NOTAS["sem_xml"])
    agora, atual, pausas = depois(), andamento(), []
    while (passo := after_query(atual, sem, agora, POLITICA)).andamento.status is S.ENVIADO:
        assert passo.daqui is not None
        pausas.append(passo.daqui)
        agora, atual = agora + timedelta(seconds=passo.daqui), passo.andamento
    assert passo.andamento.status is S.CONCLUIDO
    assert pausas == [0.5, 0.5, 1, 2, 4, 8, 16, 32]
    assert agora - depois() >= CONTENT_WITHIN
    assert after_query(atual, Found(nota()), depois(9), POLITICA).andamento.status is S.CONCLUIDO
    outra = Found(nota(descricao="Outro serviço"))
    assert after_query(atual, outra, depois(9), POLITICA).andamento.status is S.CONFLITO


def test_a_note_whose_xml_is_there_in_an_unknown_layout_waits_for_nothing():
    """Its summary counts at once, and what the XML does show must be what was confirmed."""
    xml = Arquivo(b"<NFe/>", "application/xml")
    passo = after_query(andamento(), Found(NOTAS["sem_xml"], xml), depois(), POLITICA)
    assert (passo.andamento.status, passo.aviso, passo.daqui) == (S.CONCLUIDO, "autorizada", None)
    outra = replace(NOTAS["sem_xml"], descricao="Outro serviço")
    assert after_query(andamento(), Found(outra, xml), depois(), POLITICA).andamento.status is S.CONFLITO


@pytest.mark.parametrize("status", sorted(S))
def test_work_that_raises_again_and_again_is_for_people(status):
    """Who waits hears it once, nothing is done any more, and what was settled stays so."""
    passo = in_error(andamento(status), "our own work")
    over = status in ASSENTADOS or status is S.ERRO
    assert (passo.status, passo.aviso) == ((status, None) if over else (S.ERRO, "falhou"))
    assert (passo.daqui, passo.motivo) == (None, "our own work")


def test_a_refusal_while_an_earlier_call_is_undecided_ends_nothing():
    """The first call's answer was lost: a refusal of the second stands, with its code, after two absences only."""
    perdida = after_send(andamento(S.PENDENTE), Unknown("reset"), depois(0), POLITICA).andamento
    uma = after_query(perdida, Absent(), depois(2), POLITICA).andamento
    duas = after_query(uma, Absent(), depois(40), POLITICA).andamento
    assert may_send(duas)
    recusada = after_send(duas, RECUSA, depois(41), POLITICA)
    assert (recusada.andamento.status, recusada.aviso) == (S.DESCONHECIDO, None)
    assert recusada.daqui is not None
    achada = after_query(recusada.andamento, Found(nota()), depois(43), POLITICA)
    assert (achada.andamento.status, achada.aviso) == (S.CONCLUIDO, "autorizada")
    ausente = after_query(recusada.andamento, Absent(), depois(51), POLITICA)
    assert (ausente.andamento.status, ausente.aviso) == (S.DESCONHECIDO, None)
    firme = after_query(ausente.andamento, Absent(), depois(51 + 30), POLITICA)
    assert (firme.andamento.status, firme.aviso, firme.recusa) == (S.REJEITADO, "rejeitada", RECUSA)
    assert not may_send(firme.andamento)


SOA = Rejected("já existe um lote em processamento")


def test_what_only_sounds_like_a_duplicate_is_a_refusal_once_the_note_is_certainly_absent():
    """Nothing else ever left us: it is told in the gateway's own words, and not sent again."""
    soa = after_send(andamento(S.PENDENTE), Duplicate(recusa=SOA), depois(0), POLITICA)
    assert (soa.status, soa.daqui, soa.andamento.duvida) == (S.DESCONHECIDO, 0.0, False)
    uma = after_query(soa.andamento, Absent(), depois(1), POLITICA)
    assert (uma.status, uma.aviso) == (S.DESCONHECIDO, None)
    duas = after_query(uma.andamento, Absent(), depois(31), POLITICA)
    assert (duas.status, duas.daqui, duas.aviso, duas.recusa) == (S.REJEITADO, None, "rejeitada", SOA)


@pytest.mark.parametrize("resposta", [Rejected("identificador em uso"), Duplicate(recusa=Rejected("já há", ("E10",)))])
def test_words_alone_end_nothing_after_a_lost_answer(resposta):
    """It is asked about past the gateway's lag; then people look, and nobody says that there is none."""
    passo = after_send(andamento(S.PENDENTE, duvida=True), resposta, depois(0), POLITICA)
    agora = AGORA
    while passo.status is S.DESCONHECIDO:
        assert passo.daqui is not None
        assert passo.aviso in {None, "demorou"}
        agora += timedelta(seconds=max(passo.daqui or 0.0, 1.0))
        passo = after_query(passo.andamento, Absent(), agora, POLITICA)
    assert agora - AGORA >= POLITICA.natureza.lag
    assert (passo.status, passo.aviso) == (S.ERRO, "falhou")
    tarde = after_query(passo.andamento, Found(nota()), agora, POLITICA)
    assert (tarde.status, tarde.aviso) == (S.CONCLUIDO, "autorizada")


@pytest.mark.parametrize("resposta", [Unknown("HTTP 400", recusada=True), Duplicate()])
def test_the_same_bytes_are_not_refused_for_ever(resposta):
    """Refusals that nobody here knows, each followed by certain absence, end in people."""
    atual, agora = andamento(S.PENDENTE), AGORA
    for volta in range(1, MOST_REFUSALS + 1):
        passo = after_send(atual, resposta, agora, POLITICA)
        if volta == MOST_REFUSALS:
            break
        while passo.status is S.DESCONHECIDO:
            agora += timedelta(seconds=max(passo.daqui or 0.0, 1.0))
            passo = after_query(passo.andamento, Absent(), agora, POLITICA)
        assert may_send(passo.andamento)
        atual = passo.andamento
    assert (passo.status, passo.aviso) == (S.ERRO, "falhou")
    assert passo.daqui is not None  # it is asked about on
    assert agora - AGORA < timedelta(hours=1)


def test_what_failed_without_a_refusal_is_not_counted():
    """A gateway that is down for an hour makes nobody's invoice a case."""
    atual = andamento(S.PENDENTE)
    for _ in range(2 * MOST_REFUSALS):
        passo = after_send(replace(atual, status=S.PENDENTE), Unknown("HTTP 502"), depois(), POLITICA)
        atual = passo.andamento
    assert (passo.status, atual.recusas) == (S.DESCONHECIDO, 0)


def test_a_refusal_after_calls_that_nobody_accepted_is_final():
    """Refused connections, 503 and 403 leave nothing undecided."""
    atual = andamento(S.PENDENTE)
    for outcome in (NotSent("ConnectError"), Postponed(None, "HTTP 503"), Misconfigured("HTTP 403")):
        atual = after_send(atual, outcome, depois(), POLITICA).andamento
    assert after_send(atual, RECUSA, depois(), POLITICA).andamento.status is S.REJEITADO


def test_after_two_absences_the_pauses_grow():
    """A gateway that always loses the answer and never has the note gets some twenty calls a day, not thousands."""
    agora, atual, envios = AGORA, andamento(S.PENDENTE, avisado=True), []
    while atual.status is not S.ERRO:
        if may_send(atual):
            envios.append(agora)
            passo = after_send(atual, Unknown("ReadTimeout"), agora, POLITICA)
        else:
            passo = after_query(atual, Absent(), agora, POLITICA)
        assert passo.daqui is not None
        agora, atual = agora + timedelta(seconds=passo.daqui), passo.andamento
    pausas = [(depois - antes).total_seconds() for antes, depois in pairwise(envios)]
    assert pausas == sorted(pausas)
    assert len(envios) < 25


CIDADE = POLITICA.de(Natureza(absences=3, resend_is_destructive=True, synchronous=True))


def test_absence_is_sure_after_as_many_looks_as_the_channel_says() -> None:
    """Each counts only if it lies far enough from the one before; then the stored bytes go again."""
    passo = after_query(andamento(), Absent(), depois(0), CIDADE)
    for seconds, seen, status in ((29, 1, S.DESCONHECIDO), (31, 2, S.DESCONHECIDO), (40, 2, S.DESCONHECIDO)):
        passo = after_query(passo.andamento, Absent(), depois(seconds), CIDADE)
        assert (passo.andamento.ausencias, passo.andamento.status) == (seen, status)
    assert after_query(passo.andamento, Absent(), depois(62), CIDADE).andamento.status is S.PENDENTE


def test_one_absence_is_enough_where_the_channel_says_so() -> None:
    """Its authority answers from the book itself."""
    once = POLITICA.de(Natureza(absences=1))
    assert after_query(andamento(), Absent(), depois(), once).andamento.status is S.PENDENTE


def test_an_acceptance_without_the_note_tells_nothing_where_the_answer_is_the_note() -> None:
    """No webhook will come of it: it is asked about, as after a lost answer."""
    synchronous = POLITICA.de(Natureza(synchronous=True))
    passo = after_send(andamento(S.PENDENTE), Accepted("ext", None), depois(), synchronous)
    assert (passo.andamento.status, passo.andamento.duvida) == (S.DESCONHECIDO, True)


@pytest.mark.parametrize("answer", [Postponed(5.0, "HTTP 429"), Accepted("ext", None), Unknown("ReadTimeout")])
def test_a_destructive_synchronous_channel_is_asked_unless_certainly_nothing_left(answer: Outcome) -> None:
    """A refusal before acceptance may be untrue, and an acceptance without the note tells nothing."""
    depois_de = after_send(andamento(S.PENDENTE), answer, depois(), CIDADE).andamento
    assert (depois_de.status, depois_de.duvida) == (S.DESCONHECIDO, True)
    assert after_send(andamento(S.PENDENTE), NotSent("ConnectError"), depois(), CIDADE).andamento.status is S.PENDENTE


@pytest.mark.parametrize(
    "put_off",
    [
        lambda standing, agora, politica: after_send(standing, NotSent("ConnectError"), agora, politica),
        lambda standing, agora, politica: after_send(standing, Misconfigured("HTTP 401"), agora, politica),
        lambda standing, agora, politica: without_call(standing, 18_000.0, "circuito", agora, politica),
    ],
    ids=["not sent", "credentials", "breaker"],
)
def test_where_a_resend_voids_the_first_note_old_absences_do_not_count(put_off) -> None:
    """A note that appears while the resend waits would be voided by it: it is asked about again first."""
    sure = andamento(S.PENDENTE, duvida=True, envios=1, rodadas=1)
    asked = put_off(sure, AGORA, CIDADE).andamento
    assert (asked.status, asked.ausente_desde, asked.ausencias) == (S.DESCONHECIDO, None, 0)
    assert put_off(sure, AGORA, POLITICA).andamento.status is S.PENDENTE  # an authority that is unique on the key
    first = andamento(S.PENDENTE)  # never sent: nothing can be voided
    assert put_off(first, AGORA, CIDADE).andamento.status is S.PENDENTE


def test_a_resend_that_comes_late_is_asked_about_anew() -> None:
    """Whoever was to send it died: hours later nobody knows what became of the key meanwhile."""
    sure = andamento(S.PENDENTE, duvida=True, envios=1, rodadas=1)
    late = ABSENCE_HOLDS + timedelta(seconds=1)
    passo = absent_long_ago(sure, late, AGORA, CIDADE)
    assert passo is not None
    assert (passo.status, passo.daqui, passo.andamento.ausencias) == (S.DESCONHECIDO, 0.0, 0)
    assert absent_long_ago(sure, ABSENCE_HOLDS, AGORA, CIDADE) is None
    assert absent_long_ago(sure, late, AGORA, POLITICA) is None
    assert absent_long_ago(andamento(S.PENDENTE), late, AGORA, CIDADE) is None  # nothing ever left


def test_a_refusal_that_tells_of_a_note_leaves_doubt_where_a_resend_voids_it() -> None:
    """It stands once the key was absent often enough; a next attempt under that number waits for as many again."""
    double = Duplicate(recusa=Rejected("338", ("338",)))
    for politica, leaves in ((CIDADE, Parecer.AUSENTE), (POLITICA, Parecer.ENVIA)):
        passo, agora = after_send(andamento(S.PENDENTE), double, AGORA, politica), AGORA
        while passo.daqui is not None:
            agora += timedelta(seconds=passo.daqui)
            passo = after_query(passo.andamento, Absent(), agora, politica)
        assert (passo.status, passo.aviso) == (S.REJEITADO, "rejeitada")
        assert judge(Anterior(1, passo.andamento, None), Absent(), agora, politica) is leaves


def test_a_note_in_the_answer_is_adopted_and_tells_which_one_it_voided() -> None:
    """The answer is compared like any finding; one that cost another is told as issued at once, with that number."""
    certo = after_send(andamento(S.PENDENTE), Issued(nota()), depois(), CIDADE)
    assert (certo.andamento.status, certo.aviso) == (S.CONCLUIDO, "autorizada")
    outro = after_send(andamento(S.PENDENTE), Issued(nota(id_integracao="outra")), depois(), CIDADE)
    assert outro.andamento.status is S.CONFLITO
    caro = after_send(andamento(S.PENDENTE), Issued(nota(), anulada="41"), depois(), CIDADE)
    assert (caro.andamento.status, caro.aviso, caro.anulada) == (S.CONCLUIDO, "autorizada", "41")
    curto = nota(descricao=None, competencia=None, codigo_servico=None)
    calado = after_send(andamento(S.PENDENTE), Issued(curto, anulada="41"), depois(), CIDADE)
    assert (calado.andamento.status, calado.anulada) == (S.CONCLUIDO, "41")
    assert after_send(andamento(S.PENDENTE), Issued(nota()), depois(), CIDADE).anulada is None


def test_what_keeps_us_from_asking_is_told_of_an_unknown_outcome():
    """The certificate's words go to the person at once; the emission stays unknown, and is asked about again."""
    nada = CannotTell("no usable certificate", None, "falta o certificado")
    passo = after_query(andamento(S.DESCONHECIDO, duvida=True), nada, depois(), POLITICA)
    assert (passo.aviso, passo.texto, passo.motivo) == ("demorou", "falta o certificado", "no usable certificate")
    assert (passo.status, passo.andamento.duvida, passo.suspender) == (S.DESCONHECIDO, True, None)
    assert passo.daqui is not None
    settled = after_query(andamento(S.CONCLUIDO), nada, depois(), POLITICA)
    assert (settled.aviso, settled.texto) == (None, None)


def test_what_the_company_must_repair_is_told_at_once():
    """Its words go to the person with the first refusal; nothing is an attempt, and the company stops."""
    passo = after_send(andamento(S.PENDENTE), Misconfigured("E1203", "o certificado venceu"), depois(), POLITICA)
    assert (passo.aviso, passo.texto, passo.suspender) == ("demorou", "o certificado venceu", "E1203")
    assert passo.andamento.avisado
    assert passo.daqui is not None
    assert may_send(passo.andamento)
    assert not passo.refazer
    assert after_send(andamento(S.PENDENTE), Misconfigured("E0715", refazer=True), depois(), POLITICA).refazer


def test_a_form_that_is_refused_is_made_anew_once_no_call_is_in_doubt() -> None:
    """The same invoice goes in the other form; while an earlier call is undecided, it is asked for first."""
    other = NotSent("the city asks for layout 1", refazer=True)
    passo = after_send(andamento(S.PENDENTE), other, depois(), CIDADE)
    assert (passo.status, passo.refazer, passo.andamento.duvida) == (S.PENDENTE, True, False)
    assert not after_send(andamento(S.PENDENTE), NotSent("ConnectError"), depois(), CIDADE).refazer
    asked = after_send(andamento(S.PENDENTE, duvida=True), other, depois(), CIDADE)
    assert (asked.status, asked.refazer, asked.andamento.ausencias) == (S.DESCONHECIDO, True, 0)


def test_an_absence_counts_only_once_the_sending_is_old_enough() -> None:
    """What was sent a moment ago may still be on its way; a first absence that is too early is none."""
    natureza = Natureza(absence_age=timedelta(seconds=210), absence_spacing=timedelta(seconds=60), absences=2)
    politica, sent = POLITICA.de(natureza), replace(andamento(S.DESCONHECIDO, duvida=True), sent_at=AGORA)
    early = after_query(sent, Absent(), AGORA + timedelta(seconds=200), politica)
    assert (early.status, early.andamento.ausente_desde, early.daqui) == (S.DESCONHECIDO, None, 10)
    first = after_query(early.andamento, Absent(), AGORA + timedelta(seconds=210), politica)
    assert (first.status, first.andamento.ausencias) == (S.DESCONHECIDO, 1)
    sure = after_query(first.andamento, Absent(), AGORA + timedelta(seconds=270), politica)
    assert sure.status is S.PENDENTE


def test_an_absence_of_earlier_attempts_waits_for_the_last_of_their_sendings() -> None:
    """By the strictest of their channels, whether or not the new attempt was ever sent."""
    slow = Natureza(absence_age=timedelta(seconds=210), absence_spacing=timedelta(seconds=60), absences=2)
    ausentes = [(slow, AGORA), (Natureza(), AGORA - timedelta(hours=1)), (Natureza(), None)]
    novo, resta = count_earlier(andamento(S.PENDENTE), AGORA + timedelta(seconds=200), ausentes)
    assert (novo.ausente_desde, resta) == (None, timedelta(seconds=10))
    novo, resta = count_earlier(novo, AGORA + timedelta(seconds=210), ausentes)
    assert (novo.ausencias, novo.sent_at, resta) == (1, None, timedelta(seconds=60))
    assert count_earlier(novo, AGORA + timedelta(seconds=270), ausentes)[1] == timedelta(0)


COM_REFERENCIA = POLITICA.de(Natureza(reference=str.upper))


def test_an_equal_note_without_a_reference_is_for_people():
    """On a channel whose notes carry one: it may be ours, and may be another program's."""
    nossa = andamento(S.DESCONHECIDO)
    achado = after_query(nossa, Found(nota(referencia=nossa.id_integracao.upper())), depois(), COM_REFERENCIA)
    assert achado.status is S.CONCLUIDO
    passo = after_query(nossa, Found(nota()), depois(), COM_REFERENCIA)
    assert (passo.status, passo.aviso) == (S.CONFLITO, "falhou")
    assert "referencia" in (passo.motivo or "")
    assert after_query(nossa, Found(nota()), depois(), POLITICA).status is S.CONCLUIDO


def test_a_note_of_another_reference_in_the_answer_is_not_ours():
    """The answer to our own sending is no proof either: an equal note of another confirmation goes to people."""
    channel = POLITICA.de(Natureza(reference=str.upper, synchronous=True))
    nossa = andamento(S.PENDENTE)
    certo = after_send(nossa, Issued(nota(referencia=nossa.id_integracao.upper())), depois(), channel)
    assert certo.andamento.status is S.CONCLUIDO
    outro = after_send(nossa, Issued(nota(referencia="OUTRA")), depois(), channel)
    assert (outro.andamento.status, outro.aviso) == (S.CONFLITO, "falhou")


@pytest.mark.parametrize("achada", [nota(referencia="OUTRA"), nota(valor=Decimal(1))], ids=["another", "none"])
@pytest.mark.parametrize(
    ("antes", "status", "aviso"),
    [
        (S.DESCONHECIDO, S.REJEITADO, "renumera"),
        (S.ENVIADO, S.REJEITADO, "renumera"),
        (S.REJEITADO, S.REJEITADO, None),
        (S.DISPENSADO, S.DISPENSADO, None),
        (S.CONFLITO, S.CONFLITO, None),
        (S.CONCLUIDO, S.CONCLUIDO, None),
        (S.ERRO, S.CONFLITO, None),  # with people already
    ],
)
def test_a_number_that_another_note_has_is_no_verdict_on_ours(achada, antes, status, aviso):
    """Nothing of ours stands under it, so what was open gets the next number; nothing of the other note is kept."""
    passo = after_query(andamento(antes, duvida=True, recusa=RECUSA), Found(achada), depois(), COM_REFERENCIA)
    assert (passo.status, passo.aviso, passo.daqui) == (status, aviso, None)
    if aviso:
        assert (passo.nota, passo.andamento.duvida, passo.andamento.recusa) == (None, False, None)


def test_a_number_that_was_known_to_be_ours_is_for_people_when_it_is_anothers():
    """Looked for because the authority had our reference there: what stands there now, nobody foresaw."""
    nossa = andamento(S.DESCONHECIDO, procurada=True)
    passo = after_query(nossa, Found(nota(referencia="OUTRA")), depois(), COM_REFERENCIA)
    assert (passo.status, passo.aviso) == (S.CONFLITO, "falhou")


def test_a_note_of_another_attempt_at_the_same_confirmation_is_that_attempts():
    """Both have one number: the earlier one takes it in, and this one waits for that, certainly accepted by nobody."""
    segunda = replace(andamento(S.DESCONHECIDO, duvida=True), id_integracao=f"{ID[:-1]}2", chave=ID)
    da_primeira = Found(nota(referencia=ID.upper()))
    passo = after_query(segunda, da_primeira, depois(), COM_REFERENCIA)
    assert (passo.status, passo.irma, passo.retida) == (S.PENDENTE, ID, "tentativa_anterior")
    assert (passo.andamento.duvida, passo.aviso, passo.nota) == (False, None, None)
    assert passo.daqui is not None
    encerrada = after_query(replace(segunda, status=S.REJEITADO), da_primeira, depois(), COM_REFERENCIA)
    assert (encerrada.status, encerrada.irma, encerrada.daqui) == (S.REJEITADO, ID, None)
    da_segunda = Found(nota(referencia=segunda.id_integracao.upper()))
    assert after_query(andamento(S.DESCONHECIDO), da_segunda, depois(), COM_REFERENCIA).status is S.CONFLITO
    assert after_query(segunda, da_segunda, depois(), COM_REFERENCIA).status is S.CONCLUIDO


def test_an_own_absence_holds_while_those_of_earlier_attempts_are_counted() -> None:
    """Where a resend voids: to ask about itself anew after each of their absences would never end."""
    ausentes = [(CIDADE.natureza, None)]
    sure = andamento(S.PENDENTE, duvida=True, envios=1)
    novo, resta = count_earlier(sure, AGORA, ausentes)
    held = without_call(novo, resta.total_seconds(), "tentativa_anterior", AGORA, CIDADE, fresh=True)
    assert (held.status, held.andamento.ausencias, held.retida) == (S.PENDENTE, 1, "tentativa_anterior")
    put_off = without_call(novo, resta.total_seconds(), "tentativa_anterior", AGORA, CIDADE)
    assert (put_off.status, put_off.andamento.ausencias) == (S.DESCONHECIDO, 0)
