"""Keeps a model's reading of a turn as JSON, so that a retried turn replays it instead of asking again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from extractor.contract import Extraction

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXTRACTION = TypeAdapter(Extraction)


def dump_reading(leitura: Extraction, rows: Sequence[int]) -> dict[str, Any]:
    """Return JSON of the reading and of the inbox rows that it is of."""
    return {"rows": list(rows), "leitura": _EXTRACTION.dump_python(leitura, mode="json")}


def load_reading(kept: Any, rows: Sequence[int]) -> Extraction | None:
    """Return the kept reading if it is of exactly these rows; more may have arrived since."""
    if not isinstance(kept, dict) or kept.get("rows") != list(rows):
        return None
    try:
        return _EXTRACTION.validate_python(kept.get("leitura"))
    except ValidationError:  # kept by another version of us
        return None
