"""Notes of goods as the official XSD takes them, with signatures that hold, and the sentences for who may not issue."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from string import digits
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from gateway.keys import ChaveInvalida, ChaveNFe
from gateway.nacional.layouts import parse
from gateway.nacional.signature import AssinaturaInvalida, verify
from gateway.nfe import adapter, document
from gateway.nfe.adapter import Sefaz
from gateway.nfe.document import build, csrt_hash, qr_code, signed
from gateway.nfe.layouts import CALENDARIO, FIM, NS, check, conditions_of_use, states
from gateway.nfe.sale import (
    MODELS,
    Destinatario,
    Emitente,
    ItemProduto,
    Maker,
    NotaInvalida,
    NotaProduto,
    Pagamento,
    Rules,
    chave_of,
    moment_of,
    reserved,
)
from gateway.port import NoneKept
from state_machine.documents import DocumentoProduto, Endereco, Prestador, Rps, Tomador
from state_machine.goods import Item
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import Rejected
from state_machine.values.text import latin1
from tests.adversaries import cpu_ms
from tests.gateway.nacional.test_dps import CNPJS, CPFS
from tests.gateway.nfe.made_sale import ADDRESS, BUYER, CAKE, CNPJ, NOW, PAIR, SHOP, WITH, chave, sale, xmlsec_accepts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LETTERS = "12ABC34501DE35"
HOMOLOGATED = Ambiente.HOMOLOGACAO
SP_QR = "https://www.nfce.fazenda.sp.gov.br/qrcode"


@pytest.mark.parametrize(
    ("modelo", "serie", "emissao", "cnpj", "golden"),
    [
        ("55", 77, 1, CNPJ, "35261111222333000181550770000000421407135825"),
        ("65", 77, 1, CNPJ, "35261111222333000181650770000000421407135828"),
        ("65", 77, 9, CNPJ, "35261111222333000181650770000000429407135823"),
        ("55", 77, 1, LETTERS, "35261112ABC34501DE35550770000000421407135826"),
        ("65", 77, 1, LETTERS, "35261112ABC34501DE35650770000000421407135829"),
        ("55", 900, 1, CNPJ, "35261111222333000181559000000000421407135823"),
    ],
)
def test_keys_are_the_golden_ones(modelo: str, serie: int, emissao: int, cnpj: str, golden: str) -> None:
    """With letters in the CNPJ too."""
    assert str(ChaveNFe("35", "2611", cnpj, modelo, serie, 42, emissao, 40_713_582)) == golden


def test_a_reserved_key_is_of_the_sellers_month_with_a_code_of_chance() -> None:
    """At the end of a month by the clock of Acre, which is still in November; never the same code again."""
    acre = replace(SHOP, endereco=replace(ADDRESS, estado="AC", codigo_cidade="1200401", cidade="Rio Branco"))
    end = datetime(2026, 12, 1, 4, 59, tzinfo=UTC)
    keys = {reserved(acre, "55", 1, 7, end) for _ in range(50)}
    assert len({key.codigo for key in keys}) > 45
    assert {(key.uf, key.aamm, key.numero, key.emissao) for key in keys} == {("12", "2611", 7, 1)}
    with pytest.raises(ChaveInvalida):
        reserved(acre, "55", 1, 0, end)


def texts(least: int, most: int) -> st.SearchStrategy[str]:
    """Any Unicode that leaves so many characters of Latin-1."""
    lively = st.text(max_size=most) | st.text("aé—“”…⅔\u200b\n\t<&>]]>\u0301 |", max_size=most)
    return lively.map(latin1).filter(lambda text: least <= len(text) <= most) | st.just("“ab…”"[: max(least, 3)])


@st.composite
def addresses(draw: Callable[..., Any], uf: str, ibge: str) -> Endereco:
    """An address of a state."""
    return Endereco(
        draw(texts(2, 60)),
        draw(texts(1, 60)),
        draw(texts(2, 60)),
        ibge + draw(st.text(digits, min_size=5, max_size=5)),
        draw(texts(2, 60)),
        uf,
        draw(st.text(digits, min_size=8, max_size=8)),
        draw(st.none() | texts(1, 60)),
    )


@st.composite
def itens(draw: Callable[..., Any], regime: str, modelo: str) -> ItemProduto:
    """A line that a regime may sell in a model."""
    kinds = {
        ("simples", "55"): ["102", "103", "300", "400", "500"],
        ("simples", "65"): ["102", "103", "300", "400", "500"],
        ("mei", "55"): ["102", "300", "400"],
        ("mei", "65"): ["102", "300"],
    }
    csosn = draw(st.sampled_from(kinds[regime, modelo]))
    free = ["5102"] if regime == "mei" else ["5101", "5102"]
    return ItemProduto(
        codigo=draw(texts(1, 60)),
        texto=draw(texts(1, 120)),
        ncm=draw(st.text(digits, min_size=8, max_size=8).filter(lambda code: code != "0" * 8)),
        cfop="5405" if csosn == "500" else draw(st.sampled_from(free)),
        csosn=csosn,
        unidade=draw(texts(1, 6)),
        quantidade=draw(st.decimals("0.0001", "999999.9999", places=4) | st.integers(1, 999_999).map(Decimal)),
        preco=draw(st.decimals("100.0000000001", "999999", places=10) | st.decimals("100", "99999", places=2)),
        origem=draw(st.sampled_from("012345678")),
        cest=draw(st.none() | st.text(digits, min_size=7, max_size=7)),
    )


@st.composite
def sales(draw: Callable[..., Any]) -> NotaProduto:
    """Any legal sale."""
    modelo, regime = draw(st.sampled_from(["55", "65"])), draw(st.sampled_from(["simples", "mei"]))
    estado = draw(st.sampled_from([each for each in states().values() if modelo == "55" or each.qrcode]))
    seller = Emitente(
        cnpj=draw(CNPJS),
        razao_social=draw(texts(2, 60)),
        inscricao_estadual=draw(st.text(digits, min_size=2, max_size=14)),
        regime=regime,
        endereco=draw(addresses(estado.code, estado.ibge)),
        fone=draw(st.none() | st.text(digits, min_size=6, max_size=14)),
    )
    presenca = draw(st.sampled_from(["1", "2", "9"] if modelo == "55" else ["1", "4"]))
    must = modelo == "55" or presenca == "4"
    where = addresses(estado.code, estado.ibge)
    buyer = Destinatario(
        documento=draw(CPFS | CNPJS if modelo == "55" else CPFS),
        nome=draw(texts(2, 60)),
        endereco=draw(where if must else st.none() | where),
        inscricao_estadual=draw(st.none() | st.text(digits, min_size=2, max_size=14)) if modelo == "55" else None,
        email=draw(st.none() | st.emails().filter(lambda mail: mail.isascii() and 6 <= len(mail) <= 60)),
    )
    lines = tuple(draw(st.lists(itens(regime, modelo), min_size=1, max_size=4)))
    total = sum((line.total for line in lines), Decimal(0))
    nameless = not must and total < 10_000 and draw(st.booleans())
    share = draw(st.decimals("0.01", str(total - Decimal("0.01")), places=2)) if total > 1 else total
    parts = [share, total - share] if share != total else [total]
    means = st.sampled_from(["01", "03", "04", "05", "15", "16", "17", "18", "20"])
    code, number = draw(st.integers(0, 10**8 - 1)), draw(st.integers(1, 10**9 - 1))
    when = datetime(2026, 11, draw(st.integers(2, 29)), 12, 0, 7, 9, tzinfo=UTC)
    try:
        key = ChaveNFe(estado.ibge, "2611", seller.cnpj, modelo, draw(st.integers(1, 889)), number, 1, code)
    except ChaveInvalida:
        key = ChaveNFe(estado.ibge, "2611", seller.cnpj, modelo, 1, 42, 1, 40_713_582)
    return NotaProduto(
        chave=key,
        emissao=when,
        ambiente=draw(st.sampled_from(Ambiente)),
        emitente=seller,
        destinatario=None if nameless else buyer,
        itens=lines,
        pagamentos=tuple(Pagamento(draw(means), part) for part in parts),
        presenca=presenca,
        referencia=draw(st.text(min_size=1)),
    )


@given(sales(), st.none() | st.just(("000001", "A-SECRET")))
def test_every_legal_sale_passes_the_official_schema_signed(nota: NotaProduto, csc: tuple[str, str] | None) -> None:
    """Two verifiers take the signature; the same sale gives the same bytes, on one line."""
    rules = Rules(csc=csc)
    made = signed(nota, *PAIR, rules)
    check(parse(made), "NFe")
    assert made == signed(nota, *PAIR, rules)
    assert b"\n" not in made
    assert not made.startswith(b"<?xml")
    assert verify(made, f"NFe{nota.chave}") == PAIR[1]
    assert xmlsec_accepts(made)
    check(parse(document.lot(made, 1)), "enviNFe")
    assert (b"<infNFeSupl>" in made) == (nota.chave.modelo == "65")


@pytest.mark.parametrize("modelo", ["55", "65"])
@pytest.mark.parametrize("change", [(b"<vNF>36.00", b"<vNF>36.01"), (b"Bolo", b"Bala"), (b"<CRT>1", b"<CRT>4")])
def test_a_copy_that_says_something_else_is_refused(modelo: str, change: tuple[bytes, bytes]) -> None:
    """By both verifiers."""
    made = signed(sale(modelo), *PAIR)
    changed = made.replace(*change)
    assert changed != made
    assert xmlsec_accepts(made)
    assert not xmlsec_accepts(changed)
    with pytest.raises(AssinaturaInvalida):
        verify(changed, f"NFe{chave(modelo)}")


@pytest.mark.parametrize("beside", [b"<infNFeSupl/><infNFeSupl/>", b"<infNFe/>", b"<other/>"])
def test_nothing_but_the_qr_code_stands_beside_what_is_signed(beside: bytes) -> None:
    """A second one, or anything else, is refused."""
    made = signed(sale(), *PAIR)
    with pytest.raises(AssinaturaInvalida):
        verify(made.replace(b"<Signature ", beside + b"<Signature ", 1), f"NFe{chave()}")


def said(made: bytes, path: str) -> str | None:
    """A text of the note."""
    found: str | None = etree.fromstring(made).findtext(
        "{*}infNFe/" + "/".join(f"{{*}}{name}" for name in path.split("/"))
    )
    return found


def test_the_facts_stand_where_the_layout_wants_them() -> None:
    """In the order of the layout, with the money of the items and the marks of what is sold how."""
    made = build(
        sale(presenca="2", itens=(CAKE, replace(CAKE, quantidade=Decimal("0.5000"), preco=Decimal("0.0300000001"))))
    )
    assert [said(made, f"ide/{name}") for name in ("tpEmis", "idDest", "indFinal", "indPres", "indIntermed")] == [
        *("1", "1", "1", "2", "0")
    ]
    assert said(made, "ide/dhEmi") == "2026-11-28T12:00:00-03:00"
    assert (said(made, "total/ICMSTot/vProd"), said(made, "total/ICMSTot/vNF")) == ("36.02", "36.02")
    assert [each.text for each in etree.fromstring(made).iter("{*}vUnCom")] == ["12", "0.0300000001"]
    assert [each.text for each in etree.fromstring(made).iter("{*}qCom")] == ["3", "0.5"]
    assert said(made, "pag/detPag/card/tpIntegra") == "2"
    assert (said(made, "dest/indIEDest"), said(made, "dest/IE")) == ("9", None)
    assert re.fullmatch("Ref. PROSA [A-Z2-7]{20}", said(made, "infAdic/infCpl") or "")
    assert said(build(sale(emitente=replace(SHOP, regime="mei"))), "emit/CRT") == "4"
    contributor = replace(BUYER, documento="11444777000161", inscricao_estadual="110042490115")
    assert said(build(sale(destinatario=contributor)), "dest/indIEDest") == "1"
    cash = build(sale(pagamentos=(Pagamento("01", Decimal(36)),)))
    assert (said(cash, "pag/detPag/vPag"), said(cash, "pag/detPag/card/tpIntegra")) == ("36.00", None)


def test_what_is_made_for_a_test_says_so() -> None:
    """In the buyer's name, or in the first item where there may be no buyer; in production nowhere."""
    sample = "EMITIDA EM AMBIENTE DE HOMOLOGACAO - SEM VALOR FISCAL"
    invoice, coupon = (build(sale(modelo, ambiente=HOMOLOGATED, itens=(CAKE, CAKE))) for modelo in ("55", "65"))
    assert said(invoice, "dest/xNome") == f"NF-E {sample}"
    assert [each.text for each in etree.fromstring(coupon).iter("{*}xProd")] == [
        f"NOTA FISCAL {sample}",
        "Bolo de pote",
    ]
    assert sample.encode() not in build(sale()) + build(sale("65"))
    assert (said(coupon, "ide/tpImp"), said(invoice, "ide/tpImp"), said(coupon, "dest/xNome")) == ("4", "1", None)


