"""Takes what a test relies on out of a wider type, and fails where it is not there."""

from __future__ import annotations

import re
from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def group(pattern: str, text: str) -> str:
    """Return the first group of the pattern's first match in the text."""
    found = re.search(pattern, text)
    assert found is not None, f"nothing like {pattern} in {text}"
    return str(found[1])


def bound_to(method: Callable[..., object]) -> Any:
    """Return the object whose method this is."""
    assert isinstance(method, MethodType), method
    return method.__self__
