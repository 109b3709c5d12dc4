from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.invoice.draft import Substituida
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import (
    ESPERAM_USUARIO,
    FINAIS,
    Dispensar,
    Emitir,
    EnviarArquivo,
    Estado,
    Responder,
    RetomarEnvio,
    SnapshotReason,
)
from state_machine.machine.events import (
    EVENTOS,
    Abriu,
    Cancelou,
    Confirmou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Informou,
    NaoQuisMais,
    NotaAutorizada,
    NotaRejeitada,
    NumeroTomado,
    PediuCorrecao,
    PrazoVencido,
    QuisAinda,
    Reprocessou,
)
from state_machine.machine.transition import IGNORADOS, REGRAS, transition
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.text import Escrita
from tests.state_machine.made_sessions import (
    AGORA,
    DOC,
    MORE,
    PADARIA,
    SEGUNDO,
    SERVICO,
    VALOR,
    de_tipo,
    diz,
    em_processo,
    emissoes,
    lido,
    momentos,
    no_resumo,
    nova,
    resposta,
    sessoes,
)

PARES = [(estado, tipo) for estado in Estado for tipo in EVENTOS]
# The specification's table "Estados × Persistência".
REASONS = {
    Estado.COLETA: SnapshotReason.MANUAL,
    Estado.AGUARDANDO_CONFIRMACAO: SnapshotReason.DATA_COMPLETE,
    Estado.PROCESSANDO: SnapshotReason.CONFIRMED,
    Estado.APROVADO: SnapshotReason.WEBHOOK_SUCCESS,
    Estado.REJEITADO: SnapshotReason.WEBHOOK_REJECTED,
    Estado.ERRO: SnapshotReason.ERROR,
    Estado.CANCELADO_USUARIO: SnapshotReason.CANCELLED,
    Estado.EXPIRADO: SnapshotReason.EXPIRED,
}
pares = pytest.mark.parametrize(("estado", "tipo"), PARES, ids=lambda x: getattr(x, "__name__", x))


# --- totality -----------------------------------------------------------------------------------------------------


def test_every_pair_of_state_and_event_has_exactly_one_place():
    """REGRAS and IGNORADOS cover Estado x EVENTOS and don't overlap."""
    assert set(REGRAS) | IGNORADOS == set(PARES)
    assert not set(REGRAS) & IGNORADOS


@pares
@settings(max_examples=10 * MORE, deadline=None)
@given(dados=st.data())
def test_transition_is_total_pure_and_gives_a_state_its_reason(estado, tipo, dados):
    """No pair raises; an ignored one changes nothing; a state is entered with its reason."""
    sessao, evento, agora = dados.draw(sessoes(estado)), dados.draw(de_tipo[tipo]), dados.draw(momentos)
    decision = transition(sessao, evento, agora)
    depois = decision.sessao
    assert decision == transition(sessao, evento, agora)
    if (estado, tipo) in IGNORADOS:
        assert not decision.aplicado
    if not decision.aplicado:
        assert depois is sessao
        assert decision.efeitos == ()
    assert depois.revisao >= sessao.revisao
    if depois.estado is not estado:
        assert depois.snapshot_reason is REASONS.get(depois.estado, sessao.snapshot_reason)


# --- at the authority ---------------------------------------------------------------------------------------------


def test_an_authorised_note_brings_pdf_and_xml():
    """``webhook_success``: the caption of the PDF says number, value and client; one PDF, one XML, one offer."""
    decision = diz(em_processo(), NotaAutorizada("1042", 7))
    assert decision.sessao.estado is Estado.APROVADO
    pdf, xml = (e for e in decision.efeitos if isinstance(e, EnviarArquivo))
    assert (pdf.formato, xml.formato, pdf.nome) == ("pdf", "xml", "NFSe-1042.pdf")
    assert pdf.legenda == "NFS-e 1042 autorizada · R$ 1.500,00 · PADARIA DO ZÉ LTDA"
    assert xml.legenda is None
    (offer,) = (e for e in decision.efeitos if isinstance(e, Responder))
    assert (offer.unica, offer.depois) == ("depois:7", True)
    assert [button.titulo for button in offer.mensagem.botoes] == ["Mandar ao cliente", "Igual à última"]


