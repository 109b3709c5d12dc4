from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from state_machine.protocol.channel import Natureza
from state_machine.protocol.emission import Absent, CannotTell, Found, Situacao, StatusEmissao
from state_machine.protocol.reconciliation import Anterior, Parecer, ask_about_both, judge, judge_unasked, may_send
from tests.state_machine.made_emissions import POLITICA, S, andamento, depois, nota

NOTA = "ext"  # the gateway made a note of the earlier attempt
PORTA = None  # it was refused at the door


@pytest.mark.parametrize(
    ("id_externo", "finding", "esperado"),
    [
        (NOTA, Found(nota(Situacao.REJEITADA, ja_existe=True)), Parecer.PESSOAS),
        (NOTA, Found(nota(Situacao.REJEITADA)), Parecer.ENVIA),
        (PORTA, Found(nota(Situacao.REJEITADA)), Parecer.ENVIA),
        (PORTA, Absent(), Parecer.ENVIA),
        (NOTA, Absent(), Parecer.ESPERA),
        (NOTA, Found(nota()), Parecer.RELE),
        (PORTA, Found(nota()), Parecer.RELE),
        (NOTA, Found(nota(Situacao.CANCELADA)), Parecer.RELE),
        (NOTA, Found(nota(Situacao.REJEITADA, valor=Decimal(1))), Parecer.RELE),
        (NOTA, Found(nota(Situacao.PROCESSANDO)), Parecer.ESPERA),
        (NOTA, Found(nota(numero=None)), Parecer.ESPERA),
        (NOTA, CannotTell("HTTP 502"), Parecer.ESPERA),
        (PORTA, CannotTell("HTTP 401"), Parecer.ESPERA),
    ],
)
def test_a_new_attempt_goes_only_while_the_gateway_still_says_refused(id_externo, finding, esperado):
    """Late truth wins: authorised, in process, cancelled, other content or no answer, and nothing is sent."""
    anterior = Anterior(1, andamento(S.REJEITADO), id_externo)
    assert judge(anterior, finding, depois(), POLITICA) is esperado


@pytest.mark.parametrize("status", StatusEmissao)
def test_what_our_records_know_already_is_not_asked_again(status):
    """Authorised or in conflict settles it; refused must be asked about; anything else waits."""
    esperado = {
        S.REJEITADO: None,
        S.DISPENSADO: None,
        S.CONCLUIDO: Parecer.DISPENSA,
        S.CONFLITO: Parecer.PESSOAS,
    }.get(status, Parecer.ESPERA)
    assert judge_unasked(Anterior(1, andamento(status), NOTA)) is esperado


def test_the_refused_invoice_that_this_one_mends_counts_while_its_note_stands():
    """Its note in force holds the mended one back; cancelled since, mending it is what the new one is for."""
    emitida = Anterior(1, andamento(S.CONCLUIDO), NOTA, numero="42", reparada=True)
    assert judge_unasked(emitida) is Parecer.DISPENSA
    assert judge_unasked(replace(emitida, numero=None)) is Parecer.ENVIA
    passo = ask_about_both(andamento(S.PENDENTE), emitida)
    assert (passo.aviso, passo.daqui, passo.retida, passo.outra) == ("ainda_quer", None, "pessoa", "42")
    assert may_send(passo.andamento)  # certainly nobody's: a yes lets it go


def test_an_earlier_attempt_that_may_have_been_accepted_must_be_absent_twice():
    """Refused at last, but a call of it was never answered: one absence may only be the gateway's lag."""
    anterior = Anterior(1, andamento(S.REJEITADO, duvida=True), PORTA)
    assert judge(anterior, Absent(), depois(), POLITICA) is Parecer.AUSENTE
    assert judge(anterior, Found(nota(Situacao.REJEITADA)), depois(), POLITICA) is Parecer.ENVIA


def test_an_earlier_attempt_whose_number_is_anothers_holds_nothing_back():
    """The authority is unique on the number: the refused one has no note, whoever has it."""
    politica = POLITICA.de(Natureza(reference=str.upper))
    anterior = Anterior(1, andamento(S.REJEITADO, duvida=True), PORTA)
    assert judge(anterior, Found(nota(referencia="OUTRA")), depois(), politica) is Parecer.ENVIA
    assert judge(anterior, Found(nota()), depois(), politica) is Parecer.RELE
