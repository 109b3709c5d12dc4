"""Names an operation so that its repetition has the same name: a hash of what it is about."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Self

import orjson

from state_machine.values.errors import ProsaError

MAX_KEY: Final = 255  # characters; the column's width, and what API clients may send


class InvalidKeyError(ProsaError, ValueError):
    """An idempotency key is empty or longer than 255 characters."""

    code = "invalid_key"


def input_hash(inputs: Any) -> str:
    """Return the SHA-256 (hex) of ``inputs`` as canonical JSON: the order of an object's keys does not matter.

    A ``Decimal`` counts as its text, so quantise money before. Raises ``TypeError`` for what JSON cannot say.
    """
    return hashlib.sha256(orjson.dumps(inputs, default=_text, option=orjson.OPT_SORT_KEYS)).hexdigest()


def key_for(operation: str, process_instance_id: str, activity_id: str, inputs: Any) -> str:
    """Return the key of one operation on ``inputs`` in one step of one process; equal arguments, equal key."""
    return f"{operation}-{input_hash([process_instance_id, activity_id, operation, input_hash(inputs)])}"


@dataclass(frozen=True, slots=True)
class Operation:
    """What is to happen once. ``process_instance_id``: the session, request or API client it belongs to.

    ``activity_id``: the step in it. Raises ``InvalidKeyError``.
    """

    key: str
    name: str
    process_instance_id: str
    activity_id: str
    input_hash: str

    def __post_init__(self) -> None:
        if not 0 < len(self.key) <= MAX_KEY or "\x00" in self.key:
            raise InvalidKeyError(f"an idempotency key has 1 to {MAX_KEY} characters, not {len(self.key)}")

    @classmethod
    def of(cls, name: str, process_instance_id: str, activity_id: str, inputs: Any) -> Self:
        """Name an operation of ours by its input: another input is another operation."""
        key = key_for(name, process_instance_id, activity_id, inputs)
        return cls(key, name, process_instance_id, activity_id, input_hash(inputs))

    @classmethod
    def named(cls, header: str, name: str, client: str, activity_id: str, inputs: Any) -> Self:
        """Name an operation by its sender's ``Idempotency-Key``: the same key with another input is a conflict.

        Two clients may choose the same key, so the stored one holds the client too.
        """
        if not 0 < len(header) <= MAX_KEY:
            raise InvalidKeyError(f"an idempotency key has 1 to {MAX_KEY} characters, not {len(header)}")
        return cls(key_for(name, client, activity_id, {"key": header}), name, client, activity_id, input_hash(inputs))


def _text(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in an operation's input")