def test_a_rejection_says_why_and_what_to_mend():
    """The reason in plain words, the field to send again, and a button that takes the data up."""
    decision = diz(em_processo(), NotaRejeitada("o valor não foi aceito", Campo.VALOR))
    assert (decision.sessao.estado, decision.sessao.pendente) == (Estado.REJEITADO, Campo.VALOR)
    assert "o valor não foi aceito" in resposta(decision).texto
    assert "me diz o valor de novo" in resposta(decision).texto


def test_a_rejected_invoice_is_repaired_in_a_new_session():
    """The refused field is asked, the rest is kept, and only a new confirmation of the new revision issues."""
    rejeitada = diz(em_processo(), NotaRejeitada("recusada", Campo.VALOR)).sessao
    aberta = diz(replace(nova(), sessao_id="211126-ffffffff"), Abriu(rejeitada.rascunho, rejeitada.pendente))
    assert (aberta.sessao.estado, aberta.sessao.pendente) == (Estado.DADOS_INCOMPLETOS, Campo.VALOR)
    assert "Não foi aceito na nota anterior: o valor." in resposta(aberta).texto
    pronta = diz(aberta.sessao, Informou((lido(Campo.VALOR, "1400"),)))
    assert pronta.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert pronta.sessao.rascunho.tomador_nome == "PADARIA DO ZÉ LTDA"
    assert not emissoes(diz(pronta.sessao, Confirmou(1)))
    assert emissoes(diz(pronta.sessao, Confirmou(pronta.sessao.revisao)))


def test_what_was_written_hours_ago_says_so_above_its_summary():
    """With its time, if any message of the turn is that old; data said later stand under a summary like any other."""
    dito = (DOC, VALOR, SERVICO)
    for horas, diz_quando in ((0, False), (0.9, False), (3, True), (100, True)):
        em = AGORA - timedelta(hours=horas)
        escritas = (Escrita("1", "nota", em), Escrita("2", "de 1500", AGORA), Escrita("3", "aula"))
        mostrado = diz(nova(), Abriu(), Informou(dito, cadastro=PADARIA, escritas=escritas))
        assert mostrado.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
        quando = f"*Isto você escreveu em {em.astimezone(SAO_PAULO):%d/%m, às %H:%M}, e só chegou agora.*\n"
        assert resposta(mostrado).texto.startswith(quando) is diz_quando
        depois = diz(mostrado.sessao, Informou((lido(Campo.VALOR, "1400"),), escritas=(Escrita("4", "1400", AGORA),)))
        assert "só chegou agora" not in resposta(depois).texto


def test_a_refused_name_is_asked_although_the_register_has_one():
    """The authority didn't take the register's name: now the user's word counts."""
    aberta = diz(nova(), Abriu(no_resumo().rascunho, Campo.NOME))
    assert aberta.sessao.pendente is Campo.NOME
    pronta = diz(aberta.sessao, Informou((lido(Campo.NOME, "Padaria do José LTDA"),)))
    assert pronta.sessao.rascunho.tomador_nome == "Padaria do José LTDA"


def test_an_ended_draft_taken_up_without_a_refused_field_shows_its_summary():
    """*Retomar esta nota* leads straight to the summary, to be confirmed anew."""
    cancelada = diz(no_resumo(cadastro=None), Cancelou()).sessao
    assert cancelada.pendente is None  # or the missing name would count as refused
    aberta = diz(nova(), Abriu(cancelada.rascunho, cancelada.pendente))
    assert aberta.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert "Retomei os dados" in resposta(aberta).texto
    assert emissoes(diz(aberta.sessao, Confirmou(1)))


def test_a_failure_goes_to_people():
    """``error``: the user hears that the team knows and that nothing need be sent again."""
    decision = diz(em_processo(), EmissaoFalhou("no result within 24 h"))
    assert decision.sessao.estado is Estado.ERRO
    assert "Não precisa mandar de novo" in resposta(decision).texto
    assert "24 h" not in resposta(decision).texto


@pytest.mark.parametrize("evento", [EmissaoDemorou(), Cancelou(), PediuCorrecao()])
def test_while_it_is_at_the_authority_the_user_hears_one_word_of_each_kind(evento):
    """A message with a key of its own leaves at most once, and the state stays."""
    decision = diz(em_processo(), evento)
    assert decision.sessao.estado is Estado.PROCESSANDO
    (responder,) = decision.efeitos
    assert responder.unica
    assert responder.unica == diz(decision.sessao, evento).efeitos[0].unica


def test_impatient_taps_issue_once():
    """A second press on the same button finds the invoice at the authority and does nothing."""
    decision = diz(em_processo(), Confirmou(1))
    assert not decision.aplicado


