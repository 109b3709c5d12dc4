"""The judge on SEFAZ's book: what it says of files, numbers and signatures that are not as they should be."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from proofs.sandbox.ledger import Record
from proofs.storm.judge.books import Book
from proofs.storm.judge.confirmations import read_summary
from proofs.storm.judge.note import Note, bound_to
from proofs.storm.judge.readers.goods import file_of, reader

NS = "http://www.portalfiscal.inf.br/nfe"
KEY = "35261199000090000178550070000001001123456780"
SENT = f'<NFe xmlns="{NS}"><infNFe Id="NFe{KEY}"><ide><nNF>100</nNF></ide></infNFe></NFe>'
AT = datetime(2026, 11, 29, tzinfo=UTC)


def note() -> Note:
    return Note(
        "nfe",
        bound_to("S0-r1-1"),
        KEY,
        "S0-r1-1",
        AT,
        KEY[6:20],
        "",
        Decimal(1),
        "",
        "",
        "2026-11-29",
        {},
        rps=("7", 100),
        numero="100",
        chave=KEY,
        autorizacao="135260000000001",
        settled=AT,
        xml=SENT.encode(),
    )


def proc(sent: str = SENT, chave: str = KEY, nprot: str = "135260000000001", code: str = "100") -> bytes:
    told = f"<infProt><chNFe>{chave}</chNFe><nProt>{nprot}</nProt><cStat>{code}</cStat></infProt>"
    return f'<nfeProc xmlns="{NS}" versao="4.00">{sent}<protNFe versao="4.00">{told}</protNFe></nfeProc>'.encode()


def test_the_file_is_the_proc_around_the_bytes_that_were_sent() -> None:
    """Then the judge says nothing."""
    assert not list(file_of(proc(), note()))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (proc(SENT.replace("<nNF>100", "<nNF>101")), "não tem os bytes"),
        (proc(SENT.replace("><ide>", "> <ide>")), "não tem os bytes"),
        (proc(nprot="135260000000002"), "nProt"),
        (proc(chave=KEY[:-1] + "9"), "chNFe"),
        (proc(code="204"), "cStat"),
        (SENT.encode(), "a raiz"),
    ],
)
def test_another_file_is_named(changed: bytes, words: str) -> None:
    """Other bytes, another protocol, another key, no authorisation, no proc."""
    assert any(words in line for line in file_of(changed, note()))


def book(*facts: tuple[str, dict[str, Any]]) -> Book:
    records = [Record(number, AT, kind, data) for number, (kind, data) in enumerate(facts, 1)]
    return Book(records, {}, {}, frozenset(), {})


def test_a_number_of_two_keys_is_named() -> None:
    """Of one model; the other model's numbers are another series."""
    other = KEY[:35] + "999999990"
    nfce = KEY[:20] + "65" + KEY[22:]
    facts = [("nfe.authorised", {"chave": chave}) for chave in (KEY, other, nfce)]
    assert len(list(reader("nfe", "55").unsound(book(*facts), []))) == 1
    assert not list(reader("nfce", "65").unsound(book(*facts), []))


def test_an_unsigned_note_and_a_closed_number_with_a_note_are_named() -> None:
    """Both are told by the key."""
    closed = {"cnpj": KEY[6:20], "modelo": "55", "serie": 7, "first": 99, "last": 101}
    said = list(reader("nfe", "55").unsound(book(("nfe.closed", closed)), [note()]))
    assert any("assinatura" in line for line in said)
    assert any("inutilizado" in line for line in said)


def test_a_summary_of_goods_is_read_item_by_item() -> None:
    """Without its type it cannot be read."""
    text = (
        "*Confere?*\n\nCliente: Ana Souza\nCPF: 529.982.247-25\nValor: *R$ 70,00*\n"
        "• 2 Caneca × R$ 35,00 = R$ 70,00\nTipo: NFC-e (consumidor, entregue em mãos)\nEmitente: LOJA"
    )
    seen = read_summary(text)
    assert seen is not None
    assert (seen.servico, seen.tipo) == ("2 Caneca × R$ 35,00 = R$ 70,00", "NFC-e")
    assert read_summary(text.replace("Tipo: ", "")) is None
