"""What the simulated SEFIN takes, answers and remembers."""

from __future__ import annotations

import asyncio
import base64
import ssl
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import xmlsec
from lxml import etree

from gateway.keys import ChaveNFSe
from gateway.nacional.dps import id_dps
from gateway.nacional.note import read
from gateway.nacional.signature import unpack
from proofs.sandbox.faults import Fault
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.nacional.errors import Shape
from proofs.sandbox.nacional.sefin import BASE, NacionalConfig
from state_machine.documents import Tributos
from tests.patience import PATIENCE
from tests.proofs.sandbox.nacional.nacional_company import ANA, LETTERS, PADARIA, Company, invoice, opened, unsigned

if TYPE_CHECKING:
    from pathlib import Path


def xmlsec_accepts(root: Any) -> bool:
    """Ask another implementation about the signature that ends an element."""
    alone = etree.fromstring(etree.tostring(root, with_tail=False))
    xmlsec.tree.add_ids(alone, ["Id"])
    node = alone[-1]
    der = base64.b64decode(node.findtext(".//{*}X509Certificate"))
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(der, xmlsec.constants.KeyDataFormatCertDer)
    try:
        context.verify(node)
    except xmlsec.Error:
        return False
    return True


async def test_a_dps_of_ours_becomes_a_note(ana) -> None:
    """The answer has key and note; the note holds our DPS, its numbers are the books', its key has a right digit."""
    answer = await ana.issue()
    assert (answer["tipoAmbiente"], answer["idDps"]) == (2, str(id_dps(invoice())))
    found = read(answer["xml"])
    assert found is not None
    assert (found.nota.chave, found.nota.numero, found.nota.prestador) == (answer["chaveAcesso"], "1", ANA)
    (note,) = ana.sefin.notes.values()
    assert (note.valor, note.tomador, note.c_int_contrib) == (found.nota.valor, PADARIA, found.c_int_contrib)
    assert str(ChaveNFSe.parse(answer["chaveAcesso"])) == note.chave
    second = await ana.issue(invoice(7))
    assert ChaveNFSe.parse(second["chaveAcesso"]).numero == 2


async def test_another_implementation_verifies_both_signatures(ana) -> None:
    """The authority's over the note and, inside of it, still the company's over the DPS; a changed note fails."""
    root = etree.fromstring((await ana.issue())["xml"])
    assert xmlsec_accepts(root)
    assert xmlsec_accepts(root.find(".//{*}DPS"))
    changed = etree.fromstring(etree.tostring(root).replace(b"<vLiq>1500.10", b"<vLiq>1500.11"))
    assert not xmlsec_accepts(changed)


@pytest.mark.parametrize("regime", ["mei", "normal"])
async def test_other_regimes_become_notes_too(ana, regime: str) -> None:
    """A MEI's note has its own status; of a normal company the city's rate makes the tax."""
    burden = Tributos(Decimal(3), Decimal(0), Decimal(2)) if regime == "normal" else None
    intent = invoice(prestador={"regime": regime})
    xml = (await ana.issue(intent, p_tot_trib_sn=None, p_tot_trib=burden))["xml"]
    assert (b"<cStat>107<" if regime == "mei" else b"<vISSQN>30.00<") in xml


async def test_letters_in_a_cnpj_are_taken(authority) -> None:
    """The overlay of the schemas holds for note, key and event."""
    async with opened(authority) as company:
        company.made = authority.company(LETTERS)
        answer = await company.issue(invoice(prestador={"cnpj": LETTERS}))
        company.sefin.cancel_elsewhere(answer["chaveAcesso"])
        await company.http.aclose()
    assert LETTERS in answer["chaveAcesso"]


async def test_reading(ana) -> None:
    """HEAD says to anybody whether a DPS has a note; its key is for who stands in it; the note for who has the key."""
    answer = await ana.issue()
    identity, chave = answer["idDps"], answer["chaveAcesso"]
    assert (await ana.http.head(f"/dps/{identity}")).status_code == 200
    assert (await ana.http.head(f"/dps/{id_dps(invoice(2))}")).status_code == 404
    assert (await ana.http.get(f"/dps/{identity}")).json()["chaveAcesso"] == chave
    assert unpack((await ana.http.get(f"/nfse/{chave}")).json()["nfseXmlGZipB64"]) == answer["xml"]
    stranger = Company(ana.sefin, ana.sefin.authority.company(LETTERS))
    async with stranger.http:
        assert (await stranger.http.get(f"/dps/{identity}")).status_code == 403
        assert (await stranger.http.head(f"/dps/{identity}")).status_code == 200


