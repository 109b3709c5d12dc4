"""Where a process spends its time, by part of the product and library, from py-spy's samples."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

RATE = 100  # samples a second: enough for percents, too few to slow the process down
PARTS = (
    ("sqlalchemy/", "SQLAlchemy"),
    ("asyncpg/", "asyncpg"),
    ("aiohttp/", "aiohttp"),
    ("httpx/", "httpx"),
    ("httpcore/", "httpx"),
    ("anyio/", "httpx"),
    ("h11/", "httpx"),
    ("redis/", "redis"),
    ("structlog/", "logs"),
    ("logging/", "logs"),
    ("telemetry/logs.py", "logs"),
    ("pydantic/", "pydantic"),
    ("prometheus_client/", "figures"),
    ("extractor/", "extractor"),
    ("state_machine/", "state machine"),
    ("gateway/", "gateway"),
    ("persistence/", "persistence"),
    ("bot/", "bot"),
)  # fmt: skip


async def profiled(pid: int, seconds: float, home: Path) -> dict[str, float]:
    """Return the share (0 to 1) of each part in the running time of a process; empty where py-spy may not look."""
    program = Path(sys.executable).with_name("py-spy")
    found = str(program) if program.exists() else shutil.which("py-spy")
    if found is None:
        return {}
    out = home / f"profile-{pid}.txt"
    words = ("record", "--duration", str(max(1, round(seconds))), "--rate", str(RATE), "--format", "raw")
    process = await asyncio.create_subprocess_exec(
        found, *words, "--output", str(out), "--pid", str(pid),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    if await process.wait() or not out.exists():
        return {}
    return shares(out.read_text(encoding="utf-8").splitlines())


def shares(lines: Iterable[str]) -> dict[str, float]:
    """Give each collapsed stack (``frame;frame;… samples``) to the innermost frame that a part owns."""
    counts: Counter[str] = Counter()
    for line in lines:
        stack, _, samples = line.rpartition(" ")
        counts[_part(stack.split(";"))] += int(samples)
    total = sum(counts.values())
    return {name: count / total for name, count in counts.most_common()}


def _part(frames: list[str]) -> str:
    for frame in reversed(frames):
        place = frame.rpartition("(")[2]
        for beginning, name in PARTS:
            if place.startswith(beginning):
                return name
    return "event loop and rest"
