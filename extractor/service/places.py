"""The way between the typed message and its skeleton."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from extractor.text.marks import Mark, Skeleton

Span = tuple[int, int]


class Places:
    """Where each character of a skeleton's line begins and ends in the typed message."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        text = skeleton.text
        self._starts: list[int] = []
        self._ends: list[int] = []
        for pos in range(len(skeleton.line)):
            mark = skeleton.where.get(pos)
            first = mark.start if mark else skeleton.plain(pos)
            self._starts.append(text.starts[first])
            self._ends.append(text.ends[mark.end - 1 if mark else first])

    def line_span(self, start: int, end: int) -> Span | None:
        """Return what covers the typed ``[start:end]``, ``None`` where the skeleton does not reach it."""
        first, last = bisect_left(self._ends, start + 1), bisect_left(self._starts, end)
        return (first, last) if first < last else None

    def of(self, words: str) -> Span | None:
        """Return where words of the message stand first, ``None`` where they do not."""
        at = self.skeleton.text.original.find(words)
        return self.line_span(at, at + len(words)) if at >= 0 else None


def begins(skeleton: Skeleton, mark: Mark) -> int:
    """Return where a mark begins in the typed message."""
    return skeleton.text.starts[mark.start]
