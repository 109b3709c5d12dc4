from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.catalogue import questions
from state_machine.catalogue.questions import unica_leitura
from state_machine.invoice.draft import Rascunho, aplicar, sem_apagada
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.machine.events import Abriu, Conversou, Informou, Negou
from state_machine.values.text import Escrita
from tests.state_machine.catalogue.test_questions import PARES
from tests.state_machine.made_sessions import CNPJ, CPF, TUDO, diz, doubts, fits, lido, nova, resposta

QUANTIAS = tuple(f"{n}.00" for n in range(1500, 1520))
LEITURAS = {
    Campo.DOCUMENTO: (CNPJ, CPF, "11222333000181", "12ABC34501DE35"),
    Campo.VALOR: QUANTIAS[:4],
    Campo.DESCRICAO: ("consultoria de marketing", "aula", "conserto de telhado e troca de calha", "frete"),
    Campo.EMAIL: ("ana@exemplo.com.br", "a@b.com", "b@b.com", "c@b.com"),
    Campo.COMPETENCIA: ("2026-10", "2026-11", "2026-12", "2026-09"),
    Campo.DATA: ("2026-10-31", "2026-11-01", "2026-11-02", "2026-11-03"),
}
PERGUNTADOS = [par for par in PARES if par[1] in LEITURAS]


def duvida(*leituras, campo=Campo.VALOR, motivo=Motivo.POR_UNIDADE, conta=None):
    return Doubt(campo, motivo, "15 aulas de 70", None, tuple(leituras), conta)


def mostrada(*leituras, vez=0, **como):
    rascunho = aplicar(Rascunho(), (TUDO[0], TUDO[2]), (duvida(*leituras, **como),), ())
    return questions.pergunta(nova(rascunho=rascunho, revisao=4, insistencias=vez))


def titulos(mensagem):
    return [opcao.titulo for opcao in (*mensagem.botoes, *mensagem.lista)]


def test_one_reading_is_a_question_with_a_yes():
    """The amount as people write it, and two buttons that carry session, revision, field and reading."""
    mensagem = mostrada("2000.00")
    assert mensagem.texto == "R$ 2.000,00, é isso?"
    assert titulos(mensagem) == ["R$ 2.000,00, isso", "Outro valor"]
    assert mensagem.ids == ("usar:211126-0a1b2c3d:4:valor:2000.00", "outro:211126-0a1b2c3d:4:valor")


def test_a_reckoned_reading_shows_how_it_was_reckoned():
    """Arithmetic is proposed, and never done in silence."""
    assert mostrada("1050.00", conta="15 × R$ 70,00").texto.startswith("15 × R$ 70,00 = R$ 1.050,00, é isso?")
    assert "15 ×" not in mostrada("1050.00", "70.00", conta="15 × R$ 70,00").texto


def test_two_or_three_readings_are_buttons():
    """The readings themselves, and another value where there is room for it; else the text says it."""
    duas, tres = mostrada("1500.00", "30.00"), mostrada("1500.00", "30.00", "1.00")
    assert duas.texto.startswith("R$ 1.500,00 ou R$ 30,00?")
    assert titulos(duas) == ["R$ 1.500,00", "R$ 30,00", "Outro valor"]
    assert tres.texto.startswith("R$ 1.500,00, R$ 30,00 ou R$ 1,00? Se for outro, é só me mandar.")
    assert titulos(tres) == ["R$ 1.500,00", "R$ 30,00", "R$ 1,00"]


def test_more_readings_than_buttons_are_a_list():
    """At most eight of them, the likeliest first, with another value below; the text names them too."""
    mensagem = mostrada(*QUANTIAS)
    assert mensagem.botoes == ()
    assert titulos(mensagem)[:2] == ["R$ 1.500,00", "R$ 1.501,00"]
    assert len(mensagem.lista) == 9
    assert titulos(mensagem)[-1] == "Outro valor"
    assert all(titulo in mensagem.texto for titulo in titulos(mensagem)[:-1])


def test_what_no_button_can_show_whole_is_a_row_with_the_whole_below():
    """Nobody chooses what was cut."""
    longa = "conserto de telhado e troca de calha"
    mensagem = mostrada(longa, "frete", campo=Campo.DESCRICAO, motivo=Motivo.DISCORDANCIA)
    assert [linha.descricao for linha in mensagem.lista] == [longa, None, None]
    assert titulos(mensagem)[-1] == "Outro serviço"
    assert mostrada("x" * 73, campo=Campo.DESCRICAO, motivo=Motivo.DISCORDANCIA).botoes == ()


def test_a_document_is_shown_as_people_write_it():
    """With its field's name, which the number alone does not tell."""
    mensagem = mostrada(CNPJ, campo=Campo.DOCUMENTO, motivo=Motivo.VARIOS)
    assert mensagem.texto.startswith("Cliente: 12.345.678/0001-95, é isso?")
    assert titulos(mensagem) == ["Sim", "Outro cliente"]


def test_only_readings_that_could_stand_in_the_invoice_are_offered():
    """Each once, checked by our own rules; of two invoices in one message none is."""
    rascunho = aplicar(Rascunho(), (), (duvida("0", "abc", "70", "70.00", "99999999999", "30"),), ())
    assert rascunho.valor.leituras == ("70.00", "30.00")
    duas = aplicar(Rascunho(), (), (duvida("70.00", motivo=Motivo.DUAS_NOTAS),), ())
    assert duas.valor.leituras == ()


