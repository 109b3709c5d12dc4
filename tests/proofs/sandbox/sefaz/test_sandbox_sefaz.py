"""That the simulated SEFAZ keeps the sentences of the contract: one note a number, and what it says of each key."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import nfelib
import pytest
from lxml import etree

from gateway.keys import ChaveNFe
from gateway.nfe import document
from proofs.sandbox.faults import Fault
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.sefaz.rules import SefazConfig, Seller
from proofs.sandbox.sefaz.sefaz import BASE
from proofs.sandbox.world import World, WorldConfig
from state_machine.protocol.channel import Ambiente
from tests.gateway.nfe.made_sale import CNPJ, xmlsec_accepts
from tests.proofs.sandbox.sefaz.sefaz_shop import DAY, HOUR, MINUTE, PROD, Clock, Shop, chave, opened, said, stat

OTHER = "12345678000195"
_SCHEMAS = Path(nfelib.__file__).parent


def held(answer: Any, folder: str, name: str) -> None:
    """Hold an answer against the official schema of it."""
    schema = etree.XMLSchema(etree.parse(str(_SCHEMAS / folder / name)))
    schema.assertValid(etree.fromstring(etree.tostring(answer)))


def receipt(number: str | None) -> bytes:
    """The question for a receipt."""
    return document.receipt(number or "", PROD)


# sending


@pytest.mark.parametrize("modelo", ["55", "65"])
async def test_a_note_is_authorised_and_found(shop, modelo: str) -> None:
    """104 outside, 100 inside, with nProt and the digest of the signature; the books keep the very bytes."""
    note = shop.note(modelo)
    answer = await shop.send(note)
    assert (answer.findtext("{*}cStat"), stat(answer)) == ("104", "100")
    held(answer, "nfe/schemas/v4_0", "retEnviNFe_v4.00.xsd")
    (kept,) = shop.sefaz.authorised()
    assert kept.xml == note
    assert xmlsec_accepts(kept.xml)
    assert (said(answer, "nProt"), said(answer, "digVal")) == (kept.nprot, kept.digest)
    assert kept.digest.encode() in note
    found = await shop.consult(chave(modelo))
    held(found, "nfe/schemas/v4_0", "retConsSitNFe_v4.00.xsd")
    assert (stat(found), said(found, "digVal"), said(found, "nProt")) == ("100", kept.digest, kept.nprot)


async def test_the_service_says_that_it_is_up(shop) -> None:
    """107, or 108 and 109 by the switch."""
    question = document.service_status("35", PROD)
    answer = await shop.asked("NFeStatusServico4", question)
    held(answer, "nfe/schemas/v4_0", "retConsStatServ_v4.00.xsd")
    assert stat(answer) == "107"
    shop.sefaz.faults.set(Fault.MAINTENANCE, times=1)
    assert stat(await shop.asked("NFeStatusServico4", question)) == "108"
    shop.sefaz.faults.set(Fault.MAINTENANCE, times=1, message="109")
    assert stat(await shop.send(shop.note())) == "109"
    assert not shop.sefaz.authorised()


async def test_the_same_bytes_again_are_a_duplicate(authority) -> None:
    """204, or the protocol of the first time where the state does so; another document of that key is 204 anyway."""
    for config, again in ((SefazConfig(), "204"), (SefazConfig(repeat="100"), "100")):
        async with opened(authority, config) as shop:
            note = shop.note()
            first = await shop.send(note)
            shop.clock.move(MINUTE)
            second = await shop.send(note)
            rebuilt = await shop.send(shop.note())
            assert (stat(second), stat(rebuilt)) == (again, "204")
            assert said(second, "nProt") == (said(first, "nProt") if again == "100" else None)
            assert len(shop.sefaz.authorised()) == 1


async def test_another_key_of_a_number_is_539_and_names_the_first(shop) -> None:
    """Month and cNF are no part of what makes a number one."""
    await shop.send(shop.note())
    for key in (chave(codigo=11_223_344), chave(aamm="2610", codigo=40_713_582)):
        made = shop.note(key=key, emissao=shop.clock.at if key.aamm == "2611" else shop.clock.at - 30 * DAY)
        answer = await shop.send(made)
        assert stat(answer) == "539"
        assert f"[chNFe:{chave()}]" in answer.find(".//{*}infProt").findtext("{*}xMotivo")
    assert len(shop.sefaz.authorised()) == 1


async def test_tp_emis_is_a_part_of_an_nfce_number_alone(shop) -> None:
    """What the contract calls a double issue by design: 65 with tpEmis 1 and 9 are two notes, 55 are one."""
    for modelo, second in (("65", "100"), ("55", "539")):
        first = shop.note(modelo)
        assert stat(await shop.send(first)) == "100"
        other = chave(modelo)
        key = ChaveNFe("35", "2611", CNPJ, modelo, 77, 42, 9, 40_713_582)
        beside = [(r"\|3\|1", f"|3|1|28|36.00|||{'A' * 342}==")] if modelo == "65" else []
        made = shop.altered(
            first,
            *beside,
            (str(other), str(key)),
            ("<tpEmis>1", "<tpEmis>9"),
            ("<cDV>.", f"<cDV>{str(key)[-1]}"),
            ("</verProc>", "</verProc><dhCont>2026-11-28T12:00:00-03:00</dhCont><xJust>Sem rede nenhuma hoje</xJust>"),
        )
        assert stat(await shop.send(made)) == second


async def test_a_lot_of_one_is_synchronous(shop) -> None:
    """452 without indSinc=1; a second note in the lot is refused, and nothing of it is registered."""
    one, two = shop.note(), shop.note(key=chave(numero=43))
    late = document.lot(one, 1).replace(b"<indSinc>1", b"<indSinc>0")
    answer = await shop.asked("NFeAutorizacao4", late)
    assert (stat(answer), answer.find(".//{*}protNFe")) == ("452", None)
    assert stat(await shop.asked("NFeAutorizacao4", document.lot(one + two, 1))) == "126"
    assert not shop.sefaz.authorised()


async def test_what_is_not_the_schema_or_not_signed_is_refused(shop) -> None:
    """225 for the schema, 297 for what was changed, 298 for another form, 588 and 404 for the way it is written."""
    note = shop.note()
    changed = note.replace(b"<vNF>36.00", b"<vNF>36.01")
    assert stat(await shop.send(changed)) == "297"
    assert stat(await shop.send(note.replace(b"<natOp>", b"<natureza>").replace(b"</natOp>", b"</natureza>"))) == "225"
    assert stat(await shop.send(note.replace(b'URI="#NFe', b'URI="#NFx'))) == "298"
    assert stat(await shop.send(note.replace(b"<ide>", b"\n<ide>"))) == "588"
    assert stat(await shop.send(note.replace(b"<Signature xmlns=", b'<ds:a xmlns:ds="x"/><Signature xmlns='))) == "404"
    assert not shop.sefaz.authorised()


async def test_the_certificate_is_of_the_issuer(shop) -> None:
    """213 when the connection or the signature is of another CNPJ, 282 for one that names none."""
    authority = shop.sefaz.authority
    other = Shop(shop.sefaz, authority.company(OTHER), shop.clock)
    nameless = Shop(shop.sefaz, authority.company(CNPJ, oid=None), shop.clock)
    async with other.http, nameless.http:
        assert stat(await other.send(shop.note())) == "213"
        assert stat(await shop.send(other.note())) == "213"
        assert stat(await nameless.send(shop.note())) == "282"
    assert not shop.sefaz.authorised()
    assert stat(await shop.send(shop.note())) == "100"


async def test_without_a_certificate_nothing_answers(shop) -> None:
    """No certificate is a 403 page."""
    context = ssl.create_default_context(cafile=shop.sefaz.authority.ca_file)
    async with httpx.AsyncClient(base_url=shop.sefaz.url + BASE, verify=context) as client:
        assert (await client.post("/NFeAutorizacao4")).status_code == 403


async def test_the_envelope_is_soap_12_with_its_action(shop) -> None:
    """Another type of content, another action and no envelope come not as far as SEFAZ's words."""
    question = document.service_status("35", PROD)
    for headers, status in (
        ({"content-type": "text/xml"}, 415),
        ({"content-type": 'application/soap+xml; charset=utf-8; action="x"'}, 500),
    ):
        assert (await shop.post("NFeStatusServico4", question, **headers)).status_code == status
    assert stat(await shop.asked("NFeStatusServico4", b"text")) == "243"


