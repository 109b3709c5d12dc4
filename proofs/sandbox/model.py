"""A server that speaks OpenAI's chat completions and says what the test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from proofs.sandbox.server import Simulator, answer, cut

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

_HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"
Shape = Literal["length", "content_filter", "refusal", "empty", "no_choices", "html", "drip", "hang", "reset"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer.

    ``content`` is the message's text (a dict becomes JSON); ``shape`` is a way of failing: ``refusal``, ``empty``
    content, cut by ``length`` or ``content_filter``, ``no_choices``, ``html`` with 200, ``drip`` (a byte every
    ``seconds``), ``hang`` (silence for ``seconds``, then a reset) or ``reset``. A ``status`` of 400 and above answers
    OpenAI's error JSON; 429 with Retry-After ``seconds``.
    """

    content: str | dict[str, Any] | None = None
    shape: Shape | None = None
    status: int = 200
    seconds: float = 0.25  # a drip this slow defeats a read timeout of 1 s, not a total deadline
    message: str = "simulated failure"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came; ``user`` is the text of its last user message."""

    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def user(self) -> str:
        """Return the last thing the user said."""
        for message in reversed(self.body.get("messages", [])):
            if message.get("role") == "user":
                content = message["content"]
                return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
        return ""


class ModelSimulator(Simulator):
    """``/v1/chat/completions`` and ``/v1/models``.

    Answers come from ``say`` in order, then from ``answer_with``, then are empty. ``asked`` keeps every request.
    """

    name = "model"

    def __init__(self, *, model: str = "sandbox-model", **server: Any) -> None:
        super().__init__(**server)
        self.model = model
        self.asked: list[Asked] = []
        self.usage: tuple[int, int] | None = (1, 1)  # tokens that every answer tells; None: it tells none
        self._queue: deque[Reply] = deque()
        self._function: Callable[[Asked], Reply | Awaitable[Reply]] | None = None

    def say(self, *replies: Reply | dict[str, Any] | str) -> None:
        """Queue the next answers; text or a dict is the content of a good one."""
        self._queue.extend(reply if isinstance(reply, Reply) else Reply(reply) for reply in replies)

    def answer_with(self, function: Callable[[Asked], Reply | Awaitable[Reply]] | None) -> None:
        """Answer by ``function`` whenever the queue is empty."""
        self._function = function

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the two routes, and the script for tests in another process."""
        return [
            web.post("/v1/chat/completions", self._complete),
            web.get("/v1/models", self._models),
            web.post("/_sandbox/say", self._say),
        ]

    def error_body(self, status: int) -> dict[str, Any]:
        """Return OpenAI's error shape."""
        kind = "rate_limit_error" if status == 429 else "server_error"  # noqa: PLR2004 - HTTP
        return {"error": {"message": "simulated failure", "type": kind, "param": None, "code": None}}

    async def _say(self, request: web.Request) -> web.Response:
        """A JSON list of ``Reply`` fields."""
        self.say(*(Reply(**fields) for fields in await request.json()))
        return answer({"queued": len(self._queue)})

    async def _models(self, _: web.Request) -> web.Response:
        model = {"id": self.model, "object": "model", "created": 0, "owned_by": "sandbox"}
        return answer({"object": "list", "data": [model]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(json.loads(await request.read()), dict(request.headers))
        self.asked.append(asked)
        if self._queue:
            reply = self._queue.popleft()
        else:
            told = self._function(asked) if self._function is not None else Reply(shape="empty")
            reply = told if isinstance(told, Reply) else await told
        self.ledger.append("completion", user=asked.user, shape=reply.shape, status=reply.status)
        return await self._speak(request, reply)

    async def _speak(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if reply.status >= 400:  # noqa: PLR2004 - HTTP errors
            headers = {"Retry-After": str(round(reply.seconds))} if reply.status == 429 else {}  # noqa: PLR2004 - HTTP
            error = self.error_body(reply.status)
            error["error"]["message"] = reply.message
            return answer(error, reply.status, **headers)
        match reply.shape:
            case "html":
                return web.Response(text=_HTML, content_type="text/html")
            case "reset":
                return cut(request)
            case "hang":
                await asyncio.sleep(reply.seconds)
                return cut(request)
            case "drip":
                return await self._drip(request, reply)
            case _:
                return answer(self._completion(reply))

    async def _drip(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for byte in json.dumps(self._completion(reply)).encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(reply.seconds)
        return response

    def _completion(self, reply: Reply) -> dict[str, Any]:
        content = json.dumps(reply.content, ensure_ascii=False) if isinstance(reply.content, dict) else reply.content
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        finish = "stop"
        match reply.shape:
            case "refusal":
                message |= {"content": None, "refusal": reply.content or "I can't help with that."}
            case "empty":
                message["content"] = ""
            case "length" | "content_filter":
                finish = reply.shape
            case _:
                pass
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return {
            "id": f"chatcmpl-{len(self.asked)}",
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [] if reply.shape == "no_choices" else [choice],
            **self._usage(),
        }

    def _usage(self) -> dict[str, Any]:
        if self.usage is None:
            return {}
        read, written = self.usage
        return {"usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}}
