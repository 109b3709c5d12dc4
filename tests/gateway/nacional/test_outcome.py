"""The evidence table of the national channel, row by row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.http.wire import BUSY, REFUSED_BY_TLS, Answer, MaybeSentError, NotSentError
from gateway.keys import ChaveNFSe
from gateway.nacional import outcome
from gateway.nacional.cancellation import cancel_finding, cancel_outcome, how_it_ended
from gateway.nacional.dps import build, id_dps
from gateway.nacional.signature import pack
from state_machine.cancellation.reconciliation import AlreadyCancelled, Cancelled, Stands, Unreadable
from state_machine.protocol.emission import (
    Absent,
    Arquivo,
    CannotTell,
    Duplicate,
    Found,
    Issued,
    Misconfigured,
    NotReady,
    NotSent,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from tests.gateway.nacional.made_documents import CHAVE, event_of, note_of

if TYPE_CHECKING:
    from gateway.nacional.dps import Circunstancias
    from state_machine.documents import DocumentoServico

OTHER = str(ChaveNFSe("3550308", "2", "2", "12ABC34501DE35", 43, "2611", 123456789))
HTML = b"<html><body>Bad gateway</body></html>"
ENVELOPE = {"tipoAmbiente": 2, "versaoAplicativo": "SefinNac", "dataHoraProcessamento": "2026-11-21T10:00:00-03:00"}


def answer(status: int, body: Any = b"", **headers: str) -> Answer:
    """An answer; JSON unless it is bytes."""
    return Answer(status, headers, body if isinstance(body, bytes) else json.dumps(body).encode())


def refusal(*codes: str) -> dict[str, Any]:
    """The authority's complaint."""
    return {**ENVELOPE, "erros": [{"Codigo": code, "Descricao": "porque não"} for code in codes]}


@pytest.fixture
def ours(intent: DocumentoServico) -> str:
    """The identity of our DPS."""
    return str(id_dps(intent))


@pytest.fixture
def xml(intent: DocumentoServico, facts: Circunstancias) -> bytes:
    """The note of our DPS."""
    return note_of(build(intent, facts))


@pytest.mark.parametrize("status", [200, 201])
def test_a_note_that_is_ours_is_issued(status: int, xml: bytes, ours: str) -> None:
    """It comes with its XML, and with what it carries of our reference."""
    told = outcome.submit_outcome(answer(status, {"chaveAcesso": CHAVE, "nfseXmlGZipB64": pack(xml)}), ours)
    assert isinstance(told, Issued)
    assert (told.nota.numero, told.nota.id_integracao, told.nota.situacao) == ("42", ours, Situacao.AUTORIZADA)
    assert told.nota.referencia is not None
    assert told.xml == Arquivo(xml, "application/xml")


@pytest.mark.parametrize(
    "change",
    [
        {"chaveAcesso": None},
        {"chaveAcesso": OTHER},
        {"nfseXmlGZipB64": None},
        {"nfseXmlGZipB64": "no gzip"},
        {"nfseXmlGZipB64": pack(b"<NFSe/>")},
        {"nfseXmlGZipB64": pack(b"0" * 2_000_000)},
    ],
    ids=["no key", "another key", "no note", "no gzip", "no note inside", "a bomb"],
)
def test_an_answer_that_does_not_fit_is_unknown(change: dict[str, Any], xml: bytes, ours: str) -> None:
    """2xx says that something was taken; only the note says what."""
    body = {"chaveAcesso": CHAVE, "nfseXmlGZipB64": pack(xml), **change}
    assert isinstance(outcome.submit_outcome(answer(201, body), ours), Unknown)


def test_the_note_of_another_dps_is_unknown(xml: bytes, ours: str) -> None:
    """Whatever its key says: the number is another's."""
    body = {"chaveAcesso": CHAVE, "nfseXmlGZipB64": pack(xml)}
    assert isinstance(outcome.submit_outcome(answer(201, body), ours[:-1] + "9"), Unknown)


