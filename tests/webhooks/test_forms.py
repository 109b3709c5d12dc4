"""The one reader of forms: known names, each once, and whatever else comes costs little and is 400."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from aiohttp import ClientSession, FormData, web
from aiohttp.test_utils import TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adversaries import PACKAGES
from webhooks.bodies import Bodies, read_form

ROOT = Path(__file__).parents[2]
FILE_MAX, REST = 1024 * 1024, 1024 * 1024
TYPE = {"Content-Type": "multipart/form-data; boundary=x"}


async def _answer(data: bytes | FormData, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Return status and text of a door that tells what it read."""

    async def handle(request: web.Request) -> web.Response:
        form = await read_form(request, Bodies(), ("senha",), file=FILE_MAX, rest=REST, seconds=10)
        return web.Response(text=repr((form.nome, len(form.content), form.fields)))

    app = web.Application()
    app.router.add_post("/", handle)
    async with (
        TestServer(app) as server,
        ClientSession() as session,
        session.post(server.make_url("/"), data=data, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


def _parts(*parts: bytes) -> bytes:
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"


def _field(name: bytes, value: bytes = b"v", more: bytes = b"") -> bytes:
    return b"Content-Disposition: form-data; name=" + name + more + b"\r\n\r\n" + value


async def test_a_form_is_read() -> None:
    """The file, its name, and the field as it was sent."""
    form = FormData(default_to_multipart=True)
    form.add_field("arquivo", b"abc", filename="a.csv")
    form.add_field("senha", "ção")
    assert await _answer(form) == (200, repr(("a.csv", 3, {"senha": "ção".encode()})))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nada disso",
        b"--x\r\nContent-Disposition: form-data",
        _parts(_field(b"outro")),
        _parts(_field(b"senha"), _field(b"senha")),
        _parts(_field(b"arquivo"), _field(b"arquivo")),
        _parts(b"\r\nv"),
        _parts(_field(b"_charset_", b"x" * 40)),
        _parts(_field(b"_charset_", b"\xff"), _field(b"senha")),
        _parts(_field(b'"senha\0"')),
        _parts(b"X: y\r\n" * 5000 + b"\r\nv"),
        _parts(b"X: " + b"y" * 20_000 + b"\r\n\r\nv"),
        _parts(_field(b'"' + b'\\"' * 3500 + b'"')),
        _parts(b"Content-Disposition: form-data; name*=unknown''senh%61\r\n\r\nv"),
        _parts(b"Content-Disposition: form-data; name*=utf-8''%ff\r\n\r\nv"),
        _parts(b"Content-Type: multipart/mixed; boundary=y\r\n\r\n--y--"),
        _parts(_field(b"senha", b"v", b"\r\nContent-Type: multipart/mixed")),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the library tells of names that it cannot read
async def test_what_is_no_form_of_ours_is_400(body: bytes) -> None:
    """Whatever the reader of forms says of a stranger's bytes, it is the stranger's fault."""
    assert (await _answer(body, TYPE))[0] == 400


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (_parts(_field(b"senha")), {"Content-Type": "text/plain"}, 415),
        (_parts(_field(b"senha")), TYPE | {"Content-Encoding": "gzip"}, 415),
        (_parts(_field(b"senha")), {"Content-Type": "multipart/form-data"}, 400),
        (_parts(_field(b"arquivo", b"x" * (FILE_MAX + 1), b"; filename=a")), TYPE, 413),
        (_parts(_field(b"senha", b"x" * (REST + 1))), TYPE, 413),
        (b"x" * (FILE_MAX + REST + 1), TYPE, 413),
    ],
)
async def test_other_bodies_are_refused(body: bytes, headers: dict[str, str], status: int) -> None:
    """What is no form, or too large in one of its parts."""
    assert (await _answer(body, headers))[0] == status


@pytest.mark.parametrize("name", [b"senha", b'""', b"outro", b"_charset_"])
async def test_many_parts_cost_little(name: bytes) -> None:
    """The second part that is none of ours ends the reading: 20,000 of them are no work."""
    body = _parts(*([_field(name, b"")] * 20_000))
    before = time.process_time()
    assert (await _answer(body, TYPE))[0] == 400
    assert time.process_time() - before < 1  # 6 s where each is read


_NAMES = st.sampled_from([b"senha", b"arquivo", b'"senha"', b"outro", b"", b"_charset_"]) | st.binary(max_size=12)
_HEADS = st.one_of(
    _NAMES.map(lambda name: b"Content-Disposition: form-data; name=" + name),
    st.binary(max_size=40),
    st.sampled_from([b"Content-Type: text/plain; charset=utf-16", b"Content-Transfer-Encoding: base64", b"X: y"]),
)
_BODIES = st.lists(st.tuples(st.lists(_HEADS, max_size=3), st.binary(max_size=200)), max_size=6).map(
    lambda parts: _parts(*(b"\r\n".join(heads) + b"\r\n\r\n" + content for heads, content in parts))
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.tuples(_BODIES, st.integers(0, 2000), st.booleans()).map(lambda each: each[0][: each[1]] if each[2] else each[0])
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
async def test_whatever_parts_come_the_answer_is_one_of_ours(body: bytes) -> None:
    """Two hundred bodies of any heads and contents, cut anywhere: a form, or the sender's fault."""
    assert (await _answer(body, TYPE))[0] in {200, 400, 413}


def test_there_is_one_reader_of_forms() -> None:
    """A lesson that is learnt at one door is learnt at all of them."""
    product = (path for package in sorted(set(PACKAGES) - {"proofs"}) for path in (ROOT / package).rglob("*.py"))
    found = [path for path in product if ".multipart()" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(ROOT)) for path in found] == ["webhooks/bodies.py"]
