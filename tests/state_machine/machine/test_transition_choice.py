from __future__ import annotations

from dataclasses import replace

import pytest

from state_machine.invoice.draft import Cadastro, StatusCampo
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.invoice.session import FINAIS, Emissor, Estado
from state_machine.machine.events import (
    Abriu,
    Confirmou,
    Conversou,
    Encaminhou,
    EquipeDevolveu,
    Escolheu,
    Informou,
    MudouEmissor,
    Negou,
    PediuAjuda,
)
from state_machine.values.text import Escrita
from tests.state_machine.made_sessions import (
    AGORA,
    CNPJ,
    CPF,
    DOC,
    PADARIA,
    SEGUNDO,
    SERVICO,
    diz,
    em_processo,
    lido,
    no_resumo,
    nova,
    resposta,
)

ESCRITAS = (Escrita("wamid.1", "15 aulas de 70", AGORA - SEGUNDO),)


def em_duvida(*leituras, campo=Campo.VALOR, resto=(DOC, SERVICO)):
    """A session that was just asked what its doubtful field means."""
    doubt = Doubt(campo, Motivo.POR_UNIDADE, "15 aulas de 70", None, leituras or ("1050.00", "70.00"))
    return diz(nova(), Abriu(), Informou(resto, (doubt,), cadastro=PADARIA, escritas=ESCRITAS)).sessao


def unica():
    """A session that was just asked whether its customer is the only one that the words may mean."""
    return em_duvida(CNPJ, campo=Campo.DOCUMENTO, resto=(SERVICO, lido(Campo.VALOR, "10.00")))


def test_a_press_takes_the_reading():
    """The summary comes, and the value's source are the words that were in doubt."""
    sessao = em_duvida()
    decision = diz(sessao, Escolheu(Campo.VALOR, "70.00", sessao.revisao))
    valor = decision.sessao.rascunho.valor
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert decision.sessao.revisao == sessao.revisao + 1
    assert (valor.status, valor.valor, valor.motivo, valor.leituras) == (StatusCampo.VALIDATED, "70.00", None, ())
    assert (valor.escrito, valor.mensagem, valor.escrita_em) == ("15 aulas de 70", "wamid.1", AGORA - SEGUNDO)
    assert "R$ 70,00" in resposta(decision).texto


@pytest.mark.parametrize(
    "evento",
    [
        Escolheu(Campo.VALOR, "70.00", 0),
        Escolheu(Campo.VALOR, "70.00", 9),
        Escolheu(Campo.VALOR, "70.00", None),
        Escolheu(Campo.VALOR, None, 0),
        Escolheu(Campo.VALOR, "71.00", 1),
        Escolheu(Campo.DOCUMENTO, CNPJ, 1),
        Escolheu(Campo.EMAIL, None, 1),
    ],
)
def test_an_old_or_forged_press_takes_nothing(evento):
    """Another revision, a value that nobody offered, a field that is not in doubt: the question comes again."""
    sessao = em_duvida()
    assert sessao.revisao == 1
    decision = diz(sessao, evento)
    assert decision.sessao.rascunho == sessao.rascunho
    assert decision.sessao.revisao == 1
    assert "R$ 1.050,00 ou R$ 70,00" in resposta(decision).texto


def test_any_change_of_the_draft_voids_the_buttons_shown_before():
    """The question is asked again with buttons of its own; only these count."""
    antes = em_duvida()
    depois = diz(antes, Informou((lido(Campo.DESCRICAO, "aulas de canto"),))).sessao
    velho = diz(depois, Escolheu(Campo.VALOR, "70.00", antes.revisao))
    assert velho.sessao.rascunho == depois.rascunho
    assert diz(depois, Escolheu(Campo.VALOR, "70.00", depois.revisao)).sessao.rascunho.completo


def test_a_press_on_the_summary_shows_the_summary():
    """Nothing is in doubt any more: nothing changes, and nothing is confirmed."""
    sessao = no_resumo()
    decision = diz(sessao, Escolheu(Campo.VALOR, "70.00", sessao.revisao))
    assert decision.sessao == sessao
    assert "Só falta você confirmar" in resposta(decision).texto


@pytest.mark.parametrize("estado", [*sorted(FINAIS), Estado.PROCESSANDO])
def test_a_press_on_an_invoice_that_is_confirmed_or_over_changes_nothing(estado):
    """As an old *Confirmar*."""
    sessao = replace(em_processo(), estado=estado)
    assert diz(sessao, Escolheu(Campo.VALOR, "70.00", sessao.revisao)).sessao == sessao


