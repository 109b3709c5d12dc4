from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from proofs.diagrams.session import example
from state_machine.invoice.draft import Cadastro, StatusCampo
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.invoice.session import ESPERAM_USUARIO, Emissor, Estado, SnapshotReason
from state_machine.machine.events import (
    Abriu,
    Cancelou,
    Confirmou,
    Conversou,
    Encaminhou,
    Informou,
    MandouArquivo,
    MudouEmissor,
    NaoCabe,
    Negou,
    PediuAjuda,
    PediuCorrecao,
)
from state_machine.machine.transition import transition
from tests.state_machine.made_sessions import (
    AGORA,
    CNPJ,
    CPF,
    DOC,
    OUTRO_CNPJ,
    PADARIA,
    SEGUNDO,
    SERVICO,
    TUDO,
    VALOR,
    diz,
    emissoes,
    fits,
    lido,
    no_resumo,
    nova,
    resposta,
)

# --- collecting ---------------------------------------------------------------------------------------------------


def test_the_first_message_creates_the_snapshot():
    """A session opens in ``coleta`` with reason ``manual``; the words of that turn do the talking."""
    decision = diz(nova(), Abriu())
    assert decision.sessao.estado is Estado.COLETA
    assert (decision.sessao.snapshot_reason, decision.efeitos) == (SnapshotReason.MANUAL, ())


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
    assert decision.sessao.snapshot_reason is SnapshotReason.MANUAL  # dados_incompletos leaves the reason as it was


def test_all_fields_in_one_message_lead_to_the_summary():
    """``data_complete``: revision 1 is shown with buttons bound to this session and revision."""
    decision = diz(nova(), Abriu(), Informou(TUDO, cadastro=PADARIA))
    sessao = decision.sessao
    assert (sessao.estado, sessao.revisao, sessao.resumos) == (Estado.AGUARDANDO_CONFIRMACAO, 1, 1)
    assert decision.sessao.snapshot_reason is SnapshotReason.DATA_COMPLETE
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
    assert "✓ R$ 1.500,00 · ✓ consultoria de marketing" in resposta(decision).texto


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
    """A yes or no to a question about data is no answer: the question comes again in other words."""
    sessao = diz(nova(), Abriu(), Informou((DOC,))).sessao
    decision = diz(sessao, evento)
    assert replace(decision.sessao, insistencias=0) == sessao
    inicio = "Tudo bem. Quando tiver, me manda" if evento == Negou() else "Ainda faltam"
    assert resposta(decision).texto.startswith(f"{inicio} o valor e o serviço prestado.")


# --- the summary --------------------------------------------------------------------------------------------------


def test_the_button_of_the_shown_revision_issues_it():
    """*Confirmar* of the present summary emits exactly that revision."""
    sessao = no_resumo()
    decision = diz(sessao, Confirmou(1))
    assert decision.sessao.estado is Estado.PROCESSANDO
    assert [e.revisao for e in emissoes(decision)] == [1]
    assert decision.sessao.snapshot_reason is SnapshotReason.CONFIRMED


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
    assert "Só falta você confirmar" in resposta(cedo).texto
    assert emissoes(diz(cedo.sessao, Confirmou(None, AGORA + 12 * SEGUNDO)))


def test_a_yes_to_a_summary_that_did_not_arrive_confirms_nothing():
    """Written in time, but the summary had not reached the phone: it is shown again, and then a yes counts."""
    sessao = no_resumo()
    as_cegas = diz(sessao, Confirmou(None, AGORA + 5 * SEGUNDO, visto=False), agora=AGORA + 6 * SEGUNDO)
    assert not emissoes(as_cegas)
    assert any(b.id.startswith("confirmar:") for b in resposta(as_cegas).botoes)
    assert emissoes(diz(as_cegas.sessao, Confirmou(None, AGORA + 9 * SEGUNDO)))


@pytest.mark.parametrize(("empresa", "titulo"), [(1, "cadastro da sua empresa mudou"), (2, "outra empresa")])
def test_a_company_that_changed_after_the_summary_is_shown_before_anything_is_issued(empresa, titulo):
    """The summary named another issuer: a revision of the new one's, and only its own button or a new yes issues."""
    novo = Emissor(empresa, OUTRO_CNPJ, "ANA DESIGN LTDA", 7)
    mudou = diz(no_resumo(), MudouEmissor(novo), agora=AGORA + 5 * SEGUNDO)
    assert (mudou.sessao.revisao, mudou.sessao.empresa_id, mudou.sessao.empresa_versao) == (2, empresa, 7)
    assert titulo in resposta(mudou).texto
    assert "Emitente: ANA DESIGN LTDA" in resposta(mudou).texto
    assert not emissoes(diz(mudou.sessao, Confirmou(1)))
    assert not emissoes(diz(mudou.sessao, Confirmou(None, AGORA + 2 * SEGUNDO)))
    assert emissoes(diz(mudou.sessao, Confirmou(2)))


def test_a_channel_that_changed_after_the_summary_is_shown_before_anything_is_issued():
    """The same company with the same data, in another environment: only a new revision takes a yes."""
    antes = replace(no_resumo(), empresa_versao=7, canal="nacional/homologacao")
    mudou = diz(antes, MudouEmissor(Emissor(1, OUTRO_CNPJ, "ANA DESIGN LTDA", 7, "nacional/producao")))
    assert (mudou.sessao.revisao, mudou.sessao.canal) == (2, "nacional/producao")
    assert "outro canal ou ambiente" in resposta(mudou).texto
    assert not emissoes(diz(mudou.sessao, Confirmou(1)))
    assert emissoes(diz(mudou.sessao, Confirmou(2)))


