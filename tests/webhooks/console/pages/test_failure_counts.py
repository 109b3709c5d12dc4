"""What the page of groups counts: notes, and open only what nobody repaired."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from operations.protocol import reprocess
from persistence.access.accounts import Papel
from tests.road.road_people import until

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Desk


async def _counts(desk: Desk) -> list[tuple[str, str]]:
    """Each group's notes and open ones, as the page says them."""
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get("/console/falhas?dias=7"))[1]
    return re.findall(r'data-coluna="Notas">(\d+)</td><td class="num" data-coluna="Em aberto">(\d+)<', page)


async def test_a_note_counts_once_and_what_was_repaired_is_closed(desk: Desk) -> None:
    """Refused twice it is one note, open until its last attempt; what its person took up again is open no more."""
    pool, faults = desk.office.database.pool, desk.road.world.plugnotas.faults
    one = await desk.refused("821")
    await pool.execute("UPDATE session_snapshot SET pendente = NULL, versao = versao + 1 WHERE sessao_id = $1", one)
    assert await _counts(desk) == [("1", "1")]
    faults.set("rejeitar", times=1)
    key = await pool.fetchval("SELECT id_integracao FROM nfse_emissao WHERE sessao_id = $1", one)
    await reprocess(desk.office.database, key)
    refused = "SELECT count(*) FROM nfse_emissao WHERE sessao_id = $1 AND status = 'rejeitado'"

    async def again() -> bool:
        return bool(await pool.fetchval(refused, one) == 2)

    await until(again)
    await desk.road.settled()
    faults.clear()
    assert await _counts(desk) == [("1", "1")]
    two = await desk.refused("822")
    assert await _counts(desk) == [("2", "2")]
    await pool.execute("UPDATE session_snapshot SET origem = $1, versao = versao + 1 WHERE sessao_id = $2", one, two)
    assert await _counts(desk) == [("2", "1")]
