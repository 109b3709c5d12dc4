from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_sessions import (
    AGORA,
    CNPJ,
    CPF,
    DOC,
    MORE,
    OUTRO_CNPJ,
    PADARIA,
    SEGUNDO,
    SERVICO,
    TUDO,
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
    snapshots,
)

from state_machine.efeitos import EnviarArquivo, GravarSnapshot, Responder
from state_machine.estado import ESPERAM_USUARIO, FINAIS, Estado, SnapshotReason
from state_machine.eventos import (
    EVENTOS,
    Abriu,
    Cancelou,
    Confirmou,
    Conversou,
    EmissaoDemorou,
    EmissaoFalhou,
    Informou,
    MandouArquivo,
    Negou,
    NotaAutorizada,
    NotaRejeitada,
    PediuAjuda,
    PediuCorrecao,
    PrazoVencido,
)
from state_machine.fields import Campo, Candidate, Confianca, Doubt, Motivo
from state_machine.rascunho import Cadastro, StatusCampo
from state_machine.transition import IGNORADOS, REGRAS, transition

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
def test_transition_is_total_pure_and_never_forgets_a_snapshot(estado, tipo, dados):
    """No pair raises; an ignored one changes nothing; a state is entered with exactly its one snapshot."""
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
        assert len(snapshots(decision)) == 1
    for reason in snapshots(decision):
        assert reason is depois.snapshot_reason
        assert reason is REASONS.get(depois.estado, sessao.snapshot_reason)


# --- collecting ---------------------------------------------------------------------------------------------------


def test_the_first_message_creates_the_snapshot():
    """A session opens in ``coleta`` with reason ``manual``; the words of that turn do the talking."""
    decision = diz(nova(), Abriu())
    assert decision.sessao.estado is Estado.COLETA
    assert decision.efeitos == (GravarSnapshot(SnapshotReason.MANUAL),)


@pytest.mark.parametrize("evento", [Conversou(), Confirmou(None), Negou(), PediuCorrecao()])
def test_small_talk_at_the_beginning_is_greeted(evento):
    """Words without data at the very start get the one-line welcome, and the session stays where it was."""
    decision = diz(nova(), Abriu(), evento)
    assert decision.sessao.estado is Estado.COLETA
    assert resposta(decision).texto.startswith("Oi!")


@pytest.mark.parametrize(
    ("ditos", "faltam"),
    [
        ((), (Campo.DOCUMENTO, Campo.VALOR, Campo.DESCRICAO)),
        ((SERVICO,), (Campo.DOCUMENTO, Campo.VALOR)),
        ((VALOR,), (Campo.DOCUMENTO, Campo.DESCRICAO)),
        ((DOC, SERVICO), (Campo.VALOR,)),
        ((VALOR, DOC), (Campo.DESCRICAO,)),
    ],
)
def test_missing_fields_are_asked_in_a_fixed_order(ditos, faltam):
    """Document, value, service: in this order, whatever order the user took; the first is what a bare answer fills."""
    decision = diz(nova(), Abriu(), Informou(ditos))
    assert decision.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert decision.sessao.rascunho.faltam == faltam
    assert decision.sessao.pendente is faltam[0]
    assert snapshots(decision) == [SnapshotReason.MANUAL]  # dados_incompletos leaves the reason as it was


def test_all_fields_in_one_message_lead_to_the_summary():
    """``data_complete``: revision 1 is shown with buttons bound to this session and revision."""
    decision = diz(nova(), Abriu(), Informou(TUDO, cadastro=PADARIA))
    sessao = decision.sessao
    assert (sessao.estado, sessao.revisao, sessao.resumos) == (Estado.AGUARDANDO_CONFIRMACAO, 1, 1)
    assert snapshots(decision) == [SnapshotReason.DATA_COMPLETE]
    assert sessao.rascunho.completo
    assert [b.id for b in resposta(decision).botoes] == [
        f"{acao}:{sessao.sessao_id}:1" for acao in ("confirmar", "corrigir", "cancelar")
    ]


