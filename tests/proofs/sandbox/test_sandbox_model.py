from __future__ import annotations

import asyncio

import httpx
import openai
import pytest
from pydantic import BaseModel, ValidationError

from proofs.sandbox.model import ModelSimulator, Reply


class Extracao(BaseModel):
    """What the extractor might ask for."""

    valor: str | None


@pytest.fixture
async def model():
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
async def client(model):
    async with openai.AsyncOpenAI(base_url=f"{model.url}/v1", api_key="-", max_retries=0, timeout=2) as sdk:
        yield sdk


async def parse(client: openai.AsyncOpenAI, text: str = "nota de 10"):
    return await client.chat.completions.parse(
        model="m", messages=[{"role": "user", "content": text}], response_format=Extracao
    )


async def test_says_what_it_was_told(model, client) -> None:
    """Queued answers come in order through the real SDK, then the function's; requests are kept."""
    model.say({"valor": "10.00"})
    model.answer_with(lambda asked: Reply({"valor": asked.user}))
    assert (await parse(client)).choices[0].message.parsed == Extracao(valor="10.00")
    assert (await parse(client, "20")).choices[0].message.parsed == Extracao(valor="20")
    assert model.asked[0].user == "nota de 10"
    assert (await client.models.list()).data[0].id == "sandbox-model"


async def test_refuses_and_says_nothing(model, client) -> None:
    """A refusal and an empty answer both come without a parsed value."""
    model.say(Reply(shape="refusal"), Reply(shape="empty"))
    refused, empty = [(await parse(client)).choices[0].message for _ in range(2)]
    assert (refused.parsed, bool(refused.refusal), empty.parsed, empty.content) == (None, True, None, "")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply({"valor": "1"}, shape="length"), openai.LengthFinishReasonError),
        (Reply({"valor": "1"}, shape="content_filter"), openai.ContentFilterFinishReasonError),
        (Reply(status=429), openai.RateLimitError),
        (Reply(status=500), openai.InternalServerError),
        (Reply(shape="html"), AttributeError),
        (Reply("não sei"), ValidationError),
        (Reply({"outra": "coisa"}), ValidationError),
        (Reply(shape="reset"), openai.APIConnectionError),
        (Reply(shape="hang", seconds=0.05), openai.APIConnectionError),
    ],
)
async def test_fails_in_every_known_way(model, client, reply, error) -> None:
    """Each failure shape raises in the SDK what the real one raises."""
    model.say(reply)
    with pytest.raises(error):
        await parse(client)


async def test_drips_past_a_read_timeout(model, client) -> None:
    """Bytes that keep coming defeat the SDK's own timeout; only a total deadline ends it."""
    model.say(Reply({"valor": "1"}, shape="drip", seconds=0.02))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3.0):
            await client.with_options(timeout=2.0).chat.completions.create(model="m", messages=[])


async def test_is_scripted_over_http_too(model) -> None:
    """A test in another process queues answers by POST."""
    async with httpx.AsyncClient(base_url=model.url) as http:
        await http.post("/_sandbox/say", json=[{"shape": "no_choices"}])
        answer = await http.post("/v1/chat/completions", json={"messages": []})
    assert answer.json()["choices"] == []