@pytest.mark.parametrize(
    ("modelo", "age", "code"),
    [
        ("55", -6 * MINUTE, "703"),
        ("55", -4 * MINUTE, "100"),
        ("65", 4 * MINUTE, "100"),
        ("65", 6 * MINUTE, "704"),
        ("55", 6 * DAY, "100"),
        ("55", 8 * DAY, "150"),
    ],
)
async def test_what_time_says(shop, modelo: str, age, code: str) -> None:
    """703 for the future, 704 for an NFC-e of more than five minutes, 150 for an NF-e of more than seven days."""
    note = shop.note(modelo)
    shop.clock.move(age)
    assert stat(await shop.send(note)) == code


async def test_an_old_note_is_228_where_the_state_says_so(authority) -> None:
    """After thirty days, and before SEFAZ looks whether it knows the note: 704 is no proof of absence either."""
    async with opened(authority, SefazConfig(late_days=30)) as shop:
        note, coupon = shop.note(), shop.note("65")
        assert [stat(await shop.send(one)) for one in (note, coupon)] == ["100", "100"]
        shop.clock.move(6 * MINUTE)
        assert stat(await shop.send(coupon)) == "704"
        shop.clock.move(31 * DAY)
        assert stat(await shop.send(note)) == "228"


@pytest.mark.parametrize(
    ("modelo", "changes", "code"),
    [
        ("55", [("<cNF>40713582", "<cNF>40713583")], "502"),
        ("55", [("<nNF>42", "<nNF>43")], "502"),
        ("55", [("<serie>77", "<serie>78")], "502"),
        ("55", [("<cDV>5", "<cDV>4"), ("4071358255?", "40713582X"), ("40713582X", "407135824")], "253"),
        ("55", [("<tpImp>1", "<tpImp>4")], "710"),
        ("55", [("<indPres>1", "<indPres>4")], "794"),
        ("55", [("<dest>.*</dest>", "")], "719"),
        ("55", [("<CSOSN>102", "<CSOSN>900"), ("<CRT>1", "<CRT>3")], "225"),
        ("55", [("<CRT>1", "<CRT>3")], "591"),
        ("55", [("<ICMSSN102>.*</ICMSSN102>", "<ICMS40><orig>0</orig><CST>41</CST></ICMS40>")], "590"),
        ("55", [("<CRT>1", "<CRT>4"), ("<CSOSN>102", "<CSOSN>103")], "782"),
        ("55", [("<CRT>1", "<CRT>4"), ("<CFOP>5102", "<CFOP>5101")], "337"),
        ("55", [("<CRT>1", "<CRT>4"), ("<CSOSN>102", "<CSOSN>300")], "100"),
        ("65", [("<CRT>1", "<CRT>4"), ("<CSOSN>102", "<CSOSN>400")], "782"),
        ("65", [("<CRT>1", "<CRT>4"), ("<CFOP>5102", "<CFOP>6102")], "337"),
        ("65", [("<CRT>1", "<CRT>4")], "100"),
        ("65", [("<indPres>1", "<indPres>2")], "717"),
        ("65", [("<indPres>1", "<indPres>4")], "750"),
        ("65", [("<idDest>1", "<idDest>2")], "707"),
        ("65", [("<tpImp>4", "<tpImp>1")], "709"),
        ("65", [("<tpNF>1", "<tpNF>0")], "706"),
        ("65", [("<infNFeSupl>.*</infNFeSupl>", "")], "394"),
        ("65", [(r"\|3\|1", "|3|2")], "395"),
        ("55", [("<vProd>36.00</vProd><cEANTrib>", "<vProd>35.00</vProd><cEANTrib>")], "629"),
        ("55", [("<vNF>36.00", "<vNF>35.00")], "610"),
        ("55", [("<vPag>36.00", "<vPag>35.00")], "865"),
        ("55", [("<card>.*</card>", "")], "391"),
    ],
)
async def test_the_rules_of_the_contract(shop, modelo: str, changes, code: str) -> None:
    """One thing is wrong, and its code is inside of the protocol of that key; only then is nothing registered."""
    answer = await shop.send(shop.altered(shop.note(modelo), *changes))
    assert stat(answer) == code
    assert len(shop.sefaz.authorised()) == (code == "100")
    if code not in {"100", "225"}:
        assert said(answer.find(".//{*}protNFe"), "nProt") is None


