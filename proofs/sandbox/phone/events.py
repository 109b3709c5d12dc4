"""The live stream of the page: chat events at once, the inside when it changed; every (re)connection starts whole."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final, assert_never

from aiohttp import web

from proofs.sandbox.phone.model import BubbleChanged, TypingChanged
from proofs.sandbox.phone.wire import bubble_json, dump

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.phone.model import ChatEvent
    from proofs.sandbox.phone.ports import Chat, Erp, Inside, Mails, Switches

SETTLE: Final = 0.15  # seconds: the events of one turn arrive together, the inside is read once after them
WATCH: Final = 1.0  # seconds between looks at the inside: timers and webhooks change it without a chat event
HEARTBEAT: Final = 15  # silent looks after which a comment keeps proxies from closing the stream


class Live:
    """Reads what the page shows of one user, whole or as it changes."""

    def __init__(self, chat: Chat, inside: Inside, switches: Switches, mails: Mails, erp: Erp | None = None) -> None:
        self._chat = chat
        self._inside = inside
        self._switches = switches
        self._mails = mails
        self._erp = erp
        self._streams: set[asyncio.Task[Any]] = set()
        self._touched = 0

    async def state(self, wa_id: str) -> dict[str, Any]:
        """Return everything: ``bubbles``, ``typing`` and the five parts of ``inside``."""
        return {
            "bubbles": [bubble_json(bubble) for bubble in self._chat.bubbles(wa_id)],
            "typing": self._chat.typing(wa_id),
            **await self.inside(wa_id),
        }

    async def inside(self, wa_id: str) -> dict[str, Any]:
        """Return ``inside`` (the bot's view), ``switches``, ``ledger``, ``mails`` and ``propostas``."""
        return {
            "inside": await self._inside.view(wa_id),
            "switches": dict(self._switches.read()),
            "ledger": list(self._switches.ledger()),
            "mails": list(self._mails.read()),
            "propostas": list(await self._erp.read()) if self._erp else [],
        }

    def touch(self) -> None:
        """Have every stream tell the inside again: a page that acted shows more than its stream last said."""
        self._touched += 1

    async def stream(self, request: web.Request, wa_id: str) -> web.StreamResponse:
        """Answer ``GET /events`` until the page leaves or ``close`` is called."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await response.prepare(request)
        task = asyncio.current_task()
        if task is not None:
            self._streams.add(task)
        try:
            async for chunk in self._chunks(wa_id):
                await response.write(chunk)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the page is gone, or the server closes: either way nobody reads on
        finally:
            if task is not None:
                self._streams.discard(task)
        return response

    async def close(self) -> None:
        """End every stream, so that a server can stop while pages are open."""
        for task in tuple(self._streams):
            task.cancel()

    async def _chunks(self, wa_id: str) -> AsyncIterator[bytes]:
        events: asyncio.Queue[ChatEvent] = asyncio.Queue()
        pump = asyncio.create_task(self._pump(wa_id, events))
        await asyncio.sleep(0)  # let the subscription begin, so that nothing falls between it and the whole
        try:
            whole = await self.state(wa_id)
            yield _chunk("state", whole)
            seen = self._look({key: whole[key] for key in ("inside", "switches", "ledger", "mails", "propostas")})
            pause, quiet = WATCH, 0
            while not pump.done():
                with contextlib.suppress(TimeoutError):
                    event = await asyncio.wait_for(events.get(), pause)
                    yield _event_chunk(event)
                    pause = SETTLE
                    continue
                pause = WATCH
                inside = await self.inside(wa_id)
                look = self._look(inside)
                if look != seen:
                    seen, quiet = look, 0
                    yield _chunk("inside", inside)
                elif (quiet := quiet + 1) >= HEARTBEAT:
                    quiet = 0
                    yield b": ainda aqui\n\n"
        finally:
            pump.cancel()

    def _look(self, inside: dict[str, Any]) -> str:
        return dump([self._touched, inside])

    async def _pump(self, wa_id: str, events: asyncio.Queue[ChatEvent]) -> None:
        async for event in self._chat.subscribe(wa_id):
            events.put_nowait(event)


def _event_chunk(event: ChatEvent) -> bytes:
    match event:
        case BubbleChanged(bubble):
            return _chunk("bubble", bubble_json(bubble))
        case TypingChanged(on):
            return _chunk("typing", {"on": on})
        case _:
            assert_never(event)


def _chunk(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {dump(data)}\n\n".encode()
