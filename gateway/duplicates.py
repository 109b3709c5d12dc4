"""Owns the words in which gateways and authorities say that a note exists already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from state_machine.values.text.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

# SEFIN Nacional: the DPS is already in a NFS-e (Anexo I); cities of the ABRASF layout: the RPS was sent before.
_CODES = frozenset({"E0014", "E10"})
_SUBJECT = re.compile(r"\b(?:nfs-?e|notas?|rps|dps|documentos?|id ?integracao|lote|numero)\b")
_AGAIN = re.compile(
    r"\bja (?:exist|consta|esta\b|se encontra|foi|foram|fora|havia|possui|emitid|gerad|cadastrad|registrad|utilizad"
    r"|usad|informad|process|convertid|autorizad|recebid|enviad)|\bduplic|\brepetid|\balready\b|\bduplicate"
)
_SENTENCE = re.compile(r"[.;\n]")
_FROM_HERE = 4000  # characters; a city's explanation is shorter


def says_duplicate(message: str, codes: Iterable[str] = ()) -> bool:
    """Tell whether a refusal says, by code or in any words, that there is a note already."""
    if not _CODES.isdisjoint(codes):
        return True
    sentences = (" ".join(sentence.split()) for sentence in _SENTENCE.split(plain(message, _FROM_HERE)))
    return any(_SUBJECT.search(sentence) and _AGAIN.search(sentence) for sentence in sentences)
