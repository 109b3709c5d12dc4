from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from extractor.two_readers import TwoReaders
from operations.company import CompanyForm, add_company
from persistence.queue import lanes
from proofs.demo.world import COMPANY
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    import pytest

    from tests.road.road_people import Road


async def test_a_yes_in_words_issues_nothing_while_its_summary_has_not_left(road: Road) -> None:
    """A summary that WhatsApp refused was never seen: the yes gets the summary, and only the next yes issues."""
    ana = await road.person()
    road.world.meta.faults.set("erro_500", method="POST")
    await ana.tell(FULL)
    session = await road.reached(ana, "aguardando_confirmacao")
    stuck = "SELECT id FROM outbox WHERE resumo_de = 1 AND status = 'pendente' AND tentativas > 0 AND conversa = $1"
    conversation = session["conversa"]
    outbox_id = await until(lambda: road.database.pool.fetchval(stuck, conversation))
    await road.database.pool.execute("UPDATE outbox SET run_at = now() + interval '1 hour' WHERE id = $1", outbox_id)
    road.world.meta.faults.clear()
    await ana.tell("sim")
    shown = "SELECT count(*) FROM outbox WHERE resumo_de = 1 AND conversa = $1"

    async def shown_again() -> bool:
        return bool(await road.database.pool.fetchval(shown, conversation) == 2)

    await until(shown_again)
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert await road.notes(ana) == []
    await road.database.pool.execute("UPDATE outbox SET run_at = now() WHERE conversa = $1", conversation)
    road.house.pumps["deliveries"].ring()
    await ana.expect("Confere?")
    await ana.expect("Só falta você confirmar")
    await ana.tell("sim")
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_change_of_the_company_asks_again_before_it_issues(road: Road) -> None:
    """What the summary did not show yet is not confirmed by its button, nor by a word."""
    ana = await road.person()
    summary = await ana.say(FULL)
    form = CompanyForm(
        cnpj=COMPANY.cnpj,
        razao_social=COMPANY.razao_social,
        inscricao_municipal=COMPANY.inscricao_municipal,
        municipio=COMPANY.municipio,
        aliquota="5",
    )
    await add_company(road.database, form)
    again = await ana.press("Confirmar", of=summary)
    assert "cadastro da sua empresa mudou" in again.text
    assert await road.notes(ana) == []
    await ana.touch("Confirmar", of=again)
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_new_colleague_is_no_change_of_the_company(road: Road) -> None:
    """Somebody else may issue from now on; what was shown before stays good, and its button issues."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await road.person()
    await ana.touch("Confirmar", of=summary)
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_another_customer_after_a_rejection_is_another_invoice(road: Road) -> None:
    """The refused invoice's document never slips into an invoice for somebody else."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    await ana.press("Confirmar")
    answer = await ana.say("nota de R$ 300,00 pro João da Silva, serviço: aula de violão")
    assert "CNPJ ou CPF" in answer.text
    assert "12.345.678/0001-95" not in answer.text


async def test_the_last_of_day_and_month_is_what_is_issued(road: Road) -> None:
    """A day that contradicts the month said before replaces it, in the summary and at the gateway."""
    ana = await road.person()
    past = datetime.now(UTC).date().replace(day=1) - timedelta(days=1)  # the last day of the previous month
    await ana.say(f"{FULL}, competência {past.replace(day=1) - timedelta(days=1):%m/%Y}")
    summary = await ana.say(f"a data do serviço foi {past:%d/%m/%Y}")
    assert f"Data do serviço: {past:%d/%m/%Y}" in summary.text
    assert "Competência" not in summary.text
    await ana.touch("Confirmar", of=summary)
    await ana.files()
    [note] = await road.notes(ana)
    assert past.isoformat() in json.dumps(note.payload)


async def test_a_message_that_nobody_could_read_voids_the_summary_before_it(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perhaps it was a correction: neither the old button nor a yes in words issues what was shown before it."""
    ana = await road.person()
    summary = await ana.say(FULL)
    monkeypatch.setattr(lanes, "BACKOFF_BASE", 0.01)  # five attempts in a moment
    monkeypatch.setattr(TwoReaders, "extract", _breaks)
    told = await ana.say("na verdade o valor é 1.800")
    monkeypatch.undo()
    assert "Não consegui ler" in told.text
    again = await ana.press("Confirmar", of=summary)
    assert "R$ 1.500,00" in again.text
    assert await road.notes(ana) == []
    corrected = await ana.say("na verdade o valor é 1.800")
    assert "R$ 1.800,00" in corrected.text
    await ana.touch("Confirmar", of=corrected)
    await ana.files()
    [note] = await road.notes(ana)
    assert note.valor == Decimal("1800.00")


async def _breaks(*_arguments: object) -> None:
    raise ZeroDivisionError("a bug of ours")
