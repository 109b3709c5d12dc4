"""Files of strangers are read in turn: one of a company, few at once, and not behind too many."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from gateway.certificate.reading_process import READERS, ReadersBusyError, Turns


async def test_one_company_has_one_reader_and_another_the_other() -> None:
    """However many files it sends: another's is read beside its first; what is read later waits its turn."""
    turns, go, full = Turns(), asyncio.Event(), asyncio.Event()
    inside: Counter[int] = Counter()

    async def read(company: int) -> None:
        async with turns.of(company):
            inside[company] += 1
            assert inside[company] == 1
            assert inside.total() <= READERS
            if inside.total() == READERS:
                full.set()
            await go.wait()
            inside[company] -= 1

    async with asyncio.TaskGroup() as files:
        for company in (1, 1, 1, 1, 1, 2, 2, 3):
            files.create_task(read(company))
        await full.wait()
        assert inside == {1: 1, 2: 1}
        go.set()
    assert not turns._waiting
    assert not turns._companies


async def test_what_would_wait_too_long_is_refused_at_once() -> None:
    """A company has so many places, and all together so many more; a place is free again at its end."""
    turns = Turns(most=3, most_of_one=2)
    async with turns.of(1):
        waits = asyncio.create_task(turns.of(1).__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(ReadersBusyError):
            turns.check(1)
        with pytest.raises(ReadersBusyError):
            await turns.of(1).__aenter__()
        async with turns.of(2):
            with pytest.raises(ReadersBusyError):
                turns.check(3)
        turns.check(3)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        turns.check(1)
