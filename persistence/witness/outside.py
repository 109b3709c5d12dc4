"""Keeps the last word about the database's history where its loss is not theirs: in Redis, and in a file."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import astuple
from typing import TYPE_CHECKING, Final

import structlog
from redis.exceptions import RedisError

from persistence.witness.row import HistoryWord

if TYPE_CHECKING:
    from pathlib import Path

    from persistence.conversations.redis_line import RedisLine

KEY: Final = "prosa:historia"
# A slow process does not put an older word over a newer one.
_NEWEST: Final = """
local known, old = pcall(cjson.decode, redis.call('GET', KEYS[1]) or '')
local new = cjson.decode(ARGV[1])
if known and type(old) == 'table' and #old == #new then
    for i = 1, #new do
        if old[i] ~= new[i] then
            if old[i] > new[i] then return end
            break
        end
    end
end
redis.call('SET', KEYS[1], ARGV[1])
"""

log = structlog.get_logger(__name__)


class Keepers:
    """Redis, and ``file`` where there is a place for one. Either may forget: then it says nothing, and harms nobody."""

    def __init__(self, line: RedisLine, file: Path | None = None) -> None:
        self._line = line
        self._file = file

    async def recall(self) -> HistoryWord:
        """Return what they know together."""
        told = HistoryWord()
        try:
            told = told.joined(_read(await self._line.ask("GET", KEY)))
        except RedisError as error:
            log.warning("witness_away", error=type(error).__name__)
        if self._file is not None:
            told = told.joined(await asyncio.to_thread(_read_file, self._file))
        return told

    async def keep(self, word: HistoryWord) -> None:
        """Let them know; one that is away hears the next word."""
        text = json.dumps(astuple(word))
        try:
            await self._line.ask("EVAL", _NEWEST, 1, KEY, text)
        except RedisError as error:
            log.warning("witness_away", error=type(error).__name__)
        if self._file is not None:
            await asyncio.to_thread(_write_file, self._file, text)


def _read(text: bytes | str | None) -> HistoryWord:
    try:
        restored, beat, emission = json.loads(text or "")
        return HistoryWord(int(restored), int(beat), int(emission))
    except (ValueError, TypeError):
        return HistoryWord()


def _read_file(file: Path) -> HistoryWord:
    try:
        return _read(file.read_bytes())
    except OSError:
        return HistoryWord()


def _write_file(file: Path, text: str) -> None:
    try:
        new = file.with_suffix(f".{os.getpid()}")  # processes of one machine share the file
        new.write_text(text)
        new.replace(file)
    except OSError as error:
        log.warning("witness_away", error=type(error).__name__)
