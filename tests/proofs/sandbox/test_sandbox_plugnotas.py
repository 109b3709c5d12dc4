from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from defusedxml.ElementTree import fromstring

from proofs.sandbox.courier import BULKY, Patience
from proofs.sandbox.faults import Fault
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.plugnotas.danfse import reais
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig, PlugNotasSimulator
from proofs.sandbox.plugnotas.rules import missing

if TYPE_CHECKING:
    from pathlib import Path

ISSUER = "11222333000181"
PADARIA = "12345678000195"
CLOSED = "98765432000198"
QUICK = Patience(first=0.01, factor=1, cap=0.01, attempts=4, lifetime=60)
CONFIG = PlugNotasConfig(processing=0.01, rendering=0, patience=QUICK, closed=frozenset({CLOSED}))


def note(key: str = "prosa-1-1", valor: Any = 1500.1, texto: str = "Consultoria", **changes: Any) -> dict[str, Any]:
    return {
        "idIntegracao": key,
        "emitente": {"tipo": 1, "codigoCidade": "3550308", "inscricaoMunicipal": "123"},
        "prestador": {"cpfCnpj": ISSUER, "razaoSocial": "ANA DESIGN ME"},
        "tomador": {"cpfCnpj": PADARIA, "razaoSocial": "PADARIA DO ZÉ LTDA"},
        "servico": [{"codigo": "171901", "discriminacao": texto, "valor": {"servico": valor}}],
        **changes,
    }


@pytest.fixture
async def gateway(listener):
    async with PlugNotasSimulator(CONFIG, webhook_url=listener.url) as simulator:
        yield simulator


@pytest.fixture
async def api(gateway):
    headers = {"x-api-key": CONFIG.api_key}
    async with httpx.AsyncClient(base_url=gateway.url, headers=headers) as client:
        yield client


async def settled(gateway: PlugNotasSimulator, count: int = 1) -> None:
    """Wait until the city has spoken of ``count`` notes."""
    await gateway.ledger.wait_for(lambda _: len(gateway.ledger.of("note.settled")) >= count)


async def test_a_note_is_taken_then_issued(gateway, api, listener) -> None:
    """The POST answers with protocol and id; a moment later the note has a number, a key, files and a webhook."""
    answer = await api.post("/nfse", json=[note()])
    assert answer.status_code == 200
    (document,) = answer.json()["documents"]
    assert (document["idIntegracao"], document["prestador"], len(document["id"])) == ("prosa-1-1", ISSUER, 24)
    await settled(gateway)
    (summary,) = (await api.get(f"/nfse/consultar/prosa-1-1/{ISSUER}")).json()
    assert (summary["situacao"], summary["numeroNfse"], summary["valorServico"]) == ("CONCLUIDO", "1", 1500.1)
    by_protocol = (await api.get(f"/nfse/consultar/{answer.json()['protocol']}")).json()
    assert by_protocol == [summary]
    full = (await api.get(f"/nfse/{document['id']}")).json()
    assert (full["status"], len(full["chave"])) == ("CONCLUIDO", 50)
    await listener.heard(1)
    hook = json.loads(listener.bodies[0])
    assert listener.headers[0]["X-Prosa-Secret"] == CONFIG.webhook_secret
    assert (hook["id"], hook["status"], hook["chave"]) == (document["id"], "CONCLUIDO", full["chave"])
    assert gateway.issued()[0].valor == Decimal("1500.10")


async def test_files_show_this_very_note(gateway, api) -> None:
    """PDF and XML are 202 while the note is not ready, then carry its values; both paths lead to them."""
    gateway.config = replace(CONFIG, rendering=3600.0)
    document = (await api.post("/nfse", json=[note()])).json()["documents"][0]
    waiting = await api.get(f"/nfse/pdf/{document['id']}")
    gateway.config = CONFIG
    assert (waiting.status_code, waiting.headers["content-type"].split(";")[0]) == (202, "application/json")
    await settled(gateway)
    pdf = await api.get(f"/nfse/pdf/prosa-1-1/{ISSUER}")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.content.startswith(b"%PDF-")
    xml = fromstring((await api.get(f"/nfse/xml/{document['id']}")).content)
    names = {"n": "http://www.sped.fazenda.gov.br/nfse"}
    assert xml.findtext(".//n:vServ", namespaces=names) == "1500.10"
    assert xml.findtext(".//n:toma/n:xNome", namespaces=names) == "PADARIA DO ZÉ LTDA"
    assert reais(Decimal("1234567.80")) == "R$ 1.234.567,80"


