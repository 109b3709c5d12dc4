"""Who may ask the API, and for which company."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from operations.api import make_key, revoke_key
from persistence.api.keys import SCOPES
from state_machine.protocol.channel import Ambiente
from tests.webhooks.api.conftest import OURS, THEIRS
from webhooks.api.app import ROUTES

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

PATHS = ("", "/", "/clientes", "/clientes/1", "/propostas", "/propostas/1", "/nada", "/clientes/../x", "/a%2Fb", "/%00")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_without_a_key_every_path_is_401(erp: Erp, method: str, path: str) -> None:
    """Whether something is there or not; the answer says how to show a key."""
    answer = await erp.ask(method, path, headers={"Authorization": ""})
    assert (answer.status, answer.codigo, answer.headers["WWW-Authenticate"]) == (401, "nao_autenticado", "Bearer")


@pytest.mark.parametrize(
    "said",
    [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer prosa_live_" + "a" * 43,
        "Bearer prosa_live_" + "ã" * 43,
        "Basic {key}",
        "{key}",
        "Bearer {key}x",
        "Bearer " + "x" * 4000,
    ],
)
async def test_what_is_no_key_opens_nothing(erp: Erp, said: str) -> None:
    """Of whatever shape and length."""
    answer = await erp.ask("GET", "/clientes/1", headers={"Authorization": said.replace("{key}", erp.ours)})
    assert (answer.status, answer.codigo) == (401, "nao_autenticado")


async def test_a_revoked_key_opens_nothing_at_once(erp: Erp) -> None:
    """The next request is refused already."""
    cliente = await erp.client()
    await revoke_key(erp.database, erp.ours[:19])
    assert (await erp.ask("GET", f"/clientes/{cliente}")).status == 401
    assert (await erp.post("/clientes", {"nome": "B", "email": "b@c.de"})).status == 401
    assert await erp.count() == 1


@pytest.mark.parametrize("kind", ["clientes", "propostas"])
async def test_what_is_another_companys_does_not_exist(erp: Erp, kind: str) -> None:
    """Not yours and not there look alike."""
    cliente = await erp.client()
    number = cliente
    if kind == "propostas":
        number = (await erp.post("/propostas", {"cliente_id": cliente, "valor": 1}, "p")).body["id"]
    assert (await erp.ask("GET", f"/{kind}/{number}")).body["id"] == number
    for path, chave in ((f"/{kind}/{number}", erp.theirs), (f"/{kind}/{number + 1}", erp.ours)):
        answer = await erp.ask("GET", path, chave=chave)
        assert (answer.status, answer.codigo) == (404, "nao_encontrado")


async def test_a_proposal_to_another_companys_client_is_refused(erp: Erp) -> None:
    """As one to a client that does not exist."""
    cliente = await erp.client()
    for number, chave in ((cliente, erp.theirs), (cliente + 1, erp.ours), (2**63 - 1, erp.ours)):
        answer = await erp.post("/propostas", {"cliente_id": number, "valor": 1}, chave=chave)
        assert (answer.status, answer.codigo) == (422, "corpo_invalido")
        assert answer.body["erros"][0]["ponteiro"] == "/cliente_id"
    assert await erp.count("propostas") == 0


async def test_a_key_of_several_companies_names_one(erp: Erp) -> None:
    """By its CNPJ, masked or bare; without it nothing is guessed."""
    body = {"nome": "Ana", "email": "ana@exemplo.com.br"}
    refused = await erp.post("/clientes", body, chave=erp.both)
    assert (refused.status, refused.codigo) == (400, "empresa_obrigatoria")
    for cnpj in (OURS.cnpj, "99000003000192"):
        made = await erp.post("/clientes", body, chave=erp.both, headers={"Prosa-Empresa": cnpj})
        assert made.status == 201
    assert (await erp.ask("GET", f"/clientes/{made.body['id']}", chave=erp.theirs)).status == 200
    assert await erp.count() == 2


@pytest.mark.parametrize(
    ("said", "status", "codigo"),
    [
        ("", 400, "empresa_invalida"),
        ("1", 400, "empresa_invalida"),
        ("99.000.002/0001-49", 400, "empresa_invalida"),
        ("x" * 4000, 400, "empresa_invalida"),
        ("12.345.678/0001-95", 404, "nao_encontrado"),
        (THEIRS.cnpj, 404, "nao_encontrado"),
    ],
)
async def test_a_company_that_the_key_has_not_is_not_seen(erp: Erp, said: str, status: int, codigo: str) -> None:
    """One that does not exist and one that is another's look alike."""
    answer = await erp.post("/clientes", {"nome": "Ana", "email": "a@b.co"}, headers={"Prosa-Empresa": said})
    assert (answer.status, answer.codigo) == (status, codigo)
    assert await erp.count() == 0


