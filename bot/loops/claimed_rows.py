"""The rows of one claim that are still open, and which of them go to a handler together; it handles none itself."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from persistence.queue.lanes import ALONE_FROM, ROWS_PER_CLAIM

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from persistence.queue.lanes import InboxRow


class Round:
    """The rows of one claim that are still open."""

    def __init__(self, rows: tuple[InboxRow, ...]) -> None:
        self.open = list(rows)
        self.completed = 0
        self.over = False  # the lane was given back, and nothing waits in it or its workers were rung for
        self.truncated = len(rows) >= ROWS_PER_CLAIM  # there may be more than were read

    @property
    def rest(self) -> frozenset[int]:
        """All rows of the lane that are open, none if there may be more than were read."""
        return frozenset() if self.truncated else frozenset(row.id for row in self.open)

    def next_run(self) -> Sequence[InboxRow]:
        """Return the rows at the head that are of one kind; a row that failed twice is alone."""
        head = self.open[0]
        if head.tentativas >= ALONE_FROM:
            return (head,)
        return tuple(takewhile(lambda row: row.tipo == head.tipo and row.tentativas < ALONE_FROM, self.open))

    def complete(self, ids: Collection[int]) -> int:
        """Take finished rows out; return how many."""
        left = [row for row in self.open if row.id not in ids]
        taken = len(self.open) - len(left)
        self.open = left
        self.completed += taken
        return taken
