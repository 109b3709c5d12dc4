"""Composes moments counted from now by the database's clock; it reads no clock itself."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

_ZERO: Any = sa.literal_column("0")


def in_seconds(name: str) -> Any:
    """Return the moment as many seconds from now as the parameter ``name`` is given; NULL when it is ``None``."""
    return _in(*[_ZERO] * 6, sa.bindparam(name, type_=sa.Float))


def in_days(name: str) -> Any:
    """Return the same in days, whole ones."""
    return _in(*[_ZERO] * 3, sa.bindparam(name, type_=sa.Integer))


def _in(*parts: Any) -> Any:
    return sa.func.now() + sa.func.make_interval(*parts)
