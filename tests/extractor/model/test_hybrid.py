from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from extractor.contract import Context, Intent, Uso
from extractor.hybrid import HybridExtractor, ModelExtractor
from extractor.two_readers import read_by_both
from proofs.sandbox.model import ModelSimulator, Reply
from state_machine.invoice.fields import Campo, Motivo, Origem

NOTHING = dict.fromkeys(("documento", "valor", "descricao", "nome", "email", "competencia", "data"))


def answer(intent: str = "informar", **spans: str) -> dict[str, str | None]:
    return {**NOTHING, "intent": intent, **spans}


@pytest.fixture
async def server():
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
async def hybrid(server):
    async with HybridExtractor(api_key="k", base_url=f"{server.url}/v1", model="m", deadline=5) as extractor:
        yield extractor


UNREAD = "500 reais, aquele lance maneiro lá que você me indicou"


@pytest.mark.parametrize(
    "text", ["nota de R$ 1.500,00 pra 11.222.333/0001-81, consultoria", "bom dia!", "ajuda", "👍", "cancela"]
)
async def test_what_the_rules_read_whole_never_leaves(server, hybrid, fresh, text):
    """A complete order, a greeting, a command or a yes asks no model."""
    assert await hybrid.extract(text, fresh) == read_by_both(text, fresh).extraction
    assert server.asked == []


async def test_the_model_fills_what_the_rules_left(server, hybrid, fresh):
    """A verbatim span for a missing field is taken, marked as the model's; the rules' fields stand."""
    server.say(answer(valor="500 reais", descricao="lance maneiro"))
    extraction = await hybrid.extract(UNREAD, fresh)
    got = {c.campo: (c.valor, c.origem) for c in extraction.candidates}
    assert got[Campo.VALOR] == ("500.00", Origem.REGRAS)
    assert got[Campo.DESCRICAO] == ("lance maneiro", Origem.MODELO)
    assert extraction.modelo_usado


async def test_a_reading_says_what_its_model_took(server, hybrid, fresh):
    """Useful or not, an answer was paid for; what the rules read whole took nothing."""
    server.usage = (200, 40)
    server.say(answer(descricao="lance maneiro"), Reply(shape="refusal"))
    assert (await hybrid.extract(UNREAD, fresh)).uso == Uso(1, 0, 200, 40)
    assert (await hybrid.extract(UNREAD, fresh)).uso == Uso(1, 0, 200, 40)
    assert (await hybrid.extract("ajuda", fresh)).uso is None


@pytest.mark.parametrize(
    "spans",
    [
        {"descricao": "consultoria que ninguém disse"},
        {"nome": "Ana Lima"},
        {"documento": "11.222.333/0001-81"},
        {"documento": "[DOC1]"},
        {"email": "[EMAIL1]"},
        {"competencia": "outubro"},
        {"descricao": "[DOC1]"},
        {"descricao": "<SERVIÇO>"},
    ],
    ids=str,
)
async def test_a_span_the_user_did_not_type_does_not_exist(server, hybrid, fresh, spans):
    """Invented, leaked or aliased-out-of-nothing spans leave no trace."""
    server.say(answer(**spans))
    extraction = await hybrid.extract(UNREAD, fresh)
    assert extraction.candidates == read_by_both(UNREAD, fresh).extraction.candidates
    assert extraction.doubts == ()


async def test_disagreement_about_money_is_asked(server, hybrid, fresh):
    """Rules and model reading different amounts leave a question, no amount."""
    server.say(answer(valor="300"))
    extraction = await hybrid.extract("valor 500, mês passado 300, aquele lance que você sabe", fresh)
    assert Campo.VALOR not in {c.campo for c in extraction.candidates}
    assert Campo.VALOR in {d.campo for d in extraction.doubts}


async def test_the_model_lifts_no_doubt(server, hybrid, fresh):
    """Where the rules ask because of instalments, a model that picks one number changes nothing."""
    text = "3x de 500 daquele lance que te falei"
    server.say(answer(valor="500"))
    extraction = await hybrid.extract(text, fresh)
    assert {d.campo: d.motivo for d in extraction.doubts} == {Campo.VALOR: Motivo.PARCELADO}
    assert Campo.VALOR not in {c.campo for c in extraction.candidates}


@pytest.mark.parametrize("intent", ["confirmar", "cancelar"])
async def test_the_model_neither_confirms_nor_cancels(server, hybrid, summary, intent):
    """A yes and an end are read from exact words; a model's proposal of either is ignored."""
    server.say(answer(intent))
    extraction = await hybrid.extract("olha só que dia lindo pra caminhar no parque", summary)
    assert server.asked
    assert extraction.intent not in {Intent.CONFIRMAR, Intent.CANCELAR}


async def test_the_model_names_an_intent_no_rule_knew(server, hybrid, fresh):
    """An intent is proposed only where the rules had none."""
    server.say(answer("ajuda"))
    extraction = await hybrid.extract("tô perdidinho aqui nesse negócio", fresh)
    assert extraction.intent is Intent.AJUDA


@pytest.mark.parametrize(
    "reply", [Reply(shape="refusal"), Reply(status=500), Reply(shape="html"), Reply(shape="reset")]
)
async def test_a_failing_model_leaves_the_rules_reading(server, hybrid, fresh, reply):
    """Whatever the server does, the turn is read as if there were no model."""
    server.answer_with(lambda _: reply)
    assert await hybrid.extract(UNREAD, fresh) == read_by_both(UNREAD, fresh).extraction


async def test_known_values_are_not_replaced_by_a_model(server, hybrid):
    """What was validated is replaced by the user's clear words only."""
    known = Context(hoje=date(2026, 11, 21), conhecidos={Campo.DOCUMENTO: "11222333000181", Campo.VALOR: "500.00"})
    server.say(answer(documento="[DOC1]", valor="800", descricao="lance maneiro"))
    extraction = await hybrid.extract("olha aquele lance maneiro que você me indicou", known)
    assert {c.campo for c in extraction.candidates} <= {Campo.DESCRICAO}


async def test_the_model_alone_is_grounded_too(server, fresh):
    """For evaluation: only what stands in the text, parsed by our code, and never our own document."""
    async with ModelExtractor(api_key=None, base_url=f"{server.url}/v1", model="m") as alone:
        server.say(answer(documento="[DOC1]", valor="R$ 1.500,00", descricao="consultoria", nome="Fulano de Tal"))
        own = Context(hoje=fresh.hoje, proprios=frozenset({"11222333000181"}))
        extraction = await alone.extract("11.222.333/0001-81, R$ 1.500,00, consultoria", own)
        assert {c.campo: c.valor for c in extraction.candidates} == {
            Campo.VALOR: "1500.00",
            Campo.DESCRICAO: "consultoria",
        }
        server.say(Reply(shape="refusal"))
        assert (await alone.extract("oi", fresh)).candidates == ()


async def test_beyond_its_budget_a_conversation_has_rules_alone(server, fresh):
    """A question that the budget refuses is never asked, and the rules' reading stands; the budget knows for whom."""
    asked = []

    async def may_ask(conversa):
        asked.append(conversa)
        return False

    async with HybridExtractor(api_key="k", base_url=f"{server.url}/v1", model="m", may_ask=may_ask) as hybrid:
        contexto = replace(fresh, conversa="de ana")
        assert await hybrid.extract(UNREAD, contexto) == read_by_both(UNREAD, contexto).extraction
        assert await hybrid.extract("bom dia!", contexto) == read_by_both("bom dia!", contexto).extraction
    assert (server.asked, asked) == ([], ["de ana"])
