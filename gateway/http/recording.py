"""Owns what is kept of a call: both bodies masked and cut for support, the JSON received whole; sends nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from gateway.http.client import Exchange
from gateway.http.wire import is_secret, mask, parse_json
from state_machine.values.text import clean

MAX_TEXT = 4000  # characters of each body: a whole answer about one note
MAX_READ = 4 * MAX_TEXT  # characters of one text that are masked at all: more cannot be seen, and takes its time
MAX_WHOLE = 1024 * 1024  # bytes kept of an answer: one about a note has some kB, and anything longer is none
MAX_DIGITS = 400  # of a number; PostgreSQL refuses one of more than 16,383 after the point, and money has 15
MAX_PROSE = 500  # characters of what is no JSON: enough to recognise a proxy's page
_MAX_DEPTH = 12
HIDDEN = "***"
# Keys whose texts say what happened and not to whom; every other text is hidden, so that a field nobody has thought of
# hides itself. Numbers are hidden where they are long enough to be a document or a phone.
SAID = frozenset(
    {
        "aliquota", "cStat", "cnae", "code", "codigo", "codigoCidade", "codigoMunicipio", "codigoServico",
        "codigoVerificacao", "competencia", "dataEmissao", "emissao", "erro", "error", "lote", "mensagem",
        "mensagemRetorno", "message", "numero", "numeroNfse", "padrao", "regEspTrib", "serie", "situacao",
        "status", "tipo", "tipoAutorizacao", "versao",
    }
)  # fmt: skip
IDS = frozenset({"id", "idIntegracao", "protocol", "protocolo"})  # made by machines: no person in them
_ID = re.compile(r"[A-Za-z0-9-]{1,100}")
_LONG = 10**7


@dataclass(slots=True)
class Recorded:
    """The last call of a stretch: HTTP status (``None``: no whole answer), both bodies masked (``None``: empty).

    ``recebido`` is the first JSON received, whole, as storable text: what is called after it fetches documents.
    """

    http_status: int | None = None
    pedido: str | None = None
    resposta: str | None = None
    recebido: str | None = None

    def masked(self) -> dict[str, Any]:
        """Return what support may read, by the names of the call's record."""
        return {"http_status": self.http_status, "pedido": self.pedido, "resposta": self.resposta}


_tape: ContextVar[Recorded | None] = ContextVar("gateway_tape", default=None)


@contextmanager
def recording() -> Iterator[Recorded]:
    """Keep the last call that this task makes meanwhile."""
    recorded = Recorded()
    token = _tape.set(recorded)
    try:
        yield recorded
    finally:
        _tape.reset(token)


def observe(exchange: Exchange) -> None:
    """Take a call down if this task records."""
    recorded = _tape.get()
    if recorded is not None:
        recorded.http_status = exchange.status
        recorded.pedido = masked_body(exchange.sent)
        recorded.resposta = masked_body(exchange.body)
        recorded.recebido = recorded.recebido or whole_json(exchange.body)


def whole_json(body: bytes) -> str | None:
    """Return the JSON object or list of ``body`` as text that ``jsonb`` takes, numbers as exact as they came.

    Only secrets are hidden. ``None`` for anything else, and for more than ``MAX_WHOLE`` bytes.
    """
    if not body or len(body) > MAX_WHOLE:
        return None
    try:
        data = parse_json(body)
    except ValueError:
        return None
    if not isinstance(data, dict | list):
        return None
    return orjson.dumps(_without_secrets(data), default=_exact).decode()


def _without_secrets(value: Any) -> Any:
    match value:
        case dict():
            return {k: HIDDEN if is_secret(k) and v is not None else _without_secrets(v) for k, v in value.items()}
        case list():
            return [_without_secrets(item) for item in value]
        case _:
            return value


def _exact(number: Decimal) -> Any:
    written = str(number)
    return orjson.Fragment(written) if len(written) <= MAX_DIGITS else written


def masked_body(body: bytes) -> str | None:
    """Return a body without secrets and without what names a person or a company; ``None`` for an empty one."""
    if not body:
        return None
    try:
        data = parse_json(body) if len(body) <= MAX_WHOLE else None
    except ValueError:
        data = None
    if data is None:
        return clean(mask(body[: MAX_PROSE * 4].decode("utf-8", "replace"))[:MAX_PROSE])
    return clean(json.dumps(_masked(data, "", 0), ensure_ascii=False, default=str)[:MAX_TEXT])


def _masked(value: Any, key: str, depth: int) -> Any:
    match value:
        case dict() if depth < _MAX_DEPTH:
            # PlugNotas' complaints stand under the paths of the fields that they are about
            return {_readable(k): _masked(v, "mensagem" if key == "fields" else k, depth + 1) for k, v in value.items()}
        case list() if depth < _MAX_DEPTH:
            return [_masked(item, key, depth + 1) for item in value]
        case bool() | None:
            return value
        case str():
            if key in IDS and _ID.fullmatch(value):
                return value
            return _readable(value) if key in SAID else HIDDEN
        case dict() | list():
            return HIDDEN
        case _:
            return value if abs(value) < _LONG else HIDDEN


def _readable(text: str) -> str:
    if len(text) > MAX_READ:
        cut = text[:MAX_READ]
        text = cut.rpartition(" ")[0] or cut  # no number is cut in two
    return mask(text)
