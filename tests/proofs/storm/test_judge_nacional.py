"""The judge on SEFIN's book: the books of a good storm on the national channel, with one thing changed."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import xmlsec
from lxml import etree

from gateway.nacional.layouts import NS
from gateway.nacional.signature import pack
from proofs.sandbox.faults import Fault
from proofs.storm.judge.messages import REPLACED
from proofs.storm.judge.signatures import signer
from proofs.storm.judge.verdict import BROKEN, KEPT
from tests.proofs.storm.national_books import (
    EDITH,
    FREDS,
    NationalStage,
    before,
    element,
    exchange,
    good,
    signed,
    unpacked,
)
from tests.proofs.storm.storm_wishes import ANA, BIA, CAIO, OTHER, PEOPLE, wish

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.sandbox.nacional.sefin import SefinSimulator

REFERENCE = "S0-r1-1"  # Ana's


def test_one_confirmation_and_one_note_each_is_what_was_promised() -> None:
    """Twenty people with one note each in SEFIN's book give the judge nothing to say; the refusal explains its gap."""
    found = good().verdict()
    assert not any(found.faults.values()), found.faults
    assert (found.word, found.confirmed, found.notes) == (KEPT, PEOPLE, PEOPLE + 1)
    assert found.judged["fields of notes"] > 25 * PEOPLE
    exercised = {name: found.exercised[name] for name in ("cancellations", "substitutions", "gaps with their refusal")}
    assert exercised == {"cancellations": 1, "substitutions": 1, "gaps with their refusal": 1}


def text(path: str, to: str) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        element(root, path).text = to

    return change


def without(path: str) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        found = element(root, path)
        found.getparent().remove(found)

    return change


def added(path: str, name: str, value: str) -> Callable[[Any], None]:
    """Put an element before the one at ``path``."""

    def change(root: Any) -> None:
        more = etree.Element(f"{{{NS}}}{name}")
        more.text = value
        element(root, path).addprevious(more)

    return change


FIELDS = {
    "another customer": text("toma.CNPJ", OTHER),
    "another name of the customer": text("toma.xNome", "PADARIA DO JOÃO LTDA"),
    "another e-mail": text("toma.email", "financeiro.7@cliente.example"),
    "no e-mail": without("toma.email"),
    "another address": text("toma.end.nro", "101"),
    "no address": without("toma.end"),
    "a centavo more": text("valores.vServPrest.vServ", "1000.01"),
    "an amount ten times as high": text("valores.vServPrest.vServ", "10000.00"),
    "another text of the service": text("serv.cServ.xDescServ", "aulas de francês"),
    "a text cut short": text("serv.cServ.xDescServ", "aulas de ingl"),
    "another service code": text("serv.cServ.cTribNac", "170102"),
    "another place of the service": text("serv.locPrest.cLocPrestacao", "3550308"),
    "the competence of the day before": text("dCompet", "2026-11-23"),
    "competence 2023": text("dCompet", "2023-01-02"),
    "another burden": text("valores.trib.totTrib.pTotTribSN", "7.00"),
    "an inscription that nobody asked for": added("prest.regTrib", "IM", "99"),
    "another special regime": text("prest.regTrib.regEspTrib", "1"),
    "no tax at all": text("valores.trib.tribMun.tribISSQN", "4"),
}


@pytest.mark.parametrize("change", FIELDS.values(), ids=FIELDS.keys())
def test_each_field_of_a_dps_is_what_its_person_confirmed(change: Callable[[Any], None]) -> None:
    """Whatever field of one signed DPS among twenty is another one, the judge names that person."""
    stage = good()
    stage.again(REFERENCE, change)
    found = stage.verdict()
    assert any(ANA in line for line in found.wrong), found.faults
    assert found.word == BROKEN


def another(stage: NationalStage, reference: str, number: int, *, of: str = REFERENCE) -> None:
    """SEFIN makes one more note of Ana's wish, or of another one, under this reference and number."""
    wish = stage.orders[of][0]
    stage.orders[reference] = wish, number
    stage.takes(signed(wish, reference, number, stage.at))
    stage.emissions.append([reference, "concluido"])


