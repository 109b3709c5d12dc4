"""What a person answers to the question about the customer's address, with what its CEP tells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from bot.conversation.inbound import Palavras
from bot.conversation.memory import as_address
from bot.subjects.invoice.acts import said
from extractor.contract import Context
from extractor.rules import extract
from extractor.utterance import Utterance
from gateway.register import CepEntry, NotFound, Unavailable
from state_machine.invoice.draft import StatusCampo
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado
from state_machine.machine.events import Abriu, Informou
from state_machine.values.text import Escrita
from tests.state_machine.made_sessions import AGORA, diz, no_resumo, nova, resposta

PAULISTA = "Avenida Paulista, 1000, Bela Vista, São Paulo/SP, 01310-100 (IBGE 3550308)"
PLACES: dict[str, CepEntry | Unavailable] = {
    "01310100": CepEntry("01310100", "Avenida Paulista", "Bela Vista", "São Paulo", "SP", "3550308"),
    "13990000": CepEntry("13990000", "", "", "Espírito Santo do Pinhal", "SP", "3515186"),
    "77777777": Unavailable("timeout"),
}


@dataclass(frozen=True)
class Places:
    """The register of CEPs, which is not ours."""

    async def lookup(self, cep: str) -> CepEntry | NotFound | Unavailable:
        """Answer out of the table."""
        return PLACES.get(cep, NotFound())


def asked():
    """A session that asks for the address of a note that was refused without it."""
    return diz(nova(), Abriu(no_resumo().rascunho, Campo.ENDERECO)).sessao


async def answer(sessao, texto: str) -> Informou | None:
    """Return what the words give of an address, as the rules read the rest of them."""
    palavras = Palavras(texto, AGORA, (Escrita("wamid.1", texto, AGORA),))
    leitura = extract(texto, Context(hoje=AGORA.date(), pendente=sessao.pendente, conhecidos={}))
    return await as_address(said(palavras, Utterance(texto, leitura), None), sessao, palavras, Places())


async def talk(sessao, *textos: str):
    """Say each of the words; returns the session."""
    for texto in textos:
        evento = await answer(sessao, texto)
        assert evento is not None, texto
        sessao = diz(sessao, evento).sessao
    return sessao


TAKEN = {
    "CEP and number": (("CEP 01310-100, número 1000",), PAULISTA),
    "whole": (("Avenida Paulista, 1000, Bela Vista, São Paulo/SP, 01310-100",), PAULISTA),
    "said otherwise than the CEP": (
        ("Av. Paulista, 1000, sala 3, Cerqueira César, São Paulo/SP, 01310-100",),
        "Av. Paulista, 1000, sala 3, Cerqueira César, São Paulo/SP, 01310-100 (IBGE 3550308)",
    ),
    "the number later": (("01310-100", "1000"), PAULISTA),
    "the CEP later": (("Avenida Paulista, 1000", "01310100"), PAULISTA),
    "another CEP later": (("13990-000", "01310100", "nº 1000"), PAULISTA),
    "a town's": (
        ("13990-000", "Rua A, 7", "bairro Centro"),
        "Rua A, 7, Centro, Espírito Santo do Pinhal/SP, 13990-000 (IBGE 3515186)",
    ),
}


@pytest.mark.parametrize(("textos", "endereco"), TAKEN.values(), ids=TAKEN.keys())
async def test_an_address_is_completed_by_its_cep_and_by_later_answers(textos, endereco):
    """What the person says counts before what the CEP tells; then the summary shows it, without the city's code."""
    sessao = await talk(asked(), *textos)
    assert sessao.rascunho.validado(Campo.ENDERECO) == endereco
    assert sessao.estado is Estado.AGUARDANDO_CONFIRMACAO


ASKED_AGAIN = {
    "no number": ("CEP 01310-100", "Não achei o número"),
    "an unknown CEP": ("CEP 99999-999, 10", "99999-999 não existe"),
    "another city": ("Rua A, 7, Centro, Campinas/SP, 01310-100", "o CEP é de São Paulo/SP, e não de Campinas/SP"),
    "nobody answers": ("Rua A, 7, Centro, Campinas/SP, 77777-777", "o serviço de CEP não respondeu"),
}


@pytest.mark.parametrize(("texto", "palavras"), ASKED_AGAIN.values(), ids=ASKED_AGAIN.keys())
async def test_what_a_note_cannot_take_is_asked_again(texto, palavras):
    """The question says why, and nothing else of the invoice changes."""
    before = asked()
    evento = await answer(before, texto)
    assert evento is not None
    decision = diz(before, evento)
    assert palavras.lower() in resposta(decision).texto.lower()
    assert replace(decision.sessao.rascunho, endereco=before.rascunho.endereco) == before.rascunho


async def test_the_same_address_said_again_is_looked_up_again(monkeypatch):
    """The service of CEPs may answer by now; whoever says it again is not asked for ever."""
    again = "Rua A, 7, Centro, Campinas/SP, 77777-777"
    sessao = await talk(asked(), again)
    monkeypatch.setitem(PLACES, "77777777", CepEntry("77777777", "", "", "Campinas", "SP", "3509502"))
    sessao = await talk(sessao, again)
    assert sessao.rascunho.validado(Campo.ENDERECO) == f"{again} (IBGE 3509502)"


@pytest.mark.parametrize("texto", ["o valor é 1.800", "cancela", "não sei", "quanto custa?"])
async def test_other_words_are_no_address(texto):
    """They are read as ever."""
    assert await answer(asked(), texto) is None


async def test_a_summary_takes_another_address_by_its_name_only():
    """A number alone corrects no address that nobody asks about; another customer's is forgotten."""
    shown = await talk(asked(), "CEP 01310-100, número 1000")
    assert await answer(shown, "2000") is None
    assert await answer(no_resumo(), "o CEP é 01310-100, número 7") is None
    changed = await talk(shown, "endereço: Avenida Paulista, 2000")
    assert changed.rascunho.validado(Campo.ENDERECO) == PAULISTA.replace("1000", "2000")
    other = changed.rascunho.com(Campo.DOCUMENTO, replace(changed.rascunho.documento, valor="11222333000181"))
    assert other.endereco.status is StatusCampo.NULL
