"""Asks any OpenAI-compatible server and returns its answer as data, or nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import httpx2
from openai import (
    APIConnectionError,
    APIStatusError,
    AsyncOpenAI,
    DefaultAsyncHttpx2Client,
    LengthFinishReasonError,
    OpenAIError,
)
from pydantic import ValidationError

from extractor.model.prompt import Meter, Question, Resposta
from state_machine.protocol.retry import Breaker

# An answer is 60 to 120 tokens, of several invoices to 250; some servers run on for minutes without a cap.
MAX_TOKENS: Final = 300
CONNECT_SECONDS: Final = 2.0
RETRY_PAUSE_SECONDS: Final = 0.3  # the deadline is counted in seconds, so one quick second try
RETRIED: Final = frozenset({408, 409, 429, 500, 502, 503, 504})
OPENAI_HOST: Final = "api.openai.com"  # the one server that insists on the new name of the token cap
# What the SDK raises for the many shapes of a wrong answer; AttributeError, IndexError and KeyError: a proxy answered
# HTML or a list; RecursionError: JSON without a bottom.
FAILURES: Final = (
    OpenAIError, ValidationError, LookupError, AttributeError, TypeError, ValueError, TimeoutError, RecursionError,
)  # fmt: skip
REFUSES_SHAPE: Final = ("response_format", "json_schema", "schema", "grammar", "literal_error", "tool")
TOOL: Final = "registrar"


class Mode(Enum):
    """How the answer's shape is demanded, best first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TOOL = "tool"


class ModelClient:
    """One server and model. ``propose`` never raises for what the server does; the guard's own error passes through."""

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str,
        model: str,
        deadline: float = 8.0,
        before_request: Callable[[], None] | None = None,
        temperature: float | None = 0.0,
        breaker: Breaker | None = None,
    ) -> None:
        self._model = model
        self._deadline = deadline  # seconds for everything: retries, step-downs, a body that drips
        self._before_request = before_request
        self._temperature = temperature  # ``None`` for reasoning models, which refuse the parameter
        self._breaker = breaker or Breaker(clock=time.monotonic)
        self._cap = "max_completion_tokens" if OPENAI_HOST in base_url else "max_tokens"
        self.mode: Mode | None = Mode.JSON_SCHEMA  # ``None``: this server can do none of them
        # Key, address, organisation and project are all given, so that no stray environment variable redirects data.
        self._client = AsyncOpenAI(
            api_key=api_key or "-",
            base_url=base_url,
            organization="",
            project="",
            max_retries=0,  # ours, so that the guard runs before every request
            timeout=httpx2.Timeout(deadline, connect=CONNECT_SECONDS),
            http_client=DefaultAsyncHttpx2Client(trust_env=False, follow_redirects=False),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def propose(self, question: Question, meter: Meter | None = None) -> Resposta | None:
        """Ask once, within the deadline; ``None`` when there is no usable answer for whatever reason.

        ``meter`` hears what it took, in either case.
        """
        if self.mode is None or not self._breaker.allows():
            return None
        try:
            async with asyncio.timeout(self._deadline):
                answer = await self._by_modes(question, meter or Meter())
        except FAILURES:
            answer = None
            self._breaker.failed()
        else:
            self._breaker.succeeded()
        return answer

    async def _by_modes(self, question: Question, meter: Meter) -> Resposta | None:
        """Try the remembered mode, then the lesser ones; remember the first that this server honours."""
        modes = list(Mode)
        first = modes.index(self.mode or Mode.JSON_SCHEMA)
        unusable: Exception | None = None
        for mode in modes[first:]:
            try:
                answer = await self._with_retry(question, mode, meter)
            except APIStatusError as e:
                if not _refuses_shape(e):
                    raise
                unusable = e
            except (ValidationError, ValueError) as e:
                unusable = e  # the shape was accepted and ignored
            else:
                self.mode = mode
                return answer
        if isinstance(unusable, APIStatusError):
            self.mode = None
        raise unusable or ValueError("no mode left")

    async def _with_retry(self, question: Question, mode: Mode, meter: Meter) -> Resposta | None:
        try:
            return await self._once(question, mode, meter)
        except APIConnectionError:
            pass
        except APIStatusError as e:
            if e.status_code not in RETRIED or _refuses_shape(e):
                raise
        await asyncio.sleep(RETRY_PAUSE_SECONDS)
        return await self._once(question, mode, meter)

    async def _once(self, question: Question, mode: Mode, meter: Meter) -> Resposta | None:
        if self._before_request is not None:
            self._before_request()
        common: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": role, "content": content} for role, content in question.messages],
            self._cap: MAX_TOKENS,
        }
        if self._temperature is not None:
            common["temperature"] = self._temperature
        meter.asked()
        match mode:
            case Mode.JSON_SCHEMA:
                try:
                    parsed = await self._client.chat.completions.parse(**common, response_format=Resposta)
                except LengthFinishReasonError as error:  # cut off, and billed
                    meter.told(error.completion.usage)
                    raise
                meter.told(parsed.usage)
                message = parsed.choices[0].message
                if message.refusal:
                    return None
                if message.parsed is None:
                    raise ValueError("empty answer")
                return message.parsed
            case Mode.JSON_OBJECT:
                shape: Any = {"type": "json_object", "schema": Resposta.model_json_schema()}
                made = await self._client.chat.completions.create(**common, response_format=shape)
                meter.told(made.usage)
                return (
                    None
                    if made.choices[0].message.refusal
                    else Resposta.model_validate_json(made.choices[0].message.content or "")
                )
            case Mode.TOOL:
                tool: Any = {
                    "type": "function",
                    "function": {"name": TOOL, "parameters": Resposta.model_json_schema(), "strict": True},
                }
                choice: Any = {"type": "function", "function": {"name": TOOL}}
                made = await self._client.chat.completions.create(**common, tools=[tool], tool_choice=choice)
                meter.told(made.usage)
                calls = made.choices[0].message.tool_calls
                if not calls:
                    raise ValueError("no tool call")
                return Resposta.model_validate_json(calls[0].function.arguments)


def _refuses_shape(error: APIStatusError) -> bool:
    """Say whether a server rejects the way the shape is demanded; some do it with a 500."""
    said = str(error).lower()
    return error.status_code in {400, 404, 415, 422, 500, 501} and any(word in said for word in REFUSES_SHAPE)