# --- the end ------------------------------------------------------------------------------------------------------

_TARDIAS = [
    (Estado.ERRO, NotaAutorizada("9", 1), Estado.APROVADO),
    (Estado.ERRO, NotaRejeitada("recusada", None), Estado.REJEITADO),
    (Estado.REJEITADO, NotaAutorizada("9", 1), Estado.APROVADO),
]


@pytest.mark.parametrize(("estado", "evento", "para"), _TARDIAS)
def test_the_authoritys_late_word_prevails(estado, evento, para):
    """What we had concluded gives way to what the authority says, with the reason of the new state."""
    decision = diz(replace(em_processo(), estado=estado), evento)
    assert decision.sessao.estado is para
    assert decision.sessao.snapshot_reason is REASONS[para]


_ORDENS = {(Estado.REJEITADO, Reprocessou), (Estado.ERRO, QuisAinda)}


@settings(deadline=None, max_examples=100 * MORE)
@given(dados=st.data(), estado=st.sampled_from(sorted(FINAIS)), tipo=st.sampled_from(EVENTOS))
def test_final_is_final(dados, estado, tipo):
    """Nothing but the authority's late word, or an order of staff, changes a final session."""
    sessao = dados.draw(sessoes(estado))
    depois = transition(sessao, dados.draw(de_tipo[tipo]), dados.draw(momentos)).sessao
    if (estado, tipo) not in {*((de, type(evento)) for de, evento, _ in _TARDIAS), *_ORDENS}:
        assert depois == sessao
    assert depois.rascunho == sessao.rascunho


def test_an_invoice_that_nobody_accepted_waits_for_its_persons_word():
    """The question names the amount and has both answers; a yes lets the stored bytes go, a no ends it unissued."""
    parada = em_processo()
    pergunta = diz(parada, EmissaoParada())
    assert pergunta.sessao == parada
    assert [botao.id.partition(":")[0] for botao in resposta(pergunta).botoes] == ["querer", "desistir"]
    sim = diz(parada, QuisAinda())
    assert sim.sessao == parada
    assert [e for e in sim.efeitos if isinstance(e, RetomarEnvio)] == [RetomarEnvio(parada.revisao)]
    nao = diz(parada, NaoQuisMais())
    assert nao.sessao.estado is Estado.CANCELADO_USUARIO
    assert [e for e in nao.efeitos if isinstance(e, Dispensar)] == [Dispensar(parada.revisao)]


@pytest.mark.parametrize("evento", [QuisAinda(parada=False), NaoQuisMais(parada=False)])
def test_a_word_about_an_invoice_that_no_longer_waits_for_it_changes_nothing(evento):
    """An old button, or the invoice left meanwhile: nothing is sent or given up, and the person hears how it stands."""
    decision = diz(em_processo(), evento)
    assert decision.sessao == em_processo()
    assert not [e for e in decision.efeitos if isinstance(e, RetomarEnvio | Dispensar | Emitir)]
    assert resposta(decision).texto


def test_staff_let_an_error_go_that_nobody_accepted():
    """Only the order of staff, which looked under the row's lock, leads from an error back to the authority."""
    parada = diz(em_processo(), EmissaoFalhou("")).sessao
    decision = diz(parada, QuisAinda())
    assert decision.sessao.estado is Estado.PROCESSANDO
    assert [e for e in decision.efeitos if isinstance(e, RetomarEnvio)] == [RetomarEnvio(parada.revisao)]
    assert diz(parada, QuisAinda(parada=False)).sessao == parada


def test_a_second_note_of_one_confirmation_is_told_with_its_files():
    """The first one's number, the second one's, what to do, and both files of the second."""
    aprovada = diz(em_processo(), NotaAutorizada("1042", 1)).sessao
    decision = diz(aprovada, NotaAutorizada("1043", 2, ("1042",)))
    assert decision.sessao == aprovada
    assert "1042" in resposta(decision).texto
    assert "1043" in resposta(decision).texto
    arquivos = [e for e in decision.efeitos if isinstance(e, EnviarArquivo)]
    assert [(a.emissao_id, a.formato) for a in arquivos] == [(2, "pdf"), (2, "xml")]
    assert diz(aprovada, NotaAutorizada("1042", 1)).efeitos == ()


