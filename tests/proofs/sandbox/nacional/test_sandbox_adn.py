"""What the simulated ADN says of cities, and how it distributes documents."""

from __future__ import annotations

import ssl
from decimal import Decimal

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.certificate.connections import client_context
from gateway.nacional.note import read
from gateway.nacional.signature import unpack
from proofs.sandbox.nacional.adn import AdnSimulator
from proofs.sandbox.nacional.register import City
from proofs.sandbox.nacional.sefin import NacionalConfig
from tests.proofs.sandbox.nacional.nacional_company import ANA, LETTERS, PADARIA, invoice, opened


def client(adn: AdnSimulator, cnpj: str = ANA) -> httpx.AsyncClient:
    """A company's client of the ADN."""
    made = adn.authority.company(cnpj)
    chain = made.certificate.public_bytes(Encoding.PEM)
    context = client_context(made.key_pem, chain, also_trusted=adn.authority.ca_file)
    return httpx.AsyncClient(base_url=adn.url, verify=context)


async def test_without_a_certificate_the_connection_ends(adn) -> None:
    """The real one ends the handshake; here the connection is cut."""
    context = ssl.create_default_context(cafile=adn.authority.ca_file)
    async with httpx.AsyncClient(base_url=adn.url, verify=context) as nobody:
        with pytest.raises(httpx.TransportError):
            await nobody.get("/parametrizacao/3550308/convenio")


async def test_a_city_has_agreed_unless_the_table_says_otherwise(authority) -> None:
    """Adherent by default; an exception in the table is told, an unknown city is a 404."""
    cities = {"3304557": City(issues=False), "3106200": City(registered=False)}
    config = NacionalConfig(cities=cities)
    async with opened(authority, config) as company, AdnSimulator(company.sefin) as adn, client(adn) as http:
        agreed = (await http.get("/parametrizacao/3550308/convenio")).json()["parametrosConvenio"]
        other = (await http.get("/parametrizacao/3304557/convenio")).json()["parametrosConvenio"]
        unknown = await http.get("/parametrizacao/3106200/convenio")
    assert (agreed["aderenteAmbienteNacional"], agreed["aderenteEmissorNacional"]) == (1, 1)
    assert (other["aderenteEmissorNacional"], unknown.status_code) == (0, 404)


async def test_the_rate_of_a_service(adn) -> None:
    """Nine digits with or without dots; a shorter code is refused as the real one does."""
    async with client(adn) as http:
        found = (await http.get("/parametrizacao/3550308/010101000/2026-11-01/aliquota")).json()["aliquotas"]
        dotted = (await http.get("/parametrizacao/3550308/01.01.01.000/2026-11-01/aliquota")).json()["aliquotas"]
        short = await http.get("/parametrizacao/3550308/010101/2026-11-01/aliquota")
    assert found == dotted
    assert found["01.01.01.000"][0]["Aliq"] == 2
    assert (short.status_code, short.json()["aliquotas"]) == (400, None)


async def test_distribution_brings_what_others_did(ana, adn) -> None:
    """Notes and cancellations of API and portal in the order of their NSU, to issuer and customer, to nobody else."""
    first = (await ana.issue())["chaveAcesso"]
    web = ana.sefin.issue_elsewhere(ANA, tomador=PADARIA, valor=Decimal("99.90"))
    ana.sefin.cancel_elsewhere(first)
    async with client(adn) as http, client(adn, PADARIA) as customer, client(adn, LETTERS) as stranger:
        lot = (await http.get("/contribuintes/DFe/0")).json()
        rows = lot["LoteDFe"]
        rest = (await http.get(f"/contribuintes/DFe/{rows[0]['NSU']}?lote=true&cnpjConsulta={ANA}")).json()["LoteDFe"]
        exact = (await http.get(f"/contribuintes/DFe/{rows[1]['NSU']}?lote=false")).json()["LoteDFe"]
        end = await http.get(f"/contribuintes/DFe/{rows[-1]['NSU']}")
        theirs = (await customer.get("/contribuintes/DFe/0")).json()["LoteDFe"]
        nothing = await stranger.get("/contribuintes/DFe/0")
        refused = await stranger.get(f"/contribuintes/DFe/0?cnpjConsulta={ANA}")
        events = (await http.get(f"/contribuintes/NFSe/{first}/Eventos")).json()["LoteDFe"]
    assert lot["StatusProcessamento"] == "DOCUMENTOS_LOCALIZADOS"
    assert [(row["TipoDocumento"], row["TipoEvento"], row["ChaveAcesso"]) for row in rows] == [
        ("NFSE", None, first),
        ("NFSE", None, web.chave),
        ("EVENTO", "CANCELAMENTO", first),
    ]
    assert (rest, exact, theirs, events) == (rows[1:], rows[1:2], rows, rows[2:])
    assert (end.status_code, end.json()["StatusProcessamento"]) == (404, "NENHUM_DOCUMENTO_LOCALIZADO")
    assert (nothing.status_code, refused.json()["StatusProcessamento"]) == (404, "REJEICAO")
    note = read(unpack(rows[1]["ArquivoXml"]))
    assert note is not None
    assert (note.nota.valor, note.c_int_contrib) == (Decimal("99.90"), None)


async def test_a_lot_has_an_end(authority) -> None:
    """No more documents than a page holds; the next lot begins after the last of them."""
    async with opened(authority, NacionalConfig(page=2)) as company, AdnSimulator(company.sefin) as adn:
        for numero in (1, 2, 3):
            await company.issue(invoice(numero))
        async with client(adn) as http:
            rows = (await http.get("/contribuintes/DFe/0")).json()["LoteDFe"]
            more = (await http.get(f"/contribuintes/DFe/{rows[-1]['NSU']}")).json()["LoteDFe"]
    assert (len(rows), len(more)) == (2, 1)


async def test_the_page_is_suspended(adn) -> None:
    """NT 008: no DANFSe comes from the ADN."""
    async with client(adn) as http:
        assert (await http.get("/danfse/1")).status_code == 503
