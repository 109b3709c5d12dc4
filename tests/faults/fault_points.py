"""Failpoints at the house's boundaries, armed by the environment; the product itself knows none of this.

Run as a program it is the storm's zygote with these points in it. ``FAULT_RECORD`` names a file that gets the name of
every point once; ``FAULT_AT`` is the point at which the process kills itself, ``FAULT_WORD`` a word that
kills its reader.
``FAULT_CLOCK`` shifts the process's idea of the time by so many seconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

import bot.loops.jobs
import bot.subjects.invoice.subject
import gateway.plugnotas.outcome
from gateway.http.client import Destination
from persistence.conversations.sessions import LiveSessions
from persistence.db.connection import Connection
from persistence.db.engine import Database, Pool
from proofs.storm.machines.zygote import main

KINDS = ("lane:", "emissions", "deliveries")  # tasks that carry a turn, an emission or a delivery
_seen: set[str] = set()
_instant = time.time
_nanoseconds = time.time_ns


def reach(phase: str) -> None:
    """Say that this point was reached, and die here if it is the one."""
    record, at = os.environ.get("FAULT_RECORD"), os.environ.get("FAULT_AT")
    if not (record or at):
        return
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return
    kind = next((kind for kind in KINDS if task is not None and task.get_name().startswith(kind)), None)
    if kind is None:
        return
    point = f"{kind.rstrip(':')} {_caller()} {phase}"
    if point == at:
        os.kill(os.getpid(), signal.SIGKILL)
    if record and point not in _seen:
        _seen.add(point)
        with open(record, "a", encoding="utf-8") as file:  # noqa: PTH123 - one line
            file.write(point + "\n")


def _caller() -> str:
    frame: Any = sys._getframe(2)
    while frame is not None:
        if f"{os.sep}bot{os.sep}" in frame.f_code.co_filename:
            return str(frame.f_code.co_qualname)
        frame = frame.f_back
    return "?"


def around(owner: type, *names: str) -> None:
    """Put a point before and one after each of these coroutine methods."""
    for name in names:
        plain = getattr(owner, name)

        @wraps(plain)
        async def watched(*args: Any, plain: Any = plain, name: str = name, **kwargs: Any) -> Any:
            reach(f"before {name}")
            answer = await plain(*args, **kwargs)
            reach(f"after {name}")
            return answer

        setattr(owner, name, watched)


def install() -> None:
    """Patch what stands between the house and the world: transactions, pool, HTTP, Redis; and the clock."""
    transaction = Database.transaction

    @asynccontextmanager
    async def watched(self: Database) -> Any:
        reach("before begin")
        async with transaction(self) as connection:
            yield connection
            reach("before commit")
        reach("after commit")

    Database.transaction = watched  # type: ignore[method-assign, assignment]  # the point is put around it
    around(Destination, "request")
    around(LiveSessions, "get", "put", "drop")
    around(Connection, "execute", "finish")
    around(Pool, "fetch", "fetchrow", "fetchval", "execute")

    reading: Any = bot.subjects.invoice.subject
    read = reading.read

    async def dangerous(text: str, *rest: Any, **named: Any) -> Any:
        word = os.environ.get("FAULT_WORD")
        if word and word in text:
            os.kill(os.getpid(), signal.SIGKILL)
        return await read(text, *rest, **named)

    reading.read = dangerous
    time.time = lambda: _instant() + _shift()
    time.time_ns = lambda: _nanoseconds() + int(_shift() * 1e9)


def shift_datetime() -> None:
    """Make ``datetime.now`` follow the shifted clock; before anybody imports the class."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=_shift())

    modules: tuple[Any, ...] = (bot.loops.jobs, gateway.plugnotas.outcome)
    for module in modules:
        module.datetime = Shifted


def _shift() -> float:
    return float(os.environ.get("FAULT_CLOCK", "0"))


if __name__ == "__main__":
    install()
    shift_datetime()
    main()
