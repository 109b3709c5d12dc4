"""Whatever field of one note is another one than its person saw and said, the judge says whose."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from proofs.storm.judge.confirmations import read_summary
from proofs.storm.judge.verdict import BROKEN
from tests.proofs.storm.storm_books import Stage, good
from tests.proofs.storm.storm_wishes import ANA, OTHER, wish

if TYPE_CHECKING:
    from collections.abc import Callable


def field(*path: Any, to: Any) -> Callable[[Stage], None]:
    """Change one field of Ana's note, or take it out (``...``), before anything was rendered from it."""

    def change(stage: Stage) -> None:
        place = stage.created(ANA)["payload"]
        for name in path[:-1]:
            place = place[name]
        if to is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = to

    return change


FIELDS = {
    "another issuer": field("prestador", "cpfCnpj", to=OTHER),
    "the other company of the storm": field("prestador", "cpfCnpj", to="99000001000101"),
    "another inscription of the issuer": field("prestador", "inscricaoMunicipal", to="99"),
    "another tax regime": field("prestador", "opSimpNac", to=3),
    "another city": field("emitente", "codigoCidade", to="3106200"),
    "another customer": field("tomador", "cpfCnpj", to=OTHER),
    "another name of the customer": field("tomador", "razaoSocial", to="PADARIA DO JOÃO LTDA"),
    "no name of the customer": field("tomador", "razaoSocial", to=...),
    "another e-mail": field("tomador", "email", to="financeiro.7@cliente.example"),
    "no e-mail": field("tomador", "email", to=...),
    "another address": field("tomador", "endereco", "numero", to="101"),
    "no address": field("tomador", "endereco", to=...),
    "an amount ten times as high": field("servico", 0, "valor", "servico", to=10_000.0),
    "a centavo more": field("servico", 0, "valor", "servico", to=1000.01),
    "a centavo less": field("servico", 0, "valor", "servico", to=999.99),
    "an amount as text": field("servico", 0, "valor", "servico", to="1.000,00"),
    "another text of the service": field("servico", 0, "discriminacao", to="aulas de francês"),
    "a text cut short": field("servico", 0, "discriminacao", to="aulas de ingl"),
    "a text in capitals": field("servico", 0, "discriminacao", to="AULAS DE INGLÊS"),
    "another service code": field("servico", 0, "codigo", to="170102"),
    "a CNAE that nobody registered": field("servico", 0, "cnae", to="7410202"),
    "competence 1999": field("rps", "competencia", to="1999-01-01"),
    "the competence of the next day": field("rps", "competencia", to="2026-01-03"),
    "a competence that is no day": field("rps", "competencia", to="janeiro"),
    "no competence": field("rps", "competencia", to=...),
    "an RPS number where the gateway numbers": field("rps", "numero", to=7),
    "the gateway mails the customer": field("enviarEmail", to=True),
    "a field that nobody confirmed": field("servico", 0, "desconto", to=1),
}


@pytest.mark.parametrize("change", FIELDS.values(), ids=FIELDS.keys())
def test_each_field_of_a_note_is_what_its_person_confirmed(change: Callable[[Stage], None]) -> None:
    """Whatever field of one note among twenty is another one, the judge names that person."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(ANA in line for line in found.faults["wrong"]), found.faults
    assert found.word == BROKEN


@pytest.mark.parametrize(
    ("number", "competence"),
    [(4, "2025-09-14"), (4, "2026-01-02"), (5, "2025-09-01"), (5, "2025-08-31"), (5, "2025-10-30"), (5, "2026-01-02")],
)
def test_a_said_day_or_month_is_the_notes(number: int, competence: str) -> None:
    """The day on the summary is the note's; of a past month it is the last day."""
    stage = good()
    stage.created(wish(number).who)["payload"]["rps"]["competencia"] = competence
    assert f"rps.competencia é '{competence}'" in " ".join(stage.verdict().wrong)