def test_the_qr_code_is_the_authoritys_text() -> None:
    """Version 3 has no secret; of version 2 the hash is over the text and the state's secret."""
    key = chave("65")
    assert qr_code(key, Ambiente.PRODUCAO, SP_QR) == f"{SP_QR}?p={key}|3|1"
    two = qr_code(key, HOMOLOGATED, SP_QR, ("000001", "0123456789"))
    assert two == f"{SP_QR}?p={key}|2|2|1|2D6AAD003EC8D6BB565B1157FD415D2432D013D7"
    made = signed(sale("65"), *PAIR)
    assert etree.fromstring(made).findtext("{*}infNFeSupl/{*}qrCode") == f"{SP_QR}?p={key}|3|1"
    assert etree.fromstring(made).findtext("{*}infNFeSupl/{*}urlChave") == "https://www.nfce.fazenda.sp.gov.br/consulta"
    assert etree.fromstring(made)[1].tag == f"{{{NS}}}infNFeSupl"


def test_the_makers_secret_gives_the_published_hash() -> None:
    """The example of the technical note; the group stands last."""
    secret, key = "G8063VRTNDMO886SFNK5LDUDEI24XJ22YIPO", "41180678393592000146558900000006041028190697"
    assert csrt_hash(secret, key) == "aWv6LeEM4X6u4+qBI2OYZ8grigw="
    maker = Maker(CNPJ, "Ana", "ana@example.org", "1133334444", ("1", secret))
    made = signed(sale(maker=maker), *PAIR)
    check(parse(made), "NFe")
    assert said(made, "infRespTec/hashCSRT") == csrt_hash(secret, chave())
    assert etree.fromstring(made)[0][-1].tag == f"{{{NS}}}infRespTec"


