"""What every command begins with: settings, servers, and one sentence when something is wrong."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NoReturn

import typer

from bot.process.servers import Storage
from bot.settings import Settings
from persistence.db.engine import Database

DEMO = "demo"  # the demo's home, inside the program's


@dataclass(frozen=True, slots=True)
class Named:
    """What an operator changes: the option or setting of the port, and of the place where files are kept."""

    port: str
    home: str


def fail(message: str) -> NoReturn:
    """Say what went wrong, and end with status 1."""
    with suppress(OSError):  # the terminal was closed, or the log's disk is full
        typer.secho(message, fg="red", err=True)
    raise typer.Exit(1)


def settings(*, secrets: bool = False, quiet: bool = False) -> Settings:
    """Read the settings, set the logs up; ends with a sentence when they are wrong, or a secret is missing.

    A process that has read them leaves no core file: they would be in it.
    """
    from pydantic import ValidationError

    from bot.settings import MissingSettingError, Settings, refusal
    from gateway import process_apart
    from telemetry.logs import configure

    process_apart.leave_no_core()
    try:
        read = Settings()
        if secrets:
            read.require_secrets()
    except MissingSettingError as error:
        fail(str(error))
    except ValidationError as error:
        fail(refusal(error))
    configure("WARNING" if quiet else read.log_level, read.log_format)
    return read


def with_storage(
    chosen: Settings, work: Callable[[Storage], Coroutine[object, object, None]], *, migrate: bool = False
) -> None:
    """Open the servers, then run ``work`` on an event loop of its own; an embedded database is named."""
    import uvloop

    from bot.process.servers import open_storage

    if chosen.database_url is None:
        typer.secho(f"prosa: banco embutido em {chosen.home.absolute()}", dim=True, err=True)
    try:
        with open_storage(chosen, migrate=migrate) as storage:
            uvloop.run(work(storage))
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:  # noqa: BLE001 - told, and the end
        _end_with(error, "PROSA_HOME")


@asynccontextmanager
async def database_of(storage: Storage) -> AsyncIterator[Database]:
    """Open the product's database for a command; what it may not do ends it with the sentence that says why."""
    from operations.protocol import CommandRefusedError
    from persistence.db.engine import Database
    from persistence.db.migrate import enter
    from state_machine.values.certificate import CertificateRefusedError

    database = await Database.open(storage.database_url, size=1, enter=enter)
    try:
        yield database
    except (CommandRefusedError, CertificateRefusedError) as error:
        fail(str(error))
    finally:
        await database.close()


def on_database(work: Callable[[Database], Awaitable[Iterable[str] | None]], chosen: Settings | None = None) -> None:
    """Run ``work`` on the product's database, and print the lines that it returns."""

    async def session(storage: Storage) -> None:
        async with database_of(storage) as database:
            for line in await work(database) or ():
                typer.echo(line)

    with_storage(chosen or settings(quiet=True), session)


def until_stopped(
    chosen: Settings,
    work: Callable[[Storage, asyncio.Event, Sequence[socket.socket]], Coroutine[object, object, None]],
    *,
    port: int | None,
    named: Named,
) -> None:
    """Run ``work`` until a signal, or until something fails: a sentence then, and status 1, within ten seconds.

    The port is opened first, so that a taken one costs nothing; ``None`` opens none. ``work`` gets the event that asks
    it to end, and what listens.
    """
    import uvloop

    from bot.process.run import Ending
    from bot.process.servers import listening, open_storage

    ending = Ending()

    async def watched(storage: Storage, sockets: Sequence[socket.socket]) -> None:
        stop = ending.stop_event()
        async with asyncio.TaskGroup() as group:
            aside = [group.create_task(_then(ending.begin, wait)) for wait in (storage.watch(), stop.wait())]
            await work(storage, stop, sockets)
            for task in aside:
                task.cancel()

    try:
        with ExitStack() as stack:
            sockets = [] if port is None else stack.enter_context(listening(chosen.host, port, port=named.port))
            storage = stack.enter_context(open_storage(chosen))
            stack.push(lambda *_: ending.begin())  # what follows is the end of the embedded servers
            uvloop.run(watched(storage, sockets))
    except Exception as error:  # noqa: BLE001 - told, and the end
        _end_with(error, named.home)


def run_part(name: str) -> None:
    """Run a process of the product, a part of ``bot.process.run``, until a signal."""
    from bot.process.run import PARTS, run

    chosen = settings(secrets=True)
    part = PARTS[name]

    async def work(storage: Storage, stop: asyncio.Event, sockets: Sequence[socket.socket]) -> None:
        from bot.house import open_house

        file = storage.witness_file
        async with open_house(chosen, storage.database_url, storage.redis_url, witness_file=file) as house:
            await run(house, stop, part, sockets)

    until_stopped(chosen, work, port=part.front.number(chosen), named=Named(part.front.port, "PROSA_HOME"))


async def _then(begin: Callable[[], None], wait: Coroutine[object, object, object]) -> None:
    """Begin the end when ``wait`` is over, has failed, or is cancelled because the work has ended or failed."""
    try:
        await wait
    finally:
        begin()


def _end_with(error: Exception, home: str) -> NoReturn:
    import structlog

    from bot.cli.words import complaint, unforeseen

    said = complaint(error, home)
    if said is None:
        structlog.get_logger(__name__).error("command_failed", exc_info=error)
    fail(said or unforeseen(error))
