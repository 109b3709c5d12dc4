"""A yes is talk where the summary was shown for another channel or environment than the company's of now."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.subjects.invoice.facts import as_issued_by
from persistence.people.companies import Empresa
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado, Sessao
from state_machine.machine.events import Abriu, Cancelou, Confirmou, Conversou, MudouEmissor
from state_machine.proposal import draft

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
COMPANY = Empresa(1, "11222333000181", "ANA DESIGN ME", "1", "3550308", "mei", "010701", None, None, NOW)
SHOWN = Sessao(
    "251126-00000000",
    "1:5511900000000",
    1,
    "ANA DESIGN ME",
    estado=Estado.AGUARDANDO_CONFIRMACAO,
    mostrado_em=NOW,
    empresa_versao=1,
    canal="nacional/homologacao",
)


@pytest.mark.parametrize("now", ["nacional/producao", "plugnotas/homologacao"])
def test_the_same_company_in_another_place_takes_no_yes(now: str) -> None:
    """The installation's environment changed, which gives no company a new version."""
    emissor = replace(COMPANY.emissor, canal=now)
    assert as_issued_by(SHOWN, COMPANY, now, [Confirmou(1)]) == [Conversou(), MudouEmissor(emissor)]


@pytest.mark.parametrize("shown_for", ["nacional/homologacao", None])
def test_the_place_of_the_summary_takes_it(shown_for: str | None) -> None:
    """So does a summary of an older release, which stored no channel."""
    shown = replace(SHOWN, canal=shown_for)
    assert as_issued_by(shown, COMPANY, "nacional/homologacao", [Confirmou(1)]) == [Confirmou(1)]


@pytest.mark.parametrize("event", [Confirmou(1), Conversou(), Abriu(draft(1, {Campo.VALOR: "10.00"}))])
def test_what_a_system_proposed_in_practice_is_given_up_in_earnest(event: Confirmou | Conversou | Abriu) -> None:
    """Also where it is taken up later; another channel of the same environment shows it again."""
    proposed = replace(SHOWN, rascunho=draft(1, {Campo.VALOR: "10.00"}))
    assert as_issued_by(proposed, COMPANY, "nacional/producao", [event]) == [Cancelou()]
    assert Cancelou() not in as_issued_by(proposed, COMPANY, "plugnotas/homologacao", [event])