RIO = replace(ADDRESS, estado="RJ", codigo_cidade="3304557", cidade="Rio de Janeiro")
SC = replace(ADDRESS, estado="SC", codigo_cidade="4205407", cidade="Florianópolis")


def item(**changed: Any) -> dict[str, Any]:
    """A sale of one changed cake."""
    return {"itens": (replace(CAKE, **changed),)}


@pytest.mark.parametrize(
    ("modelo", "changed", "campo", "words"),
    [
        ("55", {"emitente": replace(SHOP, regime="normal")}, "emitente.regime", "MEI e Simples"),
        ("55", {"emitente": replace(SHOP, inscricao_estadual="")}, "emitente.inscricao_estadual", "inscrição estadual"),
        ("55", {"emitente": replace(SHOP, endereco=replace(ADDRESS, estado="RJ"))}, "emitente.endereco", "combinam"),
        ("55", {"chave": chave(serie=890)}, "chave.serie", "entre 1 e 889"),
        ("55", {"chave": replace(chave(), emissao=9)}, "chave.emissao", "contingência"),
        ("55", {"chave": chave(cnpj=LETTERS)}, "chave.emitente", "outra empresa"),
        ("55", {"emissao": NOW + timedelta(days=4)}, "emissao", "outro mês"),
        ("55", {"destinatario": None}, "destinatario", "precisa do cliente"),
        ("55", {"destinatario": replace(BUYER, endereco=None)}, "destinatario.endereco", "falta o endereço"),
        ("55", {"destinatario": replace(BUYER, endereco=RIO)}, "destinatario.endereco", "outro estado"),
        ("55", {"destinatario": replace(BUYER, endereco=replace(ADDRESS, estado="EX"))}, "destinatario", "exterior"),
        ("55", {"destinatario": replace(BUYER, documento="13167474255")}, "destinatario.documento", "não confere"),
        ("55", {"destinatario": replace(BUYER, nome="J")}, "destinatario.nome", "2 a 60 letras"),
        ("55", {"destinatario": replace(BUYER, nome="李小龍")}, "destinatario.nome", "sinais"),
        ("55", {"presenca": "4"}, "presenca", "outro tipo"),
        ("65", {"presenca": "2"}, "presenca", "em mãos"),
        ("65", {"presenca": "4"}, "destinatario", "quem recebe"),
        ("65", {"destinatario": replace(BUYER, documento="11444777000161")}, "destinatario.documento", "faça uma NF-e"),
        ("65", item(quantidade=Decimal(1000)), "destinatario", "precisa do CPF"),
        ("65", {"emitente": replace(SHOP, endereco=SC), "chave": chave("65", uf="42")}, "emitente.endereco", "em SC"),
        ("55", {"itens": ()}, "itens", "1 a 990"),
        ("55", {"itens": (CAKE,) * 991}, "itens", "divida"),
        ("55", {"itens": (replace(CAKE, texto="é" * 120, codigo="é" * 60),) * 990}, "itens", "grande demais"),
        ("55", item(quantidade=Decimal(0)), "item.quantidade", "maior que zero"),
        ("55", item(quantidade=Decimal(10**6)), "item.quantidade", "menor que 1.000.000"),
        ("55", item(quantidade=Decimal("0.00001")), "item.quantidade", "4 casas"),
        ("55", item(quantidade=Decimal("NaN")), "item.quantidade", "diga de novo"),
        ("55", item(preco=Decimal(0)), "item.preco", "maior que zero"),
        ("55", item(quantidade=Decimal("0.0001"), preco=Decimal("0.01")), "item.preco", "maior que zero"),
        ("55", item(ncm="1905909"), "item.ncm", "8 números"),
        ("55", item(ncm="00000000"), "item.ncm", "8 números"),
        ("55", item(csosn="101"), "item.csosn", "102, 103, 300, 400, 500"),
        ("55", item(cfop="6102"), "item.cfop", "fora do estado"),
        ("55", item(cfop="5405"), "item.cfop", "5101, 5102"),
        ("55", item(csosn="500"), "item.cfop", "5405"),
        (
            "55",
            {**item(csosn="500", cfop="5405"), "emitente": replace(SHOP, regime="mei")},
            "item.csosn",
            "102, 300, 400",
        ),
        ("65", {**item(csosn="400"), "emitente": replace(SHOP, regime="mei")}, "item.csosn", "102, 300"),
        ("55", {**item(cfop="5101"), "emitente": replace(SHOP, regime="mei")}, "item.cfop", "5102"),
        ("55", {"pagamentos": ()}, "pagamentos", "forma de pagamento"),
        ("55", {"pagamentos": (Pagamento("02", Decimal(36)),)}, "pagamentos", "forma de pagamento"),
        ("55", {"pagamentos": (Pagamento("01", Decimal(35)),)}, "pagamentos", "não somam"),
        ("65", {"pagamentos": (Pagamento("90", Decimal(0)),)}, "pagamentos", "NFC-e"),
    ],
)
def test_who_may_not_issue_is_told_what_to_do(modelo: str, changed: dict[str, Any], campo: str, words: str) -> None:
    """In a short sentence, before anything is signed."""
    with pytest.raises(NotaInvalida) as refused:
        build(sale(modelo, **changed))
    assert refused.value.campo == campo
    assert words in refused.value.texto
    assert len(refused.value.texto) < 180


