"""Files that WhatsApp takes and then loses: sent once more, and then told of in a text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from bot.delivery.sender import Delivery, Ticks
from gateway.whatsapp.errors import Broken
from persistence.db.engine import Database
from persistence.queue import outbox
from telemetry.metrics import Metrics
from tests.stored_work import clear, emission, note

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.delivery.mailing import Attachments, NotYet
    from gateway.whatsapp.errors import Failure, SendResult
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.invoice.session import EnviarArquivo

CAPTION = "NFS-e 42 autorizada · R$ 1.500,00 · Padaria"
TOLD = f"{CAPTION}\nO PDF dela não chegou pelo WhatsApp. Para receber, escreve _segunda via da nota 42_."
XML = "O XML da NFS-e 42 não chegou pelo WhatsApp. Para receber, escreve _manda o xml da nota 42_."


class Meta:
    """Takes each message, or refuses it as told."""

    def __init__(self) -> None:
        self.sent = 0
        self.answer: SendResult | None = None

    async def prepare(self, _arquivo: EnviarArquivo) -> NotYet | Failure:
        """Upload it: what is refused there is refused as a message would be."""
        self.sent += 1
        return cast("Failure", self.answer)


class NoLanes:
    """Lanes of which nothing is asked here."""

    async def done(self, *_: Any) -> None:
        """Do nothing."""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await clear(opened)
    yield opened
    await opened.close()


async def put(database: Database, formato: str = "pdf", legenda: str | None = CAPTION, tipo: str = "arquivo") -> int:
    """Put a file of an authorised note on its way."""
    emissao_id = await emission(database)
    await note(database, emissao_id, f"id-{emissao_id}")
    mensagem = {"tipo": tipo, "emissao_id": emissao_id, "formato": formato, "nome": "n", "legenda": legenda}
    mensagem |= {"texto": "oi", "botoes": []}
    conversa = "SELECT s.conversa FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id WHERE e.id = $1"
    statement = f"INSERT INTO outbox (conversa, mensagem) VALUES (({conversa}), $2) RETURNING id"  # noqa: S608 - own
    return int(await database.pool.fetchval(statement, emissao_id, mensagem))


async def taken(database: Database, outbox_id: int, wamid: str) -> bool:
    """Let Meta take what is due; false where our file is not."""
    await database.pool.execute("UPDATE outbox SET run_at = now() WHERE id = $1 AND run_at IS NOT NULL", outbox_id)
    for saida in await outbox.claim(database, 10):
        async with database.transaction() as connection:
            await outbox.sent(connection, saida, wamid)
    return bool(await database.pool.fetchval("SELECT wamid = $2 FROM outbox WHERE id = $1", outbox_id, wamid))


async def fail(database: Database, wamid: str, code: int) -> None:
    status = {"id": wamid, "status": "failed", "errors": [{"code": code, "title": "media"}]}
    row = cast("InboxRow", type("Row", (), {"id": 1, "payload": {"status": status}}))
    await Ticks(database, cast("Lanes", NoLanes()), Metrics()).on_status(cast("Lease", None), [row])


async def texts(database: Database, but: int) -> list[str]:
    found = await database.pool.fetch("SELECT mensagem FROM outbox WHERE id <> $1 ORDER BY id", but)
    stored = [row["mensagem"] for row in found]
    return [(json.loads(each) if isinstance(each, str) else each)["texto"] for each in stored]


@pytest.mark.parametrize("code", [131052, 131053])
@pytest.mark.parametrize(("formato", "legenda", "told"), [("pdf", CAPTION, TOLD), ("xml", None, XML)])
async def test_a_file_that_is_lost_goes_once_more_and_then_is_told_of(
    database: Database, code: int, formato: str, legenda: str | None, told: str
) -> None:
    """Nobody is left without the news: the second loss is said in words, once, however often Meta repeats it."""
    file = await put(database, formato, legenda)
    assert await taken(database, file, "w1")
    await fail(database, "w1", code)
    assert await texts(database, file) == []
    assert await taken(database, file, "w2")
    await fail(database, "w1", code)  # told again, of the copy that is forgotten
    assert await texts(database, file) == []
    for _ in range(2):
        await fail(database, "w2", code)
        assert await texts(database, file) == [told]
    assert not await taken(database, file, "w3")


@pytest.mark.parametrize(
    ("code", "told"), [(131009, [TOLD]), (131026, []), (131047, [])], ids=["broken", "unreachable", "window"]
)
async def test_a_file_that_fails_otherwise_does_not_go_again(database: Database, code: int, told: list[str]) -> None:
    """Its news goes as a text, save to whom no text gets through."""
    file = await put(database)
    await taken(database, file, "w1")
    await fail(database, "w1", code)
    assert await texts(database, file) == told
    assert not await taken(database, file, "w2")


async def test_a_text_that_fails_says_nothing_of_files(database: Database) -> None:
    """It has no file to lose."""
    message = await put(database, tipo="texto")
    await taken(database, message, "w1")
    await fail(database, "w1", 131053)
    assert await texts(database, message) == []


async def test_a_file_that_cannot_be_uploaded_is_told_of(database: Database) -> None:
    """Refused before anything left: tried once more, then told of; nothing is told by who lost its lease."""
    file, meta = await put(database), Meta()
    meta.answer = Broken(131053, "media upload error")
    delivery = Delivery(
        database, cast("Any", meta), cast("Attachments", meta), Metrics(), cast("Any", None), cast("Any", None)
    )
    for told in ([], [TOLD]):
        await database.pool.execute("UPDATE outbox SET run_at = now() WHERE id = $1", file)
        [saida] = [each for each in await delivery.claim(10) if each.id == file]
        late = await put(database)
        [lost] = await delivery.claim(1)
        await database.pool.execute("UPDATE outbox SET epoch = epoch + 1 WHERE id = $1", late)
        assert lost.id == late
        await delivery.work(lost)
        await delivery.work(saida)
        await database.pool.execute("DELETE FROM outbox WHERE id = $1", late)
        assert await texts(database, file) == told
    assert meta.sent == 4
