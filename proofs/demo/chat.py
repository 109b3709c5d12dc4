"""``prosa chat``: the demo's phone in a terminal; buttons are numbers, files are saved and their paths shown."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.sandbox.meta.meta import MetaSimulator
    from proofs.sandbox.meta.model import Bubble, Button

ANSWER_SECONDS = 8.0  # how long the next line waits for an answer, so that a script's lines don't run together
# A mark stands at a word's edge, on both sides, and the words are no further than a line.
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]{1,200})(?<=\S)\*(?![\w*])")
_ITALIC = re.compile(r"(?<!\w)_(?=\S)([^_\n]{1,200})(?<=\S)_(?!\w)")
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

    async def converse(self, stop: asyncio.Event) -> None:
        """Read lines until the end of input, ``/sair`` or ``stop``; answers appear as they come."""
        self._console.print("Escreva como no WhatsApp. Um número aperta o botão. [dim]/sair encerra.[/dim]\n")
        parts = (self._talk(), stop.wait(), self._print_answers())
        ends: tuple[asyncio.Task[object], ...] = tuple(asyncio.create_task(part) for part in parts)
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        for task in done:
            task.result()

    async def _talk(self) -> None:
        while (line := await _next_line()) is not None and line.strip() not in LEAVE:
            if line.strip():
                await self._say(line.strip())

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
        self._console.print(f"\n[green]Prosa[/green]  {emphasised(bubble.text)}")
        if bubble.attachment is not None:
            content = self._meta.read_media(bubble.attachment.url.rsplit("/", 1)[-1])
            if content is not None:
                self._files.mkdir(mode=0o700, parents=True, exist_ok=True)  # people's invoices
                path = self._files / bubble.attachment.filename
                path.write_bytes(content)
                self._console.print(f"       📄 {escape(str(path))}")
        if bubble.buttons:
            self._buttons = [(button, bubble.id) for button in bubble.buttons]
            choices = "   ".join(f"\\[{n}] {escape(b.title)}" for n, (b, _) in enumerate(self._buttons, 1))
            self._console.print(f"       [cyan]{choices}[/cyan]")
        self._console.print()


def emphasised(text: str) -> str:
    """Return WhatsApp's ``*bold*`` and ``_italic_`` as rich's markup, which a file or a pipe gets without any style."""
    text = _BOLD.sub(r"[bold]\1[/bold]", escape(text))
    return _ITALIC.sub(r"[italic]\1[/italic]", text)


def _answer(waiting: asyncio.Future[str | None], line: str | None) -> None:
    if not waiting.done():
        waiting.set_result(line)


async def _next_line() -> str | None:
    """Wait for a line of standard input; ``None`` at its end.

    The thread that reads is a daemon, unlike an executor's: the process may end while it waits for the keyboard.
    """
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str | None] = loop.create_future()

    def read() -> None:
        said = _read_line()
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(_answer, line, said)

    threading.Thread(target=read, name="keyboard", daemon=True).start()
    return await line


def _read_line() -> str | None:
    if sys.stdin.isatty():
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = sys.stdin.readline()
    return line or None
