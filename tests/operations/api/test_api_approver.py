"""Who approves what other systems propose, as an operator chooses it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from operations.api import choose_approver
from operations.company import add_company
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Canal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ANA, BIA, CAIO = "+5511912345678", "+5511987654321", "+5511955554444"
OURS = replace(COMPANY, cnpj="99.000.002/0001-48", usuarios=(ANA, BIA))
THEIRS = replace(COMPANY, cnpj="99.000.003/0001-92", usuarios=(CAIO,))


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=1)
    for form in (OURS, THEIRS):
        await add_company(opened, form, Canal("plugnotas"))
    await opened.pool.execute("DELETE FROM empresa_aprovador")
    yield opened
    await opened.close()


async def _asked(database: Database) -> str:
    (said,) = await choose_approver(database, OURS.cnpj, None)
    return said


async def test_the_first_person_approves_until_another_is_chosen(database: Database) -> None:
    """The choice is audited, and may be made again."""
    assert f"é {ANA}, como primeira pessoa" in await _asked(database)
    (said,) = await choose_approver(database, OURS.cnpj, BIA)
    assert f"é {BIA}." in said
    assert "não escreveu" in said
    assert await _asked(database) == said
    assert "escolheu aprovador" in await database.pool.fetchval("SELECT acao FROM auditoria ORDER BY id DESC LIMIT 1")
    await choose_approver(database, OURS.cnpj, ANA)
    assert f"é {ANA}." in await _asked(database)


@pytest.mark.parametrize("telefone", [CAIO, "+5511900000000", "123"])
async def test_only_who_issues_for_the_company_approves(database: Database, telefone: str) -> None:
    """Anybody else is refused, and nothing changes."""
    before = await _asked(database)
    with pytest.raises(CommandRefusedError, match="nada mudou"):
        await choose_approver(database, OURS.cnpj, telefone)
    assert await _asked(database) == before


async def test_who_moved_to_another_company_approves_no_longer(database: Database) -> None:
    """The first person is asked again."""
    await choose_approver(database, OURS.cnpj, BIA)
    await database.pool.execute(
        "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = '99000003000192') WHERE telefone = $1",
        BIA[1:],
    )
    try:
        assert f"é {ANA}, como primeira pessoa" in await _asked(database)
    finally:
        await database.pool.execute(
            "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = '99000002000148')"
            " WHERE telefone = $1",
            BIA[1:],
        )


async def test_a_company_without_people_is_told_so(database: Database) -> None:
    """Nothing can be sent for it."""
    nobody = replace(COMPANY, cnpj="44.555.666/0001-81", usuarios=())
    await add_company(database, nobody, Canal("plugnotas"))
    (said,) = await choose_approver(database, nobody.cnpj, None)
    assert "ninguém" in said