@pytest.mark.parametrize(("modelo", "code"), [("55", "598"), ("65", "373")])
async def test_homologation_has_words_of_its_own(shop, modelo: str, code: str) -> None:
    """What the gateway writes there is taken; the words of a real sale are not."""
    note = shop.note(modelo, ambiente=Ambiente.HOMOLOGACAO)
    assert stat(await shop.send(shop.altered(note, (" - SEM VALOR FISCAL", " - DE VERDADE")))) == code
    assert stat(await shop.send(note)) == "100"
    assert shop.sefaz.authorised()[0].tp_amb == "2"


@pytest.mark.parametrize("codigo", ["11111111", "12345678", "01234567", "00000042"])
async def test_a_code_that_anybody_guesses_is_897(shop, codigo: str) -> None:
    """Rule B03-10, the number itself among them."""
    note, old = shop.note(), str(chave())
    body = old[:35] + codigo
    new = body + _digit(body)
    made = shop.altered(note, (old, new), ("<cNF>40713582", f"<cNF>{codigo}"), ("<cDV>.", f"<cDV>{new[-1]}"))
    assert stat(await shop.send(made)) == "897"


def _digit(body: str) -> str:
    left = sum(int(sign) * (2 + place % 8) for place, sign in enumerate(reversed(body))) % 11
    return "0" if left < 2 else str(11 - left)


