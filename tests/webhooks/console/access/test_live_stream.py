"""The stream of news, for as long as its session lasts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from persistence.access import accounts as staff
from persistence.access.accounts import Papel
from tests.patience import PATIENCE
from webhooks.console.access.accounts import enrol
from webhooks.console.app import STREAM_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.webhooks.console.conftest import Browser, Office


async def _leaves(_: Office, ana: Browser) -> None:
    await ana.post("/console/sair", {}, form="/console")


async def _changes_the_password(_: Office, ana: Browser) -> None:
    new = "cavalo-bateria-grampo"
    await ana.post("/console/senha", {"atual": ana.who.senha, "nova": new, "repetida": new}, form="/console/senha")


async def _is_switched_off(office: Office, ana: Browser) -> None:
    async with office.database.transaction() as connection:
        assert await staff.switch_off(connection, ana.who.nome)


async def _gets_another_role(office: Office, ana: Browser) -> None:
    await enrol(office.database, office.cofre, ana.who.nome, Papel.LEITURA, known=ana.who)


async def _loses_rights_in_place(office: Office, ana: Browser) -> None:
    await office.database.pool.execute("UPDATE staff SET papel = 'leitura' WHERE nome = $1", ana.who.nome)


async def _is_idle(office: Office, ana: Browser) -> None:
    await office.database.pool.execute(
        "UPDATE staff_sessao SET visto_em = visto_em - interval '31 minutes' "
        "WHERE staff_id = (SELECT id FROM staff WHERE nome = $1)",
        ana.who.nome,
    )


@pytest.mark.parametrize(
    "ends",
    [_leaves, _changes_the_password, _is_switched_off, _gets_another_role, _loses_rights_in_place, _is_idle],
    ids=lambda f: f.__name__,
)
async def test_a_stream_ends_with_the_session_that_opened_it(
    office: Office, ends: Callable[[Office, Browser], Awaitable[None]]
) -> None:
    """Logout, a new password, a closed account, another role, half an hour without a look: no news after it."""
    assert STREAM_SECONDS > PATIENCE  # else every stream would end by itself in time
    async with office.at_work() as ana, ana.session.get(f"{ana.base}/console/eventos") as stream:
        assert b"mudou" in await stream.content.readline()
        await ends(office, ana)
        async with asyncio.timeout(PATIENCE):
            await stream.content.read()


async def test_an_open_page_does_not_keep_its_session_alive(office: Office) -> None:
    """Neither the stream nor its polling counts as somebody at the desk."""
    seen = "SELECT visto_em FROM staff_sessao WHERE staff_id = (SELECT id FROM staff WHERE nome = $1)"
    async with office.at_work() as ana:
        await office.database.pool.execute("UPDATE staff_sessao SET visto_em = visto_em - interval '5 minutes'")
        before = await office.database.pool.fetchval(seen, ana.who.nome)
        async with ana.session.get(f"{ana.base}/console/eventos") as stream:
            for _ in range(4):  # two looks
                await stream.content.readline()
        assert (await ana.get("/console/eventos?agora=1"))[0] == 200
        assert await office.database.pool.fetchval(seen, ana.who.nome) == before
