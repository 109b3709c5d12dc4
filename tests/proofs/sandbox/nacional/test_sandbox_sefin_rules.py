"""Each rule of the simulated SEFIN by its code."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from gateway.keys import ChaveNFSe
from gateway.nacional.dps import id_dps
from gateway.nacional.event import build_cancellation
from gateway.nacional.layouts import Layout
from gateway.nacional.signature import pack, sign, unpack
from proofs.sandbox.faults import Fault
from proofs.sandbox.nacional.register import Checks, City
from proofs.sandbox.nacional.sefin import NacionalConfig
from state_machine.cancellation.machine import Codigo, MotivoCancelamento
from state_machine.documents import Substituicao, Tomador, Tributos
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ
from tests.proofs.sandbox.nacional.nacional_company import ANA, LETTERS, PADARIA, Company, invoice, opened, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.sandbox.nacional.authority import Made

CITY = "3550308"
BURDEN = Tributos(Decimal(3), Decimal(0), Decimal(2))
NORMAL: dict[str, Any] = {"p_tot_trib_sn": None, "p_tot_trib": BURDEN}
MEI: dict[str, Any] = {"p_tot_trib_sn": None}


def swapped(old: str, new: str, intent: Any = None, **facts: Any) -> Callable[[Company], bytes]:
    """A DPS in which words were swapped before it was signed."""

    def make(company: Company) -> bytes:
        xml = unsigned(intent or invoice(), **facts).decode()
        assert old in xml
        return company.resigned(xml.replace(old, new).encode())

    return make


def built(intent: Any = None, **facts: Any) -> Callable[[Company], bytes]:
    """A DPS as the product makes it."""
    return lambda company: company.signed(intent or invoice(), **facts)


TOMORROW = datetime.now(UTC) + timedelta(days=2)


def ahead(company: Company) -> bytes:
    """A DPS of a competence that has not come: of this very moment, since a day may end while the tests run."""
    intent = invoice()
    return swapped(f"<dCompet>{intent.competencia}<", f"<dCompet>{TOMORROW:%Y-%m-%d}<", intent)(company)


SN = "<totTrib><pTotTribSN>6.00</pTotTribSN></totTrib>"
IND = "<totTrib><indTotTrib>0</indTotTrib></totTrib>"
PERCENT = "<totTrib><pTotTrib><pTotTribFed>3.00</pTotTribFed><pTotTribEst>0.00</pTotTribEst>"
PERCENT += "<pTotTribMun>2.00</pTotTribMun></pTotTrib></totTrib>"
HELD = "<tpRetISSQN>1</tpRetISSQN>"
RATED = HELD + "<pAliq>2.00</pAliq>"
PREST = "</CNPJ><regTrib>"
ADDRESS = "<end><endNac><cMun>3550308</cMun><CEP>01001000</CEP></endNac>"
ADDRESS += "<xLgr>Rua A</xLgr><nro>1</nro><xBairro>Centro</xBairro></end>"
ELSEWHERE = "3304557"
AWAY = {ELSEWHERE: City(active=False)}
normal = invoice(prestador={"regime": "normal"})
mei = invoice(prestador={"regime": "mei"})

RULES: list[tuple[str, Callable[[Company], bytes]]] = [
    ("E0004", swapped("<nDPS>1<", "<nDPS>2<")),
    ("E0006", built(ambiente=Ambiente.PRODUCAO)),
    ("E0008", built(dh_emi=TOMORROW)),
    ("E0015", ahead),
    ("E0121", swapped(PREST, "</CNPJ><xNome>ANA</xNome><regTrib>")),
    ("E0128", swapped(PREST, f"</CNPJ>{ADDRESS}<regTrib>")),
    ("E0202", swapped(PADARIA, ANA)),
    ("E0310", built(invoice(prestador={"codigo_servico": "00.00.00"}))),
    ("E0600", swapped(HELD, RATED, mei, **MEI)),
    ("E0617", swapped(HELD, RATED, normal, **NORMAL)),
    ("E0625", swapped(HELD, RATED)),
    ("E0710", swapped(IND, SN, mei, **MEI)),
    ("E0712", swapped(SN, IND)),
    ("E0713", swapped(PERCENT, IND, normal, **NORMAL)),
    ("E0714", lambda ana: ana.signed(invoice()).replace(b"1500.10", b"1500.11")),
    ("E0717", lambda _: unsigned(invoice())),
    ("E1226", lambda ana: ana.signed(invoice())[:-9]),
    ("E1228", lambda ana: ana.signed(invoice()).replace(b"<DPS ", b'<DPS xmlns:a="urn:a" ')),
    ("E1229", lambda ana: ana.signed(invoice()).split(b"?>", 1)[1]),
    ("E1229", lambda ana: ana.signed(invoice()).replace(b"Consultoria", b"Consultoria \xe7")),
    ("E1235", swapped("<xDescServ>Consultoria</xDescServ>", "")),
    ("E1242", lambda _: b"<?xml version='1.0' encoding='UTF-8'?><NFSe/>"),
]


@pytest.mark.parametrize(("code", "make"), RULES, ids=[f"{code}-{n}" for n, (code, _) in enumerate(RULES)])
async def test_a_rule_of_the_dps(ana, code: str, make: Callable[[Company], bytes]) -> None:
    """What breaks one rule is refused with its code, and makes no note."""
    assert code in await ana.codes(make(ana))
    assert not ana.sefin.notes


async def test_a_series_beyond_ours(ana) -> None:
    """E0010 is of the series itself, not of the Id alone."""
    xml = unsigned(invoice()).replace(b"<serie>900<", b"<serie>50000<").replace(b"00900000000", b"50000000000")
    assert await ana.codes(ana.resigned(xml)) == ["E0010"]


CITIES: list[tuple[str, City, Callable[[Company], bytes]]] = [
    ("E0037", City(registered=False), built()),
    ("E0039", City(issues=False), built()),
    ("E0016", City(since=date(2098, 1, 1)), built()),
    ("E0038", City(active=False), built()),
]


@pytest.mark.parametrize(("code", "city", "make"), CITIES, ids=[code for code, *_ in CITIES])
async def test_a_rule_of_the_city(authority, code: str, city: City, make: Callable[[Company], bytes]) -> None:
    """What the city has not agreed to is refused."""
    async with opened(authority, NacionalConfig(cities={CITY: city})) as company:
        assert await company.codes(make(company)) == [code]


def done_elsewhere(company: Company, *, held: str = HELD, intent: Any = None, **facts: Any) -> bytes:
    """A DPS of furniture kept in another city, to which its ISS is due."""
    intent = intent or invoice(prestador={"codigo_servico": "11.04.01"})
    moved = swapped("<cLocPrestacao>3550308<", f"<cLocPrestacao>{ELSEWHERE}<", intent, **facts)(company)
    xml = moved.partition(b"<Signature")[0] + b"</DPS>"
    return company.resigned(xml.replace(HELD.encode(), held.encode()))


async def test_a_rule_of_the_city_to_which_iss_is_due(authority) -> None:
    """Where its agreement is not in force, a normal company says the rate, and one of the Simples does not."""
    plain = invoice(prestador={"regime": "normal", "codigo_servico": "11.04.01"})
    async with opened(authority, NacionalConfig(cities=AWAY)) as company:
        assert await company.codes(done_elsewhere(company, intent=plain, **NORMAL)) == ["E0619"]
        assert await company.codes(done_elsewhere(company, held=RATED)) == ["E0631"]
        assert (await company.post(done_elsewhere(company, intent=plain, held=RATED, **NORMAL))).status_code == 201


async def test_a_mei_issues_wherever_they_are(authority) -> None:
    """Of the city's agreement a MEI is free."""
    async with opened(authority, NacionalConfig(cities={CITY: City(registered=False)})) as company:
        await company.issue(mei, **MEI)
        rated = invoice(2, prestador={"regime": "normal", "aliquota": Decimal(3)})
        assert await company.codes(company.signed(rated, convenio_ativo=False, **NORMAL)) == ["E0037"]