async def test_who_stands_in_the_register(authority) -> None:
    """180 for another CRT, 203 for who may not issue, 226 and 252 for another state and environment."""
    for config, code in (
        (SefazConfig(sellers={CNPJ: Seller(crt="4")}), "180"),
        (SefazConfig(sellers={CNPJ: Seller(refused="203")}), "203"),
        (SefazConfig(ufs=frozenset({"33"})), "226"),
        (SefazConfig(tp_amb="2"), "252"),
        (SefazConfig(maker=True), "972"),
        (SefazConfig(ncms=frozenset({"12345678"})), "778"),
        (SefazConfig(at_the_door=frozenset({"180"}), sellers={CNPJ: Seller(crt="4")}), "180"),
    ):
        async with opened(authority, config) as shop:
            answer = await shop.send(shop.note())
            assert stat(answer) == code
            assert (answer.find("{*}protNFe") is None) == (code in config.at_the_door)


# the consult


async def test_217_is_absent_and_another_key_of_the_number_is_told(shop) -> None:
    """562 for another cNF, 561 for another month; 217 for a number that has no note."""
    assert stat(await shop.consult(chave())) == "217"
    await shop.send(shop.note())
    for key, code in ((chave(codigo=11_223_344), "562"), (chave(aamm="2610"), "561"), (chave(numero=43), "217")):
        answer = await shop.consult(key)
        assert stat(answer) == code
        assert (f"[chNFe:{chave()}]" in answer.findtext("{*}xMotivo")) == (code != "217")
    other = ChaveNFe("35", "2611", CNPJ, "55", 77, 42, 9, 40_713_582)
    assert stat(await shop.consult(other)) == "613"
    wrong = str(chave())[:-1] + "0"
    assert stat(await shop.consult(wrong)) == "236"
    assert stat(await shop.consult(chave(aamm="2604"))) == "526"


async def test_a_note_is_not_seen_at_once_where_the_consult_lags(shop) -> None:
    """217 then 100, while the number is taken from the first moment on."""
    shop.sefaz.faults.set(Fault.READ_LAG, seconds=90)
    note = shop.note()
    await shop.send(note)
    assert stat(await shop.consult(chave())) == "217"
    assert stat(await shop.send(note)) == "204"
    shop.clock.move(2 * MINUTE)
    assert stat(await shop.consult(chave())) == "100"


async def test_the_eleventh_consult_of_an_hour_stops_every_call_for_an_hour(shop) -> None:
    """656, of that CNPJ alone; ten are answered, and ten more an hour later."""
    for _ in range(10):
        assert stat(await shop.consult(chave())) == "217"
    assert stat(await shop.consult(chave())) == "656"
    assert stat(await shop.send(shop.note())) == "656"
    assert stat(await shop.asked("NFeStatusServico4", document.service_status("35", PROD))) == "656"
    other = Shop(shop.sefaz, shop.sefaz.authority.company(OTHER), shop.clock)
    async with other.http:
        assert stat(await other.consult(chave(cnpj=OTHER))) == "217"
    shop.clock.move(HOUR - MINUTE)
    assert stat(await shop.consult(chave(numero=1))) == "656"
    shop.clock.move(2 * MINUTE)
    assert stat(await shop.consult(chave())) == "217"
    assert not shop.sefaz.authorised()