def test_fields_may_come_one_at_a_time():
    """What was validated stays while the rest arrives, in any order."""
    decision = diz(nova(), Abriu(), Informou((SERVICO,)), Informou((VALOR,)), Informou((DOC,), cadastro=PADARIA))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert "R$ 1.500,00" in resposta(decision).texto
    assert "PADARIA DO ZÉ LTDA" in resposta(decision).texto


def test_a_doubt_is_asked_first_and_what_stands_is_kept():
    """A doubtful document is asked with its reason, and the user hears that value and service are kept."""
    duvida = Doubt(Campo.DOCUMENTO, Motivo.DIGITO_NAO_BATE, "12.345.678/0001-99")
    decision = diz(nova(), Abriu(), Informou((VALOR, SERVICO), (duvida,)))
    assert decision.sessao.pendente is Campo.DOCUMENTO
    assert "dígito" in resposta(decision).texto
    assert "Já guardei o valor e o serviço prestado." in resposta(decision).texto


def test_a_doubt_about_an_optional_field_holds_the_summary_back():
    """Nothing in doubt is ever issued: an unreadable date is asked although no date is required."""
    decision = diz(nova(), Abriu(), Informou((*TUDO, lido(Campo.DATA, "2026-02-31"))))
    assert decision.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert decision.sessao.pendente is Campo.DATA
    assert diz(decision.sessao, Informou(clear=frozenset({Campo.DATA}))).sessao.rascunho.completo


def test_a_document_with_wrong_digits_is_never_taken_whoever_read_it():
    """The machine checks again what the extractor calls certain."""
    ruim = lido(Campo.DOCUMENTO, "12345678000199")
    rascunho = diz(nova(), Abriu(), Informou((ruim, VALOR, SERVICO))).sessao.rascunho
    assert rascunho.documento.status is StatusCampo.INVALID
    assert rascunho.documento.motivo is Motivo.DIGITO_NAO_BATE


@pytest.mark.parametrize("evento", [Conversou(), Confirmou(None), Confirmou(3), Negou(), PediuCorrecao()])
def test_while_data_are_missing_other_words_repeat_the_question(evento):
    """A yes or no to a question about data is no answer: the question comes again, nothing changes."""
    sessao = diz(nova(), Abriu(), Informou((DOC,))).sessao
    decision = diz(sessao, evento)
    assert decision.sessao == sessao
    assert resposta(decision).texto.startswith("Faltam o valor e o serviço prestado.")


# --- the summary --------------------------------------------------------------------------------------------------


def test_the_button_of_the_shown_revision_issues_it():
    """*Confirmar* of the present summary emits exactly that revision."""
    sessao = no_resumo()
    decision = diz(sessao, Confirmou(1))
    assert decision.sessao.estado is Estado.PROCESSANDO
    assert [e.revisao for e in emissoes(decision)] == [1]
    assert snapshots(decision) == [SnapshotReason.CONFIRMED]


@pytest.mark.parametrize("revisao", [-1, 0, 1, 3, 999])
def test_a_button_of_another_revision_confirms_nothing(revisao):
    """An old or forged revision gets the present summary again."""
    sessao = diz(no_resumo(), Informou((lido(Campo.VALOR, "1800"),))).sessao
    assert sessao.revisao == 2
    decision = diz(sessao, Confirmou(revisao))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert not emissoes(decision)
    assert "Os dados mudaram" in resposta(decision).texto
    assert "R$ 1.800,00" in resposta(decision).texto


def test_a_yes_in_words_issues_what_was_shown():
    """A "sim" written after the summary confirms it; Meta's whole seconds don't make it early."""
    mostrado = AGORA + timedelta(milliseconds=900)
    sessao = no_resumo(agora=mostrado)
    assert emissoes(diz(sessao, Confirmou(None, AGORA)))
    assert emissoes(diz(sessao, Confirmou(None, AGORA + 30 * SEGUNDO)))


