"""Owns what follows from each of Meta's error codes: by the code, as Meta asks, then by the HTTP status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.http.wire import mask


@dataclass(frozen=True, slots=True)
class Sent:
    """Meta took the message (not: delivered it). ``wa_id`` is the phone it resolved to, absent for a BSUID."""

    wamid: str
    wa_id: str | None = None


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Certainly not taken; try again after ``after`` seconds (``None``: usual back-off). ``code`` 0: none was given."""

    after: float | None
    code: int


@dataclass(frozen=True, slots=True)
class RetryPair:
    """Too many messages to this person (131056); nobody else has to wait. ``after`` in seconds."""

    after: float


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """More than 24 hours since the person wrote: only an approved template may go out."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """This person cannot get this message; record it and do not try again."""

    code: int
    why: str


@dataclass(frozen=True, slots=True)
class Broken:
    """Meta does not understand our request: our bug or our template. Alert, do not try again."""

    code: int
    why: str


@dataclass(frozen=True, slots=True)
class Halted:
    """Token, permission, payment or quality: nothing goes out until somebody repairs it. The message is not lost."""

    code: int


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """It may have been taken. Wait for the status webhook with our outbox id before sending again."""

    why: str


Failure = RetryLater | RetryPair | WindowClosed | Dropped | Broken | Halted
SendResult = Sent | Failure | Ambiguous

_RETRY: dict[int, float | None] = {
    1: None,  # unknown, possibly transient
    2: None,  # Graph down
    4: 60.0,  # application rate: counted by the hour, a minute frees some
    80007: 60.0,  # account rate, likewise
    130429: None,  # throughput of the number: 80 a second, free again at once
    131000: None,  # unknown
    131016: None,  # service overloaded
    131057: 60.0,  # maintenance takes a minute or more
    133004: None,  # server temporarily unavailable
}
_PAIR = 131056
_WINDOW = 131047
_DROP = {
    130403: "we blocked this person",
    130472: "part of a Meta experiment",
    131021: "recipient is the sender",
    131026: "undeliverable: not on WhatsApp, old client or terms not accepted",
    131030: "not in the test number's list",
    131049: "held back by Meta for a healthy ecosystem",
    131050: "opted out",
    131051: "message type not supported by the recipient",
    131062: "not allowed to a BSUID",
}
MEDIA_FAULTS = frozenset({131052, 131053})  # Meta lost a file on its way in or out; another upload may get through
_BROKEN = frozenset({33, 100, 131008, 131009, *MEDIA_FAULTS, 132000, 132001, 132005, 132007, 132012})
_HALT = frozenset({0, 3, 10, 190, 368, 131005, 131031, 131042, 131045, 131048, 131064, 132015, 132016})
_PERMISSIONS = range(200, 300)

_UNAUTHORISED = (401, 403)
_TOO_MANY, _SERVER_ERROR = 429, 500
_MAX_PAIR_WAIT = 3600.0  # Meta's 4^X passes an hour at X = 6
_MAX_WHY = 300
_MAX_CODE, _CODE_DIGITS = 2**31 - 1, 10


def pair_wait(tentativa: int) -> float:
    """Return the seconds that Meta asks to wait after the ``tentativa``-th pair-rate refusal: 4^X, X from 0."""
    return float(min(4 ** min(tentativa, 10), _MAX_PAIR_WAIT))


def classify(
    error: dict[str, Any], *, status: int | None = None, retry_after: float | None = None, tentativa: int = 0
) -> Failure:
    """Return what follows from an error object of Meta, in an answer (``status``) or in a status webhook (``None``)."""
    code = code_of(error)
    if code == _PAIR:
        return RetryPair(max(retry_after or 0.0, pair_wait(tentativa)))
    if code == _WINDOW:
        return WindowClosed()
    if code in _RETRY:
        return RetryLater(retry_after if retry_after is not None else _RETRY[code], code)
    return _final(error, code) or _by_status(error, code, status, retry_after)


def _final(error: dict[str, Any], code: int) -> Failure | None:
    if code in _DROP:
        return Dropped(code, _DROP[code])
    if code in _BROKEN:
        return Broken(code, _why(error))
    return Halted(code) if code in _HALT or code in _PERMISSIONS else None


def _by_status(error: dict[str, Any], code: int, status: int | None, retry_after: float | None) -> Failure:
    """Judge a code that no table names."""
    if error.get("is_transient") is True or (status is not None and (status == _TOO_MANY or status >= _SERVER_ERROR)):
        return RetryLater(retry_after, code)
    return Halted(code) if status in _UNAUTHORISED else Broken(code, _why(error))


def code_of(error: dict[str, Any]) -> int:
    """Return Meta's code, -1 for what is none; also of a code that no column of ours holds."""
    code = error.get("code")
    if isinstance(code, str) and code.isdecimal() and len(code) <= _CODE_DIGITS:
        code = int(code)
    return code if isinstance(code, int) and abs(code) <= _MAX_CODE else -1


def _why(error: dict[str, Any]) -> str:
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    return mask(str(details or error.get("message") or error.get("title") or "no details"))[:_MAX_WHY]