async def test_the_key_stays_bound_also_after_a_rejection(gateway, api) -> None:
    """A second POST under a key answers 409 with the standing note, rejected or not; another key is free."""
    await api.post("/nfse", json=[note(texto="REJEITAR isto")])
    await settled(gateway)
    again = await api.post("/nfse", json=[note()])
    assert again.status_code == 409
    data = again.json()["error"]["data"]
    assert data["new"] == {"idIntegracao": "prosa-1-1", "cnpj": ISSUER}
    assert data["current"]["situacao"] == "REJEITADO"
    assert json.loads(data["current"]["mensagem"])[0]["Codigo"] == "E0314"
    full = (await api.get(f"/nfse/{data['current']['id']}")).json()
    assert full["retorno"]["situacao"] == "REJEITADA"
    assert (await api.post("/nfse", json=[note("prosa-1-2")])).status_code == 200
    await settled(gateway, 2)
    assert [found.id_integracao for found in gateway.issued()] == ["prosa-1-2"]


async def test_rejects_a_closed_customer_and_by_switch(gateway, api) -> None:
    """A tomador who is BAIXADA is rejected by rule, and the next note by switch."""
    await api.post("/nfse", json=[note("a", tomador={"cpfCnpj": CLOSED, "razaoSocial": "FECHADA LTDA"})])
    gateway.faults.set(Fault.REJECT, times=1)
    await api.post("/nfse", json=[note("b")])
    await api.post("/nfse", json=[note("c")])
    await settled(gateway, 3)
    codes = {n.id_integracao: json.loads(n.mensagem)[0]["Codigo"] for n in gateway.notes.values() if not n.numero}
    assert codes == {"a": "E0190", "b": "E9902"}


def test_a_person_without_a_name_may_be_taken() -> None:
    """Scripts that know no names are not refused for it; whatever else is missing still is."""
    nameless = note(tomador={"cpfCnpj": "52998224725"})
    assert missing(nameless)
    assert not missing(nameless, nameless=True)
    assert missing(note(tomador={"cpfCnpj": "123"}), nameless=True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prestador": {"cpfCnpj": "11222333000182"}}, "prestador.cpfCnpj"),
        ({"tomador": {"cpfCnpj": "52998224725"}}, "tomador.razaoSocial"),
        ({"tomador": {"cpfCnpj": "123", "razaoSocial": "X"}}, "tomador.cpfCnpj"),
        ({"servico": []}, "servico"),
        ({"valor": 0}, "servico[0].valor.servico"),
        ({"valor": 10.001}, "servico[0].valor.servico"),
        ({"texto": " "}, "servico[0].discriminacao"),
        ({"servico": [{"codigo": "14.10", "discriminacao": "x", "valor": {"servico": 1}}]}, "servico[0].codigo"),
    ],
)
async def test_names_the_fields_that_are_wrong(gateway, api, changes, field) -> None:
    """A bad note is refused with 400 and the path of the field; nothing is created."""
    answer = await api.post("/nfse", json=[note(**changes)])
    assert answer.status_code == 400
    assert list(answer.json()["error"]["data"]["fields"]) == [field]
    assert gateway.notes == {}


async def test_strangers_and_unknown_notes(gateway, api) -> None:
    """A wrong key is 401; what is not there is 404 in PlugNotas' words."""
    assert (await api.post("/nfse", json=[note()], headers={"x-api-key": "no"})).status_code == 401
    absent = await api.get(f"/nfse/consultar/nada/{ISSUER}")
    assert absent.status_code == 404
    assert absent.json()["error"]["message"].startswith("Não localizamos qualquer NFSe")
    assert [record.data["status"] for record in gateway.ledger.of("call")] == [401, 404]


