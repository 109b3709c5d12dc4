from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from extractor.contract import Uso
from extractor.model.openai_client import MAX_TOKENS, Mode, ModelClient
from extractor.model.prompt import NOTHING, Meter, Question, Resposta, ask
from extractor.rules import recognise
from extractor.text.folding import read
from proofs.sandbox.model import ModelSimulator, Reply
from state_machine.protocol.retry import Breaker
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from extractor.contract import Context

GOOD: dict[str, Any] = {**NOTHING, "ato": "informar", "descricao": "bolo"}
REFUSES_SCHEMA = Reply(status=400, message="response_format json_schema is not supported")


def question(text: str, contexto: Context) -> Question:
    return ask(recognise(read(text), contexto), contexto)


@pytest.fixture
async def server():
    async with ModelSimulator() as simulator:
        yield simulator


def client_of(server, **options) -> ModelClient:
    return ModelClient(api_key=None, base_url=f"{server.url}/v1", model="m", **{"deadline": PATIENCE / 4, **options})


async def test_a_good_answer_comes_back_as_data(server, fresh):
    """The schema is demanded strictly, tokens are capped, and nothing asks the server to keep anything."""
    server.say(GOOD)
    client = client_of(server)
    assert await client.propose(question("bolo", fresh)) == Resposta(**GOOD)
    body = server.asked[0].body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["max_tokens"], body["temperature"]) == (MAX_TOKENS, 0)
    assert not {"store", "tools"} & body.keys()
    await client.aclose()


async def test_personal_data_stays_in_the_house(server, fresh):
    """Documents, phones and e-mails leave as aliases; known values do not leave at all."""
    server.say(GOOD)
    client = client_of(server)
    text = "nota pro cpf 529.982.247-25, tel (11) 98765-4321, ana@exemplo.com.br"
    await client.propose(question(text, fresh))
    sent = json.dumps(server.asked[0].body)
    assert "[DOC1]" in sent
    assert not any(secret in sent for secret in ("529", "98765", "ana@"))
    await client.aclose()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(shape="refusal"),
        Reply(shape="no_choices"),
        Reply(shape="html"),
        Reply(GOOD, shape="length"),
        Reply(GOOD, shape="content_filter"),
        Reply(status=401),
        Reply("isto não é JSON"),
        Reply({"ato": "informar"}),
        Reply({**GOOD, "ato": "emitir_agora"}),
        Reply({**GOOD, "outros": "R$ 300"}),
        Reply({**GOOD, "outros": [{"trecho": "R$ 300", "papel": "emitir"}]}),
        Reply({**GOOD, "notas": [{"valor": 300}]}),
        Reply({**GOOD, "duvida": None}),
    ],
    ids=lambda r: f"{r.shape or r.status}-{str(r.content)[:12]}",
)
async def test_every_shape_of_failure_is_no_answer(server, fresh, reply):
    """Refusals, truncation, filters, proxies' pages, wrong shapes and errors all end as ``None``."""
    server.answer_with(lambda _: reply)
    client = client_of(server)
    assert await client.propose(question("oi", fresh)) is None
    await client.aclose()


BOTTOMLESS = "[" * 100_000 + "]" * 100_000
ODD = {
    "no bottom": f'{{"choices": {BOTTOMLESS}}}',
    "NaN": '{"choices": NaN}',
    "an endless integer": f'{{"choices": {"9" * 6000}}}',
    "surrogates": '{"choices": ["\\ud83d"]}',
    "no bottom inside": json.dumps(
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": BOTTOMLESS}}]}
    ),
    "a list": "[]",
}


