"""One process of the product in the storm: started, killed, stopped, continued."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING

import bot
from proofs.storm.channels.table import channels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proofs.sandbox.world import World
    from proofs.storm.machines.zygote import Zygote

ROOT = Path(bot.__file__).resolve().parents[1]
LAST_WORDS_SECONDS = 5.0  # for what a dead process had written already
START_SECONDS = 60.0  # on a machine that restarts several of them at once
EVENT_LENGTH = 60  # characters of a message kept: enough to tell events apart
LINE_LIMIT = 2**20  # bytes of one line of log: a traceback in JSON is long


def settings_in(world: World, database_url: str, redis_url: str) -> dict[str, str]:
    """Return the settings of the product in this world, as an operator would give them; it picks up words at once."""
    meta, gateway, urls = world.config.meta, world.config.plugnotas, world.urls
    return {
        "PROSA_DATABASE_URL": database_url,
        "PROSA_REDIS_URL": redis_url,
        "PROSA_PORT": "0",
        "PROSA_WHATSAPP_API_URL": urls.whatsapp_api,
        "PROSA_WHATSAPP_PHONE_NUMBER_ID": meta.account.phone_number_id,
        "PROSA_WHATSAPP_ACCESS_TOKEN": meta.access_token,
        "PROSA_WHATSAPP_APP_SECRET": meta.app_secret,
        "PROSA_WHATSAPP_VERIFY_TOKEN": meta.verify_token,
        "PROSA_PLUGNOTAS_URL": urls.plugnotas,
        "PROSA_PLUGNOTAS_API_KEY": gateway.api_key,
        "PROSA_GATEWAY_WEBHOOK_SECRET": gateway.webhook_secret,
        "PROSA_CNPJ_API_URL": urls.cnpj_api,
        "PROSA_CEP_URL": urls.cep,
        "PROSA_DEBOUNCE_SECONDS": "0.05",
    }


def environment(world: World, database_url: str, redis_url: str, channels: Iterable[str]) -> dict[str, str]:
    """Return the settings of the product in a storm: with short waits, and those of its channels."""
    return {
        **settings_in(world, database_url, redis_url),
        "PROSA_GATEWAY_TIMEOUT_SECONDS": "5",  # so that hanging answers are seen within a short storm
        "PROSA_RECONCILE_LADDER": "0.5,1,2,5,10",
        **{name: value for channel in channels_of(channels) for name, value in channel.settings(world).items()},
    }


def interpreter_environment() -> dict[str, str]:
    """Return what the interpreter of the product needs to know; nothing of whatever Prosa the caller runs himself."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "PYTHONPATH": str(ROOT)}


class Process:
    """``prosa web`` or ``prosa worker``; its log goes to a file, and its warnings and errors are counted."""

    def __init__(self, command: str, env: Mapping[str, str], home: Path, number: int, zygote: Zygote) -> None:
        self.command = command
        self.address = ""
        self.starts = 0
        self.events: Counter[str] = Counter()
        self.busy = False  # a blow is at work on it
        self._env = {**interpreter_environment(), **env}
        self._zygote = zygote
        self._log_path = home / f"{command}-{number}.log"
        self._pidfd = -1
        self._reader: asyncio.Task[None] | None = None
        self._death: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether it is there, frozen or not: as long as somebody holds its standard error."""
        return self._reader is not None and not self._reader.done()

    async def start(self) -> None:
        """Start it, and return when it says that it is up."""
        readable, writable = os.pipe()
        try:
            forked = await asyncio.to_thread(self._zygote.spawn, [self.command], self._env, writable)
        finally:
            os.close(writable)
        self._pidfd = forked.pidfd
        self._death = asyncio.create_task(_gone(self._pidfd))
        self.starts += 1
        up: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(readable, up))
        async with asyncio.timeout(START_SECONDS):
            self.address = await up

    async def kill(self) -> None:
        """``kill -9``, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        await self.ended()

    async def ended(self) -> None:
        """Wait until it is gone, whoever ended it."""
        if self._reader is not None and self._death is not None:
            await asyncio.shield(self._death)  # whoever gives up waiting does not end the watch
            if not (await asyncio.wait([self._reader], timeout=LAST_WORDS_SECONDS))[0]:
                self._reader.cancel()  # somebody who was forked meanwhile holds its standard error as well
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        self.address = ""

    def freeze(self) -> None:
        """SIGSTOP: it holds what it holds, and does not know that time passes."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):  # it ended by itself a moment ago
                signal.pidfd_send_signal(self._pidfd, number)

    async def _read(self, readable: int, up: asyncio.Future[str]) -> None:
        lines = asyncio.StreamReader(limit=LINE_LIMIT)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines),
            open(readable, "rb", buffering=0),  # noqa: SIM115, ASYNC230 - the transport closes it
        )
        last = b""
        with self._log_path.open("ab") as log:
            async for line in lines:
                last = line
                self._note(line, log, up)
        transport.close()
        if not up.done():
            up.set_exception(RuntimeError(f"prosa {self.command} não iniciou: {last.decode(errors='replace')}"))
            up.exception()  # a killed one is nobody's concern; whoever waits is told all the same

    def _note(self, line: bytes, log: IO[bytes], up: asyncio.Future[str]) -> None:
        log.write(line)
        try:
            entry = json.loads(line)
        except ValueError:
            self.events["not JSON"] += 1
            return
        if entry.get("level") in {"warning", "error", "critical"}:
            parts = (entry.get(name) for name in ("level", "event", "error", "erro", "onde"))
            self.events[" ".join(str(part)[:EVENT_LENGTH] for part in parts if part)] += 1
        if entry.get("event") == "started" and not up.done():
            up.set_result(entry.get("address", ""))


async def _gone(pidfd: int) -> None:
    """Wait for the end of a process."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pidfd, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(pidfd)
