"""What SEFAZ's answers mean: every row of the table, each by the message that it can stand in."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from gateway.http.wire import REFUSED_BY_TLS, Answer, MaybeSentError, NotSentError
from gateway.nacional.dps import short_reference
from gateway.nacional.layouts import parse
from gateway.nacional.signature import verify
from gateway.nfe import outcome
from gateway.nfe.document import CANCELAMENTO, CARTA, signed
from gateway.nfe.layouts import NS, check
from gateway.nfe.outcome import C_STAT, SPENT, Encerrado, Registered, Significado, digest_of, explain
from state_machine.cancellation.reconciliation import AlreadyCancelled, Cancelled, Stands
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    CannotTell,
    Duplicate,
    Found,
    Issued,
    Misconfigured,
    NotSent,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from tests.gateway.nfe.made_sale import CAKE, NOW, PAIR, chave, sale, xmlsec_accepts

KEY = chave()
SENT = signed(sale(), *PAIR)
REBUILT = signed(sale(emissao=NOW + timedelta(minutes=9)), *PAIR)
OTHER = chave("55", serie=78)
HEAD = "<tpAmb>1</tpAmb><verAplic>SP_NFE_PL009</verAplic>"


def answer(inner: str, status: int = 200, **headers: str) -> Answer:
    """An answer over SOAP, with namespaces of the envelope that must not leak."""
    soap = (
        '<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body><nfeResultMsg '
        f'xmlns="{NS}/wsdl/NFeAutorizacao4">{inner}</nfeResultMsg></soap:Body></soap:Envelope>'
    )
    return Answer(status, headers, soap.encode())


def protocol(code: str, of: bytes | None = SENT, key: object = KEY, why: str = "motivo", more: str = "") -> str:
    """A protocol of a note."""
    digest = "" if of is None else f"<digVal>{digest_of(of)}</digVal>"
    return (
        f'<protNFe versao="4.00"><infProt>{HEAD}<chNFe>{key}</chNFe><dhRecbto>2026-11-28T12:00:05-03:00</dhRecbto>'
        f"<nProt>135260000000001</nProt>{digest}<cStat>{code}</cStat><xMotivo>{why}</xMotivo>{more}</infProt></protNFe>"
    )


def sent(outer: str, inner: str = "", why: str = "motivo", space: str = f' xmlns="{NS}"') -> Answer:
    """The answer to a lot."""
    return answer(
        f'<retEnviNFe{space} versao="4.00">{HEAD}<cStat>{outer}</cStat><xMotivo>{why}</xMotivo><cUF>35</cUF>'
        f"<dhRecbto>2026-11-28T12:00:05-03:00</dhRecbto>{inner}</retEnviNFe>"
    )


def consulted(code: str, inner: str = "", key: object = KEY, why: str = "motivo") -> Answer:
    """The answer to a question for a key."""
    return answer(
        f'<retConsSitNFe xmlns="{NS}" versao="4.00">{HEAD}<cStat>{code}</cStat><xMotivo>{why}</xMotivo><cUF>35</cUF>'
        f"<dhRecbto>2026-11-28T12:00:05-03:00</dhRecbto><chNFe>{key}</chNFe>{inner}</retConsSitNFe>"
    )


def event(code: str, outer: str = "128", key: object = KEY, kind: str = CANCELAMENTO, ours: bool = True) -> Answer:
    """The answer to an event."""
    inner = (
        f'<retEvento versao="1.00"><infEvento>{HEAD}<cOrgao>35</cOrgao><cStat>{code}</cStat><xMotivo>motivo</xMotivo>'
        f"<chNFe>{key}</chNFe><tpEvento>{kind}</tpEvento><nSeqEvento>1</nSeqEvento><nProt>135260000000009</nProt>"
        "</infEvento></retEvento>"
    )
    return answer(
        f'<retEnvEvento xmlns="{NS}" versao="1.00"><idLote>1</idLote>{HEAD}<cOrgao>35</cOrgao><cStat>{outer}</cStat>'
        f"<xMotivo>motivo</xMotivo>{inner if ours else ''}</retEnvEvento>"
    )


def closed(code: str, span: tuple[int, int] = (5, 6)) -> Answer:
    """The answer to the request to close numbers."""
    return answer(
        f'<retInutNFe xmlns="{NS}" versao="4.00"><infInut>{HEAD}<cStat>{code}</cStat><xMotivo>motivo</xMotivo>'
        f"<cUF>35</cUF><nNFIni>{span[0]}</nNFIni><nNFFin>{span[1]}</nNFFin><nProt>135260000000007</nProt></infInut>"
        "</retInutNFe>"
    )


def cancellation(code: str = "135", key: object = KEY, kind: str = CANCELAMENTO) -> str:
    """A registered event as a consultation shows it."""
    return (
        f'<procEventoNFe versao="1.00"><evento versao="1.00"/><retEvento versao="1.00"><infEvento>{HEAD}'
        f"<cStat>{code}</cStat><chNFe>{key}</chNFe><tpEvento>{kind}</tpEvento></infEvento></retEvento></procEventoNFe>"
    )


def submitted(result: Any) -> Any:
    """Read an answer to our note."""
    return outcome.submit_outcome(result, SENT, KEY)


def found(result: Any, *versions: bytes) -> Any:
    """Read an answer to the question for it."""
    return outcome.finding(result, KEY, versions or (SENT,))


@pytest.mark.parametrize("code", ["100", "120", "150"])
def test_an_authorised_note_comes_with_the_legal_document(code: str) -> None:
    """Around the very bytes; the schema and an independent verifier take it, whatever the envelope declared."""
    alerts = "<cMsg>1</cMsg><xMsg>confira o CEST</xMsg>" if code == "120" else ""
    for result in (sent("104", protocol(code, more=alerts)), sent("104", protocol(code, more=alerts), space="")):
        told = submitted(result)
        assert isinstance(told, Issued)
        assert told.xml is not None
        assert SENT in told.xml.conteudo
        assert b"soap" not in told.xml.conteudo
        assert b"xsi" not in told.xml.conteudo
        check(parse(told.xml.conteudo), "nfeProc")
        assert xmlsec_accepts(told.xml.conteudo)
        nota = told.nota
        assert (nota.situacao, nota.c_stat, nota.protocolo) == (Situacao.AUTORIZADA, int(code), "135260000000001")
        assert (nota.valor, nota.tomador, nota.numero) == (Decimal("36.00"), "13167474254", "42")
        assert (nota.chave, nota.referencia) == (str(KEY), short_reference("zap-01JD-1"))
        assert nota.mensagem == ("confira o CEST" if alerts else None)


def test_an_answer_that_travels_as_text_is_read_once() -> None:
    """With or without a declaration, in CDATA too; text inside of text is nothing."""
    inner = f'<retEnviNFe xmlns="{NS}" versao="4.00"><cStat>104</cStat>{protocol("100")}</retEnviNFe>'
    for text in (escape(inner), escape(f'<?xml version="1.0" encoding="UTF-8"?>{inner}'), f"<![CDATA[{inner}]]>"):
        assert isinstance(submitted(answer(text)), Issued)
    assert isinstance(submitted(answer(escape(f"<a>{escape(inner)}</a>"))), Unknown)


def test_nothing_is_authorised_but_by_our_protocol() -> None:
    """Outside of it, of another key, or over another digest, an authorisation is none."""
    assert isinstance(submitted(sent("100")), Unknown)
    assert isinstance(submitted(sent("104", protocol("100", key=OTHER))), Unknown)
    assert isinstance(submitted(sent("104", protocol("100") * 2)), Unknown)
    anothers = submitted(sent("104", protocol("100", REBUILT)))
    assert isinstance(anothers, Duplicate)
    assert anothers.nota is not None
    assert anothers.nota.referencia == f"digVal {digest_of(REBUILT)}"
    assert isinstance(submitted(sent("104", protocol("100", None))), Issued)
    assert isinstance(submitted(consulted("100", protocol("100"))), Unknown)


def test_an_authorisation_without_its_protocols_number_is_asked_about() -> None:
    """The legal document has it, so none is made; an answer that has it comes later."""
    nameless = protocol("100").replace("<nProt>135260000000001</nProt>", "")
    assert isinstance(submitted(sent("104", nameless)), Unknown)
    assert isinstance(found(consulted("100", nameless)), CannotTell)
    assert found(consulted("101", nameless)).nota.situacao is Situacao.CANCELADA  # which needs no document


INNER = {
    Significado.AUTORIZADA: Issued,
    Significado.CANCELADA: Duplicate,
    Significado.AUSENTE: Unknown,
    Significado.PROCESSANDO: Unknown,
    Significado.OLHAR_DENTRO: Unknown,
    Significado.DUPLICADA: Duplicate,
    Significado.TOMADA: Duplicate,
    Significado.REGISTRADO: Unknown,
    Significado.RECUSADO: Rejected,
    Significado.RECUSADA: Rejected,
    Significado.CERTIFICADO: Misconfigured,
    Significado.EMPRESA: Misconfigured,
    Significado.REFAZER: NotSent,
    Significado.MAIS_TARDE: Postponed,
    Significado.PERGUNTAR: Unknown,
}


@pytest.mark.parametrize("code", C_STAT)
def test_every_row_inside_of_our_protocol(code: str) -> None:
    """Facts about the number are questions; a refusal keeps the authority's own words."""
    told = submitted(sent("104", protocol(code, why=f"texto {code}")))
    meaning = C_STAT[code].significado
    if meaning in {Significado.DENEGADA, Significado.ENCERRADO}:
        expected: type = Duplicate if code == "205" else Rejected if code in SPENT else Unknown
    else:
        expected = INNER[meaning]
    assert isinstance(told, expected)
    if isinstance(told, Rejected):
        assert (told.codigos, told.mensagem) == ((code,), f"{code} texto {code}")
        assert f"“{code} texto {code}”" in explain(told).texto
    if isinstance(told, NotSent):
        assert told.refazer
    if isinstance(told, Postponed):
        assert told.retry_after == C_STAT[code].espera