def twice(stage: NationalStage) -> None:
    """SEFIN lost its uniqueness, and the same bytes came again."""
    wish, number = stage.orders[REFERENCE]
    dps = signed(wish, REFERENCE, number, stage.at)

    def happens(sefin: SefinSimulator) -> None:
        sefin.faults.set(Fault.NO_UNIQUENESS)
        sefin.submit(pack(dps))

    stage.enters(happens)


def lost(stage: NationalStage) -> None:
    del stage.gateway[stage.place(REFERENCE)]


def of_nobody(stage: NationalStage) -> None:
    """SEFIN's note carries a reference that no row of ours has."""
    stage.again(REFERENCE, text("serv.cServ.cIntContrib", "A" * 20))


def foreign(stage: NationalStage) -> None:
    stage.enters(
        lambda sefin: sefin.issue_elsewhere(
            "99000011000139", tomador=OTHER, valor=stage.orders[REFERENCE][0].valor, municipio="5208707"
        )
    )


def cancelled_unasked(stage: NationalStage) -> None:
    stage.cancels(REFERENCE, REFERENCE)


def missing_in_our_table(stage: NationalStage) -> None:
    stage.kept[:] = [row for row in stage.kept if row[0] != stage.issued(REFERENCE)["chave"]]


WISHES = {
    "two notes for two numbers of one wish": ("duplicates", ANA, lambda s: another(s, "S0-r1-2", 800)),
    "a note twice": ("duplicates", ANA, twice),
    "a confirmation without a note": ("lost", ANA, lost),
    "a note with a reference that is none of ours": ("unconfirmed", "AAAA", of_nobody),
    "a note that nobody ordered": ("unconfirmed", "r-1", foreign),
    "a cancellation unasked": ("uncancelled", ANA, cancelled_unasked),
    "a note that is not in our table": ("misrecorded", "S0", missing_in_our_table),
}


@pytest.mark.parametrize(("kind", "whose", "change"), WISHES.values(), ids=WISHES.keys())
def test_one_wish_has_one_note(kind: str, whose: str, change: Callable[[NationalStage], Any]) -> None:
    """By person and wish, whatever the numbers: never two, never none, never without a yes."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(whose in line for line in found.faults[kind]), found.faults
    assert found.word == BROKEN


def exchanged(**changes: Any) -> NationalStage:
    stage = before()
    exchange(stage, **changes)
    return stage


def stays_valid() -> NationalStage:
    """SEFIN makes the new note and does not end the old one."""
    stage = good()
    stage.without(stage.gateway, lambda kind, data: kind == "nfse.event" and data["tipo"] == "105102")
    return stage


def never_told() -> NationalStage:
    """Nobody says to Edith that her first note counts no more."""
    stage = good()
    for _, kind, data in stage.meta:
        if kind == "outbound" and REPLACED in str(data["payload"]):
            data["payload"]["text"]["body"] = "A nota saiu."
    return stage


REPLACEMENTS = {
    "another person's note": ("wrong", "e ninguém pediu", lambda: exchanged(of=FREDS)),
    "a note that stays valid": ("duplicates", "2 notas", stays_valid),
    "a note that nobody replaced": ("uncancelled", "não foi substituída", before),
    "with another reason": (
        "wrong",
        "subst.xMotivo",
        lambda: exchanged(change=text("subst.xMotivo", "Engano meu mesmo")),
    ),
    "in silence": ("untold", "nunca soube", never_told),
}


@pytest.mark.parametrize(("kind", "words", "stage"), REPLACEMENTS.values(), ids=REPLACEMENTS.keys())
def test_a_note_takes_the_place_of_its_own_persons(kind: str, words: str, stage: Callable[[], NationalStage]) -> None:
    """The old one was theirs, is told, and counts no more; the authority is told why in the words that it must be."""
    found = stage().verdict()
    assert any(wish(EDITH).who in line and words in line for line in found.faults[kind]), found.faults
    assert found.word == BROKEN


def skipped(stage: NationalStage) -> None:
    """The house numbers one more wish, three numbers on."""
    another(stage, "S0-r1-2", max(n for _, n in stage.orders.values()) + 3)


def same_number_refused_later(stage: NationalStage) -> None:
    """Caio's refused number is used again for Ana's wish."""
    number = stage.orders["S2-r1-1"][1]
    another(stage, "S0-r1-2", number)


NUMBERS = {
    "a gap that nothing explains": ("falta sem explicação", skipped),
    "a gap that we do not list": ("a lista de lacunas não tem", lambda s: s.gaps.clear()),
    "a gap that we list and that is none": ("a lista de lacunas tem o número", lambda s: s.gaps.add(_first(s))),
    "a refused number in another confirmation": ("foi também o de S0-r1-2", same_number_refused_later),
    "a number before the first": ("vem antes do primeiro", lambda s: another(s, "S1-r1-2", 40, of="S1-r1-1")),
}


def _first(stage: NationalStage) -> tuple[str, str, int]:
    wish, number = stage.orders[REFERENCE]
    return wish.emitente.cnpj, wish.emitente.serie_rps or "", number


@pytest.mark.parametrize(("words", "change"), NUMBERS.values(), ids=NUMBERS.keys())
def test_every_number_of_a_series_is_accounted_for(words: str, change: Callable[[NationalStage], Any]) -> None:
    """Each once, none before the first, and each gap has the refusal that made it and stands in our own list."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(words in line for line in found.misnumbered), found.faults
    assert found.word == BROKEN


