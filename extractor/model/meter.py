"""Counts what one question to a model takes, over its retries and step-downs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from extractor.contract import Uso

if TYPE_CHECKING:
    from openai.types import CompletionUsage

MOST_TOKENS: Final = 10**7  # of one request: beyond the longest context of any model


class Meter:
    """One question's. A request counts when it leaves: what died on the way may have been billed, and told no count."""

    def __init__(self) -> None:
        self._asked = self._told = self._in = self._out = 0

    @property
    def uso(self) -> Uso | None:
        """What it took; ``None``: nothing was asked."""
        return Uso(self._asked, self._asked - self._told, self._in, self._out) if self._asked else None

    def asked(self) -> None:
        """A request leaves."""
        self._asked += 1

    def told(self, usage: CompletionUsage | None) -> None:
        """An answer came; some servers count nothing, or what is no count."""
        read, written = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        if _counts(read) and _counts(written):
            self._told += 1
            self._in += read
            self._out += written


def _counts(tokens: object) -> TypeGuard[int]:
    """Believe what a request may take; the SDK checks no type."""
    return type(tokens) is int and 0 <= tokens <= MOST_TOKENS
