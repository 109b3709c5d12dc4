"""A reference is one revision's attempt for ever; what is confirmed is committed so that it lasts."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.db.engine import Database
from persistence.fiscal import emissions, intents
from persistence.fiscal.intents import NovaEmissao, integration_id
from state_machine.documents import ConteudoServico
from state_machine.protocol.channel import conversation
from tests.stored_work import clear, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CONTENT = b'{"valor":"10.00"}'
SETTING = "SELECT current_setting('synchronous_commit')"


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=2)
    await clear(opened)
    yield opened
    await opened.close()


async def _another(database: Database, *, perguntar: bool = False, a_preparar: bool = False) -> NovaEmissao:
    """Return a second revision of a stored confirmation."""
    there = await row(database, "nfse_emissao", await emission(database))
    return NovaEmissao(
        conversation(there["sessao_id"], 2, there["session_id"]),
        there["prestador_id"],
        there["tomador_id"],
        integration_id(there["sessao_id"], 2),
        ConteudoServico(
            there["prestador_cnpj"],
            there["tomador_documento"],
            "010701",
            Decimal("10.00"),
            date(2026, 11, 25),
            "consultoria",
        ),
        CONTENT,
        None,
        perguntar=perguntar,
        a_preparar=a_preparar,
    )


def test_a_reference_names_session_revision_and_attempt() -> None:
    """No two of them share one, and the same one is made again."""
    made = [integration_id(s, r, t) for s in ("a", "b") for r in (1, 2, 11) for t in (1, 2, 11)]
    assert len(set(made)) == len(made)
    assert integration_id("231126-0a1b2c3d", 1) == "231126-0a1b2c3d-r1-1"


@pytest.mark.parametrize(
    ("set_to", "waits"),
    [
        ("off", "on"),
        ("local", "on"),
        ("remote_write", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ],
)
async def test_a_confirmation_waits_for_the_disk(database: Database, set_to: str, waits: str) -> None:
    """The transaction that stores it is never weaker than ``on``, whatever is set; the next one is as it was."""
    nova = await _another(database)
    before = await database.pool.fetchval(SETTING)
    async with database.transaction() as connection:
        await connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {set_to}")
        await intents.create(connection, nova)
        assert (await connection.exec_driver_sql(SETTING)).scalar_one() == waits
    async with database.transaction() as connection:
        assert (await connection.exec_driver_sql(SETTING)).scalar_one() == before


async def test_bytes_that_are_made_anew_keep_those_before_them(database: Database) -> None:
    """A form that was refused for certain gives way to another under the same number; none of both is lost."""
    nova = await _another(database, a_preparar=True)
    async with database.transaction() as connection:
        stored = await intents.create(connection, nova)
    update = "UPDATE nfse_emissao SET a_preparar = true WHERE id = $1"
    before: list[bytes] = []
    for made in (b"<one/>", b"<two/>", b"<three/>"):
        await database.pool.execute(update, stored)
        async with database.transaction() as connection:
            [tarefa] = [each for each in await emissions.claim(connection, 50, 60.0) if each.id == stored]
            assert tarefa.antes == tuple(before)  # the maker is told of them
            await intents.prepared(connection, tarefa, made)
        before.append(made)
        await database.pool.execute("UPDATE nfse_emissao SET lease_until = NULL, proxima_acao_em = now()")
    kept = await row(database, "nfse_emissao", stored)
    assert (kept["bytes"], kept["bytes_antes"]) == (b"<three/>", [b"<one/>", b"<two/>"])


@pytest.mark.parametrize(("perguntar", "status"), [(True, "desconhecido"), (False, "pendente")])
async def test_a_note_that_the_authority_has_is_asked_for(database: Database, perguntar: bool, status: str) -> None:
    """What was found by its reference begins as sent, so that nothing of it leaves before it was looked at."""
    nova = await _another(database, perguntar=perguntar)
    async with database.transaction() as connection:
        stored = await intents.create(connection, nova)
    kept = await row(database, "nfse_emissao", stored)
    assert (kept["status"], kept["em_duvida"]) == (status, perguntar)


@pytest.mark.parametrize(("a_preparar", "intencao", "sent"), [(True, {"valor": "10.00"}, None), (False, None, CONTENT)])
async def test_what_is_sent_is_kept_apart_from_what_it_is_made_of(
    database: Database, a_preparar: bool, intencao: object, sent: bytes | None
) -> None:
    """Each in its column."""
    nova = await _another(database, a_preparar=a_preparar)
    async with database.transaction() as connection:
        stored = await intents.create(connection, nova)
    kept = await row(database, "nfse_emissao", stored)
    assert (kept["intencao"], kept["bytes"]) == (intencao, sent)
    assert await database.pool.fetchval("SELECT intencao IS NULL FROM nfse_emissao WHERE id = $1", stored) is (
        intencao is None
    )
