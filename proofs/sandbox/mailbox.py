"""A mail server that keeps what it takes, over TLS or STARTTLS, and goes wrong on command."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable
    from email.message import EmailMessage

LINGER_SECONDS = 5.0  # for the lines that are open when it is stopped


def _fair(_: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Kept:
    """A mail that was taken, as it came: ``secret`` says whether its line was encrypted."""

    sender: str
    to: str
    content: bytes
    secret: bool
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def message(self) -> EmailMessage:
        """The mail, parsed."""
        return message_from_bytes(self.content, policy=default)


@dataclass
class Mailbox:
    """What came, and what is to go wrong: an answer for the next command of a kind (``mail``, ``rcpt``, ``data``).

    ``end``: the answer to the whole mail; ``LOSE`` takes it and ends the line without a word, ``FORGET`` takes nothing.
    ``accounts``: who may hand in, if not everybody. ``weather``: what goes wrong besides, asked at each command.
    """

    faults: dict[str, deque[str]] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)
    starttls: ssl.SSLContext | None = None
    lines: int = 0
    weather: Callable[[str], str | None] = _fair

    LOSE = "lose"
    FORGET = "forget"

    def fail(self, command: str, *answers: str) -> None:
        """Let the next commands of this kind be answered so."""
        self.faults.setdefault(command, deque()).extend(answers)

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[int]:
        """Take mails on a port of this machine; with ``tls`` the line is encrypted from its first byte."""
        lines: set[asyncio.Task[None]] = set()

        async def line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                lines.add(task)
                task.add_done_callback(lines.discard)
            self.lines += 1
            with suppress(OSError, asyncio.IncompleteReadError, EOFError):
                await _Line(self, reader, writer, secret=tls is not None).talk()
            writer.close()

        server = await asyncio.start_server(line, "127.0.0.1", port, ssl=tls)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            if lines:
                _, late = await asyncio.wait(lines, timeout=LINGER_SECONDS)
                for task in late:
                    task.cancel()


class _Line:
    def __init__(
        self, box: Mailbox, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, secret: bool
    ) -> None:
        self._box = box
        self._reader = reader
        self._writer = writer
        self._secret = secret
        self._known = not box.accounts
        self._sender = ""
        self._to: list[str] = []

    async def talk(self) -> None:
        """Answer one command after the other until the line ends."""
        await self._say("220 mailbox")
        while line := await self._reader.readline():
            command, _, rest = line.decode("ascii", "replace").strip().partition(" ")
            if not await self._answer(command.upper(), rest):
                return

    async def _answer(self, command: str, rest: str) -> bool:
        fault = self._fault(command.lower())
        if fault is None:
            return await self._go_on(command, rest)
        if fault != Mailbox.LOSE:
            await self._say(fault)
        return fault != Mailbox.LOSE and not fault.startswith("421")

    async def _go_on(self, command: str, rest: str) -> bool:
        match command:
            case "EHLO":
                await self._greet()
            case "STARTTLS" if self._box.starttls is not None and not self._secret:
                await self._say("220 go on")
                await self._writer.start_tls(self._box.starttls)
                self._secret = True
            case "AUTH":
                await self._account(rest)
            case "MAIL" if self._known:
                self._sender, self._to = _address(rest), []
                await self._say("250 ok")
            case "RCPT" if self._sender:
                self._to.append(_address(rest))
                await self._say("250 ok")
            case "DATA" if self._to:
                return await self._take()
            case "RSET" | "NOOP":
                await self._say("250 ok")
            case "QUIT":
                await self._say("221 bye")
                return False
            case _:
                await self._say("503 not now")
        return True

    async def _greet(self) -> None:
        offers = ["mailbox"]
        if self._box.starttls is not None and not self._secret:
            offers.append("STARTTLS")
        if self._box.accounts:
            offers.append("AUTH PLAIN")
        for offer in offers[:-1]:
            await self._say(f"250-{offer}")
        await self._say(f"250 {offers[-1]}")

    async def _account(self, rest: str) -> None:
        kind, _, said = rest.partition(" ")
        if kind.upper() == "PLAIN" and not said:
            await self._say("334 ")
            said = (await self._reader.readline()).decode("ascii").strip()
        _, user, password = base64.b64decode(said).decode().split("\0")
        self._known = self._box.accounts.get(user) == password
        await self._say("235 ok" if self._known else "535 who?")

    async def _take(self) -> bool:
        await self._say("354 go on")
        lines = []
        while (line := await self._reader.readline()) != b".\r\n":
            if not line.endswith(b"\r\n"):  # broken off: whoever sent it was not told that it is taken
                return False
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        fault = self._fault("end")
        if fault is None or fault == Mailbox.LOSE:
            self._box.kept.extend(Kept(self._sender, to, b"".join(lines), self._secret) for to in self._to)
        self._sender, self._to = "", []
        if fault in {Mailbox.LOSE, Mailbox.FORGET}:
            return False
        await self._say(fault or "250 taken")
        return True

    def _fault(self, command: str) -> str | None:
        waiting = self._box.faults.get(command)
        return waiting.popleft() if waiting else self._box.weather(command)

    async def _say(self, line: str) -> None:
        self._writer.write(f"{line}\r\n".encode("ascii"))
        await self._writer.drain()


def _address(rest: str) -> str:
    return rest[rest.index("<") + 1 : rest.index(">")] if "<" in rest else ""
