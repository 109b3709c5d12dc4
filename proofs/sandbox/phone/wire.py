"""The JSON between page and server: requests validated, records rendered."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints

if TYPE_CHECKING:
    from proofs.sandbox.phone.model import Bubble

Id = Annotated[str, StringConstraints(min_length=1, max_length=256)]  # Meta's limit for button ids; wamids are shorter
Title = Annotated[str, StringConstraints(min_length=1, max_length=72)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4096)]  # Meta's limit for text


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TextRequest(_Request):
    """``POST /api/messages``."""

    user: Id
    text: Words


class TapRequest(_Request):
    """``POST /api/press`` (a button) and ``POST /api/choose`` (a list row)."""

    user: Id
    id: Id
    title: Title
    context: Id


class ProposalRequest(_Request):
    """``POST /api/propostas``: what the ERP's form says, for the API to judge."""

    valor: Annotated[str, StringConstraints(max_length=40)]
    descricao: Annotated[str, StringConstraints(max_length=2_000)]


class SwitchesRequest(_Request):
    """``POST /api/switches``: the switches to turn; the others stay."""

    switches: dict[Literal["lento", "rejeitar", "culpa_nossa", "perder_resposta", "sem_webhook"], bool]


def dump(value: Any) -> str:
    """Return the JSON that the page reads; what JSON does not know (``Decimal``) goes as text."""
    return orjson.dumps(value, default=str).decode()


def bubble_json(bubble: Bubble) -> dict[str, Any]:
    """Return what the page draws; ``at`` ISO 8601, empty parts left out."""
    shown = {key: value for key, value in asdict(bubble).items() if value not in ("", (), None)}
    return {**shown, "at": bubble.at.isoformat()}
