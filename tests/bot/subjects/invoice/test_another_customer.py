"""Another customer behind a "pra" is never left beside the document of the one who stands."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.subjects.invoice.clients import names_said, with_customer
from extractor.contract import Context
from extractor.fields.clients import is_called
from extractor.rules import extract
from state_machine.invoice.choices import Cliente
from state_machine.invoice.draft import Cadastro
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.invoice.session import Estado
from state_machine.machine.events import Abriu, Informou
from state_machine.values.text import Escrita
from tests.state_machine.made_sessions import (
    CNPJ,
    DOC,
    OUTRO_CNPJ,
    SERVICO,
    VALOR,
    diz,
    lido,
    no_resumo,
    nova,
    resposta,
)

STANDING = ("PADARIA DO ZÉ LTDA", "Maria Souza", "Oficina Dois Irmãos", "Clínica Sorriso")
OTHERS = ("maria", "joão", "Ana Paula", "oficina do beto", "outra padaria", "mercado são jorge", "Carlos Lima", "bia")
WORDS = ("200 pra {}", "é pra {}", "nota de 200 pro {}", "o certo é 250,00 para {}", "nota pra {}, aula de inglês")


def over(standing, texto, *, register, known=()):
    """Say words over the summary of a customer whose document the person gave."""
    cadastro = Cadastro(CNPJ, standing, "ATIVA") if register else None
    sessao = no_resumo(DOC, VALOR, SERVICO, lido(Campo.NOME, standing), cadastro=cadastro)
    conhecidos = {campo: valor for campo in FIELDS if (valor := sessao.rascunho.validado(campo))}
    dito = said(texto, conhecidos, summary=True)
    return diz(sessao, asyncio.run(with_customer(dito, sessao.rascunho, known)))


def said(texto, conhecidos, *, summary=False):
    """What the rules read in words, with what was known before them."""
    leitura = extract(texto, Context(date(2026, 11, 25), resumo_mostrado=summary, conhecidos=conhecidos))
    return Informou(leitura.candidates, leitura.doubts, leitura.clear, escritas=(Escrita("w", texto),))


@given(st.sampled_from(STANDING), st.sampled_from(OTHERS), st.sampled_from(WORDS), st.booleans())
def test_no_summary_shows_the_old_document_for_another_name(standing, other, words, register):
    """Whoever is named, the summary is for them or gone, and the answer says that the customer changes."""
    decision = over(standing, words.format(other), register=register)
    if is_called(other, Cliente(CNPJ, standing)):
        assert decision.sessao.rascunho.validado(Campo.DOCUMENTO) == CNPJ
        return
    assert decision.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert decision.sessao.rascunho.validado(Campo.DOCUMENTO) is None
    assert resposta(decision).texto.startswith(f"Troquei o cliente: {standing} → {other}.")


@pytest.mark.parametrize("texto", ["muda pra 200", "troca o serviço pra consultoria de marca", "300 reais, pra hoje"])
def test_a_pra_without_a_name_changes_no_customer(texto):
    """An amount, a service and a day behind a "pra" are none."""
    assert over("PADARIA DO ZÉ LTDA", texto, register=True).sessao.rascunho.validado(Campo.DOCUMENTO) == CNPJ


def test_another_known_client_takes_the_place_and_it_is_said():
    """The records give the new one's document, and the heading names both."""
    known = (Cliente(OUTRO_CNPJ, "MERCADO SÃO JORGE LTDA"),)
    decision = over("PADARIA DO ZÉ LTDA", "nota de R$ 200 pro mercado são jorge", register=False, known=known)
    assert decision.sessao.rascunho.documento.origem is Origem.CADASTRO
    assert "Troquei o cliente: PADARIA DO ZÉ LTDA → MERCADO SÃO JORGE LTDA." in resposta(decision).texto


def test_a_nickname_of_the_standing_customer_is_that_customer():
    """What the company's records call it counts, and a shorter name replaces no fuller one."""
    known = (Cliente(CNPJ, "ZE PANIFICADORA LTDA", ("padoca da esquina",)),)
    decision = over("Zé Panificadora", "R$ 200 pra padoca da esquina", register=False, known=known)
    assert decision.sessao.rascunho.validado(Campo.DOCUMENTO) == CNPJ
    decision = over("Maria Souza Lima", "R$ 200 pra maria", register=False)
    assert decision.sessao.rascunho.tomador_nome == "Maria Souza Lima"


def test_a_fuller_name_replaces_a_shorter_one():
    """Said beside the document that was missing, it is the customer's name, and the summary says that it changed."""
    first = diz(nova(), Abriu(), said("200 pra maria", {})).sessao
    assert first.rascunho.tomador_nome == "maria"
    known = {campo: valor for campo in FIELDS if (valor := first.rascunho.validado(campo))}
    decision = diz(first, said("52998224725 maria da silva, aula de inglês", known))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert decision.sessao.rascunho.tomador_nome == "maria da silva"
    assert "Mudei o nome do cliente de maria para maria da silva." in resposta(decision).texto


@pytest.mark.parametrize(
    ("origem", "texto", "looked_up"),
    [
        (Origem.REGRAS, "Oficina Silva", []),
        (Origem.REGRAS, "é pra Oficina Silva", ["Oficina Silva"]),
        (Origem.CADASTRO, "Oficina Silva", ["Oficina Silva"]),
    ],
)
def test_a_document_that_was_given_is_changed_by_a_recipient_alone(origem, texto, looked_up):
    """A bare name may just name its owner; one from our records was a guess, which any name corrects."""
    rascunho = no_resumo(replace(DOC, origem=origem), VALOR, SERVICO).rascunho
    assert rascunho.documento.origem is origem
    nome = Candidate(Campo.NOME, "Oficina Silva", "Oficina Silva")
    assert names_said(Informou((nome,), escritas=(Escrita("w", texto),)), rascunho) == looked_up