@pytest.mark.parametrize("code", C_STAT)
def test_every_row_outside_of_a_protocol(code: str) -> None:
    """Only what is said of the lot itself ends anything: the rest is asked for."""
    told = submitted(sent(code, why=f"texto {code}"))
    lot = "214 215 225 226 238 239 242 243 248 252 402 404 409 450 452 502 516 517 565 587 588 765 775"
    if code in {"103", "105"}:
        assert isinstance(told, Accepted)
    elif code in {"108", "109", "113", "114", "656"}:
        assert isinstance(told, Postponed)
    elif code in lot.split() or code in {"287", "288", "289", "297", "298"}:
        assert isinstance(told, Rejected)
    elif 280 <= int(code) <= 296:
        assert isinstance(told, Misconfigured)
    else:
        assert isinstance(told, Unknown)
        assert not told.recusada


@pytest.mark.parametrize("code", ["200", "0", "2000", "99", "abc", ""])
def test_a_protocol_with_a_number_of_no_refusal_is_a_question(code: str) -> None:
    """An unknown number is a refusal only where refusals have theirs."""
    assert isinstance(submitted(sent("104", protocol(code))), Unknown)
    assert isinstance(submitted(sent("104", protocol("1199"))), Rejected)
    assert submitted(sent("1199")) == Unknown("answered without our key: 1199 motivo", recusada=True)


