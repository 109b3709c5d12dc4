"""Every national code becomes a document that the authority takes, after one question at most."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.conversation.effects import confirmed_of
from bot.conversation.inbound import Palavras
from bot.conversation.memory import with_place
from bot.conversation.session_events import of_company
from bot.orders.accept import intent_of
from bot.subjects.invoice.plan import plan
from bot.subjects.invoice.subject import read
from extractor.two_readers import TwoReaders
from gateway.nacional.dps import build
from gateway.nacional.payload import circumstances
from gateway.register import NotFound
from persistence.people.companies import Empresa, Regime
from proofs.sandbox.nacional.register import Place
from proofs.sandbox.nacional.rules import judge
from state_machine.documents import Rps
from state_machine.invoice.draft import Cadastro, Rascunho
from state_machine.invoice.fields import Campo, Candidate
from state_machine.invoice.session import Emitir, Estado, Sessao
from state_machine.invoice.summary import resumo
from state_machine.machine.events import Abriu, Confirmou, Evento, Informou, NaoCabe
from state_machine.machine.transition import transition
from state_machine.protocol.channel import Ambiente
from state_machine.services.codes import Servico, table
from state_machine.values.text import Escrita
from tests.bot.subjects.invoice.test_plan import Remembered
from tests.nightly import size

NOW = datetime(2026, 11, 28, 15, 0, tzinfo=UTC)
CORPUS = Path(__file__).parents[3] / "corpus" / "orders-national.jsonl"
CNPJ = 14  # digits
PHONES = {"070801"}  # of eleven bare digits, which a phone has too: it is asked whose they are
WASTE = re.compile(r"R\$|\breais\b|\bc(?:np|p)[fj]\b|[0-9.]{5}|,[0-9]{2}\b", re.IGNORECASE)
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


@cache
def orders() -> dict[str, dict[str, str]]:
    """One order a code, as its writer meant it; nobody who wrote them had seen the reader."""
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    return {row["codigo"]: row for row in rows}


class NoRegister:
    """A register of addresses that knows none."""

    async def lookup(self, cep: str) -> NotFound:
        """Find nothing."""
        return NotFound()


def registered(dito: Informou) -> Informou:
    """What an order says with the name that the public register has of a CNPJ."""
    documento = next((c.valor for c in dito.candidates if c.campo is Campo.DOCUMENTO and len(c.valor) == 14), None)
    return replace(dito, cadastro=Cadastro(documento, "PADARIA DO ZÉ LTDA", "ATIVA")) if documento else dito


@cache
def heard(codigo: str) -> tuple[Evento, ...]:
    """What the product makes of a code's order: the same for each regime."""

    async def listen() -> tuple[Evento, ...]:
        empresa, texto = company(codigo, "mei"), orders()[codigo]["mensagem"]
        palavras = Palavras(texto, NOW, (Escrita("wamid", texto, NOW),))
        dita = await read(texto, None, empresa, NOW, TwoReaders())
        plano = await plan(palavras, dita, Remembered(empresa=empresa), NOW)
        return tuple(
            [
                await with_place(registered(each), Rascunho(), empresa.servicos, NoRegister())
                if isinstance(each, Informou)
                else each
                for each in plano.eventos
            ]
        )

    return asyncio.run(listen())


def person(codigo: str, where: str) -> dict[Campo, Informou]:
    """What the writer of a code's order answers to each question; one question is about place and day."""
    row, place = orders()[codigo], said(local=where, data="2026-11-20")
    return {
        Campo.DOCUMENTO: said(documento=row["documento"]),
        Campo.VALOR: said(valor=row["valor"]),
        Campo.DESCRICAO: said(descricao="serviço de novembro"),
        Campo.NOME: said(nome="ANA SOUZA"),
        Campo.LOCAL: place,
        Campo.DATA: place,
        Campo.ENDERECO: said(endereco=CUSTOMER),
    }


def needed(answer: Informou, sessao: Sessao) -> Informou:
    """What of an answer was asked: a day that was said stands."""
    asked = sessao.rascunho.a_pedir
    return replace(answer, candidates=tuple(each for each in answer.candidates if each.campo in asked))


