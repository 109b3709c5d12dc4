from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from aiohttp import ClientSession, CookieJar, web
from aiohttp.test_utils import TestServer

from persistence.access.accounts import Papel
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from webhooks.console.app import create_console, mount
from webhooks.console.render.model_spend import Preco, spend

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Office


@dataclass(frozen=True)
class Row:
    """A row of ``modelo_uso``."""

    dia: date = date(2026, 11, 21)
    modelo: str = "m"
    chamadas: int = 10
    sem_conta: int = 1
    entrada: int = 2_000_000
    saida: int = 500_000


PRECO = Preco("m", Decimal("0.80"), Decimal("3.20"))


def test_money_is_what_the_operator_said_and_nothing_else() -> None:
    """Two million read at 0.80 and half a million written at 3.20 are R$ 3,20; without a price there is no money."""
    assert spend([Row()], PRECO).custo == "R$ 3,20"
    assert spend([Row()], None).custo is None
    assert spend([], PRECO).custo is None


def test_another_model_has_no_price() -> None:
    """A day of a model that was used before is shown in tokens and left out of the sum."""
    gasto = spend([Row(modelo="antigo"), Row()], PRECO)
    assert [dia.custo for dia in gasto.dias] == [None, "R$ 3,20"]
    assert (gasto.custo, gasto.entrada, gasto.chamadas, gasto.sem_conta) == ("R$ 3,20", 4_000_000, 20, 2)


@pytest.mark.parametrize(
    ("tokens", "custo"), [(0, "R$ 0,00"), (1, "menos de R$ 0,01"), (12_500, "R$ 0,01"), (10**9, "R$ 800,00")]
)
def test_little_is_not_nothing(tokens: int, custo: str) -> None:
    """Less than a centavo is said as such."""
    assert spend([Row(entrada=tokens, saida=0)], PRECO).custo == custo


def test_models_of_one_day_are_one_column() -> None:
    """The chart counts the tokens of a day together."""
    svg = str(spend([Row(modelo="a", entrada=1, saida=2), Row(modelo="b", entrada=3, saida=4)], None).grafico)
    assert svg.count("<rect") == 1
    assert "21/11: 10</title>" in svg


async def test_the_dashboard_shows_tokens_and_money_only_with_a_price(office: Office) -> None:
    """Requests and tokens by day for who sees every company; reais where the operator set a price; nothing invented."""
    pool, app = office.database.pool, web.Application()
    inbox = Inbox(office.database, 0.0)
    mount(
        app, create_console(office.database, inbox, Backlog(office.database), office.cofre, secure=False, preco=PRECO)
    )
    async with office.at_work(Papel.LEITURA) as sara:
        assert 'data-testid="modelo"' not in (await sara.get("/console/painel"))[1]
        await pool.execute("INSERT INTO modelo_uso VALUES (current_date, 'm', 1234, 2, 2000000, 500000)")
        page = (await sara.get("/console/painel"))[1]
        assert "1.234 perguntas; 2.000.000 unidades de texto lidas e 500.000 escritas." in page
        assert "2 sem conta" in page
        assert "pelo preço configurado" not in page
        async with TestServer(app) as server, ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
            priced = office.stranger(session, str(server.make_url("")).rstrip("/"), await office.account())
            assert (await priced.enter())[0] == 303
            assert "500.000 escritas, R$ 3,20 pelo preço configurado." in (await priced.get("/console/painel"))[1]
    async with office.at_work(Papel.LEITURA, ("11.222.333/0001-81",)) as bound:
        assert 'data-testid="modelo"' not in (await bound.get("/console/painel"))[1]
    await inbox.close()
