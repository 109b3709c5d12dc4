"""Owns the reading of the header by which a service says when it wants to be asked again."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_WAIT: Final = 3600.0  # one call an hour burdens nobody, and a mistaken header must not cost a day


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``Retry-After`` asks for (RFC 9110 §10.2.3: seconds or a date), or ``None``."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        return min(float(value), _MAX_WAIT)
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the parser itself fails on a zone or a year of too many digits
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max((aware - datetime.now(UTC)).total_seconds(), 0.0), _MAX_WAIT)
