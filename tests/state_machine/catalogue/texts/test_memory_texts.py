"""What is said of clients and notes that are remembered: it names them, fits, and is one line of text each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from state_machine.catalogue import acts, messages, questions
from state_machine.catalogue.records import Emitida, Emitidas, lista
from state_machine.catalogue.texts import memory as textos
from state_machine.invoice.choices import Cliente
from state_machine.invoice.draft import Rascunho, aplicar
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.values.local_time import MesOuAno
from tests.state_machine.catalogue.test_request_answers import NOTA
from tests.state_machine.made_sessions import CNPJ, CPF, fits, nova

LONG = "N\n*o*\n" * 80
HOSTILE = replace(NOTA, nome=LONG, numero="9" * 60)


@pytest.mark.parametrize("answer", [messages.saudacao(), acts.obrigado(), messages.nada_a_confirmar()])
@pytest.mark.parametrize("nota", [NOTA, HOSTILE])
def test_an_offer_names_its_note_in_every_wording(answer, nota):
    """The button carries that very invoice; nobody's name breaks the line or the limit."""
    offered = textos.com_oferta(answer, nota)
    botao, *outros = offered.botoes
    assert outros == [*answer.botoes[1:]]
    assert (botao.id, botao.titulo) == ("repetir:7", "Igual à última")
    for forma in messages.formas(offered):
        fits(forma)
        assert "Para repetir a nota" in forma.texto
        assert "N\n" not in forma.texto


def test_a_message_that_has_buttons_gets_no_offer():
    """WhatsApp shows three, and those of the matter at hand come first."""
    for answer in (acts.reclama(NOTA, em_aberto=False), textos.qual_repetir("ana", [NOTA])):
        assert textos.com_oferta(answer, NOTA) is answer


@pytest.mark.parametrize("quantas", [1, 8])
def test_a_list_of_notes_fits_whatever_the_names(quantas):
    """Each row is one note of one client."""
    question = textos.qual_repetir(LONG, [replace(HOSTILE, emissao_id=n) for n in range(quantas)])
    fits(question)
    assert question.ids == tuple(f"repetir:{n}" for n in range(quantas))


@pytest.mark.parametrize(
    "mensagem", [textos.nada_a_repetir(), textos.sem_repetir(None), textos.sem_repetir(HOSTILE), textos.outra_aberta()]
)
def test_every_answer_about_a_repetition_fits(mensagem):
    """Whatever the data."""
    fits(mensagem)


@pytest.mark.parametrize("vez", range(4))
def test_two_clients_are_rows_with_name_and_document(vez):
    """A document alone tells nobody which client it is; a client without a name is its document."""
    clientes = (Cliente(CNPJ, LONG), Cliente(CPF, None))
    nomes = ((CNPJ, LONG),)
    doubt = Doubt(Campo.DOCUMENTO, Motivo.VARIOS, "ana", textos.quais_clientes(clientes), (CNPJ, CPF), nomes=nomes)
    question = questions.pergunta(nova(rascunho=aplicar(Rascunho(), (), (doubt,), ()), insistencias=vez))
    fits(question)
    assert question.botoes == ()
    first, second = question.lista[:2]
    assert first.titulo.startswith("N *o* N")
    assert (first.descricao or "").startswith("12.345.678/0001-95 · N *o*")
    assert (second.titulo, second.descricao) == ("529.982.247-25", None)


def test_a_months_list_is_one_line_for_each_note():
    """A client's name is a stranger's text."""
    nota = Emitida("9" * 60, NOTA.valor, CNPJ, LONG, "2026-11-23")
    texto = lista(MesOuAno(2026, 11), Emitidas(20, NOTA.valor * 20, (nota,) * 15))
    assert len(texto) < 4096
    assert texto.count("\n") == 1 + 15 + 2
    assert "… e mais 5." in texto
    assert texto.count(" · 23/11") == 15
