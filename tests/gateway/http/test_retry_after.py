"""What a service's ``Retry-After`` is worth."""

from __future__ import annotations

import pytest

from gateway.http.wire import retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("7.5", 7.5),
        ("86400", 3600.0),
        ("soon", None),
        ("-1", None),
        ("", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", None),
        ("Mon, 99999999999999999999 Jan 2026 00:00:00 GMT", None),
    ],
)
def test_whatever_it_says_is_seconds_or_nothing(value: str, seconds: float | None) -> None:
    """Nothing raises, for the order that was answered so would be taken up again and again."""
    assert retry_after({"retry-after": value}) == seconds