@pytest.mark.parametrize("odd", ODD)
async def test_json_without_bottom_or_range_is_no_answer(fresh, odd):
    """Whatever stands in the body, ``propose`` does not raise: the rules go on alone."""

    async def speak(_: web.Request) -> web.Response:
        return web.Response(text=ODD[odd], content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", speak)
    async with TestServer(app, host="127.0.0.1") as server:
        client = ModelClient(api_key=None, base_url=str(server.make_url("/v1")), model="m", deadline=5.0)
        assert await client.propose(question("oi", fresh)) is None
        await client.aclose()


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": "um"}, {"prompt_tokens": 1e30, "completion_tokens": 2**70}, "muito"]
)
async def test_counts_that_are_none_cost_no_answer(server, fresh, usage, monkeypatch):
    """A server that counts nonsense is believed in its answer and counted as one that told nothing."""
    monkeypatch.setattr(server, "_usage", lambda: {"usage": usage})
    server.say(GOOD)
    client, meter = client_of(server), Meter()
    assert await client.propose(question("bolo", fresh), meter) == Resposta(**GOOD)
    assert meter.uso == Uso(1, 1, 0, 0)
    await client.aclose()


async def test_what_cannot_be_stored_is_replaced_in_the_answer(server, fresh):
    """NUL comes through JSON in JSON: no text of a proposal has one."""
    server.say({**GOOD, "descricao": "bo\x00lo", "outros": [{"trecho": "\x003", "papel": "parcela"}]})
    client = client_of(server)
    answer = await client.propose(question("bolo", fresh))
    assert answer is not None
    assert (answer.descricao, answer.outros[0].trecho) == ("bo\ufffdlo", "\ufffd3")
    await client.aclose()


@pytest.mark.parametrize("reply", [Reply(status=503), Reply(status=429, seconds=1), Reply(shape="reset")])
async def test_one_retry_after_a_passing_failure(server, fresh, reply):
    """Overload and a dropped connection are tried once more."""
    server.say(reply, GOOD)
    client = client_of(server)
    assert await client.propose(question("oi", fresh)) is not None
    assert len(server.asked) == 2
    await client.aclose()


@pytest.mark.parametrize("shape", ["drip", "hang"])
async def test_the_deadline_covers_everything(server, fresh, shape):
    """A server that drips or stays silent costs no more than the deadline."""
    server.answer_with(lambda _: Reply(GOOD, shape=shape, seconds=1.0 if shape == "drip" else PATIENCE))
    client = client_of(server, deadline=0.5)
    async with asyncio.timeout(PATIENCE / 2):
        assert await client.propose(question("oi", fresh)) is None
    await client.aclose()


async def test_steps_down_once_and_remembers(server, fresh):
    """A server without json_schema is asked with json_object, from then on at once."""
    server.say(REFUSES_SCHEMA, GOOD, GOOD)
    client = client_of(server)
    assert await client.propose(question("oi", fresh)) is not None
    assert client.mode is Mode.JSON_OBJECT
    assert await client.propose(question("oi", fresh)) is not None
    kinds = [asked.body["response_format"]["type"] for asked in server.asked]
    assert kinds == ["json_schema", "json_object", "json_object"]
    await client.aclose()


async def test_a_500_about_the_schema_is_a_step_down_not_a_retry(server, fresh):
    """Some servers answer 500 to a response_format they do not know."""
    server.say(Reply(status=500, message="literal_error: response_format"), GOOD)
    client = client_of(server)
    assert await client.propose(question("oi", fresh)) is not None
    assert len(server.asked) == 2
    await client.aclose()


async def test_a_server_that_knows_no_shape_is_left_alone(server, fresh):
    """After all modes were refused the rules stand alone, without a request."""
    server.answer_with(lambda _: REFUSES_SCHEMA)
    client = client_of(server)
    assert await client.propose(question("oi", fresh)) is None
    asked = len(server.asked)
    assert await client.propose(question("oi", fresh)) is None
    assert (client.mode, len(server.asked)) == (None, asked)
    await client.aclose()


