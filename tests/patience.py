"""How long the harness waits for what must come; no figure under test, and longer than a busy machine needs."""

from __future__ import annotations

PATIENCE = 120.0  # seconds; below the deadline of a test, so that a wait in vain says what it waited for
