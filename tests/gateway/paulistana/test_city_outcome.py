"""What an answer of the city is worth: a note, a certain refusal, a question, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.wire import Answer, MaybeSentError, NotSentError
from gateway.keys import ChaveRPS
from gateway.paulistana import outcome
from gateway.paulistana.outcome import submit_outcome
from state_machine.cancellation.reconciliation import AlreadyCancelled, Cancelled, Stands
from state_machine.protocol.audit import Pagina
from state_machine.protocol.emission import (
    Absent,
    CannotTell,
    Duplicate,
    Found,
    Issued,
    Misconfigured,
    NotSent,
    Rejected,
    Situacao,
    Unknown,
)
from tests.gateway.paulistana.made_answers import KEY, answer, issued, note
from tests.gateway.paulistana.made_rps import CNPJ

SENT, ASKED, ENDED = "RetornoEnvioRPS", "RetornoConsulta", "RetornoCancelamentoNFe"
REPEATED = "RPS reenviado. A NF-e (41) referente ao RPS (PROSA 1) foi cancelada e uma nova NF-e foi emitida."


def said(*parts: str, **told: Any) -> Any:
    """What is believed of an answer to an RPS of layout 2."""
    return submit_outcome(answer(SENT, *parts, **told), KEY, CNPJ, 2)


def test_a_note_under_our_key_is_issued_whatever_else_stands_there() -> None:
    """With its number, verification and link; alerts and even errors beside it change nothing."""
    for made in (
        said(issued(), agreed=True, alerts=(("208", "alíquota"),)),
        said(issued(), errors=("9999",)),
    ):
        assert isinstance(made, Issued)
        assert (made.nota.numero, made.nota.protocolo, made.anulada) == ("42", "M2UTLZ6X", None)
        assert made.nota.id_integracao == str(KEY)
        assert made.nota.url_pdf is not None
        assert made.nota.url_pdf.endswith("?inscricao=31000000&nf=42&verificacao=M2UTLZ6X")
    assert isinstance(said(issued(ChaveRPS("31000000", "PROSA", 2)), agreed=True), Unknown)


def test_a_repeated_rps_is_issued_and_names_the_note_that_it_cost() -> None:
    """217 is no error: the number of the cancelled note goes with the new one."""
    made = said(issued(), agreed=True, alerts=(("217", REPEATED),))
    assert isinstance(made, Issued)
    assert (made.nota.numero, made.anulada) == ("42", "41")
    unnamed = said(issued(), agreed=True, alerts=(("217", "RPS reenviado."),))
    assert isinstance(unnamed, Issued)
    assert unnamed.anulada == "?"


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        *[((code,), Rejected) for code in sorted(outcome.REFUSALS - outcome.CERTIFICATE - outcome.COMPANY - {"641"})],
        *[((code,), Misconfigured) for code in sorted(outcome.CERTIFICATE | outcome.COMPANY)],
        *[((code,), Duplicate) for code in sorted(outcome.DUPLICATE)],
        (("641",), NotSent),
        (("9999",), Unknown),
        (("303", "9999"), Unknown),
        (("303", "338"), Duplicate),
        ((), Unknown),
    ],
)
def test_each_code_has_one_meaning(codes: tuple[str, ...], kind: type) -> None:
    """Known refusals end this sending; a key in use is a question; what nobody knows leaves doubt."""
    assert isinstance(said(errors=codes), kind)


def test_the_tables_do_not_overlap() -> None:
    """No code is both a certain refusal and a sign that a note exists."""
    assert not outcome.REFUSALS & outcome.DUPLICATE
    assert outcome.CERTIFICATE | outcome.COMPANY | set(outcome.OTHER_LAYOUT) <= outcome.REFUSALS


def test_the_layout_is_changed_only_for_the_one_that_was_not_sent() -> None:
    """641 answers layout 2 and 631 layout 1; the other way round it is a refusal like any other."""
    for code, of in (("641", 2), ("631", 1)):
        made = submit_outcome(answer(SENT, errors=(code,)), KEY, CNPJ, of)
        assert isinstance(made, NotSent)
        assert made.refazer
        assert isinstance(submit_outcome(answer(SENT, errors=(code,)), KEY, CNPJ, 3 - of), Rejected)


@pytest.mark.parametrize(
    "result",
    [
        MaybeSentError("ReadTimeout", "late"),
        Answer(502, {}, b"<html>bad gateway</html>"),
        Answer(200, {}, b"<html><body>manutencao</body></html>"),
        Answer(200, {}, b""),
        Answer(500, {}, answer(SENT, errors=("303",)).body),
        answer("RetornoConsulta", agreed=True),
        answer(SENT, agreed=True),
        answer(SENT, agreed=True, alerts=(("216", "convertido no site"),)),
    ],
)
def test_what_is_not_plainly_an_answer_is_unknown(result: Any) -> None:
    """A lost answer, a page, another document, a yes without a note."""
    assert isinstance(submit_outcome(result, KEY, CNPJ, 2), Unknown)


def test_what_never_left_may_go_again() -> None:
    """A refused connection is no sending; without a certificate the company must act."""
    assert submit_outcome(NotSentError("ConnectError", ""), KEY, CNPJ, 2) == NotSent("ConnectError")
    assert isinstance(submit_outcome(NotSentError(outcome.UNUSABLE), KEY, CNPJ, 2), Misconfigured)


def test_absence_is_one_code_and_nothing_else() -> None:
    """1106 alone; a yes without notes, another code, or one beside it tells nothing."""
    assert outcome.finding(answer(ASKED, errors=("1106",)), KEY, CNPJ) == Absent()
    for other in (
        answer(ASKED, agreed=True),
        answer(ASKED, errors=("1106", "1401")),
        answer(ASKED, errors=("641",)),
        answer(ASKED, note(key=None), agreed=True),
        answer(ASKED, note(key=ChaveRPS("31000000", "PROSA", 2)), agreed=True),
        Answer(403, {}, b"<html/>"),
    ):
        assert isinstance(outcome.finding(other, KEY, CNPJ), CannotTell)
    assert outcome.asks_for_layout(answer(ASKED, errors=("641",)), 2)
    assert not outcome.asks_for_layout(answer(ASKED, errors=("1106",)), 2)


def test_of_several_notes_under_one_key_the_one_that_stands_is_found() -> None:
    """Content and reference are shown; where all are cancelled, the last is."""
    texto = "Consultoria em novembro|Ref. PROSA ABCDEFGHIJ"
    found = outcome.finding(answer(ASKED, note(42, texto=texto), note(41, "C"), agreed=True), KEY, CNPJ)
    assert isinstance(found, Found)
    assert found.xml is not None
    assert (found.nota.numero, found.nota.situacao) == ("42", Situacao.AUTORIZADA)
    assert (found.nota.descricao, found.nota.referencia) == ("Consultoria em novembro", "ABCDEFGHIJ")
    assert (str(found.nota.valor), found.nota.tomador) == ("1500.00", "13167474254")
    gone = outcome.finding(answer(ASKED, note(41, "C"), note(42, "C"), agreed=True), KEY, CNPJ)
    assert isinstance(gone, Found)
    assert (gone.nota.numero, gone.nota.situacao) == ("42", Situacao.CANCELADA)
    odd = outcome.finding(answer(ASKED, note(42, "E"), agreed=True), KEY, CNPJ)
    assert isinstance(odd, Found)
    assert odd.nota.situacao is Situacao.PROCESSANDO


def test_a_page_of_the_period_is_read_whole_or_not_at_all() -> None:
    """A note that cannot be read hides perhaps ours; fifty notes mean that there is another page."""
    assert outcome.listing(answer(ASKED, agreed=True), CNPJ, 1) == Pagina((), None)
    assert outcome.listing(answer(ASKED, errors=("1106",)), CNPJ, 1) == Pagina((), None)
    full = outcome.listing(answer(ASKED, *[note(n + 1) for n in range(50)], agreed=True), CNPJ, 1)
    assert isinstance(full, Pagina)
    assert (len(full.notas), full.seguinte) == (50, "2")
    broken = answer(ASKED, note().replace(CNPJ, "00000000000000"), agreed=True)
    assert isinstance(outcome.listing(broken, CNPJ, 1), CannotTell)
    assert isinstance(outcome.listing(answer(ASKED, errors=("1401",)), CNPJ, 1), CannotTell)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"agreed": True}, AlreadyCancelled),
        ({"alerts": (("1301", "já cancelada"),)}, AlreadyCancelled),
        ({"errors": ("324",)}, Rejected),
        ({"errors": ("1306",)}, Rejected),
        ({"errors": ("1304",)}, Unknown),
        ({"errors": ("1054",)}, Misconfigured),
        ({"errors": ("1305",)}, type(None)),
    ],
)
def test_each_answer_to_a_cancellation_has_one_meaning(told: Any, kind: type) -> None:
    """Cancelled, refused with the city's words, another string, or unknown."""
    assert isinstance(outcome.cancel_outcome(answer(ENDED, **told)), kind)


def test_the_note_itself_says_whether_it_stands() -> None:
    """By its number; another note, or a state that nobody knows, tells nothing."""
    ours = "SP_31000000_42"
    assert outcome.read_id(ours) == ("31000000", 42)
    assert outcome.cancel_finding(answer(ASKED, note(42), agreed=True), ours, CNPJ) == Stands()
    assert isinstance(outcome.cancel_finding(answer(ASKED, note(42, "C"), agreed=True), ours, CNPJ), Cancelled)
    for other in (answer(ASKED, note(42, "E"), agreed=True), answer(ASKED, note(41), agreed=True)):
        assert isinstance(outcome.cancel_finding(other, ours, CNPJ), CannotTell)
    with pytest.raises(ValueError, match="names no note"):
        outcome.read_id("SP_31_42")


def test_a_refusal_is_told_in_the_citys_words_where_it_has_none_of_ours() -> None:
    """A known one names its field; MEI and the Simples are led to the national issuer."""
    assert outcome.explain(Rejected("359 MEI", ("359",))).texto.count("emissor nacional") == 1
    assert "diz 299" in outcome.explain(said(errors=("299",))).texto
    field = outcome.explain(Rejected("317", ("317",))).campo
    assert field is not None