def test_a_late_yes_can_not_confirm_other_data():
    """A "sim" written before the corrected summary was shown answered the one before, and issues nothing."""
    correcao = Informou((lido(Campo.VALOR, "1800"),))
    sessao = diz(no_resumo(), correcao, agora=AGORA + 10 * SEGUNDO).sessao
    tarde = diz(sessao, Confirmou(None, AGORA + 5 * SEGUNDO), agora=AGORA + 12 * SEGUNDO)
    assert not emissoes(tarde)
    assert "Os dados mudaram" in resposta(tarde).texto
    assert emissoes(diz(tarde.sessao, Confirmou(None, AGORA + 15 * SEGUNDO)))


def test_a_yes_written_before_any_summary_confirms_nothing():
    """An impatient "pode mandar" written while we were still reading gets the summary first, in fitting words."""
    sessao = no_resumo(agora=AGORA + 8 * SEGUNDO)
    cedo = diz(sessao, Confirmou(None, AGORA + 4 * SEGUNDO), agora=AGORA + 9 * SEGUNDO)
    assert not emissoes(cedo)
    assert "Está tudo pronto" in resposta(cedo).texto
    assert emissoes(diz(cedo.sessao, Confirmou(None, AGORA + 12 * SEGUNDO)))


@pytest.mark.parametrize("evento", [PediuCorrecao(), PediuAjuda(), MandouArquivo("audio")])
def test_a_yes_in_words_answers_what_we_said_last(evento):
    """After "O que eu mudo?" a bare "isso" shows the summary again instead of issuing; the button still issues."""
    depois = diz(no_resumo(), evento, agora=AGORA + 5 * SEGUNDO).sessao
    sim = diz(depois, Confirmou(None, AGORA + 9 * SEGUNDO), agora=AGORA + 10 * SEGUNDO)
    assert not emissoes(sim)
    assert any(b.id.startswith("confirmar:") for b in resposta(sim).botoes)
    assert emissoes(diz(sim.sessao, Confirmou(None, AGORA + 15 * SEGUNDO)))
    assert emissoes(diz(depois, Confirmou(depois.revisao)))


def test_a_correction_is_a_new_revision_and_says_what_changed():
    """The title names the old and the new value; the buttons are the new revision's."""
    decision = diz(no_resumo(), Informou((lido(Campo.VALOR, "1800", "1.800"),)))
    assert decision.sessao.revisao == 2
    assert resposta(decision).texto.startswith("*Mudei o valor de R$ 1.500,00 para R$ 1.800,00.*\nConfere?")
    assert resposta(decision).botoes[0].id.endswith(":2")


def test_another_document_forgets_the_name_of_the_first():
    """A name can't travel to another client's document, neither the register's nor the user's."""
    sessao = no_resumo(*TUDO, lido(Campo.NOME, "Padaria do Zé"))
    decision = diz(sessao, Informou((lido(Campo.DOCUMENTO, OUTRO_CNPJ),)))
    assert decision.sessao.rascunho.tomador_nome is None
    assert "Mudei o cliente de 12.345.678/0001-95 para 11.222.333/0001-81." in resposta(decision).texto


def test_the_register_speaks_only_for_the_document_that_stands():
    """An entry of another document is not shown, even if it comes with the same turn."""
    outro = Cadastro(OUTRO_CNPJ, "OUTRA LTDA")
    assert diz(nova(), Abriu(), Informou(TUDO, cadastro=outro)).sessao.rascunho.cadastro is None


def test_taking_a_field_back_asks_for_it_again():
    """Taking the value back ("não é esse") empties the value: no summary, no confirmation, one question."""
    sessao = no_resumo()
    decision = diz(sessao, Informou(clear=frozenset({Campo.VALOR})))
    assert decision.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert decision.sessao.pendente is Campo.VALOR
    assert not emissoes(diz(decision.sessao, Confirmou(1)))