async def test_a_number_is_used_once(ana) -> None:
    """E0014 is about city, issuer, series and number: other content under them is refused all the same."""
    xml = ana.signed(invoice())
    assert (await ana.post(xml)).status_code == 201
    assert await ana.codes(xml) == ["E0014"]
    assert await ana.codes(ana.signed(invoice(valor=Decimal(2)))) == ["E0014"]
    assert len(ana.sefin.notes) == 1


async def test_the_issuer_signs(ana) -> None:
    """A good signature of another company is refused; that of another establishment of the same one is not."""
    other = ana.sefin.authority.company(LETTERS)
    wrong = sign(unsigned(invoice()), str(id_dps(invoice())), other.rsa, other.certificate)
    assert await ana.codes(wrong) == ["E0718"]
    branch = ana.sefin.authority.company("11222333000262")
    right = sign(unsigned(invoice()), str(id_dps(invoice())), branch.rsa, branch.certificate)
    assert (await ana.post(right)).status_code == 201


@pytest.mark.parametrize(
    ("code", "facts"),
    [("E0715", {"ends": datetime.now(UTC) - timedelta(hours=1)}), ("E0716", {"ca": True}), ("E0716", {"oid": None})],
)
async def test_the_certificate_of_a_signature(ana, code: str, facts: dict[str, Any]) -> None:
    """It is in force, its holder's own, and names a CNPJ."""
    made = ana.sefin.authority.company(ANA, **facts)
    assert code in await ana.codes(sign(unsigned(invoice()), str(id_dps(invoice())), made.rsa, made.certificate))


