"""The register of CEPs says where one is, or nothing; a strange answer is none."""

from __future__ import annotations

import pytest

from gateway.register import CepEntry, CepRegister, NotFound, Unavailable
from proofs.sandbox.cep_register import place

CEP = "01310100"
ENTRY = CepEntry(CEP, "Avenida Paulista", "Bela Vista", "São Paulo", "SP", "3550308")
TOLD = place(CEP, {})

ANSWERS = {
    "whole": (200, TOLD, ENTRY),
    "a town's": (
        200,
        TOLD | {"logradouro": "", "bairro": None},
        CepEntry(CEP, "", "", "São Paulo", "SP", "3550308"),
    ),
    "parts that divide": (
        200,
        TOLD | {"logradouro": "Rua A, B - C"},
        CepEntry(CEP, "Rua A B C", "Bela Vista", "São Paulo", "SP", "3550308"),
    ),
    "unknown": (200, {"erro": "true"}, NotFound()),
    "unknown, as it was once said": (200, {"erro": True}, NotFound()),
    "malformed": (400, "<h3>Verifique a URL</h3>", NotFound()),
    "too many": (429, {}, Unavailable("HTTP 429")),
    "no JSON": (200, b"{", Unavailable("the answer is about another CEP")),
    "another CEP": (200, place("80020310", {}), Unavailable("the answer is about another CEP")),
    "no code": (200, TOLD | {"ibge": "355"}, Unavailable("the answer names no city")),
}


@pytest.mark.parametrize(("status", "body", "found"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_cep_is_a_place_or_nothing(server, free, status, body, found):
    """Only what names the city by its code is an answer, and only about the very CEP."""
    server.says(status, body)
    async with CepRegister(server.url, guard=free) as register:
        assert await register.lookup(CEP) == found
        assert await register.lookup("../../etc") == NotFound()
    assert [call.path for call in server.received] == [f"/ws/{CEP}/json/"]


async def test_nobody_there_is_no_error(free):
    """The person is told so, and asked again."""
    async with CepRegister("http://127.0.0.1:1", guard=free) as register:
        assert isinstance(await register.lookup(CEP), Unavailable)