def copy_with(stage: NationalStage, *, sha: str, codes: list[str]) -> None:
    """SEFIN refuses what it has already."""
    data = stage.issued(REFERENCE)
    told = {name: data[name] for name in ("id_dps", "c_int_contrib", "packed")}
    stage.tell(stage.gateway, "nfse.refused", **told, codes=codes, dps_sha256=sha or data["dps_sha256"])


def no_signature(stage: NationalStage) -> None:
    stage.again(REFERENCE, lambda _root: None, by="")


UNSOUND = {
    "a DPS changed after it was signed": (
        "a assinatura da DPS não confere",
        lambda s: s.rewrites(REFERENCE, "aulas de inglês", "aulas de francês"),
    ),
    "a note changed after it was sealed": (
        "a assinatura da nota não confere",
        lambda s: s.rewrites(REFERENCE, "<nNFSe>1<", "<nNFSe>2<"),
    ),
    "a DPS without a signature": ("a assinatura da DPS não confere", no_signature),
    "a DPS signed by another company": (
        "a DPS foi assinada por 11222333000181",
        lambda s: s.again(REFERENCE, lambda _root: None, by="11222333000181"),
    ),
    "a copy with other bytes": ("voltou com outro documento", lambda s: copy_with(s, sha="00", codes=["E0014"])),
    "a copy with other bytes and more codes": (
        "voltou com outro documento",
        lambda s: copy_with(s, sha="00", codes=["E0014", "E0312"]),
    ),
    "an event of no note": (
        "de nenhuma nota",
        lambda s: s.tell(s.gateway, "nfse.event", chave="9" * 50, tipo="101101", packed="", by="api"),
    ),
}


@pytest.mark.parametrize(("words", "change"), UNSOUND.values(), ids=UNSOUND.keys())
def test_documents_are_sound(words: str, change: Callable[[NationalStage], Any]) -> None:
    """Signed by the issuer, sealed by the authority, the same bytes whenever they were sent."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(words in line for line in found.unsound), found.faults
    assert found.word == BROKEN


@pytest.mark.parametrize("codes", [["E0014"], ["E0014", "E0312"]])
def test_the_same_bytes_again_are_a_copy(codes: list[str]) -> None:
    """What met its own note is counted, and nothing is wrong with it."""
    stage = good()
    copy_with(stage, sha="", codes=codes)
    found = stage.verdict()
    assert not any(found.faults.values()), found.faults
    assert (found.word, found.exercised["orders that met a duplicate"]) == (KEPT, 1)


def test_a_refusal_again_is_the_same_refusal() -> None:
    """A refused DPS that was sent again, and refused again, is one attempt."""
    stage = good()
    fact = next(data for _, kind, data in stage.gateway if kind == "nfse.refused")
    stage.tell(stage.gateway, "nfse.refused", **fact)
    assert stage.verdict().word == KEPT


def swapped(kind: str) -> Callable[[NationalStage], None]:
    """Ana is given Bia's file under her own name."""

    def change(stage: NationalStage) -> None:
        one, two = (stage.documents(who, kind)[0]["id"] for who in (ANA, BIA))
        stage.contents[one] = stage.contents[two]

    return change