TABLE: list[tuple[str, Any, Any]] = [
    ("E0014", answer(400, refusal("E0014")), Duplicate()),
    ("E0014 beside another", answer(400, refusal("E1235", "E0014")), Duplicate()),
    ("E0014 with 500", answer(500, refusal("E0014")), Unknown),
    ("429", answer(429, ENVELOPE, **{"retry-after": "7"}), Postponed(7.0, "HTTP 429")),
    ("429 of nobody", answer(429, {"title": "Too Many Requests"}), Unknown),
    ("503 without a body", answer(503), Unknown),
    ("503 of a proxy's text", answer(503, b"upstream connect error: connection termination"), Unknown),
    ("E408 with 408", answer(408, {"codigo": "E408", "mensagem": "timeout"}), Unknown),
    ("a code with 499", answer(499, refusal("E0312")), Unknown),
    *[(code, answer(400, refusal(code)), Unknown) for code in ("E999", "RNG9999", "X999")],
    ("the schema", answer(400, refusal("RNG6110")), Rejected("RNG6110 porque não", ("RNG6110",))),
    ("E999 beside a code", answer(400, refusal("E0312", "E999")), Unknown),
    *[
        (code, answer(400, refusal(code)), Misconfigured(code, outcome.CERTIFICATE_REFUSED, refazer=True))
        for code in ("E0715", "E0716", "E0718")
    ],
    ("503 with JSON", answer(503, refusal("E1217"), **{"retry-after": "60"}), Postponed(60.0, "HTTP 503")),
    ("503 of a proxy", answer(503, HTML), Unknown),
    *[(code, answer(400, refusal(code)), Postponed(None, code)) for code in ("E1206", "E1217", "E0001")],
    *[
        (f"E120{last}", answer(400, refusal(f"E120{last}")), Misconfigured(f"E120{last}", outcome.CERTIFICATE_REFUSED))
        for last in (0, 1, 2, 3, 4, 5, 7, 8, 9)
    ],
    ("403", answer(403, HTML), Misconfigured("HTTP 403", outcome.NO_ACCESS)),
    ("403 with a code", answer(403, refusal("E1203")), Misconfigured("E1203", outcome.CERTIFICATE_REFUSED)),
    ("401", answer(401), Misconfigured("HTTP 401", outcome.NO_ACCESS)),
    ("TLS refused", NotSentError(REFUSED_BY_TLS), Misconfigured(REFUSED_BY_TLS, outcome.CERTIFICATE_REFUSED)),
    *[
        (code, answer(400, refusal(code)), Rejected(f"{code} porque não", (code,)))
        for code in ("E1225", "E1226", "E1228", "E1229", "E1235", "E1242", "E0714", "E0717")
    ],
    ("another code", answer(422, refusal("E0312")), Rejected("E0312 porque não", ("E0312",))),
    ("another code with 500", answer(500, refusal("E0312")), Unknown),
    ("a refusal with 2xx", answer(201, refusal("E0312")), Unknown),
    ("400 without a code", answer(400, {"message": "no"}), Unknown),
    ("400 HTML", answer(400, HTML), Unknown),
    ("404", answer(404), Unknown),
    ("500", answer(500), Unknown),
    ("502", answer(502, HTML), Unknown),
    ("504", answer(504), Unknown),
    ("302", answer(302), Unknown),
    ("cut JSON", answer(400, b'{"erros":[{"Codigo":"E03'), Unknown),
    ("busy", NotSentError(BUSY), NotSent(BUSY)),
    ("refused", NotSentError("ConnectError"), NotSent("ConnectError")),
    ("read time-out", MaybeSentError("ReadTimeout"), Unknown("ReadTimeout")),
    ("reset", MaybeSentError("ReadError"), Unknown("ReadError")),
]


