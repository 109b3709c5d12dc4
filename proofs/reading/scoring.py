"""Compares what was read with what a corpus expects."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from state_machine.invoice.draft import ESCOLHA, Rascunho, aplicar
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.values.documents import DocumentoInvalido, parse_documento

if TYPE_CHECKING:
    from collections.abc import Iterable

    from state_machine.invoice.fields import Doubt

# Words that say nothing of what was done: a service may have them or not.
JOINTS: Final = re.compile(r"[aoe]|as|os|de|d[ao]s?|em|n[ao]s?|para|pra|pro|p|com|c|por|pel[ao]|aos?|uma?|que")


def is_critical(expect: dict[str, Any], standing: dict[str, str | None]) -> bool:
    """Say whether a value or document stands that is not the label's, or that the label forbids."""
    forbidden = {str(v) for v in (expect.get("must_not") or {}).values()}
    for campo in (row.campo.value for row in FIELDS.values() if row.critical):
        value = standing.get(campo)
        if value is not None and (value in forbidden or (campo in expect and not matches(campo, expect[campo], value))):
            return True
    return False


def is_shown(doubt: Doubt) -> bool:
    """Say whether the summary shows what the doubt may mean, so that it costs no turn."""
    readings = aplicar(Rascunho(), (), (doubt,), ()).valor.leituras if doubt.campo is Campo.VALOR else ()
    return 0 < len(readings) <= ESCOLHA


def matches(campo: str, expected: object, got: str | None) -> bool:
    """Compare one field with its label."""
    if campo == "descricao" and isinstance(expected, dict):
        return got is not None and _describes(expected, got)
    if expected is None or got is None:
        return expected is None and got is None
    if campo == "documento":
        try:
            return parse_documento(str(expected)).numero == got
        except DocumentoInvalido:
            return str(expected) == got
    if campo in {"nome", "email"}:
        return _fold(str(expected)) == _fold(got)
    return str(expected) == got


def is_whole(said: str, got: str, others: Iterable[str] = ()) -> bool:
    """Say whether ``got`` has every content word of the service ``said``, and no word of ``others``, the other fields.

    A word that ``said`` has too belongs to the service, whatever else it names. Case and accents do not count.
    """
    mine, read = set(words(said)), set(words(got))
    return bool(mine) and mine <= read and not (read & {word for each in others for word in words(each)} - mine)


def words(text: str) -> list[str]:
    """Return the content words of a text, folded: numbers are whole, so that "14.133" is one word."""
    return [word for word in re.findall(r"\w+(?:[.,/-]\w+)*", _fold(text)) if JOINTS.fullmatch(word) is None]


def _describes(expected: dict[str, Any], got: str) -> bool:
    if "is" in expected and not any(is_whole(text, got) for text in expected["is"]):
        return False
    folded = _fold(got)
    return all(_fold(t) in folded for t in expected.get("has") or ()) and not any(
        _fold(t) in folded for t in expected.get("not") or ()
    )


def _fold(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[@.&-]{0,9}\w+(?:[@.&-]{1,9}\w+)*", bare))