async def test_the_same_refusal_thirty_times_is_consumption_too(shop) -> None:
    """656 for the 31st of one note in an hour, and for everything after it."""
    note = shop.note(emissao=shop.clock.at + HOUR)
    assert {stat(await shop.send(note)) for _ in range(30)} == {"703"}
    assert stat(await shop.send(note)) == "656"
    assert stat(await shop.consult(chave())) == "656"


async def test_digval_may_be_missing(authority) -> None:
    """In the protocol, and in the consult alone."""
    for config, told in (
        (SefazConfig(digest=False), [False, True]),
        (SefazConfig(digest_in_consult=False), [True, False]),
    ):
        async with opened(authority, config) as shop:
            answers = [await shop.send(shop.note()), await shop.consult(chave())]
            assert [said(one, "digVal") is not None for one in answers] == told


# events


@pytest.mark.parametrize("modelo", ["55", "65"])
async def test_a_note_is_cancelled_once(shop, modelo: str) -> None:
    """135, then 573; the consult says 101 and shows the event, and the number stays taken: 218."""
    key, note = chave(modelo), shop.note(modelo)
    nprot = said(await shop.send(note), "nProt") or ""
    done = await shop.cancel(key, nprot)
    assert (done.findtext("{*}cStat"), stat(done)) == ("128", "135")
    held(done, "nfe_evento_cancel/schemas/v1_0", "retEnvEventoCancNFe_v1.00.xsd")
    assert stat(await shop.cancel(key, nprot)) == "573"
    found = await shop.consult(key)
    held(found, "nfe/schemas/v4_0", "retConsSitNFe_v4.00.xsd")
    assert found.findtext("{*}cStat") == "101"
    event = found.find("{*}procEventoNFe")
    assert event.findtext("{*}evento/{*}infEvento/{*}tpEvento") == "110111"
    assert event.findtext("{*}retEvento/{*}infEvento/{*}cStat") == "135"
    assert stat(await shop.send(note)) == "218"
    (kept,) = shop.sefaz.authorised()
    assert xmlsec_accepts(kept.events[0].xml)


async def test_what_keeps_a_note_from_being_cancelled(shop) -> None:
    """494 for a key without a note, 222 for another protocol, 577 to 579 for its time, 213 for another's signature."""
    assert stat(await shop.cancel(chave(), "135260000000001")) == "494"
    nprot = said(await shop.send(shop.note(emissao=shop.clock.at - MINUTE)), "nProt") or ""
    assert stat(await shop.cancel(chave(), "135260000099999")) == "222"
    for when, code in ((-2 * MINUTE, "577"), (-MINUTE / 2, "579"), (6 * MINUTE, "578")):
        assert stat(await shop.cancel(chave(), nprot, shop.clock.at + when)) == code
    other = Shop(shop.sefaz, shop.sefaz.authority.company(OTHER), shop.clock)
    async with other.http:
        assert stat(await other.cancel(chave(), nprot)) == "213"
    assert shop.sefaz.authorised()[0].cancelled is None


@pytest.mark.parametrize(("modelo", "term"), [("55", 24 * HOUR), ("65", 30 * MINUTE)])
async def test_a_cancellation_has_a_term(authority, modelo: str, term) -> None:
    """501 afterwards, or 155 where the state takes it late; the note is then found as 151."""
    for config, code, found in ((SefazConfig(), "501", "100"), (SefazConfig(cancel_late=True), "155", "151")):
        async with opened(authority, config) as shop:
            nprot = said(await shop.send(shop.note(modelo)), "nProt") or ""
            shop.clock.move(term + MINUTE)
            assert stat(await shop.cancel(chave(modelo), nprot)) == code
            assert (await shop.consult(chave(modelo))).findtext("{*}cStat") == found