async def test_without_a_certificate_nothing_answers(ana) -> None:
    """No certificate is a 403 page; one of another authority ends the connection."""
    context = ssl.create_default_context(cafile=ana.sefin.authority.ca_file)
    async with httpx.AsyncClient(base_url=ana.sefin.url + BASE, verify=context) as client:
        assert (await client.get("/nfse/1")).status_code == 403


async def test_a_certificate_that_is_not_good_ends_the_connection(ana, tmp_path: Path) -> None:
    """Of another authority, or past its day: the handshake fails; the client sees no answer."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    for made in (Authority(tmp_path).company(ANA), ana.sefin.authority.company(ANA, ends=yesterday)):
        async with Company(ana.sefin, made).http as http:
            with pytest.raises(httpx.TransportError):
                await http.head("/dps/1")


async def test_a_certificate_of_nobody_is_refused(ana) -> None:
    """One of the right authority that names no CNPJ meets E1209."""
    async with Company(ana.sefin, ana.sefin.authority.company(ANA, oid=None)).http as http:
        assert (await http.get("/nfse/1")).status_code == 403
    assert ana.sefin.ledger.of("refused")[-1].data["codes"] == ["E1209"]


async def test_the_books_survive_a_restart(authority, tmp_path: Path) -> None:
    """Notes, events, numbers and uniqueness go on from the file; the shape of the next refusal too."""
    path = tmp_path / "sefin.jsonl"
    async with opened(authority, ledger=Ledger(path)) as company:
        answer = await company.issue()
        company.sefin.cancel_elsewhere(answer["chaveAcesso"])
        assert await company.codes(company.signed(invoice())) == ["E0014"]
        before = company.sefin.notes
        company.sefin.ledger.close()
    async with opened(authority, ledger=Ledger(path)) as company:
        assert company.sefin.notes == before
        assert company.sefin.notes[answer["chaveAcesso"]].cancelled
        refused = await company.post(company.signed(invoice()))
        assert refused.json()["erro"]["codigo"] == "E0014"
        assert ChaveNFSe.parse((await company.issue(invoice(2)))["chaveAcesso"]).numero == 2


async def test_each_of_the_four_shapes_is_seen(ana) -> None:
    """Refusals take the four shapes in turn."""
    bodies = [(await ana.post(b"<x/>")).json() for _ in Shape]
    assert bodies[0]["erros"][0]["Codigo"] == bodies[1]["erro"]["codigo"] == "E1229"
    assert bodies[2][0]["Codigo"] == bodies[3]["codigo"] == "E1229"


async def test_a_shape_can_be_chosen(authority) -> None:
    """The configuration's shape is that of all; several errors stand in a list."""
    async with opened(authority, NacionalConfig(shape=Shape.ERRO)) as company:
        await company.issue()
        wrong = company.signed(invoice(prestador={"codigo_servico": "00.00.00"}))
        (first, second) = (await company.post(wrong)).json()["erro"]
    assert (first["codigo"], second["codigo"]) == ("E0014", "E0310")


@pytest.mark.parametrize(
    ("fault", "code"),
    [(Fault.MAINTENANCE, "E1217"), (Fault.NO_CRL, "E1206"), (Fault.CERTIFICATE, "E1203"), (Fault.REFUSE, "E1235")],
)
async def test_it_is_out_of_order_on_command(ana, fault: Fault, code: str) -> None:
    """The door's faults refuse with their codes and take nothing; a question uses up nothing meant for orders."""
    ana.sefin.faults.set(fault, times=1, method="POST")
    assert (await ana.http.head(f"/dps/{id_dps(invoice())}")).status_code == 404
    assert await ana.codes(ana.signed(invoice())) == [code]
    assert not ana.sefin.notes
    await ana.issue()