async def test_a_closed_customer(authority) -> None:
    """A tomador whom the register shows as closed is refused."""
    async with opened(authority, NacionalConfig(closed=frozenset({PADARIA}))) as company:
        assert await company.codes(company.signed(invoice())) == ["E0190"]
        await company.issue(invoice(tomador=Tomador("11144477735", "João da Silva", None)))


@pytest.mark.parametrize("sent", [b"{", b"[]", b'{"dpsXmlGZipB64": 7}', b'{"dpsXmlGZipB64": "AAAA"}'])
async def test_what_is_no_order_is_refused(ana, sent: bytes) -> None:
    """No JSON, no field, no base64, no gzip: E1225."""
    answer = await ana.http.post("/nfse", content=sent)
    assert answer.status_code == 400
    assert ana.sefin.ledger.of("refused")[-1].data["codes"] == ["E1225"]


@pytest.mark.parametrize(("checks", "code"), [(Checks(schema=False), "E1235"), (Checks(signature=False), "E0714")])
async def test_a_check_can_be_turned_off_to_see_who_notices(authority, checks: Checks, code: str) -> None:
    """Without a check what it refuses is refused no more by it."""
    make = dict(RULES)[code] if code != "E1235" else swapped("<verAplic>prosa<", "<verAplic>prosa, mas longo demais<")
    async with opened(authority, NacionalConfig()) as company:
        assert await company.codes(make(company)) == [code]
    async with opened(authority, NacionalConfig(checks=checks)) as company:
        answer = await company.post(make(company))
        assert answer.status_code != 400 or code not in answer.text


async def test_a_substitution_cancels_what_it_replaces(ana) -> None:
    """A DPS with ``subst`` makes a note and the event at the old one; what is no living note of ours is refused."""
    old = (await ana.issue())["chaveAcesso"]

    def instead(of: str, numero: int, regime: str = "simples", **changes: Any) -> bytes:
        instead_of = Substituicao(of, "Valor corrigido depois")
        intent = invoice(numero, substitui=instead_of, prestador={"regime": regime}, **changes)
        xml: bytes = ana.signed(intent, **(NORMAL if regime == "normal" else {}))
        return xml

    assert (await ana.post(instead(old, 2))).status_code == 201
    assert ana.sefin.notes[old].cancelled
    events = (await ana.http.get(f"/nfse/{old}/eventos/105102")).json()["eventos"]
    assert b"<chSubstituta>" in unpack(events[0]["arquivoXml"])
    assert await ana.codes(instead(old, 3)) == ["E0046"]
    absent = str(replace(ChaveNFSe.parse(old), numero=999))
    assert await ana.codes(instead(absent, 3)) == ["E0044"]
    other = (await ana.issue(invoice(3)))["chaveAcesso"]
    assert await ana.codes(instead(other, 4, valor=Decimal("1800.00"))) == ["E0060"]
    assert not ana.sefin.notes[other].cancelled
    assert (await ana.post(instead(other, 4, "normal", valor=Decimal("1800.00")))).status_code == 201
    assert ana.sefin.notes[other].cancelled