@pytest.mark.parametrize("again", ["573", "218", "580"])
async def test_a_second_cancellation_is_one_of_three_codes(authority, again: Any) -> None:
    """None of them says more than that the consult must be asked."""
    async with opened(authority, SefazConfig(cancelled_again=again)) as shop:
        nprot = said(await shop.send(shop.note()), "nProt") or ""
        assert [stat(await shop.cancel(chave(), nprot)) for _ in range(2)] == ["135", again]
        assert len(shop.sefaz.authorised()[0].events) == 1


async def test_letters_of_correction(shop) -> None:
    """Each number of a letter once, and none of a cancelled note."""
    nprot = said(await shop.send(shop.note()), "nProt") or ""
    first = await shop.correct(chave())
    assert stat(first) == "135"
    held(first, "nfe_evento_cce/schemas/v1_0", "retEnvCCe_v1.00.xsd")
    assert [stat(await shop.correct(chave(), one)) for one in (1, 2)] == ["573", "135"]
    await shop.cancel(chave(), nprot)
    assert stat(await shop.correct(chave(), 3)) == "580"


async def test_an_event_may_be_registered_without_its_note(shop) -> None:
    """136 proves as much as 135, and the consult shows it."""
    nprot = said(await shop.send(shop.note()), "nProt") or ""
    shop.sefaz.faults.set(Fault.UNLINKED, times=1)
    assert stat(await shop.cancel(chave(), nprot)) == "136"
    assert (await shop.consult(chave())).findtext("{*}cStat") == "101"


# closed numbers


async def test_closed_numbers_stay_closed(shop) -> None:
    """102, then 563 for the same range and 256 for a part of it; a note of such a number is 206."""
    done = await shop.close_numbers(range(42, 44))
    held(done, "nfe/schemas/v4_0", "retInutNFe_v4.00.xsd")
    assert (stat(done), said(done, "nNFFin")) == ("102", "43")
    assert [stat(await shop.close_numbers(one)) for one in (range(42, 44), range(43, 45))] == ["563", "256"]
    assert stat(await shop.send(shop.note())) == "206"
    assert stat(await shop.consult(chave())) == "217"
    assert stat(await shop.send(shop.note("65"))) == "100"
    assert stat(await shop.send(shop.note(key=chave(numero=44)))) == "100"


@pytest.mark.parametrize("modelo", ["55", "65"])
async def test_a_number_that_is_a_note_is_not_closed(shop, modelo: str) -> None:
    """241, of a cancelled note too."""
    nprot = said(await shop.send(shop.note(modelo)), "nProt") or ""
    assert stat(await shop.close_numbers(range(41, 43), modelo)) == "241"
    await shop.cancel(chave(modelo), nprot)
    assert stat(await shop.close_numbers(range(42, 43), modelo)) == "241"
    assert stat(await shop.close_numbers(range(41, 42), modelo)) == "102"


# faults


@pytest.mark.parametrize(
    ("fault", "authorised"),
    [
        (Fault.DROP_BEFORE, False),
        (Fault.LOSE_ANSWER, True),
        (Fault.ERROR_500, False),
        (Fault.ERROR_500_ACCEPTED, True),
        (Fault.HTML, False),
        (Fault.HTML_ACCEPTED, True),
        (Fault.TRUNCATED, True),
        (Fault.UNCATALOGUED, False),
        (Fault.UNCATALOGUED_ACCEPTED, True),
        (Fault.WRONG_ROOT, True),
        (Fault.NO_NUMBER, True),
        (Fault.OTHER_REFERENCE, True),
    ],
)
async def test_a_lost_answer_says_nothing(shop, fault: Fault, authorised: bool) -> None:
    """Nobody reads a protocol of this key out of it; the consult tells what became of the note."""
    shop.sefaz.faults.set(fault, times=1)
    try:
        answer = await shop.send(shop.note())
        whole = (said(answer, "chNFe"), answer.tag.rpartition("}")[2]) == (str(chave()), "retEnviNFe")
        told = whole and said(answer, "nProt") is not None and stat(answer) == "100"
    except (httpx.TransportError, etree.XMLSyntaxError, AssertionError, AttributeError, TypeError):
        told = False
    assert not told
    assert stat(await shop.consult(chave())) == ("100" if authorised else "217")
    assert shop.sefaz.faults.hits[fault] == 1


