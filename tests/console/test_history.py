from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from persistence.history import HistoryExistsError, invent
from persistence.staff import Papel
from state_machine.estado import FINAIS

if TYPE_CHECKING:
    from conftest import Office


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
