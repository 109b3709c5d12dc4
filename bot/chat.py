"""``prosa chat``: the demo's phone in a terminal; buttons are numbers, files are saved and their paths shown."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.meta import MetaSimulator
    from sandbox.meta_model import Bubble, Button

ANSWER_SECONDS = 8.0  # how long the next line waits for an answer, so that a script's lines don't run together
LEAVE = frozenset({"/sair", "/quit", "/exit"})


class Terminal:
    """One simulated person at the keyboard."""

    def __init__(self, meta: MetaSimulator, wa_id: str, name: str, files: Path) -> None:
        self._meta = meta
        self._wa_id = wa_id
        self._name = name
        self._files = files
        self._console = Console(highlight=False)
        self._buttons: list[tuple[Button, str]] = []
        self._answered = asyncio.Event()
        self._shown = {bubble.id for bubble in meta.bubbles(wa_id)}

    async def converse(self) -> None:
        """Read lines until the end of input or ``/sair``; answers appear as they come."""
        self._console.print("Escreva como no WhatsApp. Um número aperta o botão. [dim]/sair encerra.[/dim]\n")
        printer = asyncio.create_task(self._print_answers())
        try:
            while (line := await asyncio.to_thread(_read_line)) is not None and line.strip() not in LEAVE:
                if line.strip():
                    await self._say(line.strip())
        finally:
            printer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await printer

    async def _say(self, line: str) -> None:
        self._answered.clear()
        if line.isdecimal() and 1 <= int(line) <= len(self._buttons):
            button, wamid = self._buttons[int(line) - 1]
            await self._meta.user_button(self._wa_id, button.id, button.title, wamid)
        else:
            await self._meta.user_text(self._wa_id, line, name=self._name)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._answered.wait()

    async def _print_answers(self) -> None:
        feed = self._meta.subscribe(self._wa_id)
        try:
            async for event in feed:
                bubble = event.bubble
                if bubble is not None and bubble.side == "bot" and bubble.id not in self._shown:
                    self._shown.add(bubble.id)
                    self._print(bubble)
                    self._answered.set()
        finally:
            feed.close()

    def _print(self, bubble: Bubble) -> None:
        self._console.print(f"\n[green]Prosa[/green]  {escape(bubble.text)}")
        if bubble.attachment is not None:
            content = self._meta.read_media(bubble.attachment.url.rsplit("/", 1)[-1])
            if content is not None:
                self._files.mkdir(parents=True, exist_ok=True)
                path = self._files / bubble.attachment.filename
                path.write_bytes(content)
                self._console.print(f"       📄 {escape(str(path))}")
        if bubble.buttons:
            self._buttons = [(button, bubble.id) for button in bubble.buttons]
            choices = "   ".join(f"\\[{n}] {escape(b.title)}" for n, (b, _) in enumerate(self._buttons, 1))
            self._console.print(f"       [cyan]{choices}[/cyan]")
        self._console.print()


def _read_line() -> str | None:
    if sys.stdin.isatty():
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = sys.stdin.readline()
    return line or None
