"""The rows of the table of figures, in the order in which they are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import ack, conversations, engine, extraction, growth, month, replicas, start, turns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.figure import Figure
    from bench.place import Place
    from bench.plan import Plan

_MODULES = (ack, turns, engine, replicas, conversations, month, growth, start, extraction)
ROWS: dict[str, Callable[[Place, Plan], Awaitable[list[Figure]]]] = {module.ROW: module.measure for module in _MODULES}
