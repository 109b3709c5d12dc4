"""Every field and header malformed, oversized or of another type: a problem document, and nothing is stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from webhooks.api.problems import MOST
from webhooks.bodies import SMALL

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

ANA = {"nome": "Ana", "email": "ana@exemplo.com.br"}
WRONG_TYPES: tuple[Any, ...] = (None, 1, 1.5, True, [], ["x"], {}, {"x": "y"})


@pytest.mark.parametrize("key", [None, "", " ", "a b", "x" * 256, "x" * 4000, "ação"])
async def test_a_key_that_is_missing_or_wrong_stores_nothing(erp: Erp, key: str | None) -> None:
    """It is required, and what is no key is not taken for one."""
    answer = await erp.post("/clientes", ANA, key)
    assert (answer.status, answer.codigo) == (400, "chave_obrigatoria" if key is None else "chave_invalida")
    assert await erp.stored() == (0, 0)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"nome=Ana", b"\xff\xfe", b"\x00", b'{"nome": "Ana" "email"}', b'{"x": NaN}', b"[" * 10_000, b"'a'"],
)
async def test_what_is_no_json_stores_nothing(erp: Erp, raw: bytes) -> None:
    """Of whatever shape and depth."""
    answer = await erp.post("/clientes", raw)
    assert (answer.status, answer.codigo) == (400, "json_invalido")
    assert await erp.stored() == (0, 0)


@pytest.mark.parametrize("value", WRONG_TYPES)
async def test_a_body_that_is_no_object_of_ours_stores_nothing(erp: Erp, value: Any) -> None:
    """A list, a number, an object with other fields."""
    answer = await erp.post("/clientes", json.dumps(value).encode())
    assert (answer.status, answer.codigo) == (422, "corpo_invalido")
    assert await erp.stored() == (0, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("nome", value) for value in WRONG_TYPES),
        *(("email", value) for value in WRONG_TYPES),
        *(("documento", value) for value in WRONG_TYPES if value is not None),
        *(("nome", value) for value in ("", "   ", "x" * 256, "a\x00b", "a\nb", "a\ud800")),
        *(("email", value) for value in ("", "ana", "a@b", "a @b.co", "a@b.co\n", "a@" + "b" * 260 + ".co")),
        *(("documento", value) for value in ("", "1", "123.456.789-00", "11111111111", "x" * 300)),
    ],
)
async def test_a_clients_field_that_is_wrong_is_pointed_at(erp: Erp, name: str, value: Any) -> None:
    """One field is wrong: one error says where."""
    answer = await erp.post("/clientes", {**ANA, name: value})
    assert (answer.status, answer.codigo) == (422, "corpo_invalido")
    assert [erro["ponteiro"] for erro in answer.body["erros"]] == [f"/{name}"]
    assert await erp.stored() == (0, 0)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        *(("cliente_id", raw) for raw in ('"1"', "1.0", "true", "null", "0", "-1", "[]", "9223372036854775808", "1e2")),
        *(("valor", raw) for raw in ("true", "null", "[]", "{}", '""', '"x"', '"1,50"', '"1e2"', '" 1"', '"-1"')),
        *(
            ("valor", raw)
            for raw in ("0", "0.00", "-0.01", "-1", "1500.001", "1500.000", "10000000000", "1e400", "1e99")
        ),
        *(("valor", raw) for raw in ('"0"', '"0.00"', '"1.234"', '"10000000000.00"', '"１５"')),
        *(("descricao", raw) for raw in ("1", "[]", '""', '"ab"', '"a\\u0000bc"', f'"{"x" * 2001}"')),
        *(("competencia", raw) for raw in ("202611", "[]", '""', '"2026-13"', '"2026-1"', '"2026-11-01"', '"11/2026"')),
    ],
)
async def test_a_proposals_field_that_is_wrong_is_pointed_at(erp: Erp, name: str, raw: str) -> None:
    """Numbers are read as they are written: nothing is rounded, nothing guessed."""
    cliente = await erp.client()
    fields = {"cliente_id": str(cliente), "valor": "1500.00", name: raw}
    sent = "{" + ", ".join(f'"{field}": {value}' for field, value in fields.items()) + "}"
    answer = await erp.post("/propostas", sent.encode())
    assert (answer.status, answer.codigo) == (422, "corpo_invalido")
    assert [erro["ponteiro"] for erro in answer.body["erros"]] == [f"/{name}"]
    assert await erp.count("propostas") == 0


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("1500", "1500.00"),
        ("1500.00", "1500.00"),
        ("1500.5", "1500.50"),
        ("1.5e3", "1500.00"),
        ('"1500"', "1500.00"),
        ('"0.01"', "0.01"),
        ("9999999999.99", "9999999999.99"),
        ("0.1", "0.10"),
        ("4503599627.37", "4503599627.37"),
    ],
)
async def test_an_amount_is_read_exactly(erp: Erp, raw: str, shown: str) -> None:
    """As a number or as text; a float would lose the last of these."""
    cliente = await erp.client()
    answer = await erp.post("/propostas", f'{{"cliente_id": {cliente}, "valor": {raw}}}'.encode())
    assert (answer.status, answer.body["valor"]) == (201, shown)


async def test_unknown_fields_are_refused(erp: Erp) -> None:
    """What nobody would read is not taken in silence; the pointer is escaped, and the list is bounded."""
    answer = await erp.post("/clientes", {**ANA, "a/b~c": 1})
    assert answer.codigo == "corpo_invalido"
    assert answer.body["erros"] == [{"ponteiro": "/a~1b~0c", "codigo": "desconhecido", "mensagem": "não existe"}]
    many = await erp.post("/clientes", {**ANA, **{f"x{number}": 1 for number in range(500)}})
    assert len(many.body["erros"]) == MOST
    assert await erp.stored() == (0, 0)


async def test_a_state_that_is_none_is_answered_with_those_that_are(erp: Erp) -> None:
    """Who mistypes it need not look it up."""
    answer = await erp.ask("GET", "/propostas?estado=xyz")
    [said] = answer.body["erros"]
    assert (answer.status, said["ponteiro"], said["codigo"]) == (422, "/estado", "invalido")
    assert said["mensagem"].startswith("serve um destes: rascunho, enviada, ")
    assert said["mensagem"].endswith(" ou cancelada")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_another_type_of_body_is_415(erp: Erp, kind: str) -> None:
    """What is not called JSON is not read."""
    answer = await erp.post("/clientes", b'{"nome": "Ana", "email": "a@b.co"}', headers={"Content-Type": kind})
    assert (answer.status, answer.codigo) == (415, "tipo_de_corpo")
    assert await erp.stored() == (0, 0)


async def test_a_body_beyond_its_bounds_is_refused(erp: Erp) -> None:
    """Too long, with a length or in chunks; or compressed, which may grow."""

    async def chunks() -> Any:
        for _ in range(SMALL // 1024 + 2):
            yield b" " * 1024

    for options in ({"data": b" " * (SMALL + 1)}, {"data": chunks()}):
        headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
        answer = await erp.ask("POST", "/clientes", headers=headers, **options)
        assert (answer.status, answer.codigo) == (413, "corpo_grande")
    answer = await erp.post("/clientes", b"{}", headers={"Content-Encoding": "gzip"})
    assert (answer.status, answer.codigo) == (415, "tipo_de_corpo")
    assert await erp.stored() == (0, 0)


async def test_two_of_a_header_are_refused(erp: Erp) -> None:
    """Nobody knows which one was meant."""
    for name, codigo in (
        ("Idempotency-Key", "chave_invalida"),
        ("Prosa-Empresa", "empresa_invalida"),
        ("Authorization", "nao_autenticado"),
    ):
        headers = CIMultiDict({"Authorization": f"Bearer {erp.ours}", "Idempotency-Key": "k"})
        headers.add(name, headers.get(name, "99000002000148"))
        if name == "Prosa-Empresa":
            headers.add(name, "99000002000148")
        async with erp.session.post(f"{erp.base}/api/v1/clientes", json=ANA, headers=headers) as answer:
            assert (await answer.json(content_type=None))["codigo"] == codigo
    assert await erp.stored() == (0, 0)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(["nome", "email", "documento", "cliente_id", "valor", "descricao", "competencia", "revisao"])
_BODIES = (
    st.binary(max_size=200)
    | _JSON.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(_NAMES | st.text(max_size=8), _JSON, max_size=8).map(lambda value: json.dumps(value).encode())
)
_DOORS = st.sampled_from(["/clientes", "/propostas", "/propostas/1/submeter", "/lotes/1/confirmar"])


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(door=_DOORS, body=_BODIES)
async def test_whatever_body_comes_is_answered_and_what_is_refused_is_not_kept(
    erp: Erp, door: str, body: bytes
) -> None:
    """Any bytes, any JSON, our own names with anything in them: never a fault of ours."""
    before = await erp.stored()
    answer = await erp.post(door, body)
    assert answer.status < 500
    assert answer.status == 201 or await erp.stored() == before


@pytest.mark.parametrize("day", ["20261120", "2026-W47-5", "2026-1-2", "2026-02-30", "", 20261120])
async def test_a_day_is_written_in_one_way(erp: Erp, day: Any) -> None:
    """As the description of the API has it."""
    place = {"cep": "01001000", "logradouro": "Rua", "numero": "1", "bairro": "Sé", "codigo_municipio": "3550308"}
    event = {"nome": "Feira", "inicio": day, "fim": "2099-12-31", "endereco": place}
    answer = await erp.post("/propostas", {"cliente_id": await erp.client(), "valor": 1, "evento": event}, "p")
    assert answer.codigo == "corpo_invalido"
    assert answer.body["erros"] == [{"ponteiro": "/evento/inicio", "codigo": "invalido", "mensagem": "não serve"}]
