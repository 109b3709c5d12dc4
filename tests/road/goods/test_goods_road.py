"""Goods by chat: items, summary, one NF-e or NFC-e in SEFAZ's book, and its files, whatever fails."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree
from pydantic import SecretStr

from bot.delivery.sender import AVISO
from bot.master_key import vault_of
from bot.operator.reconcile import channels_of
from gateway.keys import ChaveNFe
from gateway.registry import REGISTRY
from operations.certificate import keep_certificate
from operations.company import CompanyForm, add_company
from operations.goods import add, close_numbers, correct
from operations.protocol import CommandRefusedError, numbering_report
from persistence.fiscal import issued
from persistence.people.channels import choose, chosen
from proofs.demo.world import COMPANY
from proofs.sandbox.faults import Fault
from proofs.sandbox.sefaz.rules import SefazConfig
from state_machine.documents import Endereco
from state_machine.protocol.channel import Ambiente, Canal, TipoDocumento
from state_machine.values.local_time import SAO_PAULO
from tests.gateway.nfe.made_sale import xmlsec_accepts
from tests.road.proposals.erp import approver, erp_of
from tests.road.road_people import QUICK, Person, new_phone, open_road, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.sefaz.sefaz import SefazSimulator
    from proofs.sandbox.world import World
    from tests.road.road_people import Road

SENHA = "senha-do-a1"
FORM = replace(
    COMPANY,
    regime="simples",
    mercado=("nfe", "nfce"),
    inscricao_estadual="110042490114",
    serie_nfe=7,
    primeiro_nfe=100,
    serie_nfce=7,
    primeiro_nfce=1,
)
OLD = replace(FORM, cnpj="11444777000161", razao_social="Doces do Bairro Ltda")  # its QR codes are of version 2
ENDERECO = Endereco("Rua Augusta", "100", "Consolação", "3550308", "São Paulo", "SP", "01305000")
PADARIA = "12.345.678/0001-95"
CPF = "529.982.247-25"
NS = "{http://www.portalfiscal.inf.br/nfe}"
PLAIN = SefazConfig()


async def led_there(world: World) -> dict[str, Any]:
    """Return the settings that lead to the simulated SEFAZ."""
    maker = Path(tempfile.mkdtemp(prefix="prosa-tests-")) / "maker.json"
    told = {"cnpj": FORM.cnpj, "contato": "Prosa", "email": "nfe@exemplo.com.br", "fone": "1133334444"}
    maker.write_text(json.dumps({**told, "csrt": {"SP": ["01", "G8063VRTNDMO886SFNK5LDUDEI24XJ22YIPO"]}}))
    code = maker.with_name("csc.json")
    code.write_text(json.dumps({OLD.cnpj: "000001:0123456789ABCDEF"}))
    return {
        "sefaz_maker_file": maker,
        "sefaz_csc_file": code,
        "sefaz_url": world.urls.sefaz_url,
        "sefaz_ca_file": Path(world.urls.nacional_ca_file or ""),
        "sefaz_absence_seconds": (0.5, 0.3),
        "sefaz_ladder": (0.3, 0.3, 0.5),
        "master_key": SecretStr(base64.b64encode(b"k" * 32).decode()),
    }


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url, config=replace(QUICK, sefaz=PLAIN), between=led_there) as road:
        await _seller(road, FORM)
        yield road


async def _seller(road: Road, form: CompanyForm) -> None:
    await add_company(road.database, form, None, REGISTRY, ENDERECO)
    pfx = road.world.authority.pfx_for(form.cnpj, SENHA, days=300 + time.monotonic() % 60)
    vault = vault_of(road.house.settings)
    await keep_certificate(road.database, vault, cnpj=form.cnpj, arquivo=pfx, senha=SENHA, unchecked=True)
    for codigo, texto, preco in (("B1", "Bolo de pote", "12,00"), ("B2", "Brigadeiro", "4,50")):
        told = {"codigo": codigo, "texto": texto, "ncm": "19059090", "cfop": "5102", "csosn": "102"}
        await add(road.database, form.cnpj, {**told, "unidade": "UN", "preco": preco})


@pytest.fixture
def road(opened: Road) -> Road:
    """The module's road with all faults mended and SEFAZ as it usually is."""
    opened.world.sefaz.faults.clear()
    opened.world.sefaz.config = PLAIN
    return opened


