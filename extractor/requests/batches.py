"""Reads the wish to stop a list that is being sent as mails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractor.text.folding import read

_BEFORE: Final = r"(?:(?:oi|ola|opa|prosa|por favor|quero|queria|pode|preciso|favor)[ ,!.]{1,3}){0,3}"
_STOP: Final = r"(?:par(?:a|ar|e|em)|interromp(?:a|e|er)|suspend(?:a|e|er)|cancel(?:a|ar|e))"
_OF: Final = r"(?: (?:o|a|os|esse|este|aquele|meu|tudo|todo|envio|envios|do|de|dos)){0,4}"
_LIST: Final = r" (?:lote(?: (?:n(?:umero|ro|[.o°º]{1,2})? ?)?(?P<n>\d{1,18}))?|e-?mails)"
_END: Final = r"(?:,? (?:por favor|agora|ja|tudo|todo|de e-?mails?)){0,3}[ .,!]{0,5}"
_WHOLE: Final = re.compile(f"{_BEFORE}{_STOP}{_OF}{_LIST}{_END}")
LONGEST: Final = 80  # characters; a longer text is about something else


@dataclass(frozen=True, slots=True)
class BatchStop:
    """Which list is to stop: its number, where one was said."""

    numero: int | None = None


def read_batch_stop(texto: str) -> BatchStop | None:
    """Return the wish, where that is all that was said."""
    if len(texto) > LONGEST:
        return None
    found = _WHOLE.fullmatch(" ".join(read(texto).plain.split()))
    if found is None:
        return None
    return BatchStop(int(found["n"]) if found["n"] else None)