def test_readings_of_a_deleted_message_are_offered_no_more():
    """The doubt stays, so that the field is asked."""
    escritas = (Escrita("wamid.1", "15 aulas de 70"),)
    rascunho = aplicar(Rascunho(), (), (duvida("1050.00"),), (), escritas)
    depois = sem_apagada(rascunho, "wamid.1")
    assert (depois.valor.leituras, depois.valor.conta) == ((), None)
    assert depois.valor.motivo is Motivo.POR_UNIDADE


def test_a_yes_is_to_the_first_doubt_alone():
    """While the document is asked about, a yes takes no amount; an amount is asked about last."""
    duas = (duvida("70.00"), duvida(CNPJ, CPF, campo=Campo.DOCUMENTO, motivo=Motivo.VARIOS))
    assert unica_leitura(aplicar(Rascunho(), (), duas, ())) is None
    uma = duvida(CNPJ, campo=Campo.DOCUMENTO, motivo=Motivo.VARIOS)
    assert unica_leitura(aplicar(Rascunho(), (), (duas[0], uma), ())) == (Campo.DOCUMENTO, CNPJ)
    assert unica_leitura(aplicar(Rascunho(), (), duas[:1], ())) is None
    assert unica_leitura(Rascunho()) is None


# --- repetition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("motivo", "campo"), PERGUNTADOS)
@pytest.mark.parametrize("quantas", range(5))
def test_no_two_answers_running_are_equal(motivo, campo, quantas):
    """Whatever stands in doubt, however often it is said again, refused or talked past: the words change each time."""
    doubt = duvida(*LEITURAS[campo][:quantas], campo=campo, motivo=motivo)
    again = (Conversou(), Informou((), (doubt,)), Negou(), Informou((), (doubt,)), Conversou(), Negou(), Negou())
    sessao, ditas = diz(nova(), Abriu()).sessao, []
    for evento in (Informou((), (doubt,)), *again, *again):
        decision = diz(sessao, evento)
        sessao = decision.sessao
        ditas.append(resposta(decision))
        fits(ditas[-1])
    assert all(antes.texto != depois.texto for antes, depois in pairwise(ditas))
    assert sum("Falar com uma pessoa" in titulos(dita) for dita in ditas) >= 4


@pytest.mark.parametrize("tem", range(3))
def test_what_is_missing_is_never_asked_twice_in_the_same_words(tem):
    """The second time with an example, the third with a person beside."""
    sessao, ditas = diz(nova(), Abriu()).sessao, []
    for evento in (Informou(TUDO[:tem]) if tem else Conversou(), *[Conversou()] * 2, *[Negou()] * 3, Conversou()):
        decision = diz(sessao, evento)
        sessao = decision.sessao
        ditas.append(resposta(decision))
    assert all(antes.texto != depois.texto for antes, depois in pairwise(ditas))
    assert FIELDS[sessao.rascunho.faltam[0]].example in ditas[1].texto
    assert titulos(ditas[2]) == ["Falar com uma pessoa"]


@pytest.mark.parametrize(("motivo", "campo"), PERGUNTADOS)
def test_the_second_wording_is_no_longer_than_the_first_but_for_its_example(motivo, campo):
    """Who did not understand the first time reads less, and sees how it is done."""
    sessao = nova(rascunho=aplicar(Rascunho(), (), (duvida(campo=campo, motivo=motivo),), ()))
    primeira = questions.pergunta(sessao).texto.split("\n\n")[0]
    segunda = questions.pergunta(replace(sessao, insistencias=1)).texto.split("\n\n")[0]
    assert len(segunda.removesuffix(FIELDS[campo].example)) <= len(primeira)
    if motivo not in {Motivo.DUAS_NOTAS, Motivo.TELEFONE_OU_CPF}:
        assert segunda.endswith(FIELDS[campo].example)


def test_another_question_begins_with_its_first_wording():
    """The count is of one question."""
    aberta = diz(nova(), Abriu(), Informou((), (duvida(),)), Conversou(), Conversou()).sessao
    decision = diz(aberta, Informou((lido(Campo.VALOR, "10.00"),)))
    assert "▢ CNPJ" in resposta(decision).texto
    assert decision.sessao.insistencias == 0


@settings(deadline=None)
@given(st.lists(doubts, min_size=1, max_size=3), st.integers(0, 5))
def test_any_readings_fit(ditas, vez):
    """Whatever a reader proposes, what is shown is within Meta's limits."""
    rascunho = aplicar(Rascunho(), TUDO[1:], ditas, ())
    fits(questions.pergunta(nova(rascunho=rascunho, insistencias=vez), Rascunho()))


def test_what_nobody_has_to_say_is_acknowledged_when_it_is_stored():
    """The question names the required fields that stand; an e-mail has no other place before the summary."""
    antes = aplicar(Rascunho(), TUDO[:1], (), ())
    depois = aplicar(antes, (lido(Campo.EMAIL, "ana@exemplo.com.br"),), (), ())
    assert questions.pergunta(nova(rascunho=depois), antes).texto.startswith("Anotei: e-mail ana@exemplo.com.br.\n\n")
    assert "Anotei" not in questions.pergunta(nova(rascunho=depois), depois).texto


def test_a_blank_sum_leaves_no_hole() -> None:
    """What a reader reckoned with may be blank; the question shows the reading alone."""
    rascunho = aplicar(Rascunho(), (), (duvida(QUANTIAS[0], conta=" "),), ())
    assert rascunho.valor.conta is None