@pytest.fixture
def sefaz(road: Road) -> SefazSimulator:
    """The authority."""
    return road.world.sefaz


async def _person(road: Road) -> Person:
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY, ENDERECO)
    return person


async def _emission(road: Road, person: Person, status: str = "concluido") -> Any:
    async def done() -> Any:
        row = await road.database.pool.fetchrow(
            "SELECT e.* FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id "
            "WHERE s.conversa = $1 ORDER BY e.id DESC LIMIT 1",
            road.conversation(person),
        )
        return row if row is not None and row["status"] == status else None

    return await until(done)


async def _one_note(road: Road, sefaz: SefazSimulator, person: Person) -> Any:
    """The judge: SEFAZ's book has one note of this confirmation, of the very bytes that are kept."""
    row = await _emission(road, person)
    made = [note for note in sefaz.authorised() if str(note.chave) == row["chave_natural"]]
    assert len(made) == 1
    assert made[0].xml == bytes(row["bytes"])
    assert not sefaz.duplicates()
    return made[0]


async def _document(road: Road, person: Person) -> bytes:
    row = await _emission(road, person)

    async def kept() -> Any:
        return await road.database.pool.fetchval(
            "SELECT conteudo FROM nfse_documento WHERE emissao_id = $1 AND formato = 'xml'", row["id"]
        )

    return bytes(await until(kept))


async def test_items_become_one_nfe_for_a_company(road: Road, sefaz: SefazSimulator) -> None:
    """Quantities, total and model are in the summary; the XML is the nfeProc around the bytes that were sent."""
    person = await _person(road)
    shown = await person.say(f"nota de 3 bolos de pote e 2 brigadeiros pra padaria, cnpj {PADARIA}")
    assert "3 Bolo de pote × R$ 12,00 = R$ 36,00" in shown.text
    assert "2 Brigadeiro × R$ 4,50 = R$ 9,00" in shown.text
    assert "*R$ 45,00*" in shown.text
    assert "NF-e" in shown.text
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    assert note.total == "45.00"
    xml = await _document(road, person)
    assert note.xml in xml
    assert etree.fromstring(xml).tag == f"{NS}nfeProc"
    assert xmlsec_accepts(note.xml)


async def test_the_mark_of_practice_follows_the_goods_and_not_the_services(road: Road) -> None:
    """A summary and the files of an NF-e of one environment, while the company's services are in another one."""
    person = await _person(road)
    company = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj)

    async def words() -> str:
        facts = road.world.meta.ledger.of("outbound")
        return str([fact.data["payload"] for fact in facts if fact.data["user"]["key"] == person.who])

    async with road.database.transaction() as connection:
        before = await chosen(connection, company)
        await choose(connection, company, Canal("nacional", Ambiente.HOMOLOGACAO), TipoDocumento.SERVICO)
    try:
        await person.say(f"nota de 1 bolo de pote pra padaria, cnpj {PADARIA}")
        await person.touch("Confirmar")

        async def came() -> bool:
            return ".pdf" in await words()

        await until(came)

        assert AVISO not in await words()
        row = await _emission(road, person)
        async with road.database.transaction() as connection:
            listed = await issued.recent(connection, company)
        assert row["id"] in [note.emissao_id for note in listed]  # "minhas notas", totals, the offer behind the note
    finally:
        async with road.database.transaction() as connection:
            await choose(connection, company, before, TipoDocumento.SERVICO)


async def test_goods_that_a_system_proposes_are_shown_where_they_are_issued(road: Road) -> None:
    """Its key is of the environment of goods, while the company's services are in another one."""
    ana, erp = await approver(road), await erp_of(road)
    company = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj)
    async with road.database.transaction() as connection:
        before = await chosen(connection, company)
        await choose(connection, company, Canal("nacional", Ambiente.HOMOLOGACAO), TipoDocumento.SERVICO)
    try:
        items = [{"produto": "B1", "quantidade": "1"}]
        await erp.proposes(valor=None, descricao=None, documento_fiscal="nfe", itens=items)
        assert AVISO not in (await ana.expect("Um sistema da sua empresa propôs esta nota")).text
    finally:
        async with road.database.transaction() as connection:
            await choose(connection, company, before, TipoDocumento.SERVICO)


