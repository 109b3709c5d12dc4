"""What stands on the demo phone: bubbles, files and what changes in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime

Direction = Literal["out", "in"]  # seen from the phone: "out" the user wrote, "in" the bot answered
Tick = Literal["sent", "delivered", "read", "failed"]
Kind = Literal["text", "document", "image", "audio", "other"]


@dataclass(frozen=True, slots=True)
class Button:
    """A reply button under a bot message."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a list message."""

    id: str
    title: str
    description: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A document inside a bubble; its bytes are asked for with ``Chat.document(id)``. ``size`` in bytes, if known."""

    id: str
    filename: str
    mime: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message as the phone shows it; ``id`` is its wamid, ``status`` the ticks of the user's own messages."""

    id: str
    direction: Direction
    at: datetime
    text: str = ""
    kind: Kind = "text"
    header: str = ""
    footer: str = ""
    buttons: tuple[Button, ...] = ()
    list_label: str = ""
    rows: tuple[Row, ...] = ()
    attachment: Attachment | None = None
    status: Tick | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """The bytes behind an attachment."""

    filename: str
    mime: str
    content: bytes


@dataclass(frozen=True, slots=True)
class BubbleChanged:
    """A bubble is new, or its ticks moved."""

    bubble: Bubble


@dataclass(frozen=True, slots=True)
class TypingChanged:
    """The bot began or stopped typing."""

    on: bool


ChatEvent = BubbleChanged | TypingChanged