@pytest.mark.parametrize(
    ("number", "old", "new", "competence"),
    [(4, "15/09/2025", "16/09/2025", "2025-09-16"), (5, "09/2025", "10/2025", "2025-10-31")],
)
def test_a_note_that_follows_a_wrong_summary_is_wrong(number: int, old: str, new: str, competence: str) -> None:
    """A day or month that the person never said is wrong, although summary and note agree on it."""
    stage = good()
    body = stage.summary(wish(number).who)
    assert old in body["text"]
    body["text"] = body["text"].replace(old, new)
    stage.created(wish(number).who)["payload"]["rps"]["competencia"] = competence
    assert [line for line in stage.verdict().wrong if new in line and old in line]


def test_the_competence_is_that_of_the_summary_not_of_the_tap() -> None:
    """Who taps after midnight confirms the day on which the summary was shown, in Brazil."""
    stage = good()
    tap = next(
        place for place, fact in enumerate(stage.meta) if fact[1] == "inbound" and "interactive" in fact[2]["message"]
    )
    night = timedelta(days=1)
    stage.meta[tap:] = [(at + night, kind, data) for at, kind, data in stage.meta[tap:]]
    stage.gateway[:] = [(at + night, kind, data) for at, kind, data in stage.gateway]
    assert not any(ANA in line for line in stage.verdict().wrong)
    stage.created(ANA)["payload"]["rps"]["competencia"] = "2026-01-03"
    assert any(ANA in line for line in stage.verdict().wrong)


def test_an_own_rps_number_is_given_once() -> None:
    """Two people of one series never share a number, and none is below the first or of another series."""
    stage = good()
    one, two = (stage.created(wish(number).who)["payload"]["rps"] for number in (7, 9))
    one["numero"] = two["numero"]
    found = stage.verdict()
    assert "foi também o de" in " ".join(found.misnumbered)
    assert "falta sem explicação" in " ".join(found.misnumbered)
    one["numero"] = 500
    assert "o número 500 vem antes do primeiro, 501" in " ".join(stage.verdict().misnumbered)
    one["serie"] = "8"
    assert "rps.serie é '8'" in " ".join(stage.verdict().wrong)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R$ 1.000,00", "R$ 1.000,01"),
        ("12.345.678/0001-95", "99.000.033/0001-07"),
        ("PADARIA DO ZÉ LTDA", "PADARIA DO ZÉ"),
        ("aulas de inglês", "aulas de francês"),
        ("ANA DESIGN ME", "OFICINA QUASE NOVA FICTÍCIA LTDA"),
        ("financeiro.0@", "financeiro.1@"),
        ("Emitente: ", "Quem emite: "),
        ("Valor: ", "Preço: "),
        ("Serviço: ", "Competência: 10/2025\nServiço: "),
        ("Serviço: ", "Data do serviço: 01/10/2025\nServiço: "),
        ("Serviço: ", "Serviço: nada\nServiço: "),
    ],
)
def test_a_summary_says_what_its_person_had_said(old: str, new: str) -> None:
    """A summary that shows something else, or that nobody can read, is no confirmation of what was wanted."""
    stage = good()
    body = stage.summary(ANA)
    assert old in body["text"]
    body["text"] = body["text"].replace(old, new)
    assert any(ANA in line for line in stage.verdict().wrong)


def test_a_summary_without_a_name_is_read() -> None:
    """Where the register did not answer, the summary says so; its warning lines are nobody's field."""
    seen = read_summary(
        "*Confere?*\n\n⚠️ A outra foi pedida em 01/02, às 10:00.\nCliente: *sem nome*. Se quiser, manda o nome."
        "\nCPF: 529.982.247-25\nValor: *R$ 1.234.567,89* (por extenso)\nServiço: aula\nEmitente: EU"
    )
    assert seen is not None
    assert (seen.nome, seen.documento, seen.valor) == ("", "52998224725", Decimal("1234567.89"))