@pytest.mark.parametrize(
    ("fault", "taken"),
    [
        (Fault.DROP_BEFORE, 0),
        (Fault.TOO_MANY, 0),
        (Fault.UNAVAILABLE, 0),
        (Fault.ERROR_500, 0),
        (Fault.HTML, 0),
        (Fault.LOSE_ANSWER, 1),
        (Fault.ERROR_500_ACCEPTED, 1),
        (Fault.HTML_ACCEPTED, 1),
        (Fault.TRUNCATED, 1),
    ],
)
async def test_faults_around_acceptance(ana, fault: Fault, taken: int) -> None:
    """Each says by its name whether the note exists; asking says the same, and sending again makes no second."""
    ana.sefin.faults.set(fault, times=1)
    xml = ana.signed(invoice())
    try:
        answer = await ana.post(xml)
        assert answer.status_code != 201 or fault is Fault.TRUNCATED
    except httpx.TransportError:
        assert fault in {Fault.DROP_BEFORE, Fault.LOSE_ANSWER}
    assert len(ana.sefin.notes) == taken
    assert (await ana.http.head(f"/dps/{id_dps(invoice())}")).status_code == (200 if taken else 404)
    assert (await ana.post(xml)).status_code == (400 if taken else 201)
    assert len(ana.sefin.notes) == 1


async def test_an_answer_that_never_comes_and_one_that_names_another(ana) -> None:
    """The note exists in both cases; the second answer names a DPS that is not the one sent."""
    ana.sefin.faults.set(Fault.HANG, times=1, seconds=0.05)
    with pytest.raises(httpx.TransportError):
        await ana.post(ana.signed(invoice()))
    ana.sefin.faults.set(Fault.OTHER_REFERENCE, times=1)
    answer = await ana.issue(invoice(2))
    assert answer["idDps"] != str(id_dps(invoice(2)))
    assert len(ana.sefin.notes) == 2


async def test_it_accepts_after_the_connection_is_cut(authority) -> None:
    """The delay is 40 seconds unless said otherwise; the certificate was read before the cut."""
    async with opened(authority, NacionalConfig(late=0.05)) as company:
        company.sefin.faults.set(Fault.ACCEPT_LATE, times=1)
        with pytest.raises(httpx.TransportError):
            await company.post(company.signed(invoice()))
        assert not company.sefin.notes
        await company.sefin.ledger.wait_for(lambda record: record.kind == "nfse.issued", PATIENCE)
        call = await company.sefin.ledger.wait_for(lambda record: record.kind == "call", PATIENCE)
    assert (call.data["status"], call.data["company"]) == (201, ANA)
    assert NacionalConfig().late == 40


async def test_without_uniqueness_a_number_is_issued_twice(ana) -> None:
    """The switch for judges: the same DPS becomes two notes."""
    ana.sefin.faults.set(Fault.NO_UNIQUENESS)
    await asyncio.gather(ana.issue(), ana.issue())
    assert len(ana.sefin.of_dps(str(id_dps(invoice())))) == 2


async def test_reading_lags_on_command(ana) -> None:
    """A young note is not found while its number is taken already."""
    ana.sefin.faults.set(Fault.READ_LAG, seconds=3600)
    answer = await ana.issue()
    assert (await ana.http.head(f"/dps/{answer['idDps']}")).status_code == 404
    assert (await ana.http.get(f"/nfse/{answer['chaveAcesso']}")).status_code == 404
    assert await ana.codes(ana.signed(invoice())) == ["E0014"]


async def test_rejections_on_command(ana) -> None:
    """With the switch's own code, and by the word that a person writes at the demo."""
    ana.sefin.faults.set(Fault.REJECT, times=1, message="E0427: O valor não foi aceito.")
    assert await ana.codes(ana.signed(invoice())) == ["E0427"]
    assert await ana.codes(ana.signed(invoice(descricao="REJEITAR esta"))) == ["E0312"]


async def test_the_switches_need_no_certificate(ana) -> None:
    """Tests and the demo page set faults and read the books over the same port."""
    context = ssl.create_default_context(cafile=ana.sefin.authority.ca_file)
    async with httpx.AsyncClient(base_url=ana.sefin.url, verify=context) as client:
        assert (await client.post("/_sandbox/faults", json={"manutencao": True})).status_code == 200
        assert await ana.codes(unsigned(invoice())) == ["E1217"]
        kinds = [row["kind"] for row in (await client.get("/_sandbox/ledger?kind=refused")).json()]
    assert kinds == ["refused"]