def request(
    company: Company, chave: str, *, made: Made | None = None, old: str = "", new: str = "", **facts: Any
) -> bytes:
    """A signed request of Ana's to cancel a note, with words swapped before it was signed."""
    said = {"layout": Layout(), "ambiente": Ambiente.HOMOLOGACAO, "dh_evento": datetime.now(UTC), **facts}
    motivo = MotivoCancelamento(Codigo.ERRO_NA_EMISSAO, "Valor do serviço digitado errado")
    identity, xml = build_cancellation(ChaveNFSe.parse(chave), CNPJ(ANA), motivo, **said)
    made = made or company.made
    return sign(xml.decode().replace(old, new).encode() if old else xml, str(identity), made.rsa, made.certificate)


async def cancel(company: Company, chave: str, xml: bytes) -> list[str]:
    """Ask; returns the codes, none when it was registered."""
    answer = await company.http.post(f"/nfse/{chave}/eventos", json={"pedidoRegistroEventoXmlGZipB64": pack(xml)})
    if answer.status_code == 201:
        assert b"<infEvento" in unpack(answer.json()["eventoXmlGZipB64"])
        return []
    found: list[str] = company.sefin.ledger.of("refused")[-1].data["codes"]
    return found


async def test_a_cancellation_is_registered_once(ana) -> None:
    """The same request again has an id that is there (E0802), another one meets the event (E0840)."""
    chave = (await ana.issue())["chaveAcesso"]
    assert (await ana.http.get(f"/nfse/{chave}/eventos/101101")).status_code == 404
    first = request(ana, chave)
    assert await cancel(ana, chave, first) == []
    assert await cancel(ana, chave, first) == ["E0802"]
    assert await cancel(ana, chave, request(ana, chave, old="errado", new="mal")) == ["E0840"]
    (row,) = (await ana.http.get(f"/nfse/{chave}/eventos")).json()["eventos"]
    one = (await ana.http.get(f"/nfse/{chave}/eventos/101101/1")).json()
    assert (row["tipoEvento"], row["arquivoXml"]) == (101101, one["eventoXmlGZipB64"])
    assert len(ana.sefin.notes[chave].events) == 1


async def test_rules_of_a_request(ana) -> None:
    """Identity, environment, moment, author, signature and the note itself are looked at."""
    chave = (await ana.issue())["chaveAcesso"]
    other = ana.sefin.authority.company(LETTERS)
    wrong = {
        "E1827": request(ana, chave, old=f"<chNFSe>{chave}", new=f"<chNFSe>{'9' * 50}"),
        "E1845": request(ana, chave, ambiente=Ambiente.PRODUCAO),
        "E1843": request(ana, chave, dh_evento=TOMORROW),
        "E0813": request(ana, chave, old=f"<CNPJAutor>{ANA}", new=f"<CNPJAutor>{PADARIA}"),
        "E0812": request(ana, chave, made=other),
        "E1980": request(ana, chave).replace(b"digitado", b"escrito "),
        "E1235": request(ana, chave, old="Valor do serviço digitado errado", new="curto"),
    }
    for code, xml in wrong.items():
        assert code in await cancel(ana, chave, xml), code
    assert not ana.sefin.notes[chave].cancelled


async def test_a_request_for_no_note(ana) -> None:
    """A key under which nothing was issued is told so."""
    chave = (await ana.issue())["chaveAcesso"]
    del ana.sefin.notes[chave]
    assert await cancel(ana, chave, request(ana, chave)) == ["E1831"]


async def test_the_deadline_of_the_city(authority) -> None:
    """After it, or on command, the cancellation is refused with E0822."""
    async with opened(authority, NacionalConfig(cancel_within=0)) as company:
        chave = (await company.issue())["chaveAcesso"]
        assert await cancel(company, chave, request(company, chave)) == ["E0822"]
    async with opened(authority) as company:
        chave = (await company.issue())["chaveAcesso"]
        company.sefin.faults.set(Fault.REJECT_CANCEL, times=1)
        assert await cancel(company, chave, request(company, chave)) == ["E0822"]
        assert await cancel(company, chave, request(company, chave)) == []
