from __future__ import annotations

import json
import logging
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from telemetry.logs import _FREE, ALLOWED, configure

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGITS = st.integers(0, 9).map(str)


def _number(*groups: int, separators: tuple[str, ...]) -> st.SearchStrategy[str]:
    parts = [st.lists(DIGITS, min_size=size, max_size=size).map("".join) for size in groups]
    marks = [st.sampled_from(("", mark)) for mark in separators]
    return st.tuples(*parts, *marks).map(
        lambda drawn: "".join(a + b for a, b in zip(drawn, (*drawn[len(groups) :], ""), strict=False))
    )


PHONES = _number(2, 2, 5, 4, separators=(" ", ") ", "-")).map(lambda digits: f"+{digits}")
CPFS = _number(3, 3, 3, 2, separators=(".", ".", "-"))
CNPJS = _number(2, 3, 3, 4, 2, separators=(".", ".", "/", "-"))
LETTERED = st.from_regex(r"[0-9A-Z]{2}\.[0-9A-Z]{3}\.[0-9A-Z]{3}/[0-9A-Z]{4}-[0-9]{2}", fullmatch=True)
BARE = st.from_regex(r"[0-9A-Z]{12}[0-9]{2}", fullmatch=True)
E_MAILS = st.from_regex(r"[a-z0-9._+-]{1,20}@[a-z0-9-]{1,12}\.(com|com\.br)", fullmatch=True)
WAMIDS = st.from_regex(r"wamid\.[A-Za-z0-9+/]{20,60}=*", fullmatch=True)
ODD = _number(3, 3, 3, 2, separators=("*", "*", "-")) | _number(2, 5, 4, separators=("_", "_"))
WIDE = st.one_of(PHONES, CPFS, CNPJS, BARE).map(lambda text: text.translate(str.maketrans(
    "0123456789./-+", "０１２３４５６７８９．／－＋"
)))  # fmt: skip
PERSONAL = st.one_of(
    ODD, WIDE, PHONES, CPFS, CNPJS, LETTERED, BARE, LETTERED.map(str.lower), BARE.map(str.lower), E_MAILS, WAMIDS
)
MASKED = sorted(ALLOWED - _FREE)


@pytest.fixture(scope="module", autouse=True)
def _pipeline() -> Iterator[None]:
    """The production pipeline; afterwards the tests' own again."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure("INFO", "json")
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def written(**fields: object) -> str:
    """Return the line that the pipeline writes for an event with these fields."""
    with redirect_stderr(StringIO()) as paper:
        event = fields.pop("event", "something")
        structlog.get_logger("tests").info(event, **fields)
    [line] = paper.getvalue().splitlines()
    return line


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PERSONAL, st.sampled_from(("{}", "to {}", "({})", "de {}, hoje", "x={};", '"{}"')))
def test_no_personal_string_survives_any_field(personal: str, around: str) -> None:
    """Phones, CPFs, CNPJs, e-mails and wamids are masked in every field that may be logged, alone or within words."""
    text = around.format(personal)
    names = [name for name in MASKED if name not in {"level", "logger", "event"}]
    assert personal not in written(event=text, **dict.fromkeys(names, text))
    assert personal not in written(event="nested", **{name: [text, {"k": (text,)}] for name in names})


@settings(max_examples=50, deadline=None)
@given(st.text(min_size=1))
def test_a_field_that_nobody_thought_about_is_dropped(value: str) -> None:
    """Only named fields pass, whatever they hold."""
    line = json.loads(written(mensagem=value, texto=value, nome=value, telefone=value))
    assert not {"mensagem", "texto", "nome", "telefone"} & line.keys()


def test_an_exceptions_words_stay_out() -> None:
    """A traceback tells where and of what kind; an exception's own text may quote a person."""
    try:
        int("a nota da Maria, cpf 529.982.247-25")
    except ValueError as error:
        line = written(event="broken", exc_info=error)
    assert "Maria" not in line
    assert "529.982" not in line
    assert "ValueError" in line
    assert "test_logs.py" in line


def test_our_own_ids_stay_readable() -> None:
    """What follows an invoice from webhook to note is never masked."""
    ours = {"sessao_id": "211126-12345678", "id_integracao": "211126-12345678-r12-1", "correlacao": "123456789012"}
    line = json.loads(written(**ours, estado="aprovado", latency_ms=12))
    assert {name: line[name] for name in ours} == ours
    assert (line["estado"], line["latency_ms"], line["level"]) == ("aprovado", 12, "info")
    assert "timestamp" in line


def test_a_librarys_log_passes_the_same_steps() -> None:
    """What others write through ``logging`` is masked like ours, and has the same shape."""
    root = logging.getLogger()
    [theirs] = [h for h in root.handlers if isinstance(h.formatter, structlog.stdlib.ProcessorFormatter)]
    record = logging.LogRecord("aiohttp.server", logging.WARNING, "x.py", 1, "from %s", ("+55 11 98765-4321",), None)
    line = json.loads(theirs.format(record))
    assert line["event"] == "from •••"
    assert (line["level"], line["logger"]) == ("warning", "aiohttp.server")


def test_a_logger_without_a_name_is_called_after_its_module() -> None:
    """Who reads a line knows which module wrote it."""
    with redirect_stderr(StringIO()) as paper:
        structlog.get_logger().warning("unnamed")
    assert json.loads(paper.getvalue())["logger"] == __name__


def test_logs_may_go_elsewhere() -> None:
    """Ours and a library's go to the given file, those of a logger that wrote before too; a terminal sees none."""
    known, out, handlers = structlog.get_logger("known"), StringIO(), logging.getLogger().handlers[:]
    with redirect_stderr(StringIO()) as terminal:
        known.warning("before")
        configure("INFO", "json", out)
        try:
            known.warning("ours")
            logging.getLogger("library").warning("theirs")
        finally:
            configure("INFO", "json")
            logging.getLogger().handlers[:] = handlers
    assert [json.loads(line)["event"] for line in terminal.getvalue().splitlines()] == ["before"]
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == ["ours", "theirs"]


@pytest.mark.parametrize("odd", ["\ud83d", 2**70, object(), {1: b"x"}])
def test_no_value_makes_a_log_fail(odd: object) -> None:
    """Half a character, a huge number or any object: the line is written all the same."""
    assert json.loads(written(motivo=odd))["event"] == "something"


@pytest.mark.parametrize(
    "value", ["/certificado/{}", "GET https://x.com.br/p/certificado/{}?a=1", "'/certificado/{}'", "/descadastro/{}"]
)
def test_an_address_that_is_a_secret_is_masked(value: str) -> None:
    """In every field, and in the lines of libraries."""
    token = "x_-" + "aB3" * 13 + "Z"
    for line in (written(path=value.format(token)), written(event=value.format(token), erro=[value.format(token)])):
        assert token not in line
        assert "certificado/•••" in line or "descadastro/•••" in line
