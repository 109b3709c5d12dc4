"""The HTTP face of the simulated Meta: Graph's routes for the bot, admin routes for tests and the demo page."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, web

from proofs.sandbox.meta.rules import GraphError, check_message, check_upload
from proofs.sandbox.server import ADMIN, answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from proofs.sandbox.meta.meta import MetaSimulator
    from proofs.sandbox.meta.model import User


def routes(meta: MetaSimulator) -> Iterable[web.AbstractRouteDef]:
    """Return every route, bound to one simulator."""
    graph, admin = _Graph(meta), _Admin(meta)
    return [
        web.post(r"/{version:v\d+\.\d+}/{phone_number_id:\d+}/messages", graph.guarded(graph.send)),
        web.post(r"/{version:v\d+\.\d+}/{phone_number_id:\d+}/media", graph.guarded(graph.upload)),
        web.get(r"/{version:v\d+\.\d+}/{media_id:\d+}", graph.guarded(graph.media_or_number)),
        web.get("/media/{media_id}", graph.guarded(graph.download)),
        web.get(ADMIN + "media/{media_id}", admin.media),
        web.post(ADMIN + "user", admin.user),
        web.get(ADMIN + "conversations/{who}", admin.conversation),
        web.get(ADMIN + "outbound", admin.outbound),
    ]


class _Graph:
    """What the bot calls."""

    def __init__(self, meta: MetaSimulator) -> None:
        self.meta = meta

    def guarded(
        self, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Check the token first; answer refusals in Meta's shape and remember them."""

        async def call(request: web.Request) -> web.Response:
            try:
                self._check_caller(request)
                return await handler(request)
            except GraphError as error:
                self.meta.ledger.append("refused", path=request.path, code=error.code, details=error.details)
                return answer(error.body(), error.status)

        return call

    def _check_caller(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self.meta.config.access_token}":
            raise GraphError(190, "Cannot parse access token", status=401)
        mine = self.meta.config.account.phone_number_id
        if request.match_info.get("phone_number_id", mine) != mine:
            raise GraphError(100, "Object with this ID does not exist or cannot be loaded.")

    async def send(self, request: web.Request) -> web.Response:
        """``POST /messages``: a message, or a read mark with or without typing."""
        try:
            payload = json.loads(await request.read())
        except ValueError:
            raise GraphError(100, "The request body is not valid JSON.") from None
        if isinstance(payload, dict) and payload.get("status") == "read":
            return self._read(payload)
        check_message(payload)
        user = self._addressee(payload)
        self._check_file(payload)
        self._check_window(user, payload)
        wamid = self.meta.accept(user, payload)
        contact = {"input": payload.get("to") or payload.get("recipient"), "user_id": user.user_id}
        contact |= {"wa_id": user.wa_id} if user.wa_id and payload.get("to") else {}
        return answer({"messaging_product": "whatsapp", "contacts": [contact], "messages": [{"id": wamid}]})

    def _read(self, payload: dict[str, Any]) -> web.Response:
        phones = self.meta.phones
        wamid = payload.get("message_id")
        if wamid not in phones.said:
            raise GraphError(131009, "message_id is not a message that this number received")
        typing = payload.get("typing_indicator")
        if typing is not None and typing != {"type": "text"}:
            raise GraphError(131009, "typing_indicator type must be 'text'")
        self.meta.ledger.append("read", wamid=wamid, typing=typing is not None)
        if typing is not None:
            phones.set_typing(phones.owner[wamid], on=True)
        return answer({"success": True})

    def _addressee(self, payload: dict[str, Any]) -> User:
        to, recipient = payload.get("to"), payload.get("recipient")
        if not to and not recipient:
            raise GraphError(100, "The parameter to is required.")
        if to is not None and not 8 <= len("".join(filter(str.isdigit, str(to)))) <= 15:  # noqa: PLR2004 - E.164
            raise GraphError(131009, "to is not a phone number")
        return self.meta.phones.addressed(str(to) if to else None, str(recipient) if recipient else None)

    def _check_file(self, payload: dict[str, Any]) -> None:
        content = payload.get(payload.get("type", "text"))
        media_id = content.get("id") if isinstance(content, dict) else None
        if payload.get("type") in {"document", "image", "audio", "video", "sticker"} and media_id is not None:
            media = self.meta.phones.media.get(str(media_id))
            if media is None or media.expires < self.meta.clock():
                raise GraphError(131009, f"Media {media_id} does not exist or has expired")

    def _check_window(self, user: User, payload: dict[str, Any]) -> None:
        config, phones, now = self.meta.config, self.meta.phones, self.meta.clock()
        if payload.get("type") == "template":
            if config.templates is not None and payload["template"]["name"] not in config.templates:
                raise GraphError(132001, f"template name ({payload['template']['name']}) does not exist", status=404)
        elif config.window is not None:
            last = phones.last_inbound.get(user.key)
            if last is None or now - last > config.window:
                raise GraphError(131047, "More than 24 hours have passed since the recipient last replied.")
        sent = [b for b in phones.bubbles(user.key) if b.side == "bot"] if config.pair_interval else []
        if sent and config.pair_interval and (now - sent[-1].at).total_seconds() < config.pair_interval:
            raise GraphError(131056, "Too many messages sent from this number to the same recipient.")

    async def upload(self, request: web.Request) -> web.Response:
        """``POST /media``: multipart with file, type and messaging_product."""
        if not request.content_type.startswith("multipart/"):
            raise GraphError(100, "Param file is required.")
        fields: dict[str, str] = {}
        content, mime, filename = None, "application/octet-stream", "file"
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                continue
            if part.name == "file":
                content = bytes(await part.read())
                filename = part.filename or filename
                mime = part.headers.get("Content-Type", mime)
            elif part.name:
                fields[part.name] = (await part.read()).decode()
        if fields.get("messaging_product") != "whatsapp":
            raise GraphError(100, "The parameter messaging_product is required.")
        if content is None:
            raise GraphError(100, "The parameter file is required.")
        check_upload(mime, len(content))  # Meta judges the part's own type, whatever the field says
        return answer({"id": self.meta.store_media(content, mime.split(";")[0], filename, origin="bot")})

    async def media_or_number(self, request: web.Request) -> web.Response:
        """``GET /{id}``: Graph tells a file from a phone number by the id alone."""
        account = self.meta.config.account
        if request.match_info["media_id"] != account.phone_number_id:
            return await self.media_info(request)
        return answer(
            {
                "id": account.phone_number_id,
                "display_phone_number": account.display_phone_number,
                "verified_name": "Prosa",
            }
        )

    async def media_info(self, request: web.Request) -> web.Response:
        """``GET /{media_id}``: where to fetch a file."""
        media = self.meta.phones.media.get(request.match_info["media_id"])
        if media is None or media.expires < self.meta.clock():
            raise GraphError(100, "Object with this ID does not exist or cannot be loaded.")
        return answer(
            {
                "messaging_product": "whatsapp",
                "url": f"{self.meta.url}/media/{media.id}",
                "mime_type": media.mime,
                "sha256": media.sha256,
                "file_size": media.size,
                "id": media.id,
            },
        )

    async def download(self, request: web.Request) -> web.Response:
        """Serve the file to whoever has the token."""
        media_id = request.match_info["media_id"]
        content = self.meta.read_media(media_id)
        if content is None:
            raise web.HTTPNotFound
        return web.Response(body=content, headers={"Content-Type": self.meta.phones.media[media_id].mime})


