"""The rows of the table of figures, in the order in which they are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.bench.rows import conversations, nacional, start, turns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proofs.bench.figure import Figure
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

_MODULES = (turns, conversations, start, nacional)
ROWS: dict[str, Callable[[Place, Plan], Awaitable[list[Figure]]]] = {module.ROW: module.measure for module in _MODULES}
