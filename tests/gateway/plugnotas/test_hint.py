"""A gateway's webhook is only a hint."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.plugnotas.note import Hint, hinted_keys

NOTE = {"id": "5bb4", "idIntegracao": "zap-1-1", "protocol": "p-1", "status": "CONCLUIDO", "numero": "42"}
HINT = Hint("5bb4", "zap-1-1", "p-1")


@pytest.mark.parametrize(
    ("body", "hints"),
    [
        (NOTE, [HINT]),
        ([NOTE], [HINT]),
        ({"documents": [NOTE]}, [HINT]),
        ({"data": NOTE}, [HINT]),
        ({"data": {"documents": [NOTE]}}, [HINT]),
        ([NOTE, NOTE], [HINT]),
        ([NOTE, {"idIntegracao": "zap-2-1", "protocolo": "p-2"}], [HINT, Hint(None, "zap-2-1", "p-2")]),
        ([{"x": 1}, None, "y", NOTE], [HINT]),
        ({"message": "verify"}, []),
        ({"id": "5bb4"}, []),
        ({"idIntegracao": ""}, []),
        ({"idIntegracao": {"$ne": ""}}, []),
        ({"idIntegracao": "z" * 101}, []),
        ({"idIntegracao": "zap\x00"}, []),
        ([[[[[[NOTE]]]]]], []),
        ([], []),
        (None, []),
    ],
)
def test_only_ids_are_taken_and_only_from_where_notes_are(body, hints):
    """Arrays and the two known wrappers are opened, a verification ping names nothing, everything else is ignored."""
    assert hinted_keys(json.dumps(body).encode()) == hints


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"\xff\xfe", b"[" * 100_000, b'{"idIntegracao":NaN}'])
def test_an_unreadable_body_is_no_hint(body):
    """The sender gets its 200 all the same; the sweep finds the note."""
    assert hinted_keys(body) == []


@given(st.binary())
def test_no_bytes_make_it_fail(body):
    """Anyone may post to a public path."""
    assert isinstance(hinted_keys(body), list)
