"""The listing of a period, as the simulated gateway gives it and as anything on the way may spoil it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from gateway.http.wire import Answer
from gateway.plugnotas.adapter import PlugNotas, listing_of
from proofs.sandbox.faults import Fault
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig, PlugNotasSimulator
from state_machine.protocol.audit import Pagina
from state_machine.protocol.emission import CannotTell, Situacao

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from state_machine.documents import DocumentoServico
    from state_machine.protocol.emission import Nota
    from tests.gateway.conftest import Scripted

KEY = "sandbox-plugnotas-api-key"
DAYS = (date(2000, 1, 1), date(2100, 1, 1))
NOTE = {"id": "a1", "idIntegracao": "k1", "situacao": "CONCLUIDO", "numeroNfse": "7", "valorServico": 10}
ABSENT = {"error": {"message": "Não localizamos qualquer NFSe com os parâmetros informados"}}


@pytest.fixture
async def city() -> AsyncIterator[PlugNotasSimulator]:
    """A simulated gateway with small pages and a city that takes its time."""
    async with PlugNotasSimulator(PlugNotasConfig(page=2, processing=60)) as simulator:
        yield simulator


async def _make(
    city: PlugNotasSimulator, intent: DocumentoServico, free: Callable[[], None], *keys: str | None
) -> None:
    """Make notes through the API itself, as another program does."""
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        payload = httpx.Response(200, content=gateway.payload(intent)).json()[0]
    async with httpx.AsyncClient(base_url=city.url, headers={"x-api-key": KEY}) as api:
        for key in keys:
            named = {name: value for name, value in payload.items() if name != "idIntegracao"}
            answer = await api.post("/nfse", json=[named | ({"idIntegracao": key} if key else {})])
            answer.raise_for_status()


async def _all(gateway: PlugNotas, prestador: str) -> tuple[list[Nota], int]:
    notas: list[Nota] = []
    cursor, pages = None, 0
    while cursor is not None or pages == 0:
        page = await gateway.listing(prestador, *DAYS, cursor)
        assert isinstance(page, Pagina)
        notas += page.notas
        cursor, pages = page.seguinte, pages + 1
    return notas, pages


async def test_every_page_is_reached_by_its_cursor(city, free, intent) -> None:
    """Five notes in pages of two, each once and with its content; one that has no reference has an empty one."""
    await _make(city, intent, free, "k1", "k2", None, "k4", "k5")
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        notas, pages = await _all(gateway, intent.prestador.cnpj)
        assert ([nota.id_integracao for nota in notas], pages) == (["k1", "k2", "", "k4", "k5"], 3)
        assert {(nota.valor, nota.tomador, nota.situacao) for nota in notas} == {
            (intent.valor, intent.tomador.documento, Situacao.PROCESSANDO)
        }
        assert await gateway.listing("12345678000195", *DAYS) == Pagina((), None)
        assert await gateway.listing(intent.prestador.cnpj, DAYS[0], DAYS[0]) == Pagina((), None)
        assert await gateway.listing(intent.prestador.cnpj, *DAYS, "somebody else's") == CannotTell("HTTP 400")


async def test_the_question_is_the_documented_one(server: Scripted, free) -> None:
    """Path and names of the vendor's API; days as ISO dates; a cursor that is no plain word survives the address."""
    server.says(200, {"notas": [], "hashProximaPagina": None})
    async with PlugNotas(server.url, KEY, guard=free) as gateway:
        await gateway.listing("11222333000181", date(2026, 11, 20), date(2026, 11, 22), "a+b/c=&d")
    assert server.received[0].path == (
        "/nfse/consultar/periodo?cpfCnpj=11222333000181&dataInicial=2026-11-20&dataFinal=2026-11-22"
        "&hashProximaPagina=a%2Bb%2Fc%3D%26d"
    )


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.TOO_MANY, Fault.ERROR_500, Fault.HTML])
async def test_trouble_is_no_page(city, free, intent, fault) -> None:
    """Whatever goes wrong is an answer that tells nothing, and never an exception."""
    city.faults.set(fault, times=1)
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        found = await gateway.listing(intent.prestador.cnpj, *DAYS)
        assert isinstance(found, CannotTell)
        assert (found.retry_after is not None) == (fault is Fault.TOO_MANY)


@pytest.mark.parametrize("fault", ["hang", "reset", "truncate", "gibberish"])
async def test_a_broken_line_is_no_page(faulty, free, fault) -> None:
    """Half an answer is none."""
    async with PlugNotas(await faulty(fault), KEY, guard=free, query_timeout=0.3) as gateway:
        assert isinstance(await gateway.listing("11222333000181", *DAYS), CannotTell)


async def test_a_refused_token_is_no_page(city, free) -> None:
    """An empty list would mean that all our notes are lost."""
    async with PlugNotas(city.url, "wrong", guard=free) as gateway:
        assert await gateway.listing("11222333000181", *DAYS) == CannotTell("HTTP 401")


def _said(status: int, body: Any) -> Answer:
    return Answer(status, {}, httpx.Response(200, json=body).content)


@pytest.mark.parametrize("name", ["notas", "nfse", "nfses", "documents", "data"])
def test_the_list_may_have_several_names(name: str) -> None:
    """The vendor does not publish the page's shape."""
    page = listing_of(_said(200, {name: [NOTE], "hashProximaPagina": "h2"}))
    assert isinstance(page, Pagina)
    assert ([nota.numero for nota in page.notas], page.seguinte) == (["7"], "h2")


def test_a_bare_list_is_the_only_page() -> None:
    """And a "not found" that says so in the vendor's words is an empty one."""
    page = listing_of(_said(200, [NOTE]))
    assert isinstance(page, Pagina)
    assert (len(page.notas), page.seguinte) == (1, None)
    assert listing_of(_said(404, ABSENT)) == Pagina((), None)


@pytest.mark.parametrize(
    "answer",
    [
        _said(404, {"message": "no route"}),
        _said(200, {}),
        _said(200, "text"),
        _said(200, {"notas": [NOTE], "data": [NOTE]}),
        _said(200, {"notas": [NOTE, {"situacao": "CONCLUIDO"}]}),
        _said(200, {"notas": [NOTE], "hashProximaPagina": "x" * 600}),
        Answer(200, {}, b"<html>"),
    ],
)
def test_what_cannot_be_read_whole_is_no_page(answer: Answer) -> None:
    """One line that is no note spoils the page: what it lacks would look like a lost note."""
    assert isinstance(listing_of(answer), CannotTell)
