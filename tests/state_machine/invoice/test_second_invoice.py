"""The question before a second invoice of the same content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from state_machine.invoice.choices import NotaIgual, mesmo_texto
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado
from state_machine.machine.events import Confirmou, Conversou, Informou
from tests.state_machine.made_sessions import AGORA, SEGUNDO, diz, emissoes, fits, lido, no_resumo, resposta

A_OUTRA = NotaIgual("211126-00000001-r1-1", AGORA - 120 * SEGUNDO)


def perguntada():
    """A session that was asked whether to issue a second one."""
    return diz(no_resumo(), Confirmou(1, igual=A_OUTRA)).sessao


def test_an_equal_invoice_is_asked_about_before_a_second_one():
    """The first yes issues nothing: it gets the summary with the earlier invoice's time and a button of its own."""
    decision = diz(no_resumo(), Confirmou(1, igual=A_OUTRA))
    assert not emissoes(decision)
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    mensagem = resposta(decision)
    fits(mensagem)
    assert "nota igual" in mensagem.texto
    assert "21/11, às 08:58" in mensagem.texto  # in São Paulo
    assert mensagem.botoes[0].titulo == "Emitir outra"
    assert mensagem.botoes[0].id.endswith(":2")


def test_the_second_one_is_issued_once_it_is_wanted():
    """*Emitir outra*, or a yes in words to that question, issues the second invoice."""
    sessao = perguntada()
    assert [e.revisao for e in emissoes(diz(sessao, Confirmou(2, igual=A_OUTRA)))] == [2]
    assert emissoes(diz(sessao, Confirmou(None, AGORA + SEGUNDO, igual=A_OUTRA)))


@pytest.mark.parametrize("revisao", [-1, 0, 1, 3])
def test_a_second_tap_on_the_first_summary_does_not_answer_the_question(revisao):
    """The impatient second tap on *Confirmar* is bound to the summary before, and gets the question again."""
    decision = diz(perguntada(), Confirmou(revisao, igual=A_OUTRA))
    assert not emissoes(decision)
    assert "nota igual" in resposta(decision).texto


def test_yet_another_equal_invoice_is_asked_about_anew():
    """A yes to "there is one" is no yes to "there are two"."""
    outra = NotaIgual("211126-00000002-r1-1", AGORA)
    decision = diz(perguntada(), Confirmou(2, igual=outra))
    assert not emissoes(decision)
    assert decision.sessao.igual == outra


def test_corrected_data_ask_no_more():
    """With another amount the invoice is like no other: the plain summary comes back, and its yes issues."""
    sessao = diz(perguntada(), Informou((lido(Campo.VALOR, "1800"),))).sessao
    assert sessao.igual is None
    assert emissoes(diz(sessao, Confirmou(sessao.revisao)))


def test_small_talk_keeps_the_question_in_sight():
    """Whatever shows the summary again still tells that there is an equal invoice."""
    mensagem = resposta(diz(perguntada(), Conversou()))
    assert "A outra foi pedida" in mensagem.texto
    assert mensagem.botoes[0].titulo == "Emitir outra"


@pytest.mark.parametrize(
    ("um", "outro", "iguais"),
    [
        ("consultoria de marketing", "Consultoria  de Marketing.", True),
        ("manutenção", "manutencao", True),
        ("aula 1", "aula 2", False),
        ("consultoria", "consultoria de marketing", False),
    ],
)
def test_texts_are_compared_by_what_they_say(um, outro, iguais):
    """Case, accents, punctuation and spacing make no other service; a number does."""
    assert mesmo_texto(um, outro) is iguais


def test_an_order_behind_the_yes_is_kept_whatever_becomes_of_this_invoice():
    """Its words are in a button of the question, and in one of their own where the yes went through."""
    yes = Confirmou(None, AGORA + SEGUNDO, outra="depois uma de 800 pro rui")
    for decision, titles in (
        (diz(no_resumo(), replace(yes, igual=A_OUTRA)), ["Emitir outra", "Cancelar", "Fazer a outra"]),
        (diz(no_resumo(), yes), ["Fazer a outra"]),
    ):
        mensagem = resposta(decision)
        fits(mensagem)
        assert [botao.titulo for botao in mensagem.botoes] == titles
        assert mensagem.botoes[-1].id.endswith(":depois uma de 800 pro rui")