def test_a_lot_that_waits_names_its_receipt() -> None:
    """And the question for it is read like an answer to the note."""
    told = submitted(sent("103", "<infRec><nRec>351000000000001</nRec><tMed>1</tMed></infRec>"))
    assert told == Accepted(str(KEY), "351000000000001")
    later = f'<retConsReciNFe xmlns="{NS}"><nRec>351000000000001</nRec><cStat>{{}}</cStat>{{}}</retConsReciNFe>'
    assert isinstance(submitted(answer(later.format("104", protocol("100")))), Issued)
    assert submitted(answer(later.format("105", ""))) == Accepted(str(KEY), "351000000000001")
    assert isinstance(submitted(answer(later.format("106", ""))), Unknown)


@pytest.mark.parametrize("code", ["539", "561", "562", "613"])
def test_a_number_that_another_key_has_names_it(code: str) -> None:
    """On sending and when asked: a note under our number that is not ours."""
    why = f"Rejeicao: Duplicidade de NF-e, com diferenca na Chave de Acesso [chNFe:{OTHER}][nRec:1]"
    on_sending = submitted(sent("104", protocol(code, None, why=why)))
    assert isinstance(on_sending, Duplicate)
    for nota in (on_sending.nota, found(consulted(code, why=why)).nota):
        assert nota is not None
        assert (nota.id_externo, nota.id_integracao, nota.chave) == (str(OTHER), str(KEY), str(OTHER))
        assert nota.referencia != short_reference("zap-01JD-1")


