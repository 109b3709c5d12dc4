"""The append-only memory of a simulator: one JSON line per fact."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    """One fact: ``seq`` counts from 1 without gaps, ``at`` is aware UTC, ``data`` is JSON-shaped."""

    seq: int
    at: datetime
    kind: str
    data: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape that is also the line on disk."""
        return {"seq": self.seq, "at": self.at.isoformat(), "kind": self.kind, **self.data}

    @classmethod
    def from_line(cls, line: bytes) -> Record:
        """Read one line; raises ``ValueError`` (``orjson.JSONDecodeError``) for a torn one."""
        raw = orjson.loads(line)
        return cls(seq=raw.pop("seq"), at=datetime.fromisoformat(raw.pop("at")), kind=raw.pop("kind"), data=raw)


def utc_now() -> datetime:
    """Return the present as aware UTC."""
    return datetime.now(UTC)


class Ledger:
    """Facts in order, on disk when ``path`` is given, remembered across ``kill -9`` of the process.

    ``forget`` names kinds that go to disk but are not kept in memory (bulky ones); ``replay`` still yields them.
    Lines are written with one ``write`` each, so that a crash of the process loses none; ``fsync`` also survives
    a crash of the machine.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        fsync: bool = False,
        forget: frozenset[str] = frozenset(),
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.path = path
        self._fsync = fsync
        self._forget = forget
        self._clock = clock
        self._kept: list[Record] = []
        self._listeners: list[Callable[[Record], None]] = []
        self._seq = 0
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._drop_torn_tail(path)
            for record in self.replay():
                self._seq = record.seq
                self._keep(record)
            self._file = path.open("ab", buffering=0)

    @property
    def written(self) -> int:
        """How many facts were ever written: the number of the last one."""
        return self._seq

    def now(self) -> datetime:
        """Return the time as the facts are stamped with."""
        return self._clock()

    def append(self, kind: str, /, **data: Any) -> Record:
        """Write one fact and tell the listeners; on return it is with the operating system."""
        self._seq += 1
        record = Record(self._seq, self._clock(), kind, data)
        if self._file is not None:
            self._file.write(orjson.dumps(record.as_dict()) + b"\n")
            if self._fsync:
                os.fsync(self._file.fileno())
        self._keep(record)
        for listener in tuple(self._listeners):
            listener(record)
        return record

    def of(self, *kinds: str) -> list[Record]:
        """Return the facts in memory of these kinds (all kinds when none is named), oldest first."""
        return [record for record in self._kept if not kinds or record.kind in kinds]

    def replay(self) -> Iterator[Record]:
        """Yield every fact ever written, the forgotten kinds too when there is a file."""
        if self.path is None:
            yield from tuple(self._kept)
        elif self.path.exists():
            with self.path.open("rb") as lines:
                yield from map(Record.from_line, lines)

    def listen(self, listener: Callable[[Record], None]) -> Callable[[], None]:
        """Call ``listener`` with every new fact; returns the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait_for(self, predicate: Callable[[Record], bool], timeout: float = 60.0) -> Record:  # noqa: ASYNC109 - test helper
        """Return the first fact, past or coming, that fits; raises ``TimeoutError``."""
        for record in self._kept:
            if predicate(record):
                return record
        found: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

        def look(record: Record) -> None:
            if not found.done() and predicate(record):
                found.set_result(record)

        stop = self.listen(look)
        try:
            async with asyncio.timeout(timeout):
                return await found
        finally:
            stop()

    def close(self) -> None:
        """Close the file; the facts stay readable."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _keep(self, record: Record) -> None:
        if record.kind not in self._forget:
            self._kept.append(record)

    @staticmethod
    def _drop_torn_tail(path: Path) -> None:
        """Cut a last line that a crash left unfinished: it was never acknowledged to anybody."""
        if not path.exists():
            return
        with path.open("r+b") as file:
            end = file.seek(0, os.SEEK_END)
            while end:
                file.seek(end - 1)
                if file.read(1) == b"\n":
                    break
                end -= 1
            file.truncate(end)