def test_the_day_on_which_the_layout_ends_is_told() -> None:
    """From 2027 the Simples says IBS and CBS; an installation may move the day or take it away."""
    last = datetime(2027, 1, 1, 2, 59, tzinfo=UTC)  # still 2026 in São Paulo
    build(sale(emissao=last, chave=replace(chave(), aamm="2612")))
    first = sale(emissao=last + timedelta(minutes=1), chave=replace(chave(), aamm="2701"))
    with pytest.raises(NotaInvalida, match="01/01/2027"):
        build(first)
    build(first, Rules(fim=None))
    assert date(2027, 1, 1) == FIM == CALENDARIO["IBS e CBS do Simples"].desde
    assert CALENDARIO["DANFE novo"].desde == date(2026, 12, 1)
    with pytest.raises(ValueError, match="offset"):
        build(sale(emissao=NOW.replace(tzinfo=None)))


def test_no_payment_and_a_delivery_are_told() -> None:
    """A sale that is paid by nobody yet, and one that the shop itself delivers."""
    check(parse(signed(sale(pagamentos=(Pagamento("90", Decimal(0)),)), *PAIR)), "NFe")
    delivered = signed(sale("65", presenca="4", destinatario=BUYER), *PAIR)
    check(parse(delivered), "NFe")
    assert said(delivered, "dest/enderDest/CEP") == "01305000"
    assert (said(delivered, "transp/modFrete"), said(delivered, "transp/transporta/CNPJ")) == ("3", CNPJ)
    taken = build(sale("65", destinatario=BUYER))
    assert (said(taken, "dest/enderDest/CEP"), said(taken, "transp/modFrete")) == (None, "9")
    assert said(taken, "transp/transporta/CNPJ") is None


