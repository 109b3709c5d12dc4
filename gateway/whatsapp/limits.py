"""Owns Meta's limits on outbound messages; refuses a message that breaks one, and never trims it silently."""

from __future__ import annotations

from collections.abc import Iterable

from state_machine.values.errors import ProsaError

# Cloud API reference, "Messages" and "Interactive"; where Meta's pages disagree (list body), the smaller figure.
TEXT_BODY = 4096
INTERACTIVE_BODY = 1024
HEADER = FOOTER = 60
CAPTION = 1024
FILENAME = 240  # what phones still show and file systems take
BUTTONS = 3
BUTTON_TITLE = 20
BUTTON_ID = 256
LIST_BUTTON = 20
SECTIONS = ROWS = 10  # rows: over all sections together
SECTION_TITLE = ROW_TITLE = 24
ROW_ID = 200
ROW_DESCRIPTION = 72
TEMPLATE_PARAMETER = 1024
CALLBACK_DATA = 512

_ELLIPSIS = "…"
_JOINERS = "\u200d\ufe0f"  # an emoji cut in the middle leaves these dangling
_WIDE_SPACE = "     "  # template parameters take at most four spaces in a row, and no line ends


class MensagemInvalida(ProsaError, ValueError):  # noqa: N818 - Portuguese names of the spec carry no suffix
    """The message breaks one of Meta's limits: our bug, found before Meta finds it."""

    code = "mensagem_invalida"


def length(text: str) -> int:
    """Return the length in UTF-16 units, the most cautious reading of Meta's "characters" (an emoji counts twice)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def require_text(name: str, text: str, limit: int) -> str:
    """Return ``text``; raises ``MensagemInvalida`` when it is blank or longer than ``limit``."""
    if not text.strip():
        raise MensagemInvalida(f"{name} is empty")
    if length(text) > limit:
        raise MensagemInvalida(f"{name} has {length(text)} characters, Meta takes {limit}")
    return text


def require_count(name: str, count: int, limit: int) -> None:
    """Raise ``MensagemInvalida`` unless there are between one and ``limit`` items."""
    if not 1 <= count <= limit:
        raise MensagemInvalida(f"{count} {name}, Meta takes 1 to {limit}")


def require_unique(name: str, values: Iterable[str]) -> None:
    """Raise ``MensagemInvalida`` when two values are the same."""
    seen = list(values)
    if len(set(seen)) != len(seen):
        raise MensagemInvalida(f"two {name} are the same")


def require_parameter(text: str) -> str:
    """Return a template parameter; raises ``MensagemInvalida`` for line ends and wide spaces too."""
    require_text("template parameter", text, TEMPLATE_PARAMETER)
    if any(char in text for char in "\n\r\t") or _WIDE_SPACE in text:
        raise MensagemInvalida("a template parameter has a line end, a tab or more than four spaces")
    return text


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` UTF-16 units, cut at a word where possible and ended with "…".

    For user-derived text inside a message; ``limit`` is at least 1.
    """
    if length(text) <= limit:
        return text
    kept = text[: limit - 1]
    while length(kept) > limit - 1:
        kept = kept[:-1]
    at_word = kept.rsplit(maxsplit=1)[0] if any(c.isspace() for c in kept[limit // 2 :]) else kept
    return at_word.rstrip().rstrip(_JOINERS + ",;:-–—(") + _ELLIPSIS