def test_absent_is_217_and_nothing_else() -> None:
    """The specification's 135 registers an event."""
    assert [code for code, linha in C_STAT.items() if linha.significado is Significado.AUSENTE] == ["217"]
    assert found(consulted("217")) == Absent()
    assert isinstance(found(consulted("135")), CannotTell)
    assert isinstance(found(consulted("217", key=OTHER)), CannotTell)


@pytest.mark.parametrize("code", C_STAT)
def test_every_row_as_the_answer_to_a_question(code: str) -> None:
    """Without a protocol nothing is authorised; what nobody can tell waits as long as the row says."""
    told = found(consulted(code))
    match C_STAT[code].significado:
        case Significado.AUSENTE:
            assert told == Absent()
        case Significado.DENEGADA | Significado.ENCERRADO:
            assert (told.nota.situacao, told.nota.codigos) == (Situacao.REJEITADA, (code,))
        case Significado.TOMADA:
            assert told.nota.referencia is not None
        case Significado.CANCELADA:
            assert (told.nota.situacao, told.nota.referencia) == (Situacao.CANCELADA, None)
        case _:
            assert isinstance(told, CannotTell)
            assert told.retry_after == C_STAT[code].espera


@pytest.mark.parametrize("code", ["100", "120", "150"])
def test_the_digest_says_which_of_our_documents_was_authorised(code: str) -> None:
    """After a rebuild it may be the older one, and the legal document is made of that."""
    for version in (SENT, REBUILT):
        told = found(consulted(code, protocol(code, version)), SENT, REBUILT)
        assert isinstance(told, Found)
        assert told.xml is not None
        assert version in told.xml.conteudo
        check(parse(told.xml.conteudo), "nfeProc")
    anothers = found(consulted(code, protocol(code, REBUILT)), SENT)
    assert anothers.nota.referencia == f"digVal {digest_of(REBUILT)}"
    assert anothers.xml is None
    assert isinstance(found(consulted(code, protocol(code, None)), SENT), Found)
    assert isinstance(found(consulted(code, protocol(code, None)), SENT, REBUILT), CannotTell)
    assert isinstance(found(consulted(code, protocol(code, key=OTHER))), CannotTell)
    assert isinstance(found(consulted(code, protocol("204"))), CannotTell)


def test_a_cancelled_note_is_one_by_its_code_or_its_event() -> None:
    """A letter, an event of another key, or one that was refused cancel nothing."""
    for result in (
        consulted("101", protocol("100")),
        consulted("155", protocol("100")),
        consulted("100", protocol("100") + cancellation("135")),
        consulted("100", protocol("100") + cancellation("136")),
        consulted("150", protocol("150") + cancellation("155")),
    ):
        assert found(result).nota.situacao is Situacao.CANCELADA
        assert isinstance(outcome.cancel_finding(result, KEY, [SENT]), Cancelled)
    for more in ("", cancellation(kind=CARTA), cancellation(key=OTHER), cancellation("573")):
        assert outcome.cancel_finding(consulted("100", protocol("100") + more), KEY, [SENT]) == Stands()
    for result in (consulted("217"), consulted("539"), consulted("100"), consulted("100", protocol("100", REBUILT))):
        assert isinstance(outcome.cancel_finding(result, KEY, [SENT]), CannotTell)


