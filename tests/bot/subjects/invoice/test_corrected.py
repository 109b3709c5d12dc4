"""What a complaint about an issued note changes in the draft that is made of it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import pytest

from bot.subjects.invoice.subject import Reader
from extractor.rules import RulesExtractor
from persistence.people.companies import Empresa
from state_machine.cancellation.machine import MOTIVO_MAX, Codigo, motivo_de
from state_machine.catalogue import acts
from state_machine.catalogue.requests import NotaListada
from state_machine.catalogue.texts.cancellation import MOTIVO_DO_BOTAO, erro, o_errado
from state_machine.invoice.draft import Rascunho, ler
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.invoice.session import Sessao
from state_machine.protocol.emission import StatusEmissao
from state_machine.values.text import tamanho

if TYPE_CHECKING:
    from persistence.queue.lanes import Lanes

NOW = datetime(2026, 11, 26, 15, tzinfo=UTC)
ANA = Empresa(1, "44555666000181", "ANA", "1", "3550308", "mei", "01.01", None, None, NOW)
NOTE = NotaListada(7, "12", StatusEmissao.CONCLUIDO, Decimal(1500), "12345678000195", "PADARIA", "limpeza", NOW)
HAD = {Campo.DOCUMENTO: "12345678000195", Campo.VALOR: "1500.00", Campo.DESCRICAO: "limpeza", Campo.NOME: "PADARIA"}


def issued() -> Sessao:
    """Return a draft with the note's data."""
    rascunho = Rascunho()
    for campo, valor in HAD.items():
        rascunho = rascunho.com(campo, ler(Candidate(campo, valor, valor, Origem.CADASTRO)))
    return Sessao("nova", "lane", 1, "ANA", rascunho=rascunho)


@pytest.mark.parametrize(
    ("said", "new", "asked"),
    [
        ("corrige a nota 12, o valor era 1.800", {Campo.VALOR: "1800.00"}, set()),
        ("corrige a nota 12\no valor era 1.800", {Campo.VALOR: "1800.00"}, set()),
        ("a nota 12 saiu errada, era 1.800", {Campo.VALOR: "1800.00"}, set()),
        ("troque o valor da nota fiscal nº 12 para 1.800", {Campo.VALOR: "1800.00"}, set()),
        ("substitui a nota 12 por outra de 2.600", {Campo.VALOR: "2600.00"}, set()),
        ("troca o cliente da nota 12, o certo é 11222333000181", {Campo.DOCUMENTO: "11222333000181"}, set()),
        ("conserta a nota 12, o serviço era pintura", {Campo.DESCRICAO: "pintura"}, set()),
        ("muda o valor da nota 12", {}, {Campo.VALOR}),
        ("a nota de 1500 saiu errada", {}, set()),
        ("não recebi o pdf da nota 12", {}, set()),
    ],
)
async def test_a_complaint_tells_what_is_right(said: str, new: dict[Campo, str], asked: set[Campo]) -> None:
    """Never the note's number, nor what the note has already; what it replaces is no second reading."""
    reader = Reader(RulesExtractor(), cast("Lanes", None))  # nothing is kept here
    heard = await reader.corrected(said, issued(), ANA, NOW)
    if not new and not asked:
        assert heard is None
        return
    assert heard is not None
    assert {c.campo: c.valor for c in heard.candidates} == new
    assert heard.doubts == ()
    assert heard.clear == new.keys() | asked


@pytest.mark.parametrize("words", ["o valor era 1.800", "x" * 200, "x" * 201, ""])
def test_the_button_carries_the_complaint_to_the_reason(words: str) -> None:
    """Words that fit into what Meta and the authority take arrive whole; none are cut."""
    [button, _] = acts.reclama(NOTE, em_aberto=False, palavras=f" {words}\n").botoes
    assert tamanho(button.id) <= 256
    _, _, carried = button.id.partition("::")
    assert carried == (words if len(words) <= 200 else "")
    reason = motivo_de(Codigo.ERRO_NA_EMISSAO, erro(carried))
    assert reason is not None
    assert len(reason.texto) <= MOTIVO_MAX
    assert o_errado(reason.texto) == (carried or None)
    assert o_errado(MOTIVO_DO_BOTAO["2"][1]) is None
