from __future__ import annotations

from datetime import timedelta

import pytest

from state_machine.invoice.choices import NotaIgual
from state_machine.invoice.draft import StatusCampo
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.invoice.session import Emitir, Estado
from state_machine.machine.events import Abriu, Confirmou, Conversou, Informou, PediuCorrecao
from state_machine.services.codes import Servico
from tests.state_machine.made_sessions import (
    AGORA,
    DOC,
    PADARIA,
    SEGUNDO,
    SERVICO,
    diz,
    lido,
    no_resumo,
    nova,
    resposta,
)


def duvida(*leituras, conta=None):
    return Doubt(Campo.VALOR, Motivo.VARIOS, "1070 bruto, 650 líquido", None, leituras, conta)


def dita(*leituras, conta=None, resto=(DOC, SERVICO), **sessao):
    """What follows an order whose amount is doubtful, with these readings."""
    return diz(nova(**sessao), Abriu(), Informou(resto, (duvida(*leituras, conta=conta),), cadastro=PADARIA))


def titulos(decision):
    return [botao.titulo for botao in resposta(decision).botoes]


def valor(decision):
    return next(linha for linha in resposta(decision).texto.splitlines() if linha.startswith("Valor: "))


def emite(sessao, leitura, revisao=None, **mais):
    return Confirmou(sessao.revisao if revisao is None else revisao, leitura=leitura, **mais)


@pytest.mark.parametrize(
    ("leitura", "conta", "linha", "titulo"),
    [
        ("1500.00", None, "Valor: *R$ 1.500,00* (confere?)", "Confirmar R$ 1.500"),
        ("350.00", "5 × R$ 70,00", "Valor: *R$ 350,00* (5 × R$ 70,00, confere?)", "Confirmar R$ 350,00"),
        ("123456.78", None, "Valor: *R$ 123.456,78* (confere?)", "R$ 123.456,78"),
    ],
)
def test_the_only_reading_stands_marked_in_the_summary(leitura, conta, linha, titulo):
    """It costs no turn: the line is marked, the button names the amount, and a yes issues what is shown."""
    shown = dita(leitura, conta=conta)
    assert (valor(shown), titulos(shown)) == (linha, [titulo, "Corrigir", "Cancelar"])
    assert shown.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert valor(diz(shown.sessao, Conversou())) == linha
    issued = diz(shown.sessao, Confirmou(shown.sessao.revisao))
    assert issued.sessao.estado is Estado.PROCESSANDO
    assert issued.sessao.rascunho.validado(Campo.VALOR) == leitura
    assert diz(shown.sessao, Confirmou(None, AGORA)).sessao.estado is Estado.PROCESSANDO


def test_a_sure_amount_is_never_marked():
    """Said again for certain, the same amount loses its mark, and the buttons of the marked summary count no more."""
    marcado = dita("1500.00").sessao
    seguro = diz(marcado, Informou((lido(Campo.VALOR, "1500.00"),)))
    assert valor(seguro) == "Valor: *R$ 1.500,00*"
    assert titulos(seguro)[0] == "Confirmar"
    assert diz(seguro.sessao, Confirmou(marcado.revisao)).sessao.estado is Estado.AGUARDANDO_CONFIRMACAO


def test_a_great_amount_stands_in_words_too():
    """Where a zero too many costs most, it is read twice; below, the summary stays short."""
    grande = dita("1500.00").sessao
    for valor_dito, linha in (
        ("9999.99", "Valor: *R$ 9.999,99*"),
        ("10000.00", "Valor: *R$ 10.000,00* (dez mil reais)"),
    ):
        assert valor(diz(grande, Informou((lido(Campo.VALOR, valor_dito),)))) == linha


def test_a_doubtful_amount_takes_no_sure_ones_place():
    """The one that stood is a reading like the other: both are shown, and a bare yes issues neither."""
    sessao = no_resumo()
    stood = sessao.rascunho.validado(Campo.VALOR)
    shown = diz(sessao, Informou((), (duvida("50000.00"),)))
    assert shown.sessao.rascunho.valores_a_escolher == (stood, "50000.00")
    assert diz(shown.sessao, Confirmou(None, AGORA + SEGUNDO)).sessao.estado is Estado.DADOS_INCOMPLETOS
    same = diz(sessao, Informou((), (duvida(stood),)))
    assert (same.sessao.rascunho, titulos(same)[0]) == (sessao.rascunho, "Confirmar")