async def test_forced_tool_is_the_last_mode(fresh):
    """A server that knows only tools answers through one."""

    async def complete(request: web.Request) -> web.Response:
        body = await request.json()
        if "tools" not in body:
            return web.json_response({"error": {"message": "unknown response_format"}}, status=400)
        call = {"id": "1", "type": "function", "function": {"name": "registrar", "arguments": json.dumps(GOOD)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        return web.json_response(
            {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        )

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    client = ModelClient(api_key=None, base_url=f"http://127.0.0.1:{runner.addresses[0][1]}/v1", model="m")
    try:
        assert await client.propose(question("oi", fresh)) == Resposta(**GOOD)
        assert client.mode is Mode.TOOL
    finally:
        await client.aclose()
        await runner.cleanup()


async def test_the_breaker_stops_calling_a_dead_server(server, fresh):
    """Three failures in a row open the circuit; after the cooldown one probe goes out, and a good one closes it."""
    now = 0.0
    client = client_of(server, breaker=Breaker(threshold=3, cooldown=30, clock=lambda: now))
    server.answer_with(lambda _: Reply(status=401))
    for _ in range(5):
        assert await client.propose(question("oi", fresh)) is None
    assert len(server.asked) == 3
    now = 31.0
    server.answer_with(lambda _: Reply(GOOD))
    assert await client.propose(question("oi", fresh)) is not None
    assert await client.propose(question("oi", fresh)) is not None
    await client.aclose()


async def test_the_guard_runs_before_every_request_and_its_error_passes(server, fresh):
    """A guard that forbids the network is obeyed: nothing leaves, and the programmer hears of it."""
    calls: list[int] = []
    server.say(REFUSES_SCHEMA, GOOD)
    client = client_of(server, before_request=lambda: calls.append(1))
    await client.propose(question("oi", fresh))
    assert len(calls) == len(server.asked) == 2
    await client.aclose()

    class InTransactionError(Exception):
        pass

    def refuse() -> None:
        raise InTransactionError

    client = client_of(server, before_request=refuse)
    with pytest.raises(InTransactionError):
        await client.propose(question("oi", fresh))
    assert len(server.asked) == 2
    await client.aclose()


async def test_the_environment_redirects_nothing(server, fresh, monkeypatch):
    """Stray OPENAI_* variables and proxies do not send customers' words elsewhere."""
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "someone")
    server.say(GOOD)
    client = client_of(server)
    assert await client.propose(question("oi", fresh)) is not None
    assert not any("someone" in v for v in server.asked[0].headers.values())
    await client.aclose()


@pytest.mark.parametrize(
    ("replies", "took"),
    [
        ([Reply(GOOD)], Uso(1, 0, 120, 30)),
        ([Reply(status=500), Reply(GOOD)], Uso(2, 1, 120, 30)),
        ([REFUSES_SCHEMA, Reply(GOOD)], Uso(2, 1, 120, 30)),
        ([Reply(shape="refusal")], Uso(1, 0, 120, 30)),
        ([Reply(GOOD, shape="length")], Uso(1, 0, 120, 30)),
        ([Reply(shape="reset"), Reply(shape="reset")], Uso(2, 2, 0, 0)),
    ],
    ids=["good", "retried", "stepped down", "refused", "cut off", "never answered"],
)
async def test_what_a_question_takes_is_counted(server, fresh, replies, took):
    """Every request counts, useful or not; tokens are those that the server told, and what told none is said apart."""
    server.usage = (120, 30)
    server.say(*replies)
    client, meter = client_of(server), Meter()
    await client.propose(question("bolo", fresh), meter)
    assert meter.uso == took
    await client.aclose()


async def test_a_server_without_counts_is_no_failure(server, fresh):
    """Some servers tell no usage: the answer is taken all the same."""
    server.usage = None
    server.say(GOOD)
    client, meter = client_of(server), Meter()
    assert await client.propose(question("bolo", fresh), meter) is not None
    assert meter.uso == Uso(1, 1, 0, 0)
    await client.aclose()


async def test_a_question_that_was_not_asked_takes_nothing(server, fresh):
    """While the circuit is open no request leaves, and none is counted."""
    breaker = Breaker(clock=time.monotonic, threshold=1)
    breaker.failed()
    client, meter = client_of(server, breaker=breaker), Meter()
    assert await client.propose(question("bolo", fresh), meter) is None
    assert meter.uso is None
    await client.aclose()