def test_each_state_is_told_the_maker_with_its_own_secret(tmp_path: Path) -> None:
    """A file that names no maker is refused when the program starts."""
    file = tmp_path / "maker.json"
    told = {"cnpj": CNPJ, "contato": "Prosa", "email": "nfe@exemplo.com.br", "fone": "1133334444"}
    file.write_text(json.dumps({**told, "csrt": {"PR": ["01", "segredo"]}}), encoding="utf-8")
    made = adapter.makers(file)
    assert (made["41"].csrt, made["35"].csrt, len(made)) == (("01", "segredo"), None, 27)
    assert adapter.makers(None) == {}
    for wrong in ("[]", "{", "{}", json.dumps({**told, "outro": "x"}), json.dumps({**told, "csrt": {"PR": ["01"]}})):
        file.write_text(wrong, encoding="utf-8")
        with pytest.raises(ValueError):  # noqa: PT011 - the settings have their own words
            adapter.makers(file)


@pytest.mark.parametrize("name", ["nfe", "nfce"])
@pytest.mark.parametrize("ambiente", list(Ambiente))
def test_every_state_has_its_services_and_a_file_replaces_them(name: str, ambiente: Ambiente, tmp_path: Path) -> None:
    """By the table, by the installation's file for the states that it names, or under one base."""
    by_table = adapter.addresses("", None, name, ambiente)
    services = ("NFeAutorizacao4", "NFeConsultaProtocolo4", "NFeInutilizacao4", "NFeRecepcaoEvento4")
    told = {by_table(uf.ibge, each) for uf in states().values() for each in services}
    assert all(each.startswith("https://") for each in told)
    assert "sp.gov.br" in by_table("35", services[0])
    assert "svrs" in by_table("33", services[0])
    file = tmp_path / "hosts.json"
    own = {"SP": {MODELS[name]: {ambiente.value: {services[0]: "https://exemplo.com.br/ws/a"}}}}
    file.write_text(json.dumps(own), encoding="utf-8")
    by_file = adapter.addresses("", file, name, ambiente)
    assert by_file("35", services[0]) == "https://exemplo.com.br/ws/a"
    assert by_file("33", services[0]) == by_table("33", services[0])
    with pytest.raises(ValueError, match="Secretaria da Fazenda"):
        by_file("35", services[1])
    assert adapter.addresses("https://localhost/x/", file, name, ambiente)("35", services[1]) == (
        f"https://localhost/x/{services[1]}"
    )


