"""A reference is one revision's attempt for ever."""

from __future__ import annotations

from persistence.fiscal.intents import integration_id


def test_a_reference_names_session_revision_and_attempt() -> None:
    """No two of them share one, and the same one is made again."""
    made = [integration_id(s, r, t) for s in ("a", "b") for r in (1, 2, 11) for t in (1, 2, 11)]
    assert len(set(made)) == len(made)
    assert integration_id("231126-0a1b2c3d", 1) == "231126-0a1b2c3d-r1-1"
