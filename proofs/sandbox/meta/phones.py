"""The phones of the simulated users, folded from the ledger: conversations, ticks, subscriptions."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from proofs.sandbox.courier import DELIVERED
from proofs.sandbox.meta.model import (
    RANK,
    Attachment,
    Bubble,
    Media,
    PhoneEvent,
    Status,
    User,
    changed_by,
    from_unix,
    interactive_parts,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from proofs.sandbox.ledger import Record

TYPING_SECONDS = 25.0  # Meta: the indicator goes with our answer, or after 25 s
_FILES = ("document", "image", "audio", "video", "sticker")


class Feed:
    """The events of one conversation from now on: ``async for event in feed``; ``close`` ends it."""

    def __init__(self, end: Callable[[Feed], None]) -> None:
        self._queue: asyncio.Queue[PhoneEvent | None] = asyncio.Queue()
        self._end = end

    def put(self, event: PhoneEvent | None) -> None:
        """Hand over an event; None is the last."""
        self._queue.put_nowait(event)

    def close(self) -> None:
        """Take no more events; a waiting reader stops."""
        self._end(self)
        self.put(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PhoneEvent:
        event = await self._queue.get()
        if event is None:
            raise StopAsyncIteration
        return event


class Phones:
    """Every conversation, in order, as the person sees it. Keys are ``User.key``."""

    def __init__(self, media_url: Callable[[str], str]) -> None:
        self.users: dict[str, User] = {}
        self.media: dict[str, Media] = {}
        self.last_inbound: dict[str, datetime] = {}
        self.outbound: dict[str, list[dict[str, Any]]] = {}
        self.said: dict[str, dict[str, Any]] = {}  # inbound messages by wamid, as they go into a webhook
        self.told: dict[str, int] = {}  # highest status rank that the bot was told, by wamid
        self.owner: dict[str, str] = {}  # wamid -> whose conversation
        self._media_url = media_url
        self._bubbles: dict[str, dict[str, Bubble]] = {}
        self._feeds: dict[str, list[Feed]] = {}
        self._typing: dict[str, asyncio.TimerHandle] = {}

    def bubbles(self, who: str) -> list[Bubble]:
        """Return the conversation, oldest first."""
        return list(self._bubbles.get(who, {}).values())

    def bubble(self, wamid: str) -> Bubble | None:
        """Return one bubble by its message id."""
        return self._bubbles.get(self.owner.get(wamid, ""), {}).get(wamid)

    def addressed(self, to: str | None, recipient: str | None) -> User:
        """Return whom a send means; ``to`` wins. A Brazilian mobile is found with and without its ninth digit."""
        if to:
            digits = "".join(filter(str.isdigit, to))
            for key in (digits, *_other_forms(digits)):
                if key in self.users:
                    return self.users[key]
            return User.of(digits)
        for user in self.users.values():
            if user.user_id == recipient:
                return user
        return User.of(recipient or "")

    def subscribe(self, who: str) -> Feed:
        """Start a feed of one conversation; it misses nothing from this moment."""
        feed = Feed(lambda gone: self._feeds[who].remove(gone) if gone in self._feeds[who] else None)
        self._feeds.setdefault(who, []).append(feed)
        return feed

    def is_typing(self, who: str) -> bool:
        """Say whether the bot's indicator shows."""
        return who in self._typing

    def set_typing(self, who: str, *, on: bool) -> None:
        """Show or hide the indicator; it hides by itself after Meta's 25 s."""
        handle = self._typing.pop(who, None)
        if handle is not None:
            handle.cancel()
        if on:
            loop = asyncio.get_running_loop()
            self._typing[who] = loop.call_later(TYPING_SECONDS, lambda: self.set_typing(who, on=False))
        if on or handle is not None:
            self._tell(PhoneEvent("typing", who, typing=on))

    def end(self) -> None:
        """Stop timers and feeds."""
        for handle in self._typing.values():
            handle.cancel()
        self._typing.clear()
        for feeds in tuple(self._feeds.values()):
            for feed in tuple(feeds):
                feed.close()

    def apply(self, record: Record) -> None:
        """Fold one fact of the ledger into the picture."""
        data = record.data
        match record.kind:
            case "inbound":
                user = User(**data["user"])
                self.users[user.key] = user
                self.last_inbound[user.key] = record.at
                self.said[data["message"]["id"]] = data["message"]
                self._hear(user.key, data["message"])
            case "outbound":
                self.users.setdefault(data["user"]["key"], User(**data["user"]))
                who = data["user"]["key"]
                self.outbound.setdefault(who, []).append({"at": record.at.isoformat(), **data})
                self._add(who, self._outbound(data["wamid"], data["payload"], record.at))
            case "status":
                self.told[data["wamid"]] = max(self.told.get(data["wamid"], 0), RANK[data["status"]])
                self._tick(data["wamid"], data["status"], data.get("error"))
            case "read":
                self._read_up_to(data["wamid"])
            case "media":
                self.media[data["id"]] = Media(**{**data, "at": record.at})
            case kind if kind == DELIVERED:
                for wamid in data["refs"]:
                    if (bubble := self.bubble(wamid)) is not None and bubble.side == "user":
                        self._tick(wamid, "delivered")

    def _hear(self, who: str, message: dict[str, Any]) -> None:
        """Show a message, or, where it tells of another one, that one as it is now."""
        change = changed_by(message)
        old = self.bubble(change[0]) if change else None
        if change is None or old is None:
            self._add(who, self._inbound(message))
            return
        self.owner[message["id"]] = who
        self._bubbles[who][old.id] = replace(old, text=change[1])
        self._tell(PhoneEvent("bubble", who, self._bubbles[who][old.id]))

    def _add(self, who: str, bubble: Bubble) -> None:
        self.owner[bubble.id] = who
        self._bubbles.setdefault(who, {})[bubble.id] = bubble
        self._tell(PhoneEvent("bubble", who, bubble))

    def _tick(self, wamid: str, status: Status, error: int | None = None) -> None:
        bubble = self.bubble(wamid)
        if bubble is None or RANK[bubble.status] >= RANK[status]:
            return
        who = self.owner[wamid]
        bubble = replace(bubble, status=status, error=str(error) if error else None)
        self._bubbles[who][wamid] = bubble
        self._tell(PhoneEvent("tick", who, bubble))

    def _read_up_to(self, wamid: str) -> None:
        """Meta: reading a message marks the earlier ones too."""
        who = self.owner.get(wamid)
        if who is None:
            return
        for bubble in self.bubbles(who):
            if bubble.side == "user":
                self._tick(bubble.id, "read")
            if bubble.id == wamid:
                break
        self._tell(PhoneEvent("read", who, self.bubble(wamid)))

    def _tell(self, event: PhoneEvent) -> None:
        for feed in tuple(self._feeds.get(event.who, ())):
            feed.put(event)

    def _inbound(self, message: dict[str, Any]) -> Bubble:
        return Bubble(
            id=message["id"],
            side="user",
            type=message["type"],
            text=text_of(message),
            at=from_unix(message["timestamp"]),
            attachment=self._attachment(message),
            reply_to=(message.get("context") or {}).get("id"),
        )

    def _outbound(self, wamid: str, payload: dict[str, Any], at: datetime) -> Bubble:
        kind = payload.get("type", "text")
        return Bubble(
            id=wamid,
            side="bot",
            type=kind,
            text=text_of(payload),
            at=at,
            attachment=self._attachment(payload),
            reply_to=(payload.get("context") or {}).get("message_id"),
            callback=payload.get("biz_opaque_callback_data"),
            **(interactive_parts(payload) if kind == "interactive" else {}),
        )

    def _attachment(self, message: dict[str, Any]) -> Attachment | None:
        for holder in (message, *_headers(message)):
            for kind in _FILES:
                if isinstance(content := holder.get(kind), dict):
                    media = self.media.get(str(content.get("id", "")))
                    url = self._media_url(media.id) if media else content.get("link", "")
                    name = content.get("filename") or (media.filename if media else kind)
                    return Attachment(url, name, media.mime if media else content.get("mime_type", ""))
        return None


def _headers(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a template or interactive message that may hold a file."""
    components = (message.get("template") or {}).get("components") or []
    parameters = [p for c in components if c.get("type") == "header" for p in c.get("parameters", [])]
    header = (message.get("interactive") or {}).get("header")
    return [*parameters, *([header] if isinstance(header, dict) else [])]


def _other_forms(digits: str) -> tuple[str, ...]:
    """Return the same Brazilian mobile with or without its ninth digit: 55 + DDD + 8 or 9 digits."""
    if digits.startswith("55") and len(digits) == 13 and digits[4] == "9":  # noqa: PLR2004 - see above
        return (digits[:4] + digits[5:],)
    if digits.startswith("55") and len(digits) == 12 and digits[4] in "6789":  # noqa: PLR2004 - see above
        return (digits[:4] + "9" + digits[4:],)
    return ()