@pytest.mark.parametrize("leituras", [("1500.00",), ("1070.00", "650.00")])
def test_what_is_missing_is_asked_before_a_doubtful_amount(leituras):
    """The question says what was read, to be checked; the summary comes with the answer."""
    asked = dita(*leituras, resto=(DOC,))
    assert asked.sessao.pendente is Campo.DESCRICAO
    assert resposta(asked).texto.startswith("Qual serviço foi prestado?")
    assert "(a conferir)" in resposta(asked).texto
    assert valor(diz(asked.sessao, Informou((SERVICO,)))).startswith("Valor: *R$ 1.")


def test_two_readings_are_shown_in_one_summary_and_a_press_is_choice_and_consent():
    """The buttons name them; the one that is pressed is issued under the revision that showed it, and nothing else."""
    shown = dita("1070.00", "650.00")
    assert valor(shown) == "Valor: *R$ 1.070,00* ou *R$ 650,00*"
    assert "Cliente: PADARIA DO ZÉ LTDA" in resposta(shown).texto
    assert titulos(shown) == ["Emitir R$ 1.070,00", "Emitir R$ 650,00", "Corrigir"]
    issued = diz(shown.sessao, emite(shown.sessao, "650.00"))
    assert issued.sessao.estado is Estado.PROCESSANDO
    assert (issued.sessao.rascunho.validado(Campo.VALOR), issued.sessao.rascunho.valor.leituras) == ("650.00", ())
    assert Emitir(shown.sessao.revisao) in issued.efeitos
    assert "O que eu mudo?" in resposta(diz(shown.sessao, PediuCorrecao())).texto


@pytest.mark.parametrize(("leitura", "revisao"), [("650.00", 0), ("650.00", 9), ("70.00", None), ("", None)])
def test_a_press_of_another_summary_issues_nothing(leitura, revisao):
    """Another revision, or an amount that the summary does not show: it is asked which."""
    sessao = dita("1070.00", "650.00").sessao
    depois = diz(sessao, emite(sessao, leitura, revisao))
    assert (depois.sessao.estado, depois.sessao.rascunho) == (Estado.DADOS_INCOMPLETOS, sessao.rascunho)
    assert "R$ 1.070,00 ou R$ 650,00" in resposta(depois).texto


def test_a_bare_yes_to_two_readings_is_asked_which():
    """It issues neither, and the answer to that question is shown in a summary of its own."""
    sessao = dita("1070.00", "650.00").sessao
    asked = diz(sessao, Confirmou(None, AGORA + SEGUNDO))
    assert asked.sessao.rascunho.valor.status is StatusCampo.INVALID
    assert resposta(asked).texto.startswith("Qual vale para o valor: R$ 1.070,00 ou R$ 650,00?")
    assert titulos(asked)[:2] == ["R$ 1.070,00", "R$ 650,00"]


def test_a_chosen_amount_that_was_issued_not_long_ago_is_asked_about_before_a_second_note():
    """No button of the summary of two issues after that, not even that of the other amount."""
    sessao = dita("1070.00", "650.00").sessao
    igual = NotaIgual("211126-aaaaaaaa", AGORA - timedelta(minutes=3))
    asked = diz(sessao, emite(sessao, "650.00", igual=igual))
    standing = (asked.sessao.estado, asked.sessao.rascunho.validado(Campo.VALOR))
    assert standing == (Estado.AGUARDANDO_CONFIRMACAO, "650.00")
    assert titulos(asked)[0] == "Emitir outra"
    for leitura in ("1070.00", "650.00"):
        assert diz(asked.sessao, emite(sessao, leitura)).sessao.estado is Estado.AGUARDANDO_CONFIRMACAO


def test_the_other_amount_is_not_issued_from_a_summary_of_the_same_revision():
    """After a yes that may have been forgotten the revision stays: only the amount that is shown can be confirmed."""
    sessao = dita("1070.00", "650.00").sessao
    shown = diz(sessao, emite(sessao, "650.00", esquecida=True)).sessao
    assert (shown.estado, shown.revisao) == (Estado.AGUARDANDO_CONFIRMACAO, sessao.revisao)
    assert diz(shown, emite(sessao, "1070.00")).sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert diz(shown, Confirmou(shown.revisao)).sessao.estado is Estado.PROCESSANDO


def test_a_summary_of_two_amounts_shows_the_code_that_it_issues_with():
    """The code is chosen as if the amount stood, and is on the screen when the press comes."""
    servicos = (Servico("170601", "Consultoria de marketing"), Servico("140101", "Conserto de sapatos"))
    shown = dita("1070.00", "650.00", servicos=servicos)
    assert "17.06.01" in resposta(shown).texto
    issued = diz(shown.sessao, emite(shown.sessao, "650.00"))
    assert issued.sessao.rascunho.validado(Campo.CODIGO) == "170601"
