"""What is typed into the console is a value in a statement, never a part of one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from persistence.access.accounts import Alcance, Papel
from persistence.audit import records as audit
from persistence.staff.queue import Filtros, all_sessions, needing_eyes
from persistence.staff.search import by_document, by_name, by_note, by_phone, by_reference, by_session, by_wamid

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Desk

HOSTILE = (
    "' OR '1'='1",
    "x' OR 1=1 --",
    "'); DROP TABLE auditoria; --",
    "%' OR TRUE OR '%'='",
    "\\' OR 1=1 #",
    "$1 OR true",
    ":b_empresa OR true",
)
EVERYTHING = Alcance(todas=True)


@pytest.mark.parametrize("typed", HOSTILE)
async def test_a_condition_that_somebody_types_finds_nothing(desk: Desk, typed: str) -> None:
    """Glued into its statement each of these would be true for every row, or end it; bound, no row is called so."""
    ana = await desk.road.person()
    await ana.say("nota de 90 pra 99.000.002/0001-48, aula de barista")
    await desk.road.settled()
    async with desk.office.database.transaction() as connection:
        assert await all_sessions(connection, EVERYTHING, Filtros(), 10)
        for listed in (all_sessions, needing_eyes):
            for narrowed in (Filtros(estado=typed), Filtros(motivo=typed), Filtros(atendente=typed)):
                assert await listed(connection, EVERYTHING, narrowed, 10) == []
        for find in (by_session, by_reference, by_note, by_document, by_name, by_wamid):
            assert await find(connection, EVERYTHING, typed) == []
        assert await by_phone(connection, EVERYTHING, f"9{typed}") == []
        for where in ({"quem": typed}, {"acao": typed}, {"alvo": typed}):
            assert await audit.page(connection, EVERYTHING, antes=None, limite=10, **where) == []


@pytest.mark.parametrize("typed", HOSTILE)
async def test_a_page_takes_it_as_words(desk: Desk, typed: str) -> None:
    """From search box, filters and audit the same text comes back as an answer, and every table stays."""
    names = ("estado", "motivo", "atendente")  # what a number must be is refused when it is long
    async with desk.office.at_work(Papel.ADMIN) as rita:
        assert 'data-testid="linha"' not in (await rita.search(typed))[0]
        assert (await rita.get(f"/console?{urlencode({'ver': 'todas', **dict.fromkeys(names, typed)})}"))[0] == 200
        query = urlencode(dict.fromkeys(("quem", "acao", "alvo"), typed))
        assert (await rita.get(f"/console/auditoria?{query}"))[0] == 200
    assert await desk.office.database.pool.fetchval("SELECT count(*) FROM auditoria") > 0