async def test_cancelling(gateway, api, listener) -> None:
    """Only an issued note is cancelled, by protocol, and a second wish is told that it is done."""
    gateway.config = replace(CONFIG, processing=1.0)  # longer than a busy machine takes to look at what is under way
    document = (await api.post("/nfse", json=[note()])).json()["documents"][0]
    early = await api.post(
        f"/nfse/cancelar/{document['id']}", json={"motivo": "erro na emissão da nota", "codigo": "1"}
    )
    assert early.status_code == 400
    await settled(gateway)
    asked = await api.post(
        f"/nfse/cancelar/prosa-1-1/{ISSUER}", json={"motivo": "erro na emissão da nota", "codigo": "1"}
    )
    protocol = asked.json()["data"]["protocol"]
    assert (await api.get(f"/nfse/cancelar/status/{protocol}")).json()["data"]["situacao"] == "PROCESSANDO"
    await listener.heard(2)
    assert (await api.get(f"/nfse/cancelar/status/{protocol}")).json()["data"]["situacao"] == "CONCLUIDO"
    assert (await api.get(f"/nfse/{document['id']}")).json()["status"] == "CANCELADO"
    assert json.loads(listener.bodies[1])["status"] == "CANCELADO"
    assert (await api.post(f"/nfse/cancelar/{document['id']}", json={})).status_code == 409


async def test_period_pages_by_hash(listener) -> None:
    """The listing of a period comes in pages; the last one has no next hash."""
    async with (
        PlugNotasSimulator(PlugNotasConfig(page=2)) as gateway,
        httpx.AsyncClient(base_url=gateway.url, headers={"x-api-key": "sandbox-plugnotas-api-key"}) as api,
    ):
        for count in range(3):
            await api.post("/nfse", json=[note(f"k{count}")])
        seen: list[str] = []
        cursor = None
        while cursor is not None or not seen:
            query = {"cpfCnpj": ISSUER} | ({"hashProximaPagina": cursor} if cursor else {})
            page = (await api.get("/nfse/consultar/periodo", params=query)).json()
            seen += [found["idIntegracao"] for found in page["notas"]]
            cursor = page["hashProximaPagina"]
    assert seen == ["k0", "k1", "k2"]


@pytest.mark.parametrize(
    "fault",
    [Fault.LOSE_ANSWER, Fault.HANG, Fault.ERROR_500_ACCEPTED, Fault.HTML_ACCEPTED, Fault.TRUNCATED],
)
async def test_an_unclear_answer_still_made_one_note(gateway, api, fault) -> None:
    """Whatever happens to the answer after acceptance, the note stands under its key and a re-POST finds it."""
    gateway.faults.set(fault, times=1, seconds=0.01)
    try:
        (await api.post("/nfse", json=[note()])).raise_for_status().json()["protocol"]
        pytest.fail("the answer came through")
    except (httpx.TransportError, httpx.HTTPStatusError, ValueError):
        pass
    assert (await api.post("/nfse", json=[note()])).status_code == 409
    assert len(gateway.notes) == 1


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.TOO_MANY, Fault.ERROR_500, Fault.HTML])
async def test_a_refusal_before_acceptance_made_none(gateway, api, fault) -> None:
    """These faults leave nothing behind: the key is free."""
    gateway.faults.set(fault, times=1)
    try:
        answer = await api.post("/nfse", json=[note()])
        assert ("retry-after" in answer.headers) == (fault is Fault.TOO_MANY)
    except httpx.TransportError:
        assert fault is Fault.DROP_BEFORE
    assert gateway.notes == {}
    assert (await api.post("/nfse", json=[note()])).status_code == 200


async def test_accepts_late(gateway, api) -> None:
    """The connection breaks, the note does not exist yet, and then it does."""
    gateway.faults.set(Fault.ACCEPT_LATE, times=1, seconds=0.1)
    with pytest.raises(httpx.TransportError):
        await api.post("/nfse", json=[note()])
    assert (await api.get(f"/nfse/consultar/prosa-1-1/{ISSUER}")).status_code == 404
    await gateway.ledger.wait_for(lambda record: record.kind == "note.created")
    assert (await api.get(f"/nfse/consultar/prosa-1-1/{ISSUER}")).status_code == 200


