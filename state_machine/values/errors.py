"""The base of every error of the product, and the code by which each kind is known."""

from __future__ import annotations

from typing import ClassVar


class ProsaError(Exception):
    """Something was refused or cannot go on. ``code`` names the kind and stays, whatever its class is called."""

    code: ClassVar[str] = "prosa"
