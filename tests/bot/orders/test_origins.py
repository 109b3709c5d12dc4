"""Whoever ordered hears of it, each as its kind's row says, and each piece of news once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.orders.origins import ORIGINS, News, OriginRow, Origins
from persistence.db.engine import Database
from persistence.queue.inbox import Inbox
from persistence.rows import CancellationRow
from state_machine.protocol.channel import CONVERSA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.db.connection import Connection
    from persistence.rows import AvisoCancelamento

OTHER = "agenda"


def _news(origem: str, aviso: AvisoCancelamento) -> News:
    chat = "c1" if origem == CONVERSA else None
    return News(origem, "o1", chat, CancellationRow(1, aviso, None), f"{origem}:{aviso}", "one-order")


async def test_each_kind_of_origin_hears_its_own_news_once(database_url: str) -> None:
    """A conversation in its lane, the other one where its row says; two of one order are two, one told again is one."""
    heard: list[str] = []

    async def hear(connection: Connection, news: Sequence[News]) -> None:
        heard.extend(each.chave for each in news)

    database = await Database.open(database_url, size=2)
    inbox = Inbox(database, 0.0)
    origins = Origins(inbox, {**ORIGINS, OTHER: OriginRow("agenda", lambda _: hear)})
    told = [_news(CONVERSA, "cancelada"), _news(OTHER, "cancelada"), _news(CONVERSA, "negada")]
    async with database.transaction() as connection:
        await origins.tell(connection, *told)
    async with database.transaction() as connection:
        await origins.tell(connection, told[0])
    await inbox.close()
    lanes = await database.pool.fetch("SELECT lane, chave FROM inbox ORDER BY chave")
    assert [tuple(row) for row in lanes] == [("c1", "conversa:cancelada"), ("c1", "conversa:negada")]
    assert heard == ["agenda:cancelada"]
    await database.close()