async def test_trouble_may_be_a_page(authority) -> None:
    """A status of 500 with HTML, before and after the note."""
    async with opened(authority, SefazConfig(page=True)) as shop:
        shop.sefaz.faults.set(Fault.ERROR_500_ACCEPTED, times=1)
        answer = await shop.post("NFeAutorizacao4", document.lot(shop.note(), 1))
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (500, "text/html")
        assert stat(await shop.consult(chave())) == "100"


async def test_a_note_in_the_queue_is_635_then_a_note(shop) -> None:
    """The first sending is never answered; meanwhile the number is 635 and the key 217."""
    shop.sefaz.faults.set(Fault.QUEUED, times=1, seconds=120)
    note = shop.note("65")
    with pytest.raises(httpx.TransportError):
        await shop.send(note)
    assert [stat(await shop.send(note)), stat(await shop.consult(chave("65")))] == ["635", "217"]
    assert not shop.sefaz.authorised()
    shop.clock.move(6 * MINUTE)
    assert stat(await shop.consult(chave("65"))) == "100"
    assert len(shop.sefaz.authorised()) == 1


async def test_a_receipt_in_place_of_a_protocol(shop) -> None:
    """103, then 105, then 104 with the protocol; 106 for a receipt that nobody gave, and a refusal travels so too."""
    shop.sefaz.faults.set(Fault.RECEIPT, times=2, seconds=60)
    first = await shop.send(shop.note())
    second = await shop.send(shop.note(key=chave(codigo=11_223_344, numero=43), emissao=shop.clock.at + HOUR))
    held(first, "nfe/schemas/v4_0", "retEnviNFe_v4.00.xsd")
    assert [stat(one) for one in (first, second)] == ["103", "103"]
    asked = [receipt(said(one, "nRec")) for one in (first, second)]
    assert stat(await shop.asked("NFeRetAutorizacao4", asked[0])) == "105"
    shop.clock.move(2 * MINUTE)
    answers = [await shop.asked("NFeRetAutorizacao4", one) for one in asked]
    held(answers[0], "nfe/schemas/v4_0", "retConsReciNFe_v4.00.xsd")
    assert [stat(one) for one in answers] == ["100", "703"]
    assert stat(await shop.asked("NFeRetAutorizacao4", receipt("3" * 15))) == "106"


async def test_120_authorises_with_an_alert(shop) -> None:
    """Fields cMsg and xMsg stand in the protocol, as the schema has them."""
    shop.sefaz.faults.set(Fault.ALERT, times=1, message="NCM em revisão")
    answer = await shop.send(shop.note())
    held(answer, "nfe/schemas/v4_0", "retEnviNFe_v4.00.xsd")
    assert (stat(answer), said(answer, "xMsg")) == ("120", "NCM em revisão")
    assert (await shop.consult(chave())).findtext("{*}cStat") == "120"


async def test_answers_of_another_form(shop) -> None:
    """As text in place of XML, and in no namespace: the same words."""
    shop.sefaz.faults.set(Fault.ESCAPED, times=1)
    answer = await shop.post("NFeAutorizacao4", document.lot(shop.note(), 1))
    inside = etree.fromstring(answer.content).find(".//{*}nfeResultMsg")
    assert len(inside) == 0
    assert stat(etree.fromstring(inside.text)) == "100"
    shop.sefaz.faults.set(Fault.NO_NAMESPACE, times=1)
    assert (await shop.consult(chave())).tag == "retConsSitNFe"


async def test_a_refusal_by_a_switch_is_of_its_code(shop) -> None:
    """Inside of the protocol or before it, with words of its own."""
    shop.sefaz.faults.set(Fault.REJECT, times=1, message="1115 IBS/CBS nao informado")
    answer = await shop.send(shop.note())
    assert stat(answer) == "1115"
    assert "IBS/CBS" in answer.find(".//{*}infProt").findtext("{*}xMotivo")
    shop.sefaz.faults.set(Fault.REFUSE, times=1, message="281")
    answer = await shop.send(shop.note())
    assert (stat(answer), answer.find("{*}protNFe")) == ("281", None)


# who judges