def test_small_talk_over_the_summary_repeats_it():
    """Words that change nothing bring the summary back with the same revision, still confirmable."""
    decision = diz(no_resumo(), Conversou(), agora=AGORA + 60 * SEGUNDO)
    assert decision.sessao.revisao == 1
    assert "só falta você confirmar" in resposta(decision).texto
    assert emissoes(diz(decision.sessao, Confirmou(None, AGORA + 30 * SEGUNDO)))


@pytest.mark.parametrize("evento", [Negou(), Cancelou()])
def test_no_ends_the_invoice(evento):
    """Nothing is issued, the reason is ``cancelled``, and the data can be taken up again."""
    decision = diz(no_resumo(), evento)
    assert decision.sessao.estado is Estado.CANCELADO_USUARIO
    assert snapshots(decision) == [SnapshotReason.CANCELLED]
    assert resposta(decision).botoes[0].id == f"refazer:{decision.sessao.sessao_id}"


# --- the client's name --------------------------------------------------------------------------------------------


def test_a_missing_name_blocks_nothing_but_is_said_plainly():
    """Neither register nor user named the client: the summary says so, and a bare answer is read as the name."""
    decision = diz(nova(), Abriu(), Informou(TUDO))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert decision.sessao.pendente is Campo.NOME
    assert "Cliente: *sem nome*. Se quiser, me manda o nome" in resposta(decision).texto
    assert emissoes(diz(decision.sessao, Confirmou(1)))


def test_a_name_in_words_becomes_the_clients_name():
    """Without a register entry the user's word counts: revision + 1 and the summary again, now with the name."""
    sessao = no_resumo(cadastro=None)
    decision = diz(sessao, Informou((lido(Campo.NOME, "Padaria  do Zé"),)))
    assert decision.sessao.rascunho.tomador_nome == "Padaria do Zé"
    assert (decision.sessao.revisao, decision.sessao.pendente) == (2, None)
    assert "Cliente: Padaria do Zé\n" in resposta(decision).texto
    assert not emissoes(diz(decision.sessao, Confirmou(1)))


def test_the_register_outranks_a_name_in_words():
    """Where the register knows the client its name is issued, and the user is told so."""
    decision = diz(no_resumo(), Informou((lido(Campo.NOME, "Padoca"),)))
    assert decision.sessao.rascunho.tomador_nome == "PADARIA DO ZÉ LTDA"
    assert resposta(decision).texto.startswith("*O nome do cliente sai como está no cadastro da Receita.*")


@pytest.mark.parametrize("ditos", [(lido(Campo.NOME, "Zé"), *TUDO), (*TUDO, lido(Campo.NOME, "Zé"))])
def test_a_name_said_with_the_document_stays_in_any_order(ditos):
    """The order in which the extractor lists document and name makes no difference."""
    assert diz(nova(), Abriu(), Informou(ditos)).sessao.rascunho.tomador_nome == "Zé"


def test_a_name_said_with_a_broken_document_waits_for_the_right_one():
    """The user mends the digits and needn't name the client again."""
    duvida = Doubt(Campo.DOCUMENTO, Motivo.DIGITO_NAO_BATE, "12.345.678/0001-99")
    primeiro = Informou((lido(Campo.NOME, "Zé"), VALOR, SERVICO), (duvida,))
    assert diz(nova(), Abriu(), primeiro, Informou((DOC,))).sessao.rascunho.tomador_nome == "Zé"


@pytest.mark.parametrize(
    "evento",
    [
        Informou((Candidate(Campo.NOME, "Zé", "zé", confianca=Confianca.DUVIDOSA), *TUDO)),
        Informou(TUDO, (Doubt(Campo.NOME, Motivo.DISCORDANCIA, "Zé, Zeca"),)),
        Informou((lido(Campo.NOME, "  "), *TUDO)),
    ],
)
def test_a_doubtful_name_is_no_name_and_blocks_nothing(evento):
    """A name that is only a guess is left out, and the summary asks for it."""
    sessao = diz(nova(), Abriu(), evento).sessao
    assert (sessao.estado, sessao.pendente) == (Estado.AGUARDANDO_CONFIRMACAO, Campo.NOME)