async def test_a_note_of_goods_is_sent_on_and_not_repeated(road: Road) -> None:
    """Behind its files one button, with the words to forward; another one like it is said anew."""
    person = await _person(road)
    await person.say(f"nota de 1 bolo de pote pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")

    async def offered() -> Any:
        return person.offers

    [offer] = await until(offered)
    assert [button.title for button in offer.buttons] == ["Mandar ao cliente"]  # goods are not repeated
    note = await person.press("Mandar ao cliente", offer)
    while "Segue a" not in note.text:  # files come first
        note = await person.expect()
    assert re.search(r"^Olá! Segue a NF-e \d+, de R\$ 12,00: .*Bolo de pote.*\nChave de acesso: \d{44}$", note.text)
    assert "é de produtos" in (await person.say("igual à última")).text


async def test_a_yes_after_the_words_for_a_customer_issues_nothing(road: Road) -> None:
    """Another summary is open meanwhile: it is shown once more."""
    person = await _person(road)
    await person.say(f"nota de 1 bolo de pote pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")

    async def offered() -> Any:
        return person.offers

    [offer] = await until(offered)
    await _emission(road, person)
    await road.settled()
    await person.tell(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    await road.settled()
    await person.touch("Mandar ao cliente", offer)
    await road.settled()
    assert "Segue a NF-e" in person.answers[-1]
    await person.tell("sim")
    await road.settled()
    assert "R$ 9,00" in person.answers[-1]
    made = "SELECT count(*) FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id WHERE s.conversa = $1"
    assert await road.database.pool.fetchval(made, road.conversation(person)) == 1


async def test_a_person_is_asked_whether_the_goods_were_handed_over(road: Road, sefaz: SefazSimulator) -> None:
    """Once, and yes is an NFC-e."""
    person = await _person(road)
    asked = await person.say(f"nota de 2 brigadeiros pra ana souza, cpf {CPF}")
    assert "em mãos?" in asked.text
    shown = await person.say("sim")
    assert "NFC-e" in shown.text
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    assert note.chave.modelo == "65"


async def test_the_shop_brings_the_goods_and_the_address_is_asked(road: Road, sefaz: SefazSimulator) -> None:
    """An NFC-e too, which says where to and that the shop itself carried them."""
    person = await _person(road)
    asked = await person.say(f"nota de 6 brigadeiros pra ana lima, cpf {CPF}")
    assert [button.title for button in asked.buttons] == ["Sim, em mãos", "A loja entrega", "Não, enviei"]
    assert "endereço" in (await person.press("A loja entrega", asked)).text
    shown = await person.say("Avenida Paulista, 1000, Bela Vista, São Paulo SP, 01310-100")
    assert "Tipo: NFC-e (consumidor, a loja entrega)" in shown.text
    assert "Avenida Paulista" in shown.text
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    told = etree.fromstring(note.xml)
    assert (note.chave.modelo, told.findtext(f".//{NS}indPres"), told.findtext(f".//{NS}modFrete")) == ("65", "4", "3")
    assert told.findtext(f".//{NS}enderDest/{NS}CEP") == "01310100"


async def test_who_still_needs_it_gets_a_qr_code_of_version_2(road: Road, sefaz: SefazSimulator) -> None:
    """Its proof is of the key, the version, the environment, the code's number without zeros, and the secret."""
    person = Person(road.world, new_phone())
    await _seller(road, replace(OLD, usuarios=(person.who,)))
    await person.say("nota de 2 brigadeiros, sem cpf, entreguei em mãos")
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    said = f"{note.chave}|2|{note.tp_amb}|1"
    digest = hashlib.sha1(f"{said}0123456789ABCDEF".encode(), usedforsecurity=False).hexdigest().upper()
    assert f"?p={said}|{digest}</qrCode>".encode() in note.xml


async def test_nobody_needs_a_name_on_an_nfce(road: Road, sefaz: SefazSimulator) -> None:
    """Without a CPF it goes to a consumer, handed over."""
    person = await _person(road)
    await person.say("nota de 2 brigadeiros")
    asked = await person.say("sem cpf")
    assert "em mãos?" in asked.text
    shown = await person.say("sim")
    assert "consumidor sem nome" in shown.text
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    assert b"<dest>" not in note.xml


async def test_a_state_that_asks_for_the_programs_maker_is_told(road: Road, sefaz: SefazSimulator) -> None:
    """Without it some refuse every note (972); the secret of the state is proven by its hash."""
    road.world.sefaz.config = replace(PLAIN, maker=True)
    person = await _person(road)
    await person.say(f"nota de 8 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    assert b"<infRespTec>" in note.xml
    assert b"<idCSRT>01</idCSRT>" in note.xml


async def test_a_lost_answer_is_asked_for_and_makes_no_second_note(road: Road, sefaz: SefazSimulator) -> None:
    """The consultation by key finds it."""
    person = await _person(road)
    sefaz.faults.set(Fault.LOSE_ANSWER, times=1)
    await person.say(f"nota de 1 bolo de pote pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")
    await _one_note(road, sefaz, person)
    assert await _document(road, person)


async def test_one_item_is_corrected_and_the_sum_follows(road: Road) -> None:
    """The others stay as they are."""
    person = await _person(road)
    await person.say(f"nota de 3 bolos de pote e 2 brigadeiros pra padaria, cnpj {PADARIA}")
    shown = await person.say("são 4 bolos de pote")
    assert "4 Bolo de pote × R$ 12,00 = R$ 48,00" in shown.text
    assert "*R$ 57,00*" in shown.text
    assert "serviço" not in shown.text


async def test_a_product_that_is_not_known_is_asked_for_and_nothing_is_lost(road: Road) -> None:
    """Neither dropped nor guessed."""
    person = await _person(road)
    asked = await person.say(f"nota de 3 bolos de pote e 4 xuxus pra padaria, cnpj {PADARIA}")
    assert "4 xuxus" in asked.text
    shown = await person.say("4 brigadeiros")
    assert "3 Bolo de pote" in shown.text
    assert "4 Brigadeiro" in shown.text


async def test_a_note_is_cancelled_by_chat(road: Road, sefaz: SefazSimulator) -> None:
    """By the authority's number."""
    person = await _person(road)
    await person.say(f"nota de 5 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    pdf, xml = await person.files()
    assert pdf.startswith(b"%PDF")
    assert note.xml in xml
    await person.tell(f"cancela a nota {int(note.chave.numero)}")
    for title in ("Venda desfeita", "Cancelar a nota"):  # of goods no service was not given
        await _offered(person, title)
        await person.touch(title)

    async def cancelled() -> bool:
        return next(n for n in sefaz.authorised() if n.chave == note.chave).cancelled is not None

    assert await until(cancelled)
    [event] = next(n for n in sefaz.authorised() if n.chave == note.chave).events
    assert b"Venda desfeita com o cliente" in event.xml


async def _told(person: Person, words: str) -> str:
    """Return what the person has read that has these words."""

    async def read() -> str | None:
        return next((answer for answer in person.answers if words in answer), None)

    return str(await until(read))


async def _offered(person: Person, title: str) -> None:
    async def shown() -> bool:
        bubbles = person.world.meta.bubbles(person.who)
        return any(button.title == title for bubble in bubbles for button in bubble.buttons)

    await until(shown)


async def test_a_product_is_kept_by_chat(road: Road) -> None:
    """Its NCM is chosen from what is offered."""
    person = await _person(road)
    offered = await person.say("cadastra bolo de cenoura 40 reais")
    assert "NCM" in offered.text
    told = await person.say("cadastra torta de limão 55,00 ncm 19059090")
    assert "cadastrado" in told.text
    shown = await person.say(f"nota de 2 tortas de limão pra padaria, cnpj {PADARIA}")
    assert "*R$ 110,00*" in shown.text


async def test_a_number_without_a_note_is_closed_at_the_authority(road: Road, sefaz: SefazSimulator) -> None:
    """Only one that has none: status 0 is 102, and then nothing is left unexplained."""
    person = await _person(road)
    road.world.sefaz.config = replace(PLAIN, ncms=frozenset({"00000000"}))
    await person.say(f"nota de 7 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")
    row = await _emission(road, person, "rejeitado")
    assert "NCM" in await _told(person, "não foi aceita")
    numero = int(row["numero_rps"])
    about: dict[str, Any] = {"cnpj": FORM.cnpj, "modelo": "55", "serie": 7, "motivo": "venda que o cliente desfez"}
    async with channels_of(road.house.settings, road.database) as channels:
        with pytest.raises(CommandRefusedError, match="nota"):
            await close_numbers(road.database, channels, numeros=range(numero - 1, numero + 1), **about)
        [said] = await close_numbers(road.database, channels, numeros=range(numero, numero + 1), **about)
    assert "102" in said
    assert not [line for line in await numbering_report(road.database) if "BURACO" in line]
    assert not sefaz.unexplained(FORM.cnpj, "55", 7, 100)


async def test_a_letter_of_correction_is_registered_once(road: Road, sefaz: SefazSimulator) -> None:
    """A lost answer is asked about by the same words; other words are the next letter; of no note there is none."""
    person = await _person(road)
    await person.say(f"nota de 9 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    about: dict[str, Any] = {"cnpj": FORM.cnpj, "numero": str(int(note.chave.numero))}
    words = "a transportadora é a “Rápida” – e não a Veloz"  # as SEFAZ keeps them they have other marks
    async with channels_of(road.house.settings, road.database) as channels:
        sefaz.faults.set(Fault.LOSE_ANSWER, times=1, about="NFeRecepcaoEvento4")
        with pytest.raises(CommandRefusedError, match="Peça de novo"):
            await correct(road.database, channels, **about, texto=words)
        for texto in (words, words, "o volume é um só, e não dois"):
            [said] = await correct(road.database, channels, **about, texto=texto)
            assert "registrada" in said
        with pytest.raises(CommandRefusedError, match="Nada mudou"):
            await correct(road.database, channels, **about, texto="curto")
        with pytest.raises(CommandRefusedError, match="não tem a NF-e"):
            await correct(road.database, channels, cnpj=FORM.cnpj, numero="999999", texto=words)
    events = next(each for each in sefaz.authorised() if each.chave == note.chave).events
    assert [(each.tipo, each.sequence) for each in events] == [("110110", 1), ("110110", 2)]


async def test_a_letter_is_of_one_note_alone(road: Road, sefaz: SefazSimulator) -> None:
    """Two series may have the same number: then the key says which."""
    person, made = await _person(road), []
    for quantity in (11, 13):
        await person.tell(f"nota de {quantity} brigadeiros pra padaria, cnpj {PADARIA}")
        await road.settled()
        await person.touch("Confirmar")
        await road.settled()
        made.append(await _one_note(road, sefaz, person))
        await road.settled()
        again = replace(FORM, serie_nfe=8, primeiro_nfe=int(made[0].chave.numero), usuarios=(person.who,))
        await add_company(road.database, again, None, REGISTRY, ENDERECO)
    await add_company(road.database, FORM, None, REGISTRY, ENDERECO)
    about: dict[str, Any] = {"cnpj": FORM.cnpj, "texto": "o volume é um só, e não dois"}
    async with channels_of(road.house.settings, road.database) as channels:
        with pytest.raises(CommandRefusedError, match="chave"):
            await correct(road.database, channels, numero=str(int(made[0].chave.numero)), **about)
        await correct(road.database, channels, numero=str(made[0].chave), **about)
    kept = {each.chave: each.events for each in sefaz.authorised()}
    assert [len(kept[note.chave]) for note in made] == [1, 0]


async def test_a_number_of_another_program_stops_the_series(road: Road, sefaz: SefazSimulator) -> None:
    """The person is told that it did not come out, no second number is tried, and staff see why."""
    person = await _person(road)
    await person.say(f"nota de 6 brigadeiros pra padaria, cnpj {PADARIA}")
    last = await road.database.pool.fetchval("SELECT ultimo FROM numeracao WHERE modelo = '55'") or 99
    sefaz.issue_elsewhere(_key_of_another(last + 1))
    await person.touch("Confirmar")
    await _emission(road, person, "rejeitado")
    blocked = await road.database.pool.fetchval("SELECT bloqueado FROM numeracao WHERE modelo = '55'")
    assert "outro programa" in blocked
    assert not sefaz.duplicates()


def _key_of_another(numero: int) -> str:
    now = datetime.now(SAO_PAULO)
    return str(ChaveNFe("35", f"{now:%y%m}", FORM.cnpj, "55", 7, numero, 1, 87_654_320))
