from __future__ import annotations

from dataclasses import is_dataclass
from datetime import UTC, datetime
from types import SimpleNamespace

import httpx
import pytest

from gateway.http import wire
from gateway.refusals import national_codes, plain
from persistence.staff.case import CaseTimeline
from proofs.diagrams.session import EXEMPLOS
from state_machine.cancellation import reconciliation as cancelling
from state_machine.protocol import emission
from state_machine.protocol.retry import Politica
from webhooks.console.pages.snapshot import line
from webhooks.console.render import labels
from webhooks.console.render.format import Olhar
from webhooks.console.render.labels import CAPITAIS, UFS, cidade, da_equipe, evento, motivo, operacao, resultado


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("ReadError", "a conexão caiu antes de a resposta chegar"),
        ("HTTP 502 without a JSON object", "HTTP 502, sem uma resposta que se leia"),
        ('[{"Codigo":"E0314","Descricao":"O código não existe."}]', "E0314: O código não existe."),
        ('[{"Codigo": "E1"}, {"mensagem": "Só palavras"}]', "E1; Só palavras"),
        ('[{"Codigo":"E0314","Descricao":"O código não exi', "E0314: O código não exi…"),
        ('[{"Codigo":"E0314","Desc', "E0314"),
        ("[isto não é JSON", "[isto não é JSON"),
        ("{}", "{}"),
        ("the gateway's note under our key differs in competencia", "a nota no gateway tem outra competência"),
        ("palavras de alguém", "palavras de alguém"),
    ],
)
def test_what_is_stored_is_read_in_portuguese(stored: str, shown: str) -> None:
    """Names of exceptions, English notes and an authority's JSON are words; anything else stays as it is."""
    assert motivo(stored) == shown


def test_every_failure_of_the_network_has_a_name() -> None:
    """Whatever the client raises, nobody reads the name of a class."""
    named = {error.__name__ for error in httpx.NetworkError.__subclasses__() + httpx.TimeoutException.__subclasses__()}
    named |= {wire.BUSY, wire.BodyTooLargeError(1).reason, *(reason for *_, reason in wire._FAILURES)}
    assert {name for name in named if motivo(name) == name} == set()


NO_OUTCOMES = {"Arquivo", "Nota", "NotReady", "AndamentoCancelamento", "PassoCancelamento"}  # no attempt keeps them


def test_no_name_of_the_program_is_shown_to_staff() -> None:
    """Every outcome, operation and event has words of its own on the pages."""
    ours = [
        each
        for module in (cancelling, emission)
        for each in vars(module).values()
        if is_dataclass(each) and each is not Politica
    ]
    outcomes = {each.__name__ for each in ours if isinstance(each, type)} - NO_OUTCOMES
    assert outcomes >= {"Accepted", "Found", "AlreadyCancelled"}
    assert {name for name in outcomes if resultado(name)[0] == name} == set()
    assert not [name for name in ("submit", "find", "cancel") if operacao(name) == name]
    events = {type(example).__name__ for example in EXEMPLOS}
    assert not [name for name in events if evento(name) == name]


def test_a_reason_for_its_person_is_told_to_staff_in_their_own_words() -> None:
    """Nobody of the staff reads of "your company", or that the staff repair it."""
    said = [plain.EMPRESA, plain.SERVICO, plain.CERTIFICADO, *national_codes.CODIGOS.values()]
    told = [da_equipe(each.texto) for each in said]
    assert not [texto for texto in told if "sua empresa" in texto or "seu cadastro" in texto or "suporte" in texto]
    assert told[0] == "um dado do cadastro da empresa não foi aceito"


def test_cities_have_names_or_at_least_a_state() -> None:
    """A capital is called by its name, any other city by its state; a code of no state stays a code."""
    assert (cidade("3550308"), cidade("3509502"), cidade("9999999")) == ("São Paulo/SP", "município de SP", "9999999")
    assert {code[:2] for code in CAPITAIS} == set(UFS)
    assert len(CAPITAIS) == 27


def test_a_cause_is_said_in_words_before_its_code() -> None:
    """What has no code of an authority stays as it is."""
    said = '[{"Codigo":"E0314","Descricao":"O código de tributação nacional informado não existe na lista."}]'
    assert labels.causa("E0314", said) == "O código de tributação nacional informado não existe na lista (E0314)"
    assert labels.causa("E160", "O serviço não confere.") == "O serviço não confere (E160)"
    assert labels.causa("o cadastro não diz", "o cadastro não diz o CNAE: falta") == "o cadastro não diz o CNAE: falta"
    assert labels.causa("no result within 24 h", None) == "24 horas sem resultado"


def test_a_document_of_the_month_has_a_name_and_a_caption() -> None:
    """The workbook and the picture are made as they leave: what is stored of them has no text."""
    kept = {"tipo": "mes", "empresa_id": 1, "mes": "2026-11", "formato": "xlsx"}
    at = datetime(2026, 11, 29, tzinfo=UTC)
    row = SimpleNamespace(id=1, criado_em=at, status="lido", erro=None, erro_codigo=None, mensagem=kept)
    record = CaseTimeline([], [row], [], [], [], [])
    [item] = line(record, Olhar())
    assert item.texto.startswith("fechamento-2026-11.xlsx\nO mês em planilha")
    row.mensagem = {**kept, "formato": "png"}
    assert line(record, Olhar())[0].texto.startswith("fechamento-2026-11.png\nAs barras do mês")