def test_each_state_says_who_authorizes_it() -> None:
    """All of them, by model, as two tables of June 2026 have it."""
    own = {"55": "AM BA GO MG MS MT PE PR RS SP", "65": "AM GO MG MS MT PR RS SP"}
    assert len(states()) == 27
    for modelo, codes in own.items():
        for code, state in states().items():
            shared = "SVAN" if (modelo, code) == ("55", "MA") else "SVRS"
            assert state.authorizer(modelo) == (code if code in codes.split() else shared)
            assert state.qrcode.keys() == state.consulta.keys()
            assert state.qrcode or code == "SC"


@pytest.mark.parametrize("cnpj", [CNPJ, LETTERS])
def test_every_other_message_is_what_the_schema_and_a_verifier_take(cnpj: str) -> None:
    """Cancellation, letter, closed numbers: with letters too; a copy with another reason is refused."""
    key, reason = chave(cnpj=cnpj), "Erro no valor do produto"
    messages = {
        "cancelamento": document.cancelamento(key, "135260000000001", reason, NOW, WITH),
        "correcao": document.correcao(key, reason, 20, NOW, WITH),
        "inutNFe": document.inutilizacao(cnpj, "65", 77, range(5, 7), reason, 2026, WITH),
    }
    for name, message in messages.items():
        inner = re.sub(rb"^<envEvento.*?</idLote>|</envEvento>$", b"", message)
        assert xmlsec_accepts(message), name
        assert verify(inner, etree.fromstring(inner)[0].get("Id")) == PAIR[1]
        assert not xmlsec_accepts(message.replace(b"Erro no valor", b"Erro no velor")), name
        assert b"\n" not in message
    twice = re.sub(rb"^<envEvento.*?</idLote>|</envEvento>$", b"", messages["cancelamento"])
    twice = twice.replace(b"</infEvento>", re.findall(rb"<Signature .*</Signature>", twice)[0] + b"</infEvento>")
    with pytest.raises(AssinaturaInvalida, match="inside"):
        verify(twice, f"ID110111{key}01")
    inutilizacao = etree.fromstring(messages["inutNFe"])[0].get("Id")
    assert inutilizacao == f"ID3526{cnpj}65077000000005000000006"
    assert conditions_of_use() in messages["correcao"].decode()
    for question in (document.consulta(key, HOMOLOGATED), document.receipt("351000000000001", HOMOLOGATED)):
        assert b"<tpAmb>2</tpAmb>" in question
    assert b"STATUS" in document.service_status("35", Ambiente.PRODUCAO)


