"""Owns our calls to the WhatsApp Cloud API; refuses to send anything a second time by itself."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import orjson

from gateway.http.client import Destination, Exchange
from gateway.http.wire import Answer, NoAnswerError, NotSentError, json_object, retry_after
from gateway.whatsapp import media
from gateway.whatsapp.errors import Ambiguous, Broken, Failure, Halted, RetryLater, SendResult, Sent, classify
from gateway.whatsapp.messages import Mensagem, to_json

_MEDIA_ORIGIN = "https://lookaside.fbsbx.com"  # where Graph's media addresses point; the token goes nowhere else
COURTESY_SECONDS = 4.0  # later than this "typing…" only lies
_OK, _REDIRECT, _TOO_MANY, _SERVER_ERROR = 200, 300, 429, 500
_UNAUTHORISED = (401, 403)


class WhatsApp:
    """One business number. ``base_url`` is Graph with its version, e.g. ``https://graph.facebook.com/v26.0``."""

    def __init__(
        self,
        base_url: str,
        phone_number_id: str,
        access_token: str,
        *,
        guard: Callable[[], None],
        send_timeout: float = 20.0,  # Graph answers in a second; later the status webhook is the better witness
        media_timeout: float = 60.0,  # 16 MB of voice over a poor line
        observe: Callable[[Exchange], None] | None = None,
    ) -> None:
        if not phone_number_id.isalnum():
            raise ValueError("the phone number id becomes part of a path")
        headers = {"authorization": f"Bearer {access_token}"}
        self._path = f"/{phone_number_id}"
        self._phone_number_id = phone_number_id
        self._graph = Destination(base_url, timeout=send_timeout, guard=guard, headers=headers, observe=observe)
        # apart and impatient, so that a slow courtesy never takes a connection from a message
        self._courtesies = Destination(
            base_url, timeout=COURTESY_SECONDS, guard=guard, headers=headers, observe=observe
        )
        self._media = Destination(
            base_url,
            timeout=media_timeout,
            guard=guard,
            headers=headers,
            also_allowed=frozenset({_MEDIA_ORIGIN}),
            observe=observe,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._graph.aclose()
        await self._media.aclose()
        await self._courtesies.aclose()

    async def send(
        self,
        mensagem: Mensagem,
        destinatario: str,
        outbox_id: str,
        *,
        reply_to: str | None = None,
        tentativa: int = 0,
    ) -> SendResult:
        """Send one message once; raises ``MensagemInvalida`` when Meta would refuse it.

        ``tentativa`` counts earlier pair-rate refusals of this message, from 0.
        """
        body = to_json(mensagem, destinatario, outbox_id, reply_to=reply_to)
        result = await self._post("/messages", body)
        if isinstance(result, Answer):
            return _sent(result) or failure_of(result, tentativa) or Ambiguous(f"HTTP {result.status} without an id")
        if isinstance(result, NotSentError):
            return RetryLater(None, 0)
        return Ambiguous(result.reason)

    async def mark_read_and_typing(self, wamid: str) -> bool:
        """Show blue ticks and "typing…" (for at most 25 s) in one call. A courtesy: true if Meta agreed, else false."""
        body = {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": wamid,
            "typing_indicator": {"type": "text"},
        }
        result = await self._call(
            self._courtesies, "POST", f"{self._path}/messages", orjson.dumps(body), "application/json"
        )
        return isinstance(result, Answer) and result.status == _OK

    async def upload_media(self, conteudo: bytes, mime: str, filename: str) -> media.Uploaded | Failure:
        """Upload a document; its id lives 30 days. Uploading twice harms nobody, so every doubt is ``RetryLater``."""
        body, content_type = media.multipart(conteudo, mime, filename)
        result = await self._call(self._media, "POST", f"{self._path}/media", body, content_type)
        if not isinstance(result, Answer):
            return RetryLater(None, 0)
        return media.uploaded(result) or failure_of(result) or RetryLater(None, 0)

    async def download_media(
        self, media_id: str, *, sha256: str | None = None, max_bytes: int = media.MAX_BYTES
    ) -> media.Baixada | media.Indisponivel:
        """Fetch what a person sent, at most ``max_bytes``; ``sha256`` as the webhook gave it is checked too."""
        return await media.download(self._media, media_id, self._phone_number_id, sha256=sha256, max_bytes=max_bytes)

    async def _post(self, path: str, body: dict[str, Any]) -> Answer | NoAnswerError:
        return await self._call(self._graph, "POST", self._path + path, orjson.dumps(body), "application/json")

    @staticmethod
    async def _call(
        destination: Destination, method: str, path: str, content: bytes, content_type: str
    ) -> Answer | NoAnswerError:
        try:
            return await destination.request(method, path, content=content, headers={"content-type": content_type})
        except NoAnswerError as error:
            return error


def failure_of(answer: Answer, tentativa: int = 0) -> Failure | None:
    """Return what a refusal means, or ``None`` when the answer is no clear refusal."""
    wait = retry_after(answer.headers)
    error = json_object(answer.body).get("error")
    if isinstance(error, dict) and "code" in error:
        return classify(error, status=answer.status, retry_after=wait, tentativa=tentativa)
    if answer.status == _TOO_MANY:
        return RetryLater(wait, 0)
    if answer.status in _UNAUTHORISED:
        return Halted(0)
    if _REDIRECT <= answer.status < _SERVER_ERROR:
        return Broken(0, f"HTTP {answer.status} that is not from Graph")
    return None


def _sent(answer: Answer) -> Sent | None:
    if not _OK <= answer.status < _REDIRECT:
        return None
    match json_object(answer.body):
        case {"messages": [{"id": str(wamid)}, *_], "contacts": [{"wa_id": str(wa_id)}, *_]} if wamid:
            return Sent(wamid, wa_id)
        case {"messages": [{"id": str(wamid)}, *_]} if wamid:
            return Sent(wamid)
        case _:
            return None