class _Admin:
    """What tests in another process and the demo page call."""

    def __init__(self, meta: MetaSimulator) -> None:
        self.meta = meta

    async def user(self, request: web.Request) -> web.Response:
        """Say something as a person.

        ``{"who": ..., "name"?: ..., "context"?: wamid}`` with one of ``text``, ``button`` {id, title},
        ``list`` {id, title, description?}, ``message`` {...} or ``media`` {content (base64), mime, kind, filename}.
        """
        said: dict[str, Any] = await request.json()
        who, name, context = said.get("who"), said.get("name"), said.get("context")
        if not isinstance(who, str):
            return answer({"error": "who"}, 400)
        if "text" in said:
            wamid = await self.meta.user_text(who, str(said["text"]), name=name)
        elif "button" in said:
            wamid = await self.meta.user_button(who, said["button"]["id"], said["button"]["title"], context)
        elif "list" in said:
            row = said["list"]
            wamid = await self.meta.user_list_reply(who, row["id"], row["title"], row.get("description"), context)
        elif "media" in said:
            options = dict(said["media"])
            content = base64.b64decode(options.pop("content"))
            wamid = await self.meta.user_media(who, content, options.pop("mime"), name=name, **options)
        elif "message" in said:
            wamid = await self.meta.user_message(who, said["message"], name=name, context_wamid=context)
        else:
            return answer({"error": "one of text, button, list, media, message"}, 400)
        return answer({"wamid": wamid})

    async def conversation(self, request: web.Request) -> web.Response:
        """The bubbles of one person's phone, and whether the bot is typing."""
        who = request.match_info["who"]
        bubbles = [bubble.as_dict() for bubble in self.meta.bubbles(who)]
        return answer({"who": who, "typing": self.meta.phones.is_typing(who), "bubbles": bubbles})

    async def outbound(self, request: web.Request) -> web.Response:
        """Every accepted send, of one person (``?who=``) or of all."""
        return answer(self.meta.outbound(request.query.get("who")))

    async def media(self, request: web.Request) -> web.Response:
        """A file as the phone opens it: no token."""
        media_id = request.match_info["media_id"]
        content = self.meta.read_media(media_id)
        if content is None:
            raise web.HTTPNotFound
        media = self.meta.phones.media[media_id]
        name = media.filename.replace('"', "")
        headers = {
            "Content-Type": media.mime + ("; charset=utf-8" if media.mime.startswith("text/") else ""),
            "Content-Disposition": f'inline; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        }
        return web.Response(body=content, headers=headers)
