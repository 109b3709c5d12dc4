"""Every national code becomes a document that the authority takes, after one question at most."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.conversation.effects import confirmed_of
from bot.conversation.session_events import of_company
from bot.orders.accept import intent_of
from gateway.nacional.dps import build
from gateway.nacional.payload import circumstances
from persistence.people.companies import Empresa, Regime
from proofs.sandbox.nacional.register import Place
from proofs.sandbox.nacional.rules import judge
from state_machine.documents import Rps
from state_machine.invoice.fields import Campo, Candidate
from state_machine.invoice.session import Emitir, Estado, Sessao
from state_machine.machine.events import Abriu, Confirmou, Informou
from state_machine.machine.transition import transition
from state_machine.protocol.channel import Ambiente
from state_machine.services.codes import Servico, table
from tests.nightly import size

NOW = datetime(2026, 11, 28, 15, 0, tzinfo=UTC)
REGIMES: tuple[Regime, ...] = ("mei", "simples", "normal")
HERE = "Rua das Flores, 120, Centro, São Paulo/SP, 01310-100 (IBGE 3550308)"
THERE = "Praça Tiradentes, 1, Centro, Curitiba/PR, 80020-310 (IBGE 4106902)"
NEWER = {"141403", "141404"}  # of the table of 2026-02-09, which the sheet of January that the simulator has lacks
CODES = sorted(table().codigos.keys() - NEWER)
CUSTOMER = "Rua A, 1, Centro, São Paulo/SP, 01310-100 (IBGE 3550308)"
ORDER = {
    Campo.DOCUMENTO: "12345678000195",
    Campo.NOME: "PADARIA DO ZÉ",
    Campo.VALOR: "1500.00",
    Campo.DESCRICAO: "serviço de novembro",
}


def company(codigo: str, regime: Regime) -> Empresa:
    """A company of one code, all of whose registration is there."""
    burden = Decimal(2) if regime == "normal" else None
    return replace(
        Empresa(1, "44555666000181", "ANA", "1", "3550308", regime, codigo, None, Decimal(3), NOW - timedelta(days=9)),
        servicos=(Servico(codigo),),
        serie_rps="900",
        tributos_sn=Decimal(6) if regime == "simples" else None,
        tributos_federal=burden,
        tributos_estadual=burden,
        tributos_municipal=burden,
    )


def said(**values: str) -> Informou:
    """One message that says these fields."""
    return Informou(tuple(Candidate(Campo(campo), valor, valor) for campo, valor in values.items()))


def issued(empresa: Empresa, order: Informou, answer: Informou) -> tuple[bytes, int]:
    """Play the conversation; return the DPS that a yes makes, and how many questions it took."""
    sessao = of_company(Sessao("281126-1", "1:55", 1, empresa.razao_social), empresa)
    sessao = transition(sessao, Abriu(), NOW).sessao
    questions = 0
    sessao = transition(sessao, order, NOW).sessao
    if sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO:
        questions += 1
        sessao = transition(sessao, answer, NOW).sessao
    assert sessao.estado is Estado.AGUARDANDO_CONFIRMACAO, sessao.rascunho.a_pedir
    decision = transition(sessao, Confirmou(sessao.revisao), NOW)
    [emitir] = [efeito for efeito in decision.efeitos if isinstance(efeito, Emitir)]
    confirmed = confirmed_of(decision.sessao, emitir, empresa, NOW)
    documento = intent_of(confirmed, None, Rps("900", 7))
    return build(documento, circumstances(documento, Ambiente.HOMOLOGACAO, NOW)), questions


@pytest.mark.parametrize("where", [HERE, THERE], ids=["own city", "another"])
@pytest.mark.parametrize("regime", REGIMES)
def test_each_code_is_issued_after_one_question_at_most(regime: Regime, where: str) -> None:
    """The XSD holds (``build``), and the authority's sheet has nothing against it."""
    order = said(**{campo.value: valor for campo, valor in ORDER.items()})
    refused = {}
    for codigo in CODES:
        xml, questions = issued(company(codigo, regime), order, said(local=where, data="2026-11-20", endereco=CUSTOMER))
        broken = judge(xml, Place(Ambiente.HOMOLOGACAO, "2", NOW))
        if broken or questions > 1:
            refused[codigo] = broken, questions
    assert refused == {}


@pytest.mark.timeout(900)  # at night ten thousand of them
@given(st.data())
def test_whatever_a_conversation_makes_is_taken(data: st.DataObject) -> None:
    """Any code, regime, amount, text, day and place, with or without a retained ISS."""
    for _ in range(size(1, 100)):
        codigo, regime = data.draw(st.sampled_from(CODES)), data.draw(st.sampled_from(REGIMES))
        values = {campo.value: valor for campo, valor in ORDER.items()}
        values["valor"] = str(data.draw(st.decimals("0.01", "9999999999.99", places=2)))
        values["descricao"] = data.draw(
            st.text("abc ção-123", min_size=3, max_size=200).filter(lambda t: len(t.strip()) > 2)
        )
        day = data.draw(st.dates(date(2026, 1, 1), date(2026, 11, 28)))
        retained = codigo not in {"990101", "220101"}  # of others the channel says so before the summary
        if regime != "mei" and retained and data.draw(st.booleans()):
            values |= {"retido": "sim", "endereco": CUSTOMER}
        answer = said(local=data.draw(st.sampled_from([HERE, THERE])), data=str(day), endereco=CUSTOMER)
        xml, _ = issued(company(codigo, regime), said(**values), answer)
        assert judge(xml, Place(Ambiente.HOMOLOGACAO, "2", NOW)) == [], (codigo, regime, values)


@pytest.mark.parametrize(("codigo", "answer"), [("121301", said(local=HERE)), ("070501", said(data="2026-11-20"))])
def test_what_a_code_asks_for_is_not_left_out(codigo: str, answer: Informou) -> None:
    """An event without its day, or a building site without its place, comes to no summary."""
    with pytest.raises(AssertionError):
        issued(company(codigo, "mei"), said(**{campo.value: valor for campo, valor in ORDER.items()}), answer)
