"""The CNPJ register helps and never stands in the way."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gateway.register import CNPJRegister, CompanyEntry, NotFound, Unavailable
from state_machine.documents import Endereco
from tests.patience import PATIENCE

CNPJ = "33683111000280"
FULL: dict[str, Any] = {
    "cnpj": CNPJ,
    "razao_social": "SERVICO FEDERAL DE PROCESSAMENTO DE DADOS (SERPRO)",
    "nome_fantasia": "REGIONAL BRASILIA-DF",
    "descricao_situacao_cadastral": "ATIVA",
    "descricao_tipo_de_logradouro": "AVENIDA",
    "logradouro": "L2 SGAN 601",
    "numero": "MODULO G",
    "complemento": "",
    "bairro": "ASA NORTE",
    "municipio": "BRASILIA",
    "codigo_municipio": 9701,
    "codigo_municipio_ibge": 5300108,
    "uf": "DF",
    "cep": "70836900",
    "email": "Contato@Serpro.Example",
    "capital_social": 1061004829.23,
    "qsa": None,
    "opcao_pelo_mei": None,
}
ENDERECO = Endereco("AVENIDA L2 SGAN 601", "MODULO G", "ASA NORTE", "5300108", "BRASILIA", "DF", "70836900")


async def lookup(server, free, cnpj=CNPJ):
    async with CNPJRegister(server.url, guard=free) as register:
        return await register.lookup(cnpj)


async def test_a_company_is_read_with_its_address(server, free):
    """The IBGE code is taken, never the tax office's own; the whole answer is kept."""
    server.says(200, FULL)
    assert await lookup(server, free) == CompanyEntry(
        cnpj=CNPJ,
        razao_social=FULL["razao_social"],
        nome_fantasia="REGIONAL BRASILIA-DF",
        situacao="ATIVA",
        endereco=ENDERECO,
        email="contato@serpro.example",
        raw=FULL,
    )
    assert server.received[0].path == f"/api/cnpj/v1/{CNPJ}"


async def test_everything_but_the_name_may_be_missing(server, free):
    """Nulls are everywhere in the register."""
    server.says(200, {**dict.fromkeys(FULL), "razao_social": "ANA"})
    found = await lookup(server, free)
    assert isinstance(found, CompanyEntry)
    assert (found.endereco, found.email, found.situacao, found.nome_fantasia) == (None, None, None, None)


@pytest.mark.parametrize(
    ("change", "endereco"),
    [
        ({"numero": None}, "S/N"),
        ({"cep": 70836900}, "MODULO G"),
        ({"cep": "70.836-900"}, "MODULO G"),
        ({"bairro": ""}, None),
        ({"codigo_municipio_ibge": None}, None),
        ({"codigo_municipio_ibge": 9701}, None),
        ({"cep": None}, None),
        ({"logradouro": None}, None),
    ],
)
async def test_an_address_is_whole_or_none(server, free, change, endereco):
    """Only the house number may be missing; half an address would have the note rejected."""
    server.says(200, FULL | change)
    found = await lookup(server, free)
    assert isinstance(found, CompanyEntry)
    assert (found.endereco.numero if found.endereco else None) == endereco


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (404, {"message": "CNPJ não encontrado.", "type": "not_found", "name": "NotFoundError"}, NotFound),
        (400, {"message": "CNPJ inválido.", "type": "bad_request"}, NotFound),
        (404, "<html>not here</html>", Unavailable),
        (404, {}, Unavailable),
        (429, {"message": "too many"}, Unavailable),
        (500, {"message": "upstream"}, Unavailable),
        (200, {}, Unavailable),
        (200, [], Unavailable),
        (200, b"{", Unavailable),
        (200, {"razao_social": "OUTRA", "cnpj": "11222333000181"}, Unavailable),
        (302, b"", Unavailable),
    ],
)
async def test_no_answer_of_the_register_is_an_error(server, free, status, body, expected):
    """Not found only when it says so; anything strange is "unavailable"."""
    server.says(status, body)
    assert isinstance(await lookup(server, free), expected)


@pytest.mark.parametrize("fault", ["hang", "reset", "truncate", "drip"])
async def test_a_broken_register_costs_no_more_than_its_deadline(faulty, free, fault):
    """The person gets the summary without the name."""
    started = time.monotonic()
    async with CNPJRegister(await faulty(fault), guard=free, timeout=0.4) as register:
        assert isinstance(await register.lookup(CNPJ), Unavailable)
    assert time.monotonic() - started < PATIENCE / 2  # none of the faults ends by itself before that


async def test_only_a_cnpj_is_asked_for(server, free):
    """A CPF or an address never becomes a path at somebody else's server; an alphanumeric CNPJ does."""
    server.says(404, {"message": "x"})
    for other in ("12345678909", "", "../../etc/passwd", "33.683.111/0002-80", "12abc34501de35"):
        assert await lookup(server, free, other) == NotFound()
    assert server.received == []
    await lookup(server, free, "12ABC34501DE35")
    assert server.received[0].path == "/api/cnpj/v1/12ABC34501DE35"


async def test_the_address_may_be_configured_with_its_path(server, free):
    """Both spellings of the setting lead to the same place."""
    server.says(200, FULL)
    async with CNPJRegister(f"{server.url}/api/cnpj/v1/", guard=free) as register:
        assert isinstance(await register.lookup(CNPJ), CompanyEntry)
    assert server.received[0].path == f"/api/cnpj/v1/{CNPJ}"


async def test_a_long_entry_is_not_read(server, free):
    """Nothing beyond 64 kB reaches the reader of JSON."""
    server.says(200, {**FULL, "nome_fantasia": "\u0301" * 30_000})
    assert isinstance(await lookup(server, free), Unavailable)


async def test_a_text_of_an_entry_is_cut(server, free):
    """No text from outside is longer than 4,000 characters."""
    server.says(200, {**FULL, "razao_social": "x" * 20_000})
    found = await lookup(server, free)
    assert isinstance(found, CompanyEntry)
    assert len(found.razao_social) == 4000