def test_an_answer_to_something_else_is_not_replaced_by_the_new_issuer():
    """After a side question the answer stands; the summary comes with the next yes, and no old button issues."""
    novo = Emissor(2, OUTRO_CNPJ, "ANA DESIGN LTDA", 1)
    mudou = diz(diz(no_resumo(), PediuAjuda()).sessao, MudouEmissor(novo))
    assert mudou.efeitos == ()
    velho = diz(mudou.sessao, Confirmou(1))
    assert not emissoes(velho)
    assert "Emitente: ANA DESIGN LTDA" in resposta(velho).texto


def test_a_number_that_issues_for_nobody_voids_the_summary():
    """Nothing is issued, the data stay, and the old button shows the summary again if the number is let in again."""
    fora = diz(no_resumo(), MudouEmissor(None))
    assert not resposta(fora).botoes
    assert fora.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert not emissoes(diz(fora.sessao, Confirmou(1)))
    assert not emissoes(diz(fora.sessao, Confirmou(None, AGORA + SEGUNDO)))


def test_nobody_issues_to_themselves_by_moving_to_another_company():
    """A customer that is the new company is asked about like any own document."""
    mudou = diz(no_resumo(), MudouEmissor(Emissor(2, CNPJ, "PADARIA DO ZÉ LTDA", 1)))
    assert mudou.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert "própria empresa" in resposta(mudou).texto


def test_forwarded_words_are_answered_with_the_summary_and_its_buttons():
    """They decide nothing; the buttons of the same revision still do."""
    sessao = no_resumo()
    decision = diz(sessao, Encaminhou())
    assert not emissoes(decision)
    assert "encaminhada" in resposta(decision).texto
    assert resposta(decision).botoes[0].id.endswith(":1")
    assert emissoes(diz(decision.sessao, Confirmou(1)))


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
    assert "Só falta você confirmar" in resposta(decision).texto
    assert emissoes(diz(decision.sessao, Confirmou(None, AGORA + 30 * SEGUNDO)))


def test_a_no_keeps_the_draft_and_asks_what_is_wrong():
    """It issues nothing, gives nothing up, and leaves no yes in words that would issue."""
    decision = diz(no_resumo(), Negou())
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert decision.sessao.rascunho == no_resumo().rascunho
    assert "O que está errado?" in resposta(decision).texto
    assert [botao.titulo for botao in resposta(decision).botoes] == ["Corrigir", "Cancelar"]
    assert not emissoes(diz(decision.sessao, Confirmou(None, AGORA)))
    again = diz(decision.sessao, Negou())
    assert again.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert diz(again.sessao, Cancelou()).sessao.estado is Estado.CANCELADO_USUARIO


@pytest.mark.parametrize("estado", sorted(ESPERAM_USUARIO))
def test_no_waiting_state_gives_a_draft_up_for_a_bare_no(estado):
    """Only a word that gives up, or its button, ends an invoice that waits for its person."""
    assert transition(example(estado), Negou(), AGORA).sessao.estado is estado


def test_giving_up_ends_the_invoice():
    """Nothing is issued, the reason is ``cancelled``, and the data can be taken up again."""
    decision = diz(no_resumo(), Cancelou())
    assert decision.sessao.estado is Estado.CANCELADO_USUARIO
    assert decision.sessao.snapshot_reason is SnapshotReason.CANCELLED
    assert resposta(decision).botoes[0].id == f"refazer:{decision.sessao.sessao_id}"


def test_a_cpf_is_a_client_too():
    """The tomador may be a person."""
    decision = diz(nova(), Abriu(), Informou((lido(Campo.DOCUMENTO, CPF), VALOR, SERVICO)))
    assert "CPF: 529.982.247-25" in resposta(decision).texto
    assert CNPJ not in resposta(decision).texto


def test_what_the_channel_could_never_send_is_asked_for():
    """The field is in doubt, with why; the rest is kept, and no button shown so far issues."""
    antes = no_resumo()
    depois = diz(antes, NaoCabe("o texto do serviço não cabe na nota", Campo.DESCRICAO))
    assert (depois.sessao.estado, depois.sessao.pendente) == (Estado.DADOS_INCOMPLETOS, Campo.DESCRICAO)
    assert "O texto do serviço não cabe na nota" in resposta(depois).texto
    assert not any(id_.startswith("confirmar:") for id_ in resposta(depois).ids)
    assert depois.sessao.rascunho.valor == antes.rascunho.valor
    assert not emissoes(diz(depois.sessao, Confirmou(antes.revisao)))


def test_what_only_a_repair_of_the_registration_mends_keeps_the_data():
    """Nothing can be confirmed by what was shown before, in words or by a button."""
    antes = no_resumo()
    depois = diz(antes, NaoCabe("um dado do cadastro não serve"))
    fits(resposta(depois))
    assert depois.sessao.rascunho == antes.rascunho
    for sim in (Confirmou(antes.revisao), Confirmou(None, AGORA)):
        assert not emissoes(diz(depois.sessao, sim))