def reformatted(stage: NationalStage) -> None:
    media = stage.documents(ANA, "xml")[0]["id"]
    content = stage.contents[media]
    assert isinstance(content, bytes)
    stage.contents[media] = content + b"\n"


FILES = {
    "another note's PDF": ("chave não é", swapped("pdf")),
    "another note's XML": ("chave é", swapped("xml")),
    "an XML that is not the authority's own": ("não é o documento que a autoridade guarda", reformatted),
}


@pytest.mark.parametrize(("words", "change"), FILES.values(), ids=FILES.keys())
def test_a_person_gets_the_files_of_their_own_note(words: str, change: Callable[[NationalStage], None]) -> None:
    """The DANFSe shows that note, and the XML is SEFIN's, byte for byte."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(words in line for line in found.misfiled), found.faults
    assert found.word == BROKEN


def test_a_refusal_is_read_whole() -> None:
    """A refused DPS is compared as well: Caio's first customer stands in it."""
    stage = good()
    fact = next(data for _, kind, data in stage.gateway if kind == "nfse.refused")
    wish, number = stage.orders["S2-r1-1"]
    other = signed(wish, "S2-r1-1", number, stage.at, text("valores.vServPrest.vServ", "1.00"))
    fact["packed"] = pack(other)
    assert any(CAIO in line for line in stage.verdict().wrong)


@pytest.mark.parametrize("spoilt", [False, True])
def test_the_judges_own_verification_agrees_with_xmlsec(spoilt: bool) -> None:
    """On the note as sealed, and on one with a letter changed."""
    xml = unpacked(good().issued(REFERENCE)["packed"])
    if spoilt:
        xml = xml.replace(b"<nNFSe>1<", b"<nNFSe>2<")
    root = etree.fromstring(xml)
    xmlsec.tree.add_ids(root, ["Id"])
    node = root.find("{http://www.w3.org/2000/09/xmldsig#}Signature")
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(_certificate(node), xmlsec.constants.KeyDataFormatCertDer)
    try:
        context.verify(node)
        holds = True
    except xmlsec.Error:
        holds = False
    assert holds is (not spoilt)
    assert (signer(etree.fromstring(xml)) is not None) is holds


def _certificate(node: Any) -> bytes:
    return base64.b64decode(node.findtext(".//{http://www.w3.org/2000/09/xmldsig#}X509Certificate"))


@pytest.mark.parametrize("new_layout", [False, True])
def test_an_attempt_of_a_refused_layout_is_excused_by_the_next_one(new_layout: bool) -> None:
    """The next one came to SEFIN, be it as a note or to be refused for what its person said; else it is stuck."""
    stage = good()
    stage.plan = replace(stage.plan, new_layout=new_layout)
    refused = next(row[0] for row in stage.emissions if row[1] == "rejeitado")
    first = [f"{reference.rpartition('-')[0]}-0" for reference in (REFERENCE, refused)]
    stage.emissions += [[reference, "rejeitado"] for reference in first]
    stuck = [line.partition(":")[0] for line in stage.verdict().stuck]
    assert stuck == ([] if new_layout else first)
    stage.emissions.append(["Z-r1-0", "rejeitado"])
    assert "Z-r1-0: rejeitado; na prefeitura: nada" in stage.verdict().stuck
