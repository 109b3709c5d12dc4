"""Has files read one at a time for each company, few at once, and refuses what would wait behind too many."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

READERS: Final = 2  # files that one process has read at once, each by half a second of a processor
WAITING: Final = 32  # files of 64 kB that wait or are read; the last of them waits a minute at worst
OF_ONE: Final = 10  # of one company: two links' tries


class ReadersBusyError(ProsaError, RuntimeError):
    """As many files as may wait are waiting."""

    code = "readers_busy"


@dataclass(slots=True)
class Turns:
    """The turns of one process, by company."""

    readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))
    most: int = WAITING
    most_of_one: int = OF_ONE
    _waiting: Counter[int] = field(default_factory=Counter)
    _companies: dict[int, asyncio.Lock] = field(default_factory=dict)

    def check(self, company: int) -> None:
        """Raise ``ReadersBusyError`` where ``of`` would now."""
        if self._waiting.total() >= self.most or self._waiting[company] >= self.most_of_one:
            raise ReadersBusyError

    @asynccontextmanager
    async def of(self, company: int) -> AsyncIterator[None]:
        """Wait for the company's turn, then for a reader. Raises ``ReadersBusyError`` at once."""
        self.check(company)
        self._waiting[company] += 1
        try:
            async with self._companies.setdefault(company, asyncio.Lock()), self.readers:
                yield
        finally:
            self._waiting[company] -= 1
            if not self._waiting[company]:
                del self._waiting[company], self._companies[company]