def test_another_value_is_asked_for_and_the_readings_are_gone():
    """The doubt stays, no button counts any more, and a typed value is read as ever."""
    sessao = em_duvida()
    decision = diz(sessao, Escolheu(Campo.VALOR, None, sessao.revisao))
    assert resposta(decision).texto.startswith("Certo. Qual é o valor da nota?")
    assert resposta(decision).botoes == ()
    assert (decision.sessao.rascunho.valor.leituras, decision.sessao.pendente) == ((), Campo.VALOR)
    for revisao in (sessao.revisao, decision.sessao.revisao):
        assert (
            diz(decision.sessao, Escolheu(Campo.VALOR, "70.00", revisao)).sessao.rascunho.validado(Campo.VALOR) is None
        )
    assert diz(decision.sessao, Informou((lido(Campo.VALOR, "80.00"),))).sessao.rascunho.completo


def sim(quando=AGORA, *, visto=True):
    return Confirmou(None, quando, visto=visto)


def test_a_plain_yes_takes_the_only_reading():
    """As a press does."""
    decision = diz(unica(), sim())
    assert decision.sessao.rascunho.validado(Campo.DOCUMENTO) == CNPJ
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO


@pytest.mark.parametrize(
    "evento", [sim(AGORA - 2 * SEGUNDO), sim(visto=False), Encaminhou(), Confirmou(1), Confirmou(0), Conversou()]
)
def test_a_yes_to_something_else_takes_nothing(evento):
    """Written before the question was shown, forwarded, or a button of a summary: the question comes again."""
    sessao = unica()
    decision = diz(sessao, evento)
    assert decision.sessao.rascunho == sessao.rascunho
    assert "12.345.678/0001-95? Toca no botão" in resposta(decision).texto


def test_a_yes_to_two_readings_takes_neither():
    """It does not say which."""
    sessao = em_duvida()
    assert diz(sessao, sim()).sessao.rascunho == sessao.rascunho


def test_a_yes_after_another_answer_takes_nothing_before_the_question_stands_again():
    """What we said last is what a yes answers."""
    ajuda = diz(unica(), PediuAjuda()).sessao
    perguntada = diz(ajuda, sim())
    assert perguntada.sessao.rascunho == ajuda.rascunho
    assert diz(perguntada.sessao, sim()).sessao.rascunho.completo


def test_a_yes_to_an_earlier_reading_takes_no_later_one():
    """Another reading is another question, shown later."""
    sessao = unica()
    outra = Doubt(Campo.DOCUMENTO, Motivo.DISCORDANCIA, "da ana", None, (CPF,))
    depois = diz(sessao, Informou((), (outra,)), agora=AGORA + 5 * SEGUNDO).sessao
    assert diz(depois, sim(AGORA + SEGUNDO), agora=AGORA + 6 * SEGUNDO).sessao.rascunho == depois.rascunho
    assert diz(depois, sim(AGORA + 7 * SEGUNDO)).sessao.rascunho.validado(Campo.DOCUMENTO) == CPF


def test_a_plain_no_asks_for_the_value():
    """To the only reading; to several it refuses none in particular."""
    decision = diz(unica(), Negou())
    assert resposta(decision).texto.startswith("Certo. Qual é o CNPJ ou CPF do cliente?")
    assert decision.sessao.rascunho.documento.leituras == ()
    duas = em_duvida()
    assert diz(duas, Negou()).sessao.rascunho == duas.rascunho


def test_a_chosen_document_brings_the_registers_word():
    """As one that was written does; the name of another customer is forgotten."""
    sessao = em_duvida(CNPJ, CPF, campo=Campo.DOCUMENTO, resto=(SERVICO, lido(Campo.VALOR, "10.00")))
    decision = diz(sessao, Escolheu(Campo.DOCUMENTO, CNPJ, sessao.revisao, PADARIA))
    assert decision.sessao.rascunho.tomador_nome == "PADARIA DO ZÉ LTDA"
    alheio = diz(sessao, Escolheu(Campo.DOCUMENTO, CPF, sessao.revisao, Cadastro(CNPJ, "OUTRA")))
    assert alheio.sessao.rascunho.cadastro is None


def test_the_issuing_company_is_offered_as_customer_no_more():
    """When the number begins to issue for a company, that one's document leaves the readings."""
    sessao = em_duvida(CNPJ, CPF, campo=Campo.DOCUMENTO)
    depois = diz(sessao, MudouEmissor(Emissor(2, CNPJ, "PADARIA", 1))).sessao
    assert depois.rascunho.documento.leituras == (CPF,)


def test_staff_give_the_conversation_back_with_buttons_that_count():
    """They carry the revision that stands by then."""
    devolvida = diz(em_duvida(), EquipeDevolveu())
    assert f":{devolvida.sessao.revisao}:valor:70.00" in " ".join(resposta(devolvida).ids)
    assert diz(devolvida.sessao, Escolheu(Campo.VALOR, "70.00", devolvida.sessao.revisao)).sessao.rascunho.completo
