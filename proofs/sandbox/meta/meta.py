"""The simulated WhatsApp Cloud API: phones on one side, Graph on the other."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from proofs.sandbox.courier import META, Courier, Patience
from proofs.sandbox.meta import graph as meta_graph
from proofs.sandbox.meta.envelope import Account, Said, Spread, Told, envelope, signature, status_object
from proofs.sandbox.meta.media import MediaShelf
from proofs.sandbox.meta.model import RANK, Bubble, Side, Status, User, edited, forwarded, new_wamid, revoked
from proofs.sandbox.meta.phones import Feed, Phones
from proofs.sandbox.server import ADMIN, Simulator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from aiohttp import web

    from proofs.sandbox.ledger import Record


_TROUBLE = {429: (130429, "(#130429) Rate limit hit")}


@dataclass(frozen=True, slots=True)
class MetaConfig:
    """How this Meta behaves; secrets are the ones the bot is configured with."""

    access_token: str = "sandbox-access-token"  # noqa: S105 - a default of the simulator
    app_secret: str = "sandbox-app-secret"  # noqa: S105 - likewise
    verify_token: str = "sandbox-verify-token"  # noqa: S105 - likewise
    account: Account = field(default_factory=Account)
    statuses: tuple[Status, ...] = ("sent", "delivered", "read")  # what the bot hears of each of its messages
    status_delay: float = 0.02  # seconds between them
    window: timedelta | None = timedelta(hours=24)  # None: never 131047
    pair_interval: float | None = None  # seconds between messages to one user, else 131056; Meta's is 6
    templates: frozenset[str] | None = None  # names that exist; None: any
    with_user_id: bool = True  # BSUID in webhooks, as since 2026-04
    patience: Patience = META


class MetaSimulator(Simulator):
    """Graph API for the bot, phones for the tests and the demo.

    ``who`` is a wa_id ("5511987654321") or, for a person who hides the number, a BSUID ("BR.150257...").
    Everything is in the ledger (``inbound``, ``outbound``, ``refused``, ``read``, ``media``, ``status``,
    ``webhook.*``), and a simulator opened on the same ledger goes on where the last one stopped.
    """

    name = "meta"

    def __init__(
        self,
        config: MetaConfig | None = None,
        *,
        webhook_url: str | None = None,
        home: Path | None = None,
        **server: Any,
    ) -> None:
        super().__init__(**server)
        self.config = config or MetaConfig()
        self.clock: Callable[[], datetime] = self.ledger.now  # one clock for facts and the 24 h window
        self.phones = Phones(lambda media_id: f"{self.url}{ADMIN}media/{media_id}")
        self.courier = Courier(
            self.ledger,
            self.faults,
            headers=lambda body: {"X-Hub-Signature-256": signature(self.config.app_secret, body)},
            patience=self.config.patience,
        )
        self.courier.url = webhook_url
        self._shelf = MediaShelf(home)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return Graph's routes and the phone's admin ones."""
        return meta_graph.routes(self)

    def error_body(self, status: int) -> dict[str, Any]:
        """Return Meta's transient error."""
        code, title = _TROUBLE.get(status, (131000, "(#131000) Something went wrong"))
        return {"error": {"message": title, "type": "OAuthException", "code": code, "is_transient": True}}

    async def open(self) -> Self:
        """Listen, remember, and go on with what was undelivered."""
        await super().open()
        self.phones = Phones(lambda media_id: f"{self.url}{ADMIN}media/{media_id}")
        for record in self.ledger.replay():
            self.phones.apply(record)
        self._stop_listening = self.ledger.listen(self._learn)
        for who in self.phones.outbound:
            for bubble in self.phones.bubbles(who):
                if bubble.side == "bot":
                    self.spawn(self._progress(bubble.id))
        await self.courier.open()
        return self

    async def close(self) -> None:
        """Hang up; undelivered webhooks stay in the ledger."""
        await self.courier.close()
        await super().close()
        self._stop_listening()
        self.phones.end()

    # the phone

    async def user_text(self, who: str, text: str, *, name: str | None = None) -> str:
        """Write ``text``; returns its wamid. The webhook is on its way, not yet answered."""
        return await self.user_message(who, {"type": "text", "text": {"body": text}}, name=name)

    async def user_forward(self, who: str, text: str, *, often: bool = False) -> str:
        """Forward somebody else's words; ``often`` is what Meta says of a chain letter."""
        return await self.user_message(who, forwarded(text, often=often))

    async def user_edit(self, who: str, wamid: str, text: str | None) -> str:
        """Change the words of a message sent before; ``None``: the notice does not tell the new ones."""
        return await self.user_message(who, edited(wamid, text))

    async def user_revoke(self, who: str, wamid: str) -> str:
        """Delete a message sent before, for everyone."""
        return await self.user_message(who, revoked(wamid))

    async def user_button(self, who: str, button_id: str, title: str, context_wamid: str | None = None) -> str:
        """Tap a reply button of the bot's message ``context_wamid``."""
        reply = {"type": "button_reply", "button_reply": {"id": button_id, "title": title}}
        return await self.user_message(who, {"type": "interactive", "interactive": reply}, context_wamid=context_wamid)

    async def user_list_reply(
        self,
        who: str,
        row_id: str,
        title: str,
        description: str | None = None,
        context_wamid: str | None = None,
    ) -> str:
        """Choose a row of the bot's list ``context_wamid``."""
        row = {"id": row_id, "title": title} | ({"description": description} if description else {})
        reply = {"type": "list_reply", "list_reply": row}
        return await self.user_message(who, {"type": "interactive", "interactive": reply}, context_wamid=context_wamid)

    async def user_media(
        self,
        who: str,
        content: bytes,
        mime: str,
        *,
        kind: str = "document",
        filename: str = "arquivo",
        caption: str | None = None,
        name: str | None = None,
    ) -> str:
        """Send a file: ``kind`` is document, image, audio (a voice note) or video."""
        media_id = self.store_media(content, mime, filename, origin="user")
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()  # base64 here, hex in Graph's answer
        body: dict[str, Any] = {"id": media_id, "mime_type": mime, "sha256": digest}
        body |= {"filename": filename} if kind == "document" else {}
        body |= {"voice": True} if kind == "audio" else {}
        body |= {"caption": caption} if caption else {}
        return await self.user_message(who, {"type": kind, kind: body}, name=name)

    async def user_message(
        self,
        who: str,
        message: dict[str, Any],
        *,
        name: str | None = None,
        context_wamid: str | None = None,
    ) -> str:
        """Send a message of any type; what ``message`` gives (``id``, ``timestamp``, ...) is kept as it is."""
        said = self.said(who, message, name=name, context_wamid=context_wamid)
        await self.deliver_batch([said])
        return str(said.message["id"])

    def said(
        self,
        who: str,
        message: dict[str, Any] | str,
        *,
        name: str | None = None,
        context_wamid: str | None = None,
    ) -> Said:
        """Compose a message without sending it; a plain string is a text."""
        if isinstance(message, str):
            message = {"type": "text", "text": {"body": message}}
        user = self.phones.users.get(who) or User.of(who, name)
        if name and name != user.name:
            user = User(user.key, user.user_id, name, user.wa_id, user.username)
        head: dict[str, Any] = {"id": new_wamid(who, outbound=False), "timestamp": str(int(self.clock().timestamp()))}
        if user.wa_id:
            head["from"] = user.wa_id
        if self.config.with_user_id:
            head["from_user_id"] = user.user_id
        if context_wamid:
            head["context"] = {"from": self.config.account.display_phone_number, "id": context_wamid}
        return Said(user, head | message)

    def told(self, wamid: str, status: str, *, error: int | None = None) -> Told:
        """Compose a status of one of the bot's messages without sending it; any order is allowed."""
        bubble = self.phones.bubble(wamid)
        user = self.phones.users[self.phones.owner[wamid]]
        callback = bubble.callback if bubble else None
        return Told(wamid, status_object(wamid, user, status, callback=callback, error=error))

    async def deliver_batch(self, items: Sequence[Said | Told], *, times: int = 1, spread: Spread = "together") -> None:
        """Send all ``items`` in ONE webhook, that one ``times`` times in parallel; the items become facts first."""
        fresh = [item for item in items if isinstance(item, Told) or item.message["id"] not in self.phones.said]
        for item in fresh:
            match item:
                case Said(user, message):
                    self.ledger.append("inbound", user=asdict(user), message=message)
                case Told(wamid, status):
                    errors = status.get("errors")
                    error = errors[0]["code"] if errors else None
                    self.ledger.append("status", wamid=wamid, status=status["status"], error=error)
        body = envelope(self.config.account, items, with_user_id=self.config.with_user_id, spread=spread)
        refs = [item.message["id"] if isinstance(item, Said) else item.wamid for item in items]
        only_statuses = all(isinstance(item, Told) for item in items)
        lane = ("status " if only_statuses else "") + self.phones.owner.get(refs[0], "")
        for copy in range(times):
            self.courier.send(body, lane=lane if copy == 0 else f"{lane} {copy}", refs=refs, lossy=only_statuses)

    async def redeliver(self, *wamids: str, times: int = 1) -> None:
        """Send messages that were already sent again, as Meta does after a lost 200."""
        users = [self.phones.users[self.phones.owner[wamid]] for wamid in wamids]
        items = [Said(user, self.phones.said[wamid]) for user, wamid in zip(users, wamids, strict=True)]
        await self.deliver_batch(items, times=times)

    def bubbles(self, who: str) -> list[Bubble]:
        """Return the conversation as the phone shows it, oldest first."""
        return self.phones.bubbles(who)

    def outbound(self, who: str | None = None) -> list[dict[str, Any]]:
        """Return every accepted send ({at, wamid, user, payload}) to one user or to all: the judge of duplicates."""
        sent = self.phones.outbound
        return list(sent.get(who, [])) if who else [item for items in sent.values() for item in items]

    def subscribe(self, who: str) -> Feed:
        """Return the conversation's events from now on (an async iterator with ``close``)."""
        return self.phones.subscribe(who)

    async def wait_for(
        self,
        who: str,
        predicate: Callable[[Bubble], bool],
        timeout: float = 60.0,  # noqa: ASYNC109 - test helper
        *,
        after: str | None = None,
    ) -> Bubble:
        """Return the first bubble that fits, of those after wamid ``after``; raises ``TimeoutError``."""
        feed = self.subscribe(who)
        try:
            async with asyncio.timeout(timeout):
                while True:
                    bubbles = self.bubbles(who)
                    ids = [bubble.id for bubble in bubbles]
                    start = ids.index(after) + 1 if after in ids else 0
                    for bubble in bubbles[start:]:
                        if predicate(bubble):
                            return bubble
                    await anext(feed)
        finally:
            feed.close()

    async def verify_webhook(self) -> bool:
        """Do Meta's handshake with the bot: GET with the verify token, expecting the challenge back."""
        challenge = secrets.token_hex(8)
        query = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": self.config.verify_token}
        if self.courier.url is None:
            return False
        async with aiohttp.ClientSession() as session, session.get(self.courier.url, params=query) as response:
            return response.status == 200 and await response.text() == challenge  # noqa: PLR2004 - HTTP

    # for the Graph side

    def accept(self, user: User, payload: dict[str, Any]) -> str:
        """Take one of the bot's messages: from here on it exists. Returns its wamid."""
        wamid = new_wamid(user.wa_id or user.key, outbound=True)
        self.ledger.append("outbound", wamid=wamid, user=asdict(user), payload=payload)
        self.phones.set_typing(user.key, on=False)
        self.spawn(self._progress(wamid))
        return wamid

    def store_media(self, content: bytes, mime: str, filename: str, *, origin: Side) -> str:
        """Keep a file (on disk when there is a home); returns its media id."""
        fact = self._shelf.put(content, mime, filename, origin=origin)
        self.ledger.append("media", **fact)
        return str(fact["id"])

    def read_media(self, media_id: str) -> bytes | None:
        """Return a file's bytes."""
        return self._shelf.get(media_id) if media_id in self.phones.media else None

    def _learn(self, record: Record) -> None:
        self.phones.apply(record)

    async def _progress(self, wamid: str) -> None:
        """Tell the bot how its message fares, from where it is now."""
        for status in self.config.statuses:
            if RANK[status] > self.phones.told.get(wamid, 0):
                await asyncio.sleep(self.config.status_delay)
                await self.deliver_batch([self.told(wamid, status)])