def test_an_event_is_registered_by_its_own_code() -> None:
    """136 is of a note that does not show it yet, and a second event proves nothing of ours."""
    assert outcome.cancel_outcome(event("135"), KEY) == AlreadyCancelled()
    assert outcome.cancel_outcome(event("155"), KEY) == AlreadyCancelled()
    assert outcome.cancel_outcome(event("136"), KEY) == Accepted(str(KEY), "135260000000009")
    assert outcome.event_outcome(event("135", kind=CARTA), KEY, CARTA) == Registered("135260000000009", linked=True)
    for code in ("501", "219", "221", "690", "215"):
        assert outcome.cancel_outcome(event(code), KEY) == Rejected(f"{code} motivo", (code,))
    assert outcome.cancel_outcome(event("573"), KEY) == Unknown("573 motivo")
    assert outcome.cancel_outcome(event("578"), KEY) == Unknown("578 motivo", recusada=True)
    assert outcome.cancel_outcome(event("1199"), KEY) == Unknown("a code that is not known: 1199 motivo", recusada=True)
    for other in (
        event("135", key=OTHER),
        event("135", kind=CARTA),
        event("135", ours=False),
        event("135", "135", ours=False),
    ):
        assert isinstance(outcome.cancel_outcome(other, KEY), Unknown)
    assert outcome.cancel_outcome(event("", "656", ours=False), KEY) == Postponed(3600.0, "656 motivo")
    assert isinstance(outcome.cancel_outcome(event("", "215", ours=False), KEY), Rejected)
    assert isinstance(outcome.cancel_outcome(sent("104", protocol("101")), KEY), Unknown)


def test_numbers_are_closed_now_before_or_not() -> None:
    """241 is a number that is a note; an answer about other numbers is none."""
    assert outcome.closing_outcome(closed("102"), 5, 6) == Encerrado("135260000000007")
    for code in ("206", "256", "563"):
        assert outcome.closing_outcome(closed(code), 5, 6) == Encerrado("135260000000007", antes=True)
    assert outcome.closing_outcome(closed("241"), 5, 6) == Rejected("241 motivo", ("241",))
    assert isinstance(outcome.closing_outcome(closed("102", (5, 7)), 5, 6), Unknown)
    assert isinstance(outcome.closing_outcome(closed("1199"), 5, 6), Unknown)
    assert isinstance(outcome.closing_outcome(closed("656"), 5, 6), Postponed)
    assert isinstance(outcome.closing_outcome(closed("215"), 5, 6), Rejected)


@pytest.mark.parametrize(
    "garbage",
    [
        answer("", 200),
        answer("<soap:Fault/>"),
        Answer(200, {}, b"<html>"),
        Answer(200, {}, b""),
        sent("104", protocol("100") + f"</retEnviNFe><retEnviNFe xmlns='{NS}'><cStat>104</cStat>"),
        replace(sent("104", protocol("100")), status=500),
        sent("", protocol("")),
        MaybeSentError("ReadError"),
    ],
)
def test_what_cannot_be_read_decides_nothing(garbage: Any) -> None:
    """Neither of a note nor of an event nor of numbers."""
    assert isinstance(submitted(garbage), Unknown)
    assert isinstance(found(garbage), CannotTell)
    assert isinstance(outcome.cancel_outcome(garbage, KEY), Unknown)
    assert isinstance(outcome.closing_outcome(garbage, 5, 6), Unknown)
    assert not outcome.undue(garbage)


