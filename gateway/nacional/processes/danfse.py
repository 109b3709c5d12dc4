"""Owns the processes that draw the DANFSe of a note, and their ends: the event loop never draws."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal

from gateway import process_apart
from gateway.nacional.layouts import MAX_BYTES
from gateway.nacional.processes.danfse_process import DRAWN, HEADER, WATERMARKS
from state_machine.values.errors import ProsaError

Watermark = Literal["cancelada", "substituida"]

PROCESSES: Final = 2  # at the same time; each has some 80 MB while it lives
DEADLINE: Final = 30.0  # seconds of one page; half a second of them to start a process
WORDS: Final = process_apart.words("gateway.nacional.processes.danfse_process")
_LONGEST: Final = 4 * 1024 * 1024  # bytes of a PDF; a page has some 90,000


class DanfseError(ProsaError):
    """No PDF was made: the XML is no note that can be drawn, or the process that drew it died or was late."""

    code = "danfse"


class DanfsePool:
    """Draws notes in ``PROCESSES`` child processes, each started by the first note that finds no other at rest.

    Who waits is served in order. A process that dies, is late (``deadline``, seconds) or whose caller was cancelled is
    ended, and the next note starts another.
    """

    def __init__(self, *, words: Sequence[str] = WORDS, deadline: float = DEADLINE) -> None:
        # The last one used first: where one is enough, one lives.
        self._at_rest: asyncio.LifoQueue[_Child] = asyncio.LifoQueue()
        for _ in range(PROCESSES):
            self._at_rest.put_nowait(_Child(words, deadline))
        self._closed = False

    async def render(self, xml: bytes, *, watermark: Watermark | None = None) -> bytes:
        """Return the DANFSe of an NFS-e: the same arguments give the same bytes. Raises ``DanfseError``.

        A note of homologation says that it has no legal validity, by its own XML; a cancellation or substitution does
        not stand in it, so who calls says it by ``watermark``.
        """
        if self._closed:
            raise DanfseError("the pool is closed")
        if len(xml) > MAX_BYTES:
            raise DanfseError(f"the document has more than {MAX_BYTES} bytes")
        child = await self._at_rest.get()
        try:
            return await child.draw(HEADER.pack(WATERMARKS.index(watermark), len(xml)) + xml)
        finally:
            self._at_rest.put_nowait(child)

    async def aclose(self) -> None:
        """End the processes, after the pages that were asked for before."""
        if self._closed:
            return
        self._closed = True
        for _ in range(PROCESSES):
            await (await self._at_rest.get()).end()


class _Child:
    """At most one process; none before the first page, and none after one that failed."""

    def __init__(self, words: Sequence[str], deadline: float) -> None:
        self._words = words
        self._deadline = deadline
        self._process: asyncio.subprocess.Process | None = None

    async def draw(self, question: bytes) -> bytes:
        """Return the answer to a question. Raises ``DanfseError``."""
        code = None
        try:
            async with asyncio.timeout(self._deadline):
                rested = self._process is not None
                try:
                    code, answer = await self._exchange(question)
                except (OSError, EOFError):
                    if not rested:
                        raise
                    await self.end()  # it died at rest, before or while it was asked
                    code, answer = await self._exchange(question)
        except (TimeoutError, OSError, EOFError, ValueError) as error:
            raise DanfseError(f"the process that draws failed: {type(error).__name__}") from error
        finally:
            if code is None:  # it is in the middle of an answer, or dead
                await self.end()
        if code != DRAWN:
            raise DanfseError(f"the note could not be drawn: {answer.decode(errors='replace')}")
        return answer

    async def _exchange(self, question: bytes) -> tuple[int, bytes]:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=process_apart.ENVIRONMENT,
            )
        write, answers = self._process.stdin, self._process.stdout
        if write is None or answers is None:
            raise EOFError
        write.write(question)
        await write.drain()
        code, length = HEADER.unpack(await answers.readexactly(HEADER.size))
        if length > _LONGEST:
            raise ValueError("the answer is longer than a page")
        return code, await answers.readexactly(length)

    async def end(self) -> None:
        """Kill the process and wait until it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