def issued(
    empresa: Empresa, order: Sequence[Evento], answers: Mapping[Campo, Informou], limit: int = 1
) -> tuple[bytes, Sessao, list[Campo]]:
    """Play the conversation; return the DPS that a yes makes, the summary's session, and what was asked before it."""
    sessao = of_company(Sessao("281126-1", "1:55", 1, empresa.razao_social), empresa)
    asked: list[Campo] = []
    for event in order:
        sessao = transition(sessao, event, NOW).sessao
    while True:
        if sessao.estado is Estado.AGUARDANDO_CONFIRMACAO and not sessao.rascunho.tomador_nome:
            sessao = transition(sessao, NaoCabe("falta o nome do cliente", Campo.NOME), NOW).sessao  # as the door says
        if sessao.estado is Estado.AGUARDANDO_CONFIRMACAO or sessao.pendente is None or len(asked) == limit:
            break
        asked.append(sessao.pendente)
        sessao = transition(sessao, needed(answers[sessao.pendente], sessao), NOW).sessao
    assert sessao.estado is Estado.AGUARDANDO_CONFIRMACAO, (asked, sessao.rascunho.a_pedir)
    decision = transition(sessao, Confirmou(sessao.revisao), NOW)
    [emitir] = [efeito for efeito in decision.efeitos if isinstance(efeito, Emitir)]
    confirmed = confirmed_of(decision.sessao, emitir, empresa, NOW)
    documento = intent_of(confirmed, None, Rps("900", 7))
    return build(documento, circumstances(documento, Ambiente.HOMOLOGACAO, NOW)), sessao, asked


@pytest.mark.parametrize("where", [HERE, THERE], ids=["own city", "another"])
@pytest.mark.parametrize("regime", REGIMES)
def test_each_code_is_issued_from_one_sentence_after_one_question_at_most(regime: Regime, where: str) -> None:
    """The XSD holds (``build``), and the authority's sheet has nothing against it.

    A person without a CNPJ is in no public register: their name is one question more.
    """
    refused = {}
    for codigo in sorted(orders())[:: size(2, 1)]:
        limit = 1 if len(orders()[codigo]["documento"]) == CNPJ else 2
        xml, _, asked = issued(company(codigo, regime), heard(codigo), person(codigo, where), limit + 1)
        broken = judge(xml, Place(Ambiente.HOMOLOGACAO, "2", NOW))
        if broken or len(asked) > limit - (limit > 1 and Campo.NOME not in asked):
            refused[codigo] = broken, asked
    assert refused.keys() <= PHONES, refused


def test_each_order_is_read_as_its_writer_meant_it() -> None:
    """Amount and customer are theirs, whether said at once or asked, and the service has neither in it."""
    wrong = {}
    for codigo, row in orders().items():
        _, sessao, asked = issued(company(codigo, "simples"), heard(codigo), person(codigo, HERE), 3)
        draft = sessao.rascunho
        read_as = {campo: draft.validado(Campo(campo)) for campo in ("valor", "documento")}
        service = draft.validado(Campo.DESCRICAO) or ""
        if read_as != {campo: row[campo] for campo in read_as} or (WASTE.search(service) and Campo.VALOR not in asked):
            wrong[codigo] = read_as, service
    assert wrong == {}
    assert {codigo for codigo in orders() if not table().codigos.get(codigo)} == set()


@pytest.mark.parametrize(("codigo", "first", "last"), [("120501", "20", "22"), ("120801", "10", "14")])
def test_an_event_of_several_days_says_its_first_and_its_last(codigo: str, first: str, last: str) -> None:
    """From the order's own words: nobody is asked for a day."""
    xml, sessao, _ = issued(company(codigo, "simples"), heard(codigo), {Campo.LOCAL: said(local=HERE)})
    assert f"<dtIni>2026-11-{first}</dtIni><dtFim>2026-11-{last}</dtFim>".encode() in xml
    assert f"{last}/11/2026" in resumo(sessao).texto


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
        order, answers = (Abriu(), said(**values)), dict.fromkeys((Campo.LOCAL, Campo.DATA, Campo.ENDERECO), answer)
        xml, _, _ = issued(company(codigo, regime), order, answers)
        assert judge(xml, Place(Ambiente.HOMOLOGACAO, "2", NOW)) == [], (codigo, regime, values)


@pytest.mark.parametrize(("codigo", "answer"), [("121301", said(local=HERE)), ("070501", said(data="2026-11-20"))])
def test_what_a_code_asks_for_is_not_left_out(codigo: str, answer: Informou) -> None:
    """An event without its day, or a building site without its place, comes to no summary."""
    order = said(**{campo.value: valor for campo, valor in ORDER.items()})
    with pytest.raises(AssertionError):
        issued(company(codigo, "mei"), (Abriu(), order), {Campo.LOCAL: answer, Campo.DATA: answer})
