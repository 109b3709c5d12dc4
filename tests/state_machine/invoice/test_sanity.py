from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from proofs.diagrams.session import example
from state_machine.invoice.draft import Lido, StatusCampo
from state_machine.invoice.fields import Campo, Candidate
from state_machine.invoice.session import Estado, Responder
from state_machine.machine.events import Informou
from state_machine.machine.steps import cautela
from state_machine.machine.transition import transition

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SHOWN = example(Estado.AGUARDANDO_CONFIRMACAO)


def said(campo: Campo, valor: str) -> str | None:
    """What is pointed out when a field reads so."""
    return cautela(SHOWN.rascunho.com(campo, Lido(StatusCampo.VALIDATED, valor)), NOW)


@pytest.mark.parametrize(
    ("campo", "valor", "words"),
    [
        (Campo.DATA, "1991-08-03", "a data do serviço é 03/08/1991, há mais de um ano"),
        (Campo.DATA, "2026-11-24", "no futuro"),
        (Campo.COMPETENCIA, "2027-01", "a competência é 01/2027, no futuro"),
        (Campo.COMPETENCIA, "2024-10", "há mais de um ano"),
    ],
)
def test_a_date_far_away_is_pointed_out(campo: Campo, valor: str, words: str) -> None:
    """A birth, a slip of the year, or what has not happened yet."""
    assert words in (said(campo, valor) or "")


@pytest.mark.parametrize(
    ("campo", "valor"), [(Campo.DATA, "2026-11-23"), (Campo.DATA, "2025-12-01"), (Campo.COMPETENCIA, "2026-11")]
)
def test_a_date_of_this_year_is_not(campo: Campo, valor: str) -> None:
    """Today, and what is less than a year ago, are usual."""
    assert said(campo, valor) is None


def test_the_day_is_brazils() -> None:
    """At one in the morning UTC tomorrow has not begun."""
    rascunho = SHOWN.rascunho.com(Campo.DATA, Lido(StatusCampo.VALIDATED, "2026-11-24"))
    assert "futuro" in (cautela(rascunho, datetime(2026, 11, 24, 1, tzinfo=UTC)) or "")


@pytest.mark.parametrize(("comum", "told"), [("15.00", True), ("15.01", False), (None, False)])
def test_an_amount_a_hundred_times_the_usual_is_pointed_out(comum: str | None, told: bool) -> None:
    """R$ 1.500,00 where R$ 15,00 is usual; nothing is said where nothing is known."""
    usual = Decimal(comum) if comum else None
    assert bool(cautela(SHOWN.rascunho, NOW, usual)) == told


def test_it_is_the_summarys_first_line() -> None:
    """Above all else, also above what a correction changed; the data and the buttons follow as ever."""
    evento = Informou((Candidate(Campo.VALOR, "9000.00", "9 mil"),), comum=Decimal("50.00"))
    decision = transition(replace(SHOWN, mostrado_em=NOW), evento, NOW)
    [resposta] = [efeito.mensagem for efeito in decision.efeitos if isinstance(efeito, Responder)]
    assert resposta.texto.startswith("⚠️ *Atenção: R$ 9.000,00 é muito mais que o seu comum (R$ 50,00).*\n*Mudei")
    assert "Confirmar" in [botao.titulo for botao in resposta.botoes]
