from __future__ import annotations

import json
from decimal import Decimal

import pytest

from state_machine.values.text import MAX_DEPTH, clean, cleaned, legible, legible_values, read_json


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("ação 😀", "ação 😀"),
        ("a\x00b", "a\ufffdb"),
        ("a\ud83d", "a\ufffd"),
        ("\udc00b", "\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("", ""),
    ],
)
def test_what_cannot_be_stored_is_replaced_and_never_left_out(text: str, stored: str) -> None:
    """NUL and lone halves of pairs become the replacement character; the halves of one pair are joined."""
    assert clean(text) == stored


def test_keys_values_and_levels_are_cleaned() -> None:
    """Everywhere in a value; of two keys that become one the last counts, and what is too long a number is text."""
    value = {"a\x00": 1, "a\ufffd": [{"\ud800": "\x00"}, 2**64, -(2**63), True, None, 1.5]}
    assert cleaned(value) == {"a\ufffd": [{"\ufffd": "\ufffd"}, str(2**64), -(2**63), True, None, 1.5]}


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 100_000])
@pytest.mark.parametrize("exact", [True, False])
def test_what_has_no_bottom_is_refused(depth: int, *, exact: bool) -> None:
    """As a value error, wherever it is noticed."""
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(b"[" * depth + b"]" * depth, exact=exact)
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, exact=exact) is not None


@pytest.mark.parametrize(
    ("raw", "exact", "otherwise"),
    [
        (b"1500.10", Decimal("1500.10"), 1500.10),
        (b"-9223372036854775808", -(2**63), -(2**63)),
        (b"9223372036854775808", "9223372036854775808", "9223372036854775808"),
        (b"9" * 6000, "9" * 6000, "9" * 6000),
        (b"1e400", "1e400", "1e400"),
        (b"1e99999999999999999999", "1e99999999999999999999", "1e99999999999999999999"),
        (b"1e-400", "1e-400", 0.0),
        (b'{"a": 1, "a": "2"}', {"a": "2"}, {"a": "2"}),
    ],
)
def test_numbers_are_exact_or_their_own_text(raw: bytes, exact: object, otherwise: object) -> None:
    """What no column and no comparison of ours can take is kept as it was written; the last of equal keys counts."""
    assert read_json(raw, exact=True) == exact
    assert read_json(raw, exact=False) == otherwise


@pytest.mark.parametrize("raw", [b"NaN", b"[Infinity]", b'{"x": -Infinity}'])
def test_constants_that_are_no_json(raw: bytes) -> None:
    """Where amounts are read they are refused; where a body is kept whole they are nothing."""
    with pytest.raises(ValueError, match="is not JSON"):
        read_json(raw, exact=True)
    assert read_json(raw, exact=False) in (None, [None], {"x": None})


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("nota de \u202e0051\u202c reais", "nota de 0051 reais"),
        ("PADARIA\u200b DO\ufeff ZÉ\u2066 LTDA\u2069", "PADARIA DO ZÉ LTDA"),
        ("1\u20605\u00ad00\u200e", "1500"),
        ("a\u200db", "ab"),
        ("José Conceição Müller", "José Conceição Müller"),
        ("Jose\u0301", "Jose\u0301"),
        ("👩\u200d👧 👍🏽 ❤\ufe0f", "👩\u200d👧 👍🏽 ❤\ufe0f"),
        ("山田 Ñandú Ωmega", "山田 Ñandú Ωmega"),
    ],
)
def test_what_nobody_sees_is_left_out_and_names_stay(text: str, read: str) -> None:
    """Bidirectional controls and zero-width characters go; accents, other scripts and emoji stay whole."""
    assert legible(text) == read
    assert legible_values({"a": [{"b": text}], "\u202ek": 1}) == {"a": [{"b": read}], "\u202ek": 1}
    assert read_json(json.dumps({"xNome": text}).encode(), exact=True) == {"xNome": read}
