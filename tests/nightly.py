"""The one switch between the sizes of an ordinary run and those of a night: ``./prosa test --nightly``."""

from __future__ import annotations

import os
from typing import TypeVar

NIGHTLY = os.environ.get("PROSA_TEST_PROFILE") == "nightly"

T = TypeVar("T")


def size(ordinary: T, nightly: T) -> T:
    """Return the size of a proof: small in an ordinary run, long at night."""
    return nightly if NIGHTLY else ordinary