def test_what_no_event_can_say_is_refused() -> None:
    """A short reason, a letter for a coupon, a twenty-first one, no number at all."""
    for campo, wrong in {
        "motivo": lambda: document.cancelamento(chave(), "135260000000001", "errei", NOW, WITH),
        "chave.modelo": lambda: document.correcao(chave("65"), "x" * 20, 1, NOW, WITH),
        "sequencia": lambda: document.correcao(chave(), "x" * 20, 21, NOW, WITH),
        "numeros": lambda: document.inutilizacao(CNPJ, "55", 1, range(5, 5), "x" * 20, 2026, WITH),
    }.items():
        with pytest.raises(NotaInvalida) as refused:
            wrong()
        assert refused.value.campo == campo
    with pytest.raises(ValueError, match="nProt"):
        document.cancelamento(chave(), "135", "x" * 20, NOW, WITH)


def test_the_envelope_holds_the_bytes_as_they_are() -> None:
    """SOAP 1.2, the action in the content type; the note cut out of it still verifies."""
    made = signed(sale(), *PAIR)
    body, headers = document.wrapped("NFeAutorizacao4", document.lot(made, 7))
    space = "http://www.portalfiscal.inf.br/nfe/wsdl/NFeAutorizacao4"
    assert headers == {"content-type": f'application/soap+xml; charset=utf-8; action="{space}/nfeAutorizacaoLote"'}
    assert made in body
    assert etree.fromstring(body)[0][0].tag == f"{{{space}}}nfeDadosMsg"
    cut = body[body.index(b"<NFe ") : body.index(b"</NFe>") + 6]
    assert verify(cut, f"NFe{chave()}") == PAIR[1]


