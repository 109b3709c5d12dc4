"""What a phone shows, read from Meta's message shapes: users, bubbles, ticks."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

Side = Literal["user", "bot"]
Status = Literal["sent", "delivered", "read", "failed"]
RANK: dict[str, int] = {"sent": 1, "delivered": 2, "read": 3, "failed": 4}  # a tick never goes back


_READABLE = {"text": "body", "button": "text", "reaction": "emoji", "location": "name"}


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a phone. ``wa_id`` is None for one who shows a username instead of the number."""

    key: str  # wa_id, or the BSUID when there is none: what every method of the simulator takes
    user_id: str
    name: str
    wa_id: str | None
    username: str | None = None

    @classmethod
    def of(cls, key: str, name: str | None = None) -> User:
        """Make the user behind a wa_id ("5511987654321") or a BSUID ("BR.1502576394655843")."""
        if "." in key:
            return cls(key, key, name or "Cliente", None, "cliente." + key[-6:].lower())
        return cls(key, bsuid(key), name or "Cliente", key)


def bsuid(wa_id: str) -> str:
    """Return the business-scoped id that always goes with this number."""
    return "BR." + str(int.from_bytes(hashlib.sha256(wa_id.encode()).digest()[:7], "big"))


def new_wamid(number: str, *, outbound: bool) -> str:
    """Return an id built as the real ones: base64 with the person's number readable inside."""
    tail = secrets.token_hex(9 if outbound else 10).upper().encode()
    middle = b"\x15\x02\x00\x11\x18\x12" if outbound else b"\x15\x02\x00\x12\x18\x14"
    raw = b"\x1c\x18" + bytes([len(number)]) + number.encode() + middle + tail + b"\x00"
    return "wamid." + base64.b64encode(raw).decode()


@dataclass(frozen=True, slots=True)
class Button:
    """A reply button, or a row of a list."""

    id: str
    title: str
    description: str | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a bubble; ``url`` opens in a browser without a token."""

    url: str
    filename: str
    mime: str


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message on the phone. ``status`` is its tick; of a bot's message what was told to the bot."""

    id: str
    side: Side
    type: str
    text: str
    at: datetime
    status: Status = "sent"
    header: str | None = None
    footer: str | None = None
    buttons: tuple[Button, ...] = ()
    list_button: str | None = None
    rows: tuple[Button, ...] = ()
    attachment: Attachment | None = None
    reply_to: str | None = None
    callback: str | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON shape, ``at`` as ISO 8601."""
        return {**asdict(self), "at": self.at.isoformat()}


@dataclass(frozen=True, slots=True)
class PhoneEvent:
    """Something to repaint: a new bubble, a tick that moved, or the bot's typing.

    ``read`` is the bot having read the user's messages up to ``bubble`` (its tick events come too).
    """

    kind: Literal["bubble", "tick", "typing", "read"]
    who: str
    bubble: Bubble | None = None
    typing: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON shape."""
        bubble = self.bubble.as_dict() if self.bubble else None
        return {"kind": self.kind, "who": self.who, "typing": self.typing, "bubble": bubble}


@dataclass(frozen=True, slots=True)
class Media:
    """An uploaded file: ``sha256`` is lowercase hex, ``size`` bytes."""

    id: str
    mime: str
    sha256: str
    size: int
    filename: str
    origin: Side
    at: datetime

    @property
    def expires(self) -> datetime:
        """Ids from webhooks live 7 days, uploaded ones 30."""
        return self.at + timedelta(days=7 if self.origin == "user" else 30)


def forwarded(text: str, *, often: bool = False) -> dict[str, Any]:
    """Return a forwarded text, to be composed with its head."""
    flags = {"forwarded": True, "frequently_forwarded": True} if often else {"forwarded": True}
    return {"type": "text", "text": {"body": text}, "context": flags}


def edited(wamid: str, text: str | None) -> dict[str, Any]:
    """Return the notice that a message was edited; ``None``: as Meta tells it where it does not tell the new words."""
    if text is None:
        error = {"code": 131051, "title": "Message type unknown", "message": "Message type unknown"}
        return {"type": "unsupported", "unsupported": {"type": "edit"}, "errors": [error]}
    new = {"type": "text", "text": {"body": text}, "context": {"id": "M0"}}
    return {"type": "edit", "edit": {"original_message_id": wamid, "message": new}}


def revoked(wamid: str) -> dict[str, Any]:
    """Return the notice that a message was deleted for everyone."""
    return {"type": "revoke", "revoke": {"original_message_id": wamid}}


def changed_by(message: dict[str, Any]) -> tuple[str, str] | None:
    """Return which message a notice changes and what the phone shows in its place, ``None`` for any other message."""
    match message:
        case {"type": "edit", "edit": {"original_message_id": str(wamid), "message": dict(new)}}:
            return wamid, text_of(new)
        case {"type": "revoke", "revoke": {"original_message_id": str(wamid)}}:
            return wamid, "Mensagem apagada"
        case _:
            return None


def text_of(message: dict[str, Any]) -> str:
    """Return what a person reads in a message of any type, inbound or outbound."""
    kind = str(message.get("type", "text"))
    content = message.get(kind)
    if not isinstance(content, dict):
        return ""
    if kind == "interactive":
        reply = content.get("button_reply") or content.get("list_reply")
        return str(reply["title"] if reply else content.get("body", {}).get("text", ""))
    if kind == "template":
        bodies = [part for part in content.get("components", []) if part.get("type") == "body"]
        texts = [str(parameter.get("text", "")) for body in bodies for parameter in body.get("parameters", [])]
        return " · ".join([f"[modelo {content.get('name')}]", *texts])
    return str(content.get(_READABLE.get(kind, "caption"), ""))


def interactive_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Return the header, footer, buttons and rows of an outbound interactive message as ``Bubble`` fields."""
    content = message.get("interactive") or {}
    action = content.get("action") or {}
    return {
        "header": (content.get("header") or {}).get("text"),
        "footer": (content.get("footer") or {}).get("text"),
        "buttons": tuple(Button(b["reply"]["id"], b["reply"]["title"]) for b in action.get("buttons", [])),
        "list_button": action.get("button"),
        "rows": tuple(
            Button(row["id"], row["title"], row.get("description"), section.get("title"))
            for section in action.get("sections", [])
            for row in section.get("rows", [])
        ),
    }


def from_unix(seconds: str | float) -> datetime:
    """Return Meta's timestamp (string of unix seconds) as aware UTC."""
    return datetime.fromtimestamp(int(seconds), UTC)