# --- at the authority ---------------------------------------------------------------------------------------------


def test_an_authorised_note_brings_pdf_and_xml():
    """``webhook_success``: the caption of the PDF says number, value and client; one PDF, one XML, no extra text."""
    decision = diz(em_processo(), NotaAutorizada("1042", 7))
    assert decision.sessao.estado is Estado.APROVADO
    pdf, xml = (e for e in decision.efeitos if isinstance(e, EnviarArquivo))
    assert (pdf.formato, xml.formato, pdf.nome) == ("pdf", "xml", "NFSe-1042.pdf")
    assert pdf.legenda == "NFS-e 1042 autorizada · R$ 1.500,00 · PADARIA DO ZÉ LTDA"
    assert xml.legenda is None
    assert not any(isinstance(e, Responder) for e in decision.efeitos)


def test_a_rejection_says_why_and_what_to_mend():
    """The reason in plain words, the field to send again, and a button that takes the data up."""
    decision = diz(em_processo(), NotaRejeitada("o valor não foi aceito", Campo.VALOR))
    assert (decision.sessao.estado, decision.sessao.pendente) == (Estado.REJEITADO, Campo.VALOR)
    assert "o valor não foi aceito" in resposta(decision).texto
    assert "me manda o valor de novo" in resposta(decision).texto


def test_a_rejected_invoice_is_repaired_in_a_new_session():
    """The refused field is asked, the rest is kept, and only a new confirmation of the new revision issues."""
    rejeitada = diz(em_processo(), NotaRejeitada("recusada", Campo.VALOR)).sessao
    aberta = diz(replace(nova(), sessao_id="211126-ffffffff"), Abriu(rejeitada.rascunho, rejeitada.pendente))
    assert (aberta.sessao.estado, aberta.sessao.pendente) == (Estado.DADOS_INCOMPLETOS, Campo.VALOR)
    assert "A prefeitura não aceitou o valor da nota anterior." in resposta(aberta).texto
    pronta = diz(aberta.sessao, Informou((lido(Campo.VALOR, "1400"),)))
    assert pronta.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert pronta.sessao.rascunho.tomador_nome == "PADARIA DO ZÉ LTDA"
    assert not emissoes(diz(pronta.sessao, Confirmou(1)))
    assert emissoes(diz(pronta.sessao, Confirmou(pronta.sessao.revisao)))


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
    """What we had concluded gives way to what the authority says, with the snapshot of the new state."""
    decision = diz(replace(em_processo(), estado=estado), evento)
    assert decision.sessao.estado is para
    assert snapshots(decision) == [REASONS[para]]


@settings(deadline=None, max_examples=100 * MORE)
@given(dados=st.data(), estado=st.sampled_from(sorted(FINAIS)), tipo=st.sampled_from(EVENTOS))
def test_final_is_final(dados, estado, tipo):
    """Nothing but the authority's late word changes a final session, not even its draft."""
    sessao = dados.draw(sessoes(estado))
    depois = transition(sessao, dados.draw(de_tipo[tipo]), dados.draw(momentos)).sessao
    if (estado, tipo) not in {(de, type(evento)) for de, evento, _ in _TARDIAS}:
        assert depois == sessao


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
    assert vencida.efeitos == (GravarSnapshot(SnapshotReason.EXPIRED),)  # silent: nobody is written to for it


def test_nothing_at_the_authority_expires():
    """``processando`` waits for the authority, however long."""
    sessao = replace(em_processo(), expira_em=AGORA)
    assert not transition(sessao, PrazoVencido(), AGORA + timedelta(days=30)).aplicado


def test_a_cpf_is_a_client_too():
    """The tomador may be a person."""
    decision = diz(nova(), Abriu(), Informou((lido(Campo.DOCUMENTO, CPF), VALOR, SERVICO)))
    assert "CPF: 529.982.247-25" in resposta(decision).texto
    assert CNPJ not in resposta(decision).texto