async def test_the_books_judge(shop) -> None:
    """One sale under two numbers is a duplicate until one is cancelled; a number with neither note nor end is told."""
    for number in (1, 4):
        await shop.send(shop.note(key=chave(numero=number), referencia="venda-1"))
    await shop.send(shop.note("65", key=chave("65", numero=1), referencia="venda-2"))
    await shop.close_numbers(range(2, 3))
    (reference,) = shop.sefaz.duplicates()
    assert [int(one.chave.numero) for one in shop.sefaz.of_reference(reference)] == [1, 4]
    assert shop.sefaz.unexplained(CNPJ, "55", 77) == [3]
    assert shop.sefaz.unexplained(CNPJ, "65", 77) == []
    shop.sefaz.cancel_elsewhere(str(chave(numero=4)))
    assert not shop.sefaz.duplicates()
    assert shop.sefaz.calls()["NFeAutorizacao4", str(chave(numero=1))] == 1
    assert shop.sefaz.calls()["NFeInutilizacao4", f"ID3526{CNPJ}55077000000002000000002"] == 1


async def test_the_judge_sees_what_no_authority_would_do(shop) -> None:
    """A SEFAZ that forgets its numbers makes one sale twice, and the books say so."""
    shop.sefaz.faults.set(Fault.NO_UNIQUENESS, times=1)
    for key in (chave(), chave(codigo=11_223_344)):
        assert stat(await shop.send(shop.note(key=key))) == "100"
    ((reference, notes),) = shop.sefaz.duplicates().items()
    assert (len(notes), {one.reference for one in notes}) == (2, {reference})


async def test_another_system_takes_a_number(shop) -> None:
    """By hand and over the admin page; the shop's own note of that number is then 539."""
    taken = chave(codigo=11_223_344)
    told = await shop.http.post(shop.sefaz.url + "/_sandbox/outro/nfe", json={"chave": str(taken), "tp_amb": "1"})
    assert told.status_code == 201
    assert stat(await shop.send(shop.note())) == "539"
    assert stat(await shop.consult(chave())) == "562"
    with pytest.raises(ValueError, match=str(taken)):
        shop.sefaz.issue_elsewhere(str(taken))


async def test_a_reopened_book_goes_on(authority, tmp_path: Path) -> None:
    """Notes, events, closed numbers, the queue, receipts and who must wait are those of before."""
    path, clock = tmp_path / "sefaz.jsonl", Clock()
    ledger = Ledger(path, clock=clock)
    async with opened(authority, ledger=ledger) as shop:
        nprot = said(await shop.send(shop.note()), "nProt") or ""
        await shop.cancel(chave(), nprot)
        await shop.close_numbers(range(50, 52))
        shop.sefaz.faults.set(Fault.RECEIPT, times=1, seconds=60)
        number = said(await shop.send(shop.note(key=chave(numero=43))), "nRec")
        for _ in range(11):
            await shop.consult(chave(numero=44))
        before, closed = dict(shop.sefaz.notes), list(shop.sefaz.closed)
    ledger.close()
    again = Ledger(path, clock=clock)
    async with opened(authority, ledger=again) as shop:
        assert (shop.sefaz.notes, shop.sefaz.closed) == (before, closed)
        assert stat(await shop.consult(chave())) == "656"
        clock.move(2 * HOUR)
        assert stat(await shop.asked("NFeRetAutorizacao4", receipt(number))) == "100"
        assert [int(one.chave.numero) for one in shop.sefaz.authorised()] == [42, 43]
    again.close()


async def test_the_clock_of_machines_is_the_usual_one(authority) -> None:
    """Without an invented clock it is now."""
    async with opened(authority, ledger=Ledger()) as shop:
        assert abs((datetime.now(UTC) - shop.sefaz.ledger.now()).total_seconds()) < 5


async def test_a_world_opens_sefaz_beside_the_others() -> None:
    """Its address and the authority's file are among the world's; without it neither is."""
    async with World(config=WorldConfig(sefaz=SefazConfig())) as world:
        assert world.simulators[-1] is world.sefaz
        assert (world.urls.sefaz_url, world.urls.nacional_ca_file) == (
            f"{world.sefaz.url}{BASE}",
            str(world.authority.ca_file),
        )
        shop = Shop(world.sefaz, world.authority.company(CNPJ))
        async with shop.http:
            assert stat(await shop.asked("NFeStatusServico4", document.service_status("35", PROD))) == "107"
    with pytest.raises(LookupError):
        _ = World().sefaz
    assert "sefaz_url" not in World().urls.as_dict()
