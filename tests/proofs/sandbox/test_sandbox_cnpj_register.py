from __future__ import annotations

import httpx
import pytest
from stdnum.br import cnpj

from proofs.sandbox.cnpj_register import CnpjRegister, closed_companies, companies
from proofs.sandbox.faults import Fault


@pytest.fixture
async def register():
    async with CnpjRegister() as simulator:
        yield simulator


@pytest.fixture
async def api(register):
    async with httpx.AsyncClient(base_url=f"{register.url}/api/cnpj/v1") as client:
        yield client


async def test_knows_its_companies(register, api) -> None:
    """A known CNPJ is answered in BrasilAPI's shape, with or without letters."""
    company = (await api.get("/12345678000195")).json()
    assert company["razao_social"] == "PADARIA DO ZÉ LTDA"
    assert (company["codigo_municipio_ibge"], company["descricao_situacao_cadastral"]) == (3550308, "ATIVA")
    assert (await api.get("/12ABC34501DE35")).json()["uf"] == "DF"
    assert [record.data["found"] for record in register.ledger.of("lookup")] == [True, True]


async def test_refuses_as_brasil_api_does(api) -> None:
    """An unknown company is 404, a wrong number 400, both with BrasilAPI's message."""
    unknown = await api.get("/00000000000191")
    assert (unknown.status_code, unknown.json()["name"]) == (404, "NotFoundError")
    wrong = await api.get("/12345678000199")
    assert (wrong.status_code, wrong.json()["type"]) == (400, "bad_request")


async def test_may_know_every_company() -> None:
    """Where labelled documents are looked up, each right number is an active company; a wrong one stays wrong."""
    async with CnpjRegister(knows_all=True) as register, httpx.AsyncClient(base_url=register.url) as client:
        invented = await client.get("/api/cnpj/v1/00000000000191")
        assert (invented.status_code, invented.json()["cnpj"]) == (200, "00000000000191")
        assert invented.json()["descricao_situacao_cadastral"] == "ATIVA"
        known = await client.get("/api/cnpj/v1/12345678000195")
        assert known.json()["razao_social"] == "PADARIA DO ZÉ LTDA"
        assert (await client.get("/api/cnpj/v1/12345678000199")).status_code == 400


async def test_can_be_in_trouble(register, api) -> None:
    """The register fails on demand."""
    register.faults.set(Fault.ERROR_500, times=1)
    assert (await api.get("/12345678000195")).status_code == 500


def test_every_company_is_well_made() -> None:
    """Check digits hold, IBGE codes have their own check digit, and the special cases are there."""
    rows = companies()
    assert len(rows) >= 40
    assert all(cnpj.is_valid(document) for document in rows)
    assert sum(not document.isdigit() for document in rows) >= 4
    assert len(closed_companies()) >= 3
    assert max(len(row["razao_social"]) for row in rows.values()) > 150
    assert len({row["uf"] for row in rows.values()}) == 27
    for row in rows.values():
        code = str(row["codigo_municipio_ibge"])
        total = sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(code[:6]))
        assert int(code[6]) == -total % 10, row["municipio"]
