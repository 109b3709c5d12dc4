from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from persistence.access.accounts import Alcance, Papel
from persistence.staff import dashboard
from proofs.history import HistoryExistsError, invent, tidy
from state_machine.invoice.session import FINAIS

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Office


async def test_an_invented_history_fills_every_page_and_sets_nothing_in_motion(office: Office) -> None:
    """Past conversations in every final state, none of them due, and every page of the console shows them."""
    rows = await invent(office.database, 500)
    assert rows > 2000
    pool = office.database.pool
    states = await pool.fetch("SELECT DISTINCT estado FROM session_snapshot")
    assert {row["estado"] for row in states} == {estado.value for estado in FINAIS}
    for due in (
        "SELECT count(*) FROM outbox WHERE run_at IS NOT NULL",
        "SELECT count(*) FROM nfse_emissao WHERE proxima_acao_em IS NOT NULL",
        "SELECT count(*) FROM inbox WHERE estado = 0",
    ):
        assert await pool.fetchval(due) == 0
    one = await pool.fetchval("SELECT sessao_id FROM session_snapshot WHERE estado = 'aprovado' LIMIT 1")
    async with office.at_work(Papel.ADMIN) as sara:
        for path in ("", "?ver=todas", "/falhas", "/painel", "/saude", f"/sessoes/{one}", f"/sessoes/{one}/snapshot"):
            assert (await sara.get(f"/console{path}"))[0] == 200, path
        assert "<b>R$ " in (await sara.get(f"/console/sessoes/{one}/snapshot"))[1]  # as people write amounts, in bold
        assert "0 ficaram sem resposta" in (await sara.get("/console/saude"))[1]
        first = (await sara.get("/console?ver=todas"))[1]
        assert first.count('data-testid="linha"') == 50
        following = first[first.index('rel="next"') :].split('"')[3].replace("&amp;", "&")
        second = (await sara.get(following))[1]
        assert second.count('data-testid="linha"') == 50
        assert not set(_ids(first)) & set(_ids(second))


async def test_a_history_is_invented_once(office: Office) -> None:
    """A second call changes nothing."""
    with pytest.raises(HistoryExistsError):
        await invent(office.database, 10)


def _ids(page: str) -> list[str]:
    return [part.partition('"')[0] for part in page.split('data-id="')[1:]]


async def test_the_owner_has_the_planner_know_the_history(office: Office, owner_url: str) -> None:
    """The run-time account may not: PostgreSQL would skip each table with a warning, and say that all is well."""
    await office.database.pool.execute("SELECT pg_stat_clear_snapshot()")
    await tidy(owner_url)
    never = "SELECT count(*) FROM pg_stat_user_tables WHERE last_vacuum IS NULL OR last_analyze IS NULL"
    assert await office.database.pool.fetchval(never) == 0


async def test_the_dashboard_is_counted_once_for_everybody(office: Office) -> None:
    """Kept sums are what a live count gives; who is bound to companies, or finds them old, counts anew."""
    pool, base = office.database.pool, datetime.now(UTC)
    everything, one = Alcance(todas=True), Alcance(todas=False, empresas=frozenset({office.companies[0]}))
    async with office.database.transaction() as connection:
        live = await dashboard.read(connection, everything, 30)
    assert live.caminho.abertas > 0
    assert live.caminho.mediana is not None
    assert live.caminho.p95 is not None
    assert live.caminho.mediana < live.caminho.p95 - 60
    assert await dashboard.refresh(office.database) == len(dashboard.DAYS)
    await pool.execute("UPDATE painel SET dados = jsonb_set(dados, '{caminho,abertas}', '123456')")
    async with office.database.transaction() as connection:
        kept = await dashboard.read(connection, everything, 30)
        assert kept.caminho == replace(live.caminho, abertas=123456)
        assert (kept.por_dia, kept.recusas) == (live.por_dia, live.recusas)
        assert kept.contado_em >= base - timedelta(minutes=1)
        assert (await dashboard.read(connection, one, 30)).caminho.abertas == 0
    await pool.execute("UPDATE painel SET contado_em = now() - interval '31 minutes'")
    async with office.database.transaction() as connection:
        assert (await dashboard.read(connection, everything, 30)).caminho == live.caminho
