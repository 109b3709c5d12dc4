"""That the simulated city stands: its door, its books, its faults. Its rules are asked about elsewhere."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx
import pytest
from lxml import etree

from proofs.sandbox.faults import Fault
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.paulistana.lotenfe import BASE, PaulistanaSimulator
from proofs.sandbox.paulistana.rps import Chave
from proofs.sandbox.paulistana.rules import PaulistanaConfig
from proofs.sandbox.world import World, WorldConfig
from tests.proofs.sandbox.paulistana.paulistana_company import ANA, CCM, Company, codes, opened

if TYPE_CHECKING:
    from pathlib import Path

FIRST = Chave(CCM, "PROSA", 1)


@pytest.mark.parametrize("binding", ["soap11", "soap12-header", "soap12-action"])
async def test_a_host_takes_the_one_binding_that_it_is_told(authority, binding: str) -> None:
    """The others end in an HTTP status, without an answer of the city's."""
    async with opened(authority, PaulistanaConfig(binding=binding)) as ana:
        found = {
            other: (await ana.post("ConsultaCNPJ", ana.cnpj(), binding=other)).status_code
            for other in ("soap11", "soap12-header", "soap12-action")
        }
    assert found.pop(binding) == 200
    assert set(found.values()) <= {415, 500}


@pytest.mark.parametrize("versao", [1, 2])
async def test_every_method_answers_in_the_schema_of_the_city(authority, versao: int) -> None:
    """A note is made, found by its RPS and in its period, and cancelled; each call stands in the books."""
    async with opened(authority, PaulistanaConfig(layout_2_since=None)) as ana:
        ana.versao = versao
        assert (await ana.asked("TesteEnvioLoteRPS", ana.teste())).findtext("Cabecalho/Sucesso") == "true"
        assert not ana.city.notes
        sent = await ana.asked("EnvioRPS", ana.envio())
        assert sent.findtext("ChaveNFeRPS/ChaveNFe/NumeroNFe") == "1"
        for operation, text in (("ConsultaNFe", ana.consulta()), ("ConsultaNFeEmitidas", ana.emitidas())):
            assert (await ana.asked(operation, text)).findtext("NFe/ChaveRPS/NumeroRPS") == "1"
        assert (await ana.asked("ConsultaCNPJ", ana.cnpj())).findtext("Detalhe/InscricaoMunicipal") == CCM
        assert (await ana.asked("CancelamentoNFe", ana.cancelamento())).findtext("Cabecalho/Sucesso") == "true"
        (note,) = ana.city.of_rps(FIRST)
        calls = [record.data["operation"] for record in ana.city.ledger.of("call")]
    assert (note.cancelled_by, note.by, note.versao) == ("ws", "ws", versao)
    assert (len(note.verificacao), note.chave_nacional is None) == (8, versao == 1)
    assert len(calls) == len(set(calls)) == 6


async def test_without_a_certificate_nothing_answers(ana) -> None:
    """No certificate is a 403 page."""
    context = ssl.create_default_context(cafile=ana.city.authority.ca_file)
    async with httpx.AsyncClient(base_url=ana.city.url, verify=context) as client:
        assert (await client.post(BASE)).status_code == 403
    assert ana.city.ledger.of("call")[-1].data["company"] is None


