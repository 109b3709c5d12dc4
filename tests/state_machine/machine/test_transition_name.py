from __future__ import annotations

import pytest

from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo
from state_machine.invoice.session import Estado
from state_machine.machine.events import Abriu, Confirmou, Informou
from tests.state_machine.made_sessions import (
    DOC,
    OUTRO_CNPJ,
    SERVICO,
    TUDO,
    VALOR,
    diz,
    emissoes,
    lido,
    no_resumo,
    nova,
    resposta,
)


def test_a_missing_name_blocks_nothing_but_is_said_plainly():
    """Neither register nor user named the client: the summary says so, and a bare answer is read as the name."""
    decision = diz(nova(), Abriu(), Informou(TUDO))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert decision.sessao.pendente is Campo.NOME
    assert "Cliente: *sem nome*. Se tiver, me manda" in resposta(decision).texto
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
    outro = no_resumo(lido(Campo.DOCUMENTO, OUTRO_CNPJ), VALOR, SERVICO, lido(Campo.NOME, "Ana"), cadastro=None)
    assert diz(outro, Informou(ditos)).sessao.rascunho.tomador_nome == "Zé"


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