@pytest.mark.parametrize(("lines", "most"), [(1, 15.0), (20, 25.0)])
@pytest.mark.parametrize("modelo", ["55", "65"])
def test_build_schema_and_signature_are_cheap(modelo: str, lines: int, most: float) -> None:
    """Milliseconds of CPU, as the issue has them."""
    nota = sale(modelo, itens=(CAKE,) * lines)
    signed(nota, *PAIR)
    assert cpu_ms(lambda: signed(nota, *PAIR), most) <= most


@pytest.mark.parametrize(
    ("agora", "expected"),
    [
        ("2026-11-30T23:59:59-03:00", "2026-11-30T23:59:59-03:00"),
        ("2026-10-31T23:59:57-03:00", "2026-11-01T00:00:00-03:00"),  # the key was made in this very minute
        ("2026-12-01T00:00:04-03:00", "2026-11-30T23:59:59-03:00"),
        ("2027-02-03T10:00:00-03:00", "2026-11-30T23:59:59-03:00"),  # months late
    ],
)
def test_a_document_is_issued_within_its_keys_month(agora: str, expected: str) -> None:
    """The key says the month, and cannot change."""
    what: Any = SimpleNamespace(prestador=SimpleNamespace(municipio_ibge="3550308"))
    assert moment_of(chave(), datetime.fromisoformat(agora), what).isoformat() == expected


def _cakes(id_integracao: str = "x-r1-1") -> DocumentoProduto:
    """Three cakes over the counter, on the last day of a month."""
    item = Item(
        codigo="B1",
        texto="Bolo de pote",
        ncm="19059090",
        cfop="5102",
        csosn="102",
        unidade="UN",
        preco=Decimal("12.00"),
        quantidade=Decimal(3),
    )
    return DocumentoProduto(
        prestador=Prestador(
            cnpj=CNPJ,
            razao_social="ANA BOLOS LTDA",
            inscricao_municipal="1",
            municipio_ibge="3550308",
            regime="simples",
            codigo_servico="170101",
            cnae=None,
            aliquota=None,
        ),
        tomador=Tomador("", None),
        valor=Decimal("36.00"),
        competencia=date(2026, 11, 30),
        id_integracao=id_integracao,
        rps=Rps("7", 1),
        modelo="nfce",
        itens=(item,),
        inscricao_estadual="110042490114",
        endereco=ADDRESS,
    )


def test_every_attempt_at_one_confirmation_has_one_key_and_another_confirmation_another() -> None:
    """So an attempt never hides the note of the one before, and what others made under our number is not ours."""
    first, again, other = (chave_of(_cakes(reference)) for reference in ("x-r1-1", "x-r1-2", "x-r2-1"))
    assert first == again
    assert (first.numero, first.serie) == (other.numero, other.serie)
    assert first.codigo != other.codigo


async def test_an_nfce_of_a_month_that_is_over_is_refused_and_not_made_for_ever() -> None:
    """Its key cannot change, and the office refuses its age: the person is told, before any certificate is opened."""
    nobody: Any = SimpleNamespace()
    gateway = Sefaz(
        "nfce",
        lambda _uf, _servico: "https://exemplo.com.br/x",
        nobody,
        guard=lambda: None,
        lines=nobody,
        ambiente=HOMOLOGATED,
        kept=NoneKept(),
    )
    what = _cakes()
    late = datetime.fromisoformat("2026-12-01T00:10:00-03:00")
    refused = await gateway.prepare(gateway.payload(what), late)
    await gateway.aclose()
    assert isinstance(refused, Rejected)
    assert gateway.explain(refused).texto


def test_a_code_of_the_state_is_of_a_company(tmp_path: Path) -> None:
    """However its CNPJ is written; one that is mistyped is refused, and not left out."""
    file = tmp_path / "codes.json"
    file.write_text('{"11.222.333/0001-81": "1:0123456789ABCDEF"}')
    assert adapter.codes(file) == {"11222333000181": ("1", "0123456789ABCDEF")}
    file.write_text('{"11222333000182": "1:0123456789ABCDEF"}')
    with pytest.raises(ValueError, match="check digits"):
        adapter.codes(file)
