"""The parts of documentation pages that rules write: how they are drawn and put in place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

INICIO = "[*]"  # Mermaid's sign for the beginning and the end


def state_diagram(arcs: Iterable[tuple[str, str, str]], finals: Iterable[str]) -> str:
    """Return a Mermaid diagram of arcs (from, to, event); the same arcs in the same order give the same text."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for de, para, evento in arcs:
        grouped.setdefault((de, para), []).append(evento)
    lines = ["stateDiagram-v2"]
    lines += [f"    {de} --> {para}: {', '.join(eventos)}" for (de, para), eventos in grouped.items()]
    lines += [f"    {estado} --> {INICIO}" for estado in finals]
    return "\n".join(lines) + "\n"


def between(page: str, begin: str, end: str, text: str) -> str:
    """Return ``page`` with ``text`` between its two markers; raises ``ValueError`` without them."""
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"no markers: {begin.strip()} … {end.strip()}")
    return f"{before}{begin}{text}{end}{after}"


def rewrite_pages(refreshed: Callable[[str], str]) -> None:
    """Rewrite the pages named on the command line."""
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