async def test_a_certificate_that_is_not_good_ends_the_connection(ana, tmp_path: Path) -> None:
    """Of another authority, or past its day: the client sees no answer."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    for made in (Authority(tmp_path).company(ANA), ana.city.authority.company(ANA, ends=yesterday)):
        async with Company(ana.city, made).http as http:
            with pytest.raises(httpx.TransportError):
                await http.post(BASE)


async def test_a_reopened_book_goes_on(authority, tmp_path: Path) -> None:
    """Notes, their ends and their marks are those of before, and the next number follows."""
    path = tmp_path / "paulistana.jsonl"
    ledger = Ledger(path)
    async with opened(authority, ledger=ledger) as ana:
        for numero in (1, 2):
            await ana.asked("EnvioRPS", ana.envio(numero))
        ana.city.mark(CCM, 1, "218")
        ana.city.cancel_elsewhere(CCM, 2)
        before = ana.city.notes
    ledger.close()
    again = Ledger(path)
    async with opened(authority, ledger=again) as ana:
        assert ana.city.notes == before
        sent = await ana.asked("EnvioRPS", ana.envio(3))
    again.close()
    assert sent.findtext("ChaveNFeRPS/ChaveNFe/NumeroNFe") == "3"


@pytest.mark.parametrize(
    "fault",
    [
        Fault.LOSE_ANSWER,
        Fault.ERROR_500_ACCEPTED,
        Fault.HTML_ACCEPTED,
        Fault.TRUNCATED,
        Fault.WRONG_ROOT,
        Fault.NO_NUMBER,
    ],
)
async def test_a_fault_after_the_note_strikes_once(ana, fault: Fault) -> None:
    """The note is made whatever arrives; the next order is answered as ever."""
    ana.city.faults.set(fault, times=1)
    told = True
    try:
        answer = await ana.post("EnvioRPS", ana.envio())
        inner = etree.fromstring(answer.content).findtext(".//{*}RetornoXML")
        told = b"RetornoEnvioRPS" in inner.encode() and b"NumeroNFe" in inner.encode()
    except (httpx.TransportError, etree.XMLSyntaxError, AttributeError):
        told = False
    assert not told
    assert len(ana.city.of_rps(FIRST)) == 1
    assert (await ana.asked("EnvioRPS", ana.envio(2))).findtext("ChaveNFeRPS/ChaveNFe/NumeroNFe") == "2"
    assert ana.city.faults.hits[fault] == 1


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.ERROR_500, Fault.UNAVAILABLE, Fault.HTML, Fault.TOO_MANY])
async def test_a_fault_before_the_note_makes_none(ana, fault: Fault) -> None:
    """What is not taken leaves nothing in the books; trouble of the service's own is a SOAP fault."""
    ana.city.faults.set(fault, times=1)
    try:
        answer = await ana.post("EnvioRPS", ana.envio())
        assert b"RetornoXML" not in answer.content
        if fault is Fault.ERROR_500:
            assert etree.fromstring(answer.content).find(".//{*}Fault") is not None
    except httpx.TransportError:
        assert fault is Fault.DROP_BEFORE
    assert not ana.city.notes
    await ana.asked("EnvioRPS", ana.envio())
    assert len(ana.city.notes) == 1


async def test_a_lag_hides_a_note_for_so_many_queries(ana) -> None:
    """The list of a period shows it all the while."""
    await ana.asked("EnvioRPS", ana.envio())
    ana.city.faults.set(Fault.READ_LAG, seconds=600, times=2)
    assert codes(await ana.asked("ConsultaNFe", ana.consulta())) == ["1106"]
    assert (await ana.asked("ConsultaNFeEmitidas", ana.emitidas())).find("NFe") is not None
    assert codes(await ana.asked("ConsultaNFe", ana.consulta())) == ["1106"]
    assert (await ana.asked("ConsultaNFe", ana.consulta())).find("NFe") is not None


async def test_the_site_has_its_switches(ana) -> None:
    """A note of the site, its end and a mark come over the admin pages; what they do not know is refused."""
    site = "/_sandbox/site/"
    made = await ana.http.post(f"{site}nfe", json={"ccm": CCM, "cnpj": ANA, "serie": "PROSA", "rps": 1})
    assert made.json() == {"numero": 1}
    told = {"ccm": CCM, "numero": 1}
    assert (await ana.http.post(f"{site}marcar", json={**told, "code": "338"})).status_code == 201
    assert (await ana.http.post(f"{site}marcar", json={**told, "code": "999"})).status_code == 400
    assert (await ana.http.post(f"{site}cancelar", json=told)).status_code == 201
    (note,) = ana.city.of_rps(FIRST)
    assert (note.by, note.mark, note.cancelled_by) == ("site", "338", "site")


async def test_a_world_opens_the_city_beside_the_others() -> None:
    """Its address and the authority's file are among the world's; without it neither is."""
    async with World(config=WorldConfig(paulistana=PaulistanaConfig())) as world:
        assert isinstance(world.simulators[-1], PaulistanaSimulator)
        assert world.urls.paulistana == f"{world.paulistana.url}{BASE}"
        company = Company(world.paulistana, world.authority.company(ANA))
        assert codes(await company.asked("ConsultaCNPJ", company.cnpj()), "Alerta") == ["1405"]
        await company.http.aclose()
        with pytest.raises(LookupError):
            _ = world.sefin
    with pytest.raises(LookupError):
        _ = World().paulistana
    assert "paulistana" not in World().urls.as_dict()