@pytest.mark.parametrize(("result", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_table_of_a_submission(result: Any, expected: Any, ours: str) -> None:
    """Each kind of answer, and of its absence."""
    told = outcome.submit_outcome(result, ours)
    assert isinstance(told, expected) if isinstance(expected, type) else told == expected


ABSENT = answer(404, {**ENVELOPE, "mensagem": "Arquivo não encontrado."})
NO_NOTE = {"codigo": "E2404", "descricao": "sem nota"}
SEEN: dict[str, Any] = {"dataHoraProcessamento": ENVELOPE["dataHoraProcessamento"], "erro": NO_NOTE}
TWO = {**SEEN, "erro": [SEEN["erro"], {"codigo": "E1217"}]}
QUESTIONS: list[tuple[str, Any, Any, Any]] = [
    ("E2404 of no environment", answer(404), answer(404, {**SEEN, "tipoAmbiente": 0}), Absent()),
    ("E2404 of ours", answer(404), answer(404, {**SEEN, "tipoAmbiente": 2}), Absent()),
    ("E2404 without an environment", answer(404), answer(404, SEEN), Absent()),
    ("E2404 in a whole envelope", answer(404), answer(404, refusal("E2404")), Absent()),
    ("E2404 of the other environment", answer(404), answer(404, {**SEEN, "tipoAmbiente": 1}), CannotTell),
    ("E2404 beside another", answer(404), answer(404, TWO), CannotTell),
    ("E2404 beside what is no code", answer(404), answer(404, {**SEEN, "erro": [SEEN["erro"], "?"]}), CannotTell),
    ("E2404 without a moment", answer(404), answer(404, {"codigo": "E2404", "mensagem": "sem nota"}), CannotTell),
    ("E2404 of another DPS", answer(404), answer(404, {**SEEN, "idDps": "DPS9"}), CannotTell),
    ("E2404 with 400", answer(404), answer(400, SEEN), CannotTell),
    ("E2404 of what exists", answer(200), answer(404, SEEN), CannotTell),
    ("E2401 of a note", answer(404), answer(404, refusal("E2401")), CannotTell),
    ("absent", answer(404), ABSENT, Absent()),
    ("absent in an envelope", answer(404), answer(404, ENVELOPE), Absent()),
    ("of the other environment", answer(404), answer(404, {**ENVELOPE, "tipoAmbiente": 1}), CannotTell),
    ("with a code", answer(404), answer(404, refusal("E1217")), CannotTell),
    ("of another DPS", answer(404), answer(404, {**ENVELOPE, "idDps": "DPS9"}), CannotTell),
    ("a part of an envelope", answer(404), answer(404, {"tipoAmbiente": 2}), CannotTell),
    ("404 of a proxy", answer(404), answer(404, HTML), CannotTell),
    ("404 without a body", answer(404), answer(404), CannotTell),
    ("404 and no second answer", answer(404), MaybeSentError("ReadTimeout"), CannotTell("ReadTimeout")),
    ("404, then 200", answer(404), answer(200, {"chaveAcesso": CHAVE}), CHAVE),
    ("exists", answer(200), answer(200, {"chaveAcesso": CHAVE}), CHAVE),
    ("exists, then 404", answer(200), ABSENT, CannotTell),
    ("exists, not shown to us", answer(200), answer(403), CannotTell),
    ("exists, of another DPS", answer(200), answer(200, {"chaveAcesso": CHAVE, "idDps": "DPS"}), CannotTell),
    ("exists without a key", answer(200), answer(200, ENVELOPE), CannotTell),
    ("403", answer(403), None, CannotTell("HTTP 403", None, outcome.NO_ACCESS)),
    ("503", answer(503, **{"retry-after": "9"}), None, CannotTell("HTTP 503", 9.0)),
    ("no answer", MaybeSentError("ReadTimeout"), None, CannotTell("ReadTimeout")),
]


@pytest.mark.parametrize(("exists", "told", "expected"), [r[1:] for r in QUESTIONS], ids=[r[0] for r in QUESTIONS])
def test_the_table_of_a_question(exists: Any, told: Any, expected: Any, ours: str) -> None:
    """Absence is believed only in the authority's own words; else the key is read, or nothing is known."""
    found = outcome.finding(exists, told, ours, "2")
    assert isinstance(found, expected) if isinstance(expected, type) else found == expected


def test_a_note_is_fetched_by_its_key(xml: bytes) -> None:
    """Another note, or none, is no answer; the document alone comes from the same."""
    good = answer(200, {"nfseXmlGZipB64": pack(xml)})
    found = outcome.fetched(good, CHAVE)
    assert isinstance(found, Found)
    assert found.nota.chave == CHAVE
    assert isinstance(outcome.fetched(good, OTHER), CannotTell)
    assert isinstance(outcome.fetched(answer(200, HTML), CHAVE), CannotTell)
    assert isinstance(outcome.fetched(answer(404, refusal("E1")), CHAVE), CannotTell)
    assert outcome.xml_of(good, CHAVE) == Arquivo(xml, "application/xml")
    assert isinstance(outcome.xml_of(answer(500), CHAVE), NotReady)


EVENT = {**ENVELOPE, "eventoXmlGZipB64": pack(event_of())}
EVENTS: list[tuple[str, Any, Any]] = [
    ("in an envelope", answer(200, EVENT), "cancelada"),
    ("in a list", answer(200, {**ENVELOPE, "eventos": [{"arquivoXml": pack(event_of(tipo="305101"))}]}), "cancelada"),
    ("a substitution", answer(200, {**ENVELOPE, "eventoXmlGZipB64": pack(event_of(tipo="105102"))}), "substituida"),
    ("of another note", answer(200, {**ENVELOPE, "eventoXmlGZipB64": pack(event_of(OTHER))}), None),
    ("of another kind", answer(200, {**ENVELOPE, "eventoXmlGZipB64": pack(event_of(tipo="202201"))}), None),
    ("unreadable", answer(200, {**ENVELOPE, "eventos": [{"arquivoXml": "AAAA"}]}), CannotTell),
    (
        "unreadable beside it",
        answer(200, {**ENVELOPE, "eventos": [{"arquivoXml": "AAAA"}, {"arquivoXml": pack(event_of())}]}),
        "cancelada",
    ),
    ("none", ABSENT, None),
    ("the code of a DPS", answer(404, SEEN), CannotTell),
    ("none in the other environment", answer(404, {**ENVELOPE, "tipoAmbiente": 1}), CannotTell),
    ("a complaint", answer(404, refusal("E1217")), CannotTell),
    ("404 of a proxy", answer(404, HTML), CannotTell),
    ("garbage", answer(200, b"{"), CannotTell),
    ("500", answer(500), CannotTell),
    ("no answer", MaybeSentError("ReadTimeout"), CannotTell),
]


@pytest.mark.parametrize(("result", "expected"), [row[1:] for row in EVENTS], ids=[row[0] for row in EVENTS])
def test_the_table_of_events(result: Any, expected: Any) -> None:
    """An event counts, by its kind, where it is there to be read; that there is none, where the authority says so."""
    told = how_it_ended(result, CHAVE, "2")
    assert isinstance(told, CannotTell) if expected is CannotTell else told == expected


CANCELLATIONS: list[tuple[str, Any, Any]] = [
    ("registered", answer(201, EVENT), AlreadyCancelled()),
    ("2xx without the event", answer(201, ENVELOPE), Unknown),
    ("E0840", answer(400, refusal("E0840")), None),
    ("E0802", answer(400, refusal("E0802")), None),
    ("E0840 with 500", answer(500, refusal("E0840")), Unknown),
    ("the schema", answer(400, refusal("RNG6110")), Unreadable("RNG6110 porque não")),
    ("RNG9999", answer(400, refusal("RNG9999")), Unknown),
    ("another code", answer(400, refusal("E0824")), Rejected("E0824 porque não", ("E0824",))),
    ("403", answer(403), Misconfigured("HTTP 403", outcome.NO_ACCESS)),
    ("429", answer(429, ENVELOPE), Postponed(None, "HTTP 429")),
    ("E1217", answer(400, refusal("E1217")), Postponed(None, "E1217")),
    ("HTML", answer(502, HTML), Unknown),
    ("reset", MaybeSentError("ReadError"), Unknown("ReadError")),
    ("refused", NotSentError("ConnectError"), NotSent("ConnectError")),
]


@pytest.mark.parametrize(("result", "expected"), [r[1:] for r in CANCELLATIONS], ids=[r[0] for r in CANCELLATIONS])
def test_the_table_of_a_cancellation(result: Any, expected: Any) -> None:
    """``None`` asks for a look: the authority has such an event."""
    told = cancel_outcome(result, CHAVE)
    assert isinstance(told, expected) if isinstance(expected, type) else told == expected


@pytest.mark.parametrize(
    ("result", "refused"),
    [
        *[(answer(400, refusal(code)), True) for code in ("RNG7000", "X999", "RNG61100")],
        *[(answer(400, refusal(code)), False) for code in ("E999", "RNG9999")],
        (answer(404, HTML), True),
        (answer(502, HTML), False),
        (answer(408, HTML), False),
    ],
)
def test_an_unknown_refusal_may_be_for_ever_and_the_authoritys_own_failure_is_not(
    result: Any, *, refused: bool
) -> None:
    """Told apart by codes and status, for a note and for a cancellation alike."""
    for told in (outcome.submit_outcome(result, "x"), cancel_outcome(result, CHAVE)):
        assert isinstance(told, Unknown)
        assert told.recusada is refused


def test_the_authoritys_failure_is_no_absence() -> None:
    """404 with its own code of a failure says nothing of events."""
    assert isinstance(how_it_ended(answer(404, {**ENVELOPE, **refusal("RNG9999")}), CHAVE, "2"), CannotTell)


def test_a_deadline_that_has_passed_is_told_in_plain_words() -> None:
    """What happened, and what can still be done."""
    told = cancel_outcome(answer(400, refusal("E0822")), CHAVE)
    assert isinstance(told, Rejected)
    assert told.mensagem.startswith("o prazo da cidade")
    assert told.codigos == ("E0822",)


def test_how_a_note_stands(xml: bytes, ours: str) -> None:
    """Cancelled where an event says so; it stands where the authority says that there is none."""
    found = outcome.fetched(answer(200, {"nfseXmlGZipB64": pack(xml)}), CHAVE)
    gone = cancel_finding(answer(200, EVENT), found, ours, CHAVE, "2")
    assert isinstance(gone, Cancelled)
    assert gone.nota.situacao is Situacao.CANCELADA
    assert cancel_finding(ABSENT, found, ours, CHAVE, "2") == Stands()
    assert isinstance(cancel_finding(answer(500), found, ours, CHAVE, "2"), CannotTell)
    assert isinstance(cancel_finding(answer(200, EVENT), found, ours[:-1] + "9", CHAVE, "2"), CannotTell)
    assert cancel_finding(answer(200, EVENT), CannotTell("x"), ours, CHAVE, "2") == CannotTell("x")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (NotSentError(outcome.UNUSABLE), outcome.NO_CERTIFICATE),
        (NotSentError(REFUSED_BY_TLS), outcome.CERTIFICATE_REFUSED),
        (answer(400, refusal("E1203")), outcome.CERTIFICATE_REFUSED),
        (answer(403), outcome.NO_ACCESS),
        (answer(503), None),
        (MaybeSentError("ReadTimeout"), None),
    ],
)
def test_who_cannot_be_asked_for_a_certificates_sake_is_told_so(result: Any, words: str | None) -> None:
    """The words are the company's to act on; of the authority's own troubles there are none."""
    assert outcome.cannot_tell(result).texto == words
