"""What one reader of the rules hands to the others: a candidate or a doubt, and the spans it used up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from extractor.text.marks import Mark
    from state_machine.invoice.fields import Candidate, Doubt


@dataclass(frozen=True, slots=True)
class Reading:
    """One field as read: at most one of ``candidate`` and ``doubt``; ``clear`` when it was only taken back."""

    candidate: Candidate | None = None
    doubt: Doubt | None = None
    clear: bool = False
    used: frozenset[Mark] = field(default_factory=frozenset)
    replaces: bool = False  # the words say that an earlier value is wrong
    edits: bool = False  # the value is an earlier one with some of its words changed