def test_what_never_left_is_told_apart() -> None:
    """A refused handshake is the certificate's, and is said to who can bring another."""
    assert submitted(NotSentError("ConnectError")) == NotSent("ConnectError")
    for reason in (REFUSED_BY_TLS, outcome.UNUSABLE):
        told = submitted(NotSentError(reason))
        assert isinstance(told, Misconfigured)
        assert told.texto is not None
        assert found(NotSentError(reason)) == CannotTell(reason, texto=told.texto)
    assert found(replace(consulted("100"), status=503, headers={"retry-after": "7"})) == CannotTell("HTTP 503", 7.0)


def test_undue_consumption_is_seen_in_every_answer() -> None:
    """Outside and inside, so that nothing of the company is called for an hour."""
    for result in (sent("656"), sent("104", protocol("656")), consulted("656"), event("656"), closed("656")):
        assert outcome.undue(result)
    for result in (sent("108"), sent("104", protocol("100")), consulted("217"), event("135"), closed("102")):
        assert not outcome.undue(result)


def test_a_refusal_is_told_by_who_repairs_it() -> None:
    """With the authority's own words, never with a secret in them."""
    assert explain(Rejected("180 CRT difere", ("180",))).suporte
    assert explain(Rejected("337 CFOP", ("337",))).texto.endswith("respondeu “337 CFOP”")
    assert not explain(Rejected("717 presença", ("717",))).suporte
    assert explain(Rejected("280 certificado", ("280",))).texto.startswith("o certificado digital")
    assert explain(Rejected("1199 novo", ("1199",))).texto == "a Secretaria da Fazenda respondeu “1199 novo”"
    assert explain(Rejected("", ())).suporte
    told = submitted(sent("104", protocol("1199", why="token=abc123")))
    assert isinstance(told, Rejected)
    assert "abc123" not in told.mensagem


def test_a_coupon_is_read_like_an_invoice() -> None:
    """With its QR code beside, and nobody as its buyer."""
    key, coupon = chave("65"), signed(sale("65", ambiente=Ambiente.HOMOLOGACAO, itens=(CAKE, CAKE)), *PAIR)
    told = outcome.submit_outcome(sent("104", protocol("100", coupon, key)), coupon, key)
    assert isinstance(told, Issued)
    assert told.xml is not None
    check(parse(told.xml.conteudo), "nfeProc")
    assert (told.nota.tomador, told.nota.valor) == (None, Decimal("72.00"))
    cut = re.search(rb"<NFe .*</NFe>", told.xml.conteudo)
    assert cut is not None
    assert verify(cut[0], f"NFe{key}") == PAIR[1]
    assert etree.fromstring(coupon)[1].tag.endswith("infNFeSupl")
    with pytest.raises(ValueError, match="not of this key"):
        outcome.note(coupon, KEY)
    with pytest.raises(ValueError, match="not signed"):
        digest_of(b"<NFe/>")


@given(st.sampled_from([100, 104, 135]), st.integers(0, 5000), st.binary(max_size=12), st.integers(0, 40))
def test_no_answer_raises_and_a_spoilt_one_authorises_nothing_else(code: int, at: int, piece: bytes, cut: int) -> None:
    """Bytes put in anywhere: what is still read as issued is our key, over our bytes."""
    for whole in (sent("104", protocol(str(code))), consulted(str(code), protocol("100")), event("135"), closed("102")):
        at_here = at % len(whole.body)
        spoilt = replace(whole, body=whole.body[:at_here] + piece + whole.body[at_here + cut :])
        told = submitted(spoilt)
        assert not isinstance(told, Issued) or (told.nota.chave == str(KEY) and told.xml and SENT in told.xml.conteudo)
        asked = found(spoilt)
        assert not (isinstance(asked, Found) and asked.xml) or asked.nota.chave == str(KEY)
        outcome.cancel_outcome(spoilt, KEY)
        outcome.cancel_finding(spoilt, KEY, [SENT])
        outcome.closing_outcome(spoilt, 5, 6)
        outcome.undue(spoilt)