async def test_a_method_that_a_path_has_not_is_told_apart(erp: Erp) -> None:
    """405 with what there is; HEAD is answered where GET is."""
    answer = await erp.ask("DELETE", "/clientes")
    assert (answer.status, answer.codigo, answer.headers["Allow"]) == (405, "metodo_nao_permitido", "GET, POST")
    assert (await erp.ask("HEAD", f"/clientes/{await erp.client()}")).status == 200


@pytest.mark.parametrize(
    "path", ["", "/", "/nada", "/clientes/", "/clientes/x", "/clientes/-1", "/clientes/" + "9" * 30]
)
async def test_an_address_without_anything_is_404(erp: Erp, path: str) -> None:
    """What is no number names nothing; so does a number that is too large."""
    for asked in (path, "/clientes/" + "9" * 19):
        answer = await erp.ask("GET", asked)
        assert (answer.status, answer.codigo) == (404, "nao_encontrado")


@pytest.mark.parametrize(
    ("method", "path", "escopo"),
    [(method, path, route.escopo) for path, acts in ROUTES.items() for method, route in acts.items()],
)
async def test_a_route_is_for_keys_of_its_scope(erp: Erp, method: str, path: str, escopo: str) -> None:
    """Each names one; a key of all the others is told which it lacks, and nothing is done."""
    named = {"id": "1", "mes": "2026-13", "webhook": str(UUID(int=1)), "codigo": "B1"}
    place = r"\{(\w+):((?:[^{}]|\{[^{}]*\})*)\}"
    address = re.sub(place, lambda found: named.get(found[1]) or found[2].split("|")[0], path)
    (without,) = await make_key(erp.database, [OURS.cnpj], sorted(SCOPES - {escopo}), Ambiente.PRODUCAO)
    (with_it,) = await make_key(erp.database, [OURS.cnpj], [escopo], Ambiente.PRODUCAO)
    refused = await erp.ask(method, address, chave=without)
    assert (refused.status, refused.codigo) == (403, "escopo_insuficiente")
    assert escopo in refused.body["detail"]
    assert (await erp.ask(method, address, chave=with_it)).status != 403
    assert await erp.stored() == (0, 0)


async def test_each_scope_opens_something() -> None:
    """None is offered that no route asks for."""
    assert {route.escopo for acts in ROUTES.values() for route in acts.values()} == SCOPES


async def test_a_quoted_key_is_the_key(erp: Erp) -> None:
    """As the IETF's draft writes it: both are one request."""
    body = {"nome": "Ana", "email": "ana@exemplo.com.br"}
    made = [await erp.post("/clientes", body, key) for key in ('"abc"', "abc")]
    assert [answer.body["id"] for answer in made] == [made[0].body["id"]] * 2
    assert made[1].headers["Idempotency-Replayed"] == "true"


async def test_a_body_says_each_name_once(erp: Erp) -> None:
    """A proxy that reads the first and we who read the last would not mean the same amount."""
    cliente = await erp.client()
    raw = b'{"cliente_id": %d, "valor": "100.00", "valor": "1000.00"}' % cliente
    assert (await erp.post("/propostas", raw, "p")).codigo == "json_invalido"
    assert await erp.count("propostas") == 0


async def test_a_month_that_has_not_begun_is_refused(erp: Erp) -> None:
    """Nobody invoices the future."""
    cliente = await erp.client()
    refused = await erp.post("/propostas", {"cliente_id": cliente, "valor": 1, "competencia": "2099-12"}, "p")
    assert (refused.status, refused.body["erros"][0]["codigo"]) == (422, "competencia_invalida")
