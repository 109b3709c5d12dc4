"""Logs that follow one invoice from webhook to note and hold no personal data: only named fields pass.

To add a field of the log: ``ALLOWED``, after asking whether it can ever hold a person's data. An event is a row of
``docs/runbook.md``.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TextIO

import orjson
import structlog

# Field names whose values are ours: counts, ids that we made, names of classes, technical addresses. Anything else is
# dropped, so that a new field must be thought about before it can be read in a log.
ALLOWED = frozenset(
    {
        "address", "attached", "attempt", "canal", "code", "component", "copies", "correlacao", "correlacoes",
        "count", "duration_ms", "emissao_id", "epoch", "erro", "error", "estado", "event", "evento", "exception",
        "formato", "home", "id_integracao", "ids", "intent", "job", "kind", "lane", "lanes", "latency_ms", "level",
        "logger", "method", "motivo", "novas", "onde", "operation", "origem", "outage", "outbox_id", "owner",
        "path", "pid", "port", "postgres_port", "quantos", "reason", "resultado", "revisao", "row_id", "rows",
        "seconds", "server", "sessao_id", "slot", "status", "tentativas", "timestamp", "tipo", "tries",
        "valkey_port", "version", "waited_seconds",
    }
)  # fmt: skip
# Even in allowed fields: anything that looks like a phone, CPF, CNPJ, e-mail or wamid (it holds the phone in base64).
# Between digits and groups stands anything that people write there, full-width signs included.
_BETWEEN = r"[\s.()/\-_*·•\\‐‑‒–—−．／－＿＊（）]"
# A CNPJ has letters too (IN RFB 2.229/2024): fourteen characters, the last two of them digits.
_SIGN = r"[^\W_]"  # a letter or a digit
CNPJ_SHAPE = rf"(?<!{_SIGN})" + f"{_BETWEEN}?".join(
    [rf"{_SIGN}{{{n}}}" for n in (2, 3, 3, 4)] + [rf"\d{{2}}(?!{_SIGN})"]
)
PERSONAL = re.compile(
    r"wamid\.\S+"
    r"|[\w.+-]{1,64}[@＠][\w-]{1,255}[.．][\w.]{1,255}"
    rf"|{CNPJ_SHAPE}"
    rf"|\+?\d(?:{_BETWEEN}{{0,3}}+\d){{9,}}+"
)
MASK = "•••"
# Addresses that are themselves secrets: whoever has one may use it.
SECRET_PATH = re.compile(r"(?:(?<=certificado/)|(?<=descadastro/)|(?<=fechamento/))[^\s/?#\"'<>]+")
_FREE = frozenset(
    {"timestamp", "correlacao", "correlacoes", "sessao_id", "id_integracao", "slot"}
)  # our own, never masked


def _allowlist(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {key: value if key in _FREE else _masked(value) for key, value in event.items() if key in ALLOWED}


def _masked(value: Any) -> Any:
    match value:
        case str():
            return value if value.replace("_", "").isalpha() else _hidden(value)  # a word hides nobody
        case dict():
            return {key: _masked(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_masked(inner) for inner in value]
        case _:
            return value


def _hidden(text: str) -> str:
    return PERSONAL.sub(MASK, SECRET_PATH.sub(MASK, text))


def _frames_only(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Say where it happened and of what kind, never an exception's own words: they may quote a person."""
    info = event.pop("exc_info", None)
    error = sys.exc_info()[1] if info is True else info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)
        where = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        event["exception"] = f"{type(error).__name__} at {where}"
    return event


class _Pen:
    """Writes finished lines of one logger, each at once."""

    out: ClassVar[TextIO | None] = None  # standard error

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, line: str) -> None:
        """Write a line; one call, so that the lines of two threads don't mix. One that cannot be written is lost."""
        with suppress(OSError):  # the disk is full, the terminal was closed: no reason to stop working
            (self.out or sys.stderr).write(line + "\n")

    debug = info = warning = error = critical = exception = write


_names = structlog.stdlib.LoggerFactory(ignore_frame_names=[__name__])


def _pen(*args: Any) -> _Pen:
    return _Pen(_names(*args).name)  # without a name: that of the module that logs


def _json(event: Any, **options: Any) -> str:
    try:
        return orjson.dumps(event, default=options["default"], option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a character, or a huge number: a log must never be what fails
        return json.dumps(event, **options)


def configure(level: str, fmt: str, out: TextIO | None = None) -> None:
    """Send all logs, ours and the libraries', through the same steps to standard error, or to ``out``.

    Ours are written straight away: a webhook that is stored in 0.1 ms cannot afford a tour through ``logging``.
    """
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _frames_only,
    ]
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer(serializer=_json)
        if fmt == "json"
        else structlog.dev.ConsoleRenderer(colors=(out or sys.stderr).isatty())
    )
    _Pen.out = out
    structlog.configure(
        processors=[*shared, _allowlist, renderer],
        logger_factory=_pen,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(out or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _allowlist, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpcore", "apscheduler", "aiohttp.access"):  # they write addresses with numbers in them
        logging.getLogger(noisy).setLevel(logging.WARNING)