def test_a_refusal_that_was_ours_is_tried_again_with_the_confirmed_revision():
    """Same revision, next attempt, and the user hears that nothing is asked of them."""
    refused = diz(em_processo(), NotaRejeitada("codigo de servico", None)).sessao
    decision = diz(refused, Reprocessou(2))
    assert decision.sessao.estado is Estado.PROCESSANDO
    assert decision.sessao.revisao == refused.revisao
    assert emissoes(decision) == [Emitir(refused.revisao, 2)]
    assert "não precisa fazer nada" in resposta(decision).texto
    assert diz(decision.sessao, Reprocessou(3)).aplicado is False


def test_a_taken_number_is_changed_without_a_word():
    """Same revision, next attempt, and the session stays at the authority."""
    processo = em_processo()
    decision = diz(processo, NumeroTomado(2))
    assert (decision.sessao, decision.efeitos) == (processo, (Emitir(processo.revisao, 2),))


def test_a_refusal_of_what_the_user_said_is_the_users_to_mend():
    """Where the authority blamed a field, trying the same again is no remedy."""
    refused = diz(em_processo(), NotaRejeitada("valor", Campo.VALOR)).sessao
    decision = diz(refused, Reprocessou(2))
    assert (decision.sessao, decision.aplicado, decision.efeitos) == (refused, False, ())


def test_what_may_take_no_notes_place_is_not_sent_again():
    """The way that is left is told with its button, the correction stays, and staff's order does nothing."""
    processo = em_processo()
    antiga = Substituida(7, "12")
    processo = replace(processo, rascunho=replace(processo.rascunho, substitui=antiga))
    decision = diz(processo, NotaRejeitada("a nota antiga já está cancelada", None, troca=True))
    refused = decision.sessao
    assert refused.rascunho == replace(processo.rascunho, substitui=replace(antiga, recusada=True))
    assert "a nota antiga já está cancelada" in resposta(decision).texto
    assert [botao.id for botao in resposta(decision).botoes] == ["refazer_nota:7"]
    again = diz(refused, Reprocessou(2))
    assert (again.sessao, again.aplicado, again.efeitos) == (refused, False, ())
    ours = diz(processo, NotaRejeitada("codigo de servico", None)).sessao  # no fault of the substitution
    assert emissoes(diz(ours, Reprocessou(2))) == [Emitir(ours.revisao, 2)]


@pytest.mark.parametrize("estado", sorted(FINAIS))
def test_an_old_button_on_an_ended_invoice_says_that_it_has_ended(estado):
    """*Confirmar* of an ended session issues nothing and gets one kind word, once."""
    decision = diz(replace(em_processo(), estado=estado), Confirmou(1))
    (responder,) = decision.efeitos
    assert "nada novo foi emitido" in responder.mensagem.texto
    assert responder.unica


@pytest.mark.parametrize("estado", sorted(ESPERAM_USUARIO))
def test_a_session_expires_at_its_deadline_and_not_before(estado):
    """The sweep's word counts only if the deadline still lies behind: the user may have spoken meanwhile."""
    sessao = replace(no_resumo(), estado=estado, expira_em=AGORA)
    movida = transition(replace(sessao, expira_em=AGORA + SEGUNDO), PrazoVencido(), AGORA)
    assert not movida.aplicado
    assert not transition(replace(sessao, expira_em=None), PrazoVencido(), AGORA).aplicado
    vencida = transition(sessao, PrazoVencido(), AGORA)
    assert (vencida.sessao.estado, vencida.sessao.expired_at) == (Estado.EXPIRADO, AGORA)
    assert vencida.sessao.snapshot_reason is SnapshotReason.EXPIRED
    assert vencida.efeitos == ()  # silent: nobody is written to for it


def test_nothing_at_the_authority_expires():
    """``processando`` waits for the authority, however long."""
    sessao = replace(em_processo(), expira_em=AGORA)
    assert not transition(sessao, PrazoVencido(), AGORA + timedelta(days=30)).aplicado


def test_of_an_unknown_outcome_nobody_is_told_that_nothing_was_issued() -> None:
    """Where the note may exist, the word does not say that it does not, and asks not to order it again."""
    said = []
    for evento in (EmissaoDemorou("falta o certificado"), EmissaoDemorou("falta o certificado", incerta=True)):
        answer = resposta(diz(em_processo(), evento)).texto
        assert "falta o certificado" in answer
        said.append(answer)
    assert ["Ainda não emiti" in answer for answer in said] == [True, False]
    assert "Não pede de novo" in said[1]
