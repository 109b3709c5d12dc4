"""The simulated WhatsApp as the page's ``Chat``: translates records and calls, adds nothing of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proofs.sandbox.phone.model import Attachment, Bubble, BubbleChanged, Button, Document, Kind, Row, TypingChanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from proofs.sandbox.meta import model as meta_model
    from proofs.sandbox.meta.meta import MetaSimulator
    from proofs.sandbox.phone.model import ChatEvent
    from proofs.sandbox.phone.ports import DemoUser

KINDS: Final[dict[str, Kind]] = {
    "text": "text",
    "interactive": "text",
    "button": "text",
    "template": "text",
    "document": "document",
    "image": "image",
    "audio": "audio",
}


class MetaChat:
    """Shows the conversations of ``users`` in ``meta``."""

    def __init__(self, meta: MetaSimulator, users: Sequence[DemoUser]) -> None:
        self._meta = meta
        self._users = {user.wa_id: user for user in users}

    def users(self) -> Sequence[DemoUser]:
        """Return the numbers one may speak as."""
        return tuple(self._users.values())

    async def send_text(self, wa_id: str, text: str) -> None:
        """Send what the user typed."""
        await self._meta.user_text(wa_id, text, name=self._users[wa_id].name)

    async def press(self, wa_id: str, button_id: str, title: str, context_wamid: str) -> None:
        """Press a reply button."""
        await self._meta.user_button(wa_id, button_id, title, context_wamid)

    async def choose(self, wa_id: str, row_id: str, title: str, context_wamid: str) -> None:
        """Choose a list row."""
        await self._meta.user_list_reply(wa_id, row_id, title, context_wamid=context_wamid)

    async def send_file(self, wa_id: str, filename: str, mime: str, content: bytes) -> None:
        """Send a file as the kind of message that WhatsApp would make of it."""
        kind = mime.partition("/")[0]
        kind = kind if kind in {"image", "audio", "video"} else "document"
        name = self._users[wa_id].name
        await self._meta.user_media(wa_id, content, mime, kind=kind, filename=filename, name=name)

    def bubbles(self, wa_id: str) -> Sequence[Bubble]:
        """Return the whole conversation."""
        return [self._bubble(bubble) for bubble in self._meta.bubbles(wa_id)]

    def typing(self, wa_id: str) -> bool:
        """Tell whether the bot's indicator shows."""
        return self._meta.phones.is_typing(wa_id)

    async def subscribe(self, wa_id: str) -> AsyncIterator[ChatEvent]:
        """Yield what changes from now on."""
        feed = self._meta.subscribe(wa_id)
        try:
            async for event in feed:
                if event.kind == "typing":
                    yield TypingChanged(event.typing)
                elif event.bubble is not None and event.kind != "read":  # the ticks of a read come as events too
                    yield BubbleChanged(self._bubble(event.bubble))
        finally:
            feed.close()

    async def document(self, document_id: str) -> Document | None:
        """Return a file that stands in a conversation, under the name it has there."""
        media = self._meta.phones.media.get(document_id)
        content = self._meta.read_media(document_id)
        if media is None or content is None:
            return None
        names = [
            shown.attachment.filename
            for wa_id in self._users
            for shown in self.bubbles(wa_id)
            if shown.attachment is not None and shown.attachment.id == document_id
        ]
        return Document(names[0], media.mime, content) if names else None

    def _bubble(self, bubble: meta_model.Bubble) -> Bubble:
        mine = bubble.side == "user"
        return Bubble(
            id=bubble.id,
            direction="out" if mine else "in",
            at=bubble.at,
            text=bubble.text,
            kind=KINDS.get(bubble.type, "other"),
            header=bubble.header or "",
            footer=bubble.footer or "",
            buttons=tuple(Button(button.id, button.title) for button in bubble.buttons),
            list_label=bubble.list_button or "",
            rows=tuple(Row(row.id, row.title, row.description or "", row.section or "") for row in bubble.rows),
            attachment=self._attachment(bubble.attachment) if bubble.attachment else None,
            status=bubble.status if mine else None,
        )

    def _attachment(self, file: meta_model.Attachment) -> Attachment:
        media_id = file.url.rsplit("/", 1)[-1]
        media = self._meta.phones.media.get(media_id)
        return Attachment(media_id, file.filename, file.mime, media.size if media else None)