async def test_lies(gateway, api) -> None:
    """The gateway may name somebody else's note, hide the number, or wrap an acceptance in a 400."""
    gateway.faults.configure({"referencia_alheia": {"times": 1}, "aprovado_sem_numero": {"times": 1}})
    wrong = (await api.post("/nfse", json=[note("a")])).json()["documents"][0]
    assert wrong["idIntegracao"] != "a"
    await settled(gateway)
    (bare,) = (await api.get(f"/nfse/consultar/a/{ISSUER}")).json()
    assert (bare["situacao"], bare.get("numeroNfse")) == ("CONCLUIDO", None)
    gateway.faults.set(Fault.BAD_REQUEST_ACCEPTED, times=1)
    strange = await api.post("/nfse", json=[note("b")])
    assert (strange.status_code, bool(strange.json()["protocol"])) == (400, True)
    assert len(gateway.under(ISSUER, "b")) == 1


async def test_without_uniqueness_the_book_shows_two(gateway, api) -> None:
    """The switch that lifts uniqueness lets the same key be issued twice, and the ledger says so."""
    gateway.faults.set(Fault.NO_UNIQUENESS)
    await api.post("/nfse", json=[note()])
    await api.post("/nfse", json=[note()])
    await settled(gateway, 2)
    assert [found.numero for found in gateway.under(ISSUER, "prosa-1-1")] == ["1", "2"]


async def test_webhook_insists_a_little_and_can_be_lost(gateway, api, listener) -> None:
    """Four tries and no more; with ``sem_webhook`` none at all."""
    listener.status = 500
    await api.post("/nfse", json=[note("a")])
    await gateway.ledger.wait_for(lambda record: record.kind == "webhook.abandoned")
    assert len(listener.bodies) == 4
    gateway.faults.set(Fault.NO_WEBHOOK)
    await api.post("/nfse", json=[note("b")])
    await settled(gateway, 2)
    await gateway.courier.drained()
    assert len(listener.bodies) == 4


async def test_a_restart_goes_on_with_what_was_in_process(tmp_path: Path) -> None:
    """Notes, numbers and keys survive the process; a note in process is settled by the next one."""
    path = tmp_path / "plugnotas.jsonl"
    headers = {"x-api-key": CONFIG.api_key}
    slow = PlugNotasConfig(processing=60)
    async with (
        PlugNotasSimulator(slow, ledger=Ledger(path, forget=BULKY)) as first,
        httpx.AsyncClient(base_url=first.url, headers=headers) as api,
    ):
        await api.post("/nfse", json=[note()])
    async with (
        PlugNotasSimulator(CONFIG, ledger=Ledger(path, forget=BULKY)) as again,
        httpx.AsyncClient(base_url=again.url, headers=headers) as api,
    ):
        assert (await api.post("/nfse", json=[note()])).status_code == 409
        await settled(again)
        assert [found.numero for found in again.issued()] == ["1"]


async def test_a_citys_time_limit_refuses_a_late_cancellation(gateway, api) -> None:
    """A reason has its 15 characters; past the limit the city says so, and the note stands."""
    gateway.config = replace(gateway.config, cancel_within=0.0)
    document = (await api.post("/nfse", json=[note()])).json()["documents"][0]
    await settled(gateway)
    path = f"/nfse/cancelar/{document['id']}"
    assert (await api.post(path, json={"motivo": "erro", "codigo": "1"})).status_code == 400
    asked = await api.post(path, json={"motivo": "erro na emissão da nota", "codigo": "1"})
    await gateway.ledger.wait_for(
        lambda record: record.kind == "cancel.settled" and record.data["id"] == document["id"]
    )
    said = (await api.get(f"/nfse/cancelar/status/{asked.json()['data']['protocol']}")).json()["data"]
    assert (said["situacao"], said["response"].startswith("E0822")) == ("REJEITADO", True)
    assert gateway.notes[document["id"]].situacao == "CONCLUIDO"
