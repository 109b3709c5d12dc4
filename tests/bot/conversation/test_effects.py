"""What a confirmation issues: the day that the invoice belongs to, and the content that its fingerprint covers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from bot.conversation.effects import confirmed_of
from bot.orders.accept import intent_of
from persistence.people.companies import Empresa
from state_machine.documents import DocumentoServico, Endereco
from state_machine.invoice.draft import Rascunho, aplicar
from state_machine.invoice.fields import Campo, Candidate
from state_machine.invoice.session import Emitir, Sessao

SHOWN = datetime(2026, 12, 1, 1, 30, tzinfo=UTC)  # in São Paulo the last half hour but one of November
TAPPED = datetime(2026, 12, 1, 15, 0, tzinfo=UTC)
EMPRESA = Empresa(
    1, "44555666000181", "ANA DESIGN ME", "1", "3550308", "mei", "01.01", None, None, datetime(2026, 1, 1, tzinfo=UTC)
)
SAID = {Campo.DOCUMENTO: "12345678000195", Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"}


def _confirmed(**more: str) -> Sessao:
    said = {**SAID, **{Campo(name): value for name, value in more.items()}}
    rascunho = aplicar(Rascunho(), [Candidate(campo, value, value) for campo, value in said.items()], (), ())
    assert rascunho.completo
    return Sessao(
        "301126-0a1b2c3d", "1:5511", 1, "ANA DESIGN ME", rascunho=rascunho, revisao=1, mostrado_em=SHOWN, versao=1
    )


def _competencia(sessao: Sessao) -> date:
    return confirmed_of(sessao, Emitir(1), EMPRESA, TAPPED).documento.competencia


def test_an_invoice_belongs_to_the_day_on_which_its_summary_was_shown() -> None:
    """In Brazil, not in UTC; a yes after midnight confirms what was seen before it, of the month before."""
    assert _competencia(_confirmed()) == date(2026, 11, 30)
    assert _competencia(replace(_confirmed(), mostrado_em=None)) == date(2026, 12, 1)


@pytest.mark.parametrize(
    ("municipio", "shown"),
    [
        ("1200401", "2026-11-30T22:30-05:00"),
        ("1302603", "2026-11-30T23:30-04:00"),
        ("1304062", "2026-11-30T23:30-05:00"),
        ("5103403", "2026-11-30T23:30-04:00"),
        ("3550308", "2026-11-30T23:30-03:00"),
    ],
)
def test_it_is_the_day_in_the_companys_city(municipio: str, shown: str) -> None:
    """West of Brasília the month ends an hour or two later: what is shown before that belongs to it."""
    empresa = replace(EMPRESA, municipio_ibge=municipio)
    sessao = replace(_confirmed(), mostrado_em=datetime.fromisoformat(shown))
    assert confirmed_of(sessao, Emitir(1), empresa, TAPPED).documento.competencia == date(2026, 11, 30)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ({"competencia": "2026-10"}, date(2026, 10, 31)),
        ({"competencia": "2026-02"}, date(2026, 2, 28)),
        ({"competencia": "2026-11"}, date(2026, 11, 30)),
        ({"competencia": "2026-12"}, date(2026, 12, 1)),
        ({"data": "2026-11-05"}, date(2026, 11, 5)),
    ],
)
def test_a_said_month_or_day_is_what_is_issued(said: dict[str, str], day: date) -> None:
    """A month gone by is dated on its last day, one to come on its first, a day as it was said."""
    assert _competencia(_confirmed(**said)) == day


def test_in_the_present_month_it_is_today() -> None:
    """Nobody dates an invoice after the day on which it was shown."""
    middle = datetime(2026, 11, 12, 15, 0, tzinfo=UTC)
    sessao = replace(_confirmed(competencia="2026-11"), mostrado_em=middle)
    assert _competencia(sessao) == date(2026, 11, 12)


def test_the_order_carries_what_was_confirmed() -> None:
    """Issuer, customer, amount to the centavo and text come from the session; the reference from its revision."""
    intent = intent_of(confirmed_of(_confirmed(valor="1500.37"), Emitir(1, 2), EMPRESA, TAPPED), None, None)
    assert (intent.prestador.cnpj, intent.tomador.documento) == (EMPRESA.cnpj, SAID[Campo.DOCUMENTO])
    assert isinstance(intent, DocumentoServico)
    assert (intent.valor, intent.descricao) == (Decimal("1500.37"), "consultoria")
    assert intent.id_integracao == "301126-0a1b2c3d-r1-2"


def test_the_address_that_was_said_counts_before_the_registers() -> None:
    """The person saw it in the summary; without one the register's stands on the note."""
    known = Endereco("Rua do Cadastro", "1", "Centro", "3550308", "São Paulo", "SP", "01001000")
    said = replace(known, logradouro="Rua Dita", numero="20")
    confirmed = confirmed_of(_confirmed(), Emitir(1), EMPRESA, TAPPED)
    tomador = replace(confirmed.documento.tomador, endereco=said)
    stated = replace(confirmed, documento=replace(confirmed.documento, tomador=tomador))
    assert intent_of(stated, known, None).tomador.endereco == said
    assert intent_of(confirmed, known, None).tomador.endereco == known
