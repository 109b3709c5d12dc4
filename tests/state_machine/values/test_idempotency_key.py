"""The caller's idempotency key as a value object."""

from __future__ import annotations

import pytest

from webhooks.api.call import IdempotenciaKey, IdempotenciaKeyInvalida


@pytest.mark.parametrize("text", ["a", "client-001", "!~", "x" * 255, "6f1c1c5e-8f0c-4a55-9c6e-0d9f0c1b2a3d"])
def test_a_key_is_kept_as_it_came(text):
    """One to 255 visible ASCII characters, whatever they are."""
    assert str(IdempotenciaKey(text)) == text


@pytest.mark.parametrize("text", ["", " ", "a b", "a\n", "a\x00", "x" * 256, "ação", "\x7f", "a\t", "k\ud800"])
def test_a_key_that_is_empty_long_or_not_visible_is_refused(text):
    """Nothing can be made of it, so nothing can be stored of it."""
    with pytest.raises(IdempotenciaKeyInvalida):
        IdempotenciaKey(text)
