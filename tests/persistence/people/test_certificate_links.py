"""The one-time links on a real database: who gets one, until when it can be used, and what is kept of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from persistence.crypto import KEY_BYTES, NoMasterKeyError, UnreadableSecretError, Vault
from persistence.db.engine import Database
from persistence.people import certificate_links
from persistence.people.certificate_links import TRIES, Link, SealedLink, digest, place
from tests.stored_work import clear

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COFRE = Vault((bytes([1]) * KEY_BYTES,))
PHONE, CHAT = "+5511987654321", "1:5511987654321"
_COMPANY = """
INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
VALUES ($1, 'Ana Design', '1', '3550308', 'mei', '01.01') RETURNING id
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    empresa_id = await opened.pool.fetchval(_COMPANY, "11222333000181")
    await opened.pool.execute("INSERT INTO usuario (empresa_id, telefone) VALUES ($1, $2)", empresa_id, PHONE[1:])
    return opened


async def make(database: Database, phone: str = PHONE) -> SealedLink | None:
    async with database.transaction() as connection:
        return await certificate_links.make(connection, COFRE, telefone=phone, conversa=CHAT)


async def new_token(database: Database) -> str:
    link = await make(database)
    assert link is not None
    return COFRE.open(link.selado, place(link.id))


async def find(database: Database, token: str) -> Link | None:
    async with database.transaction() as connection:
        return await certificate_links.find(connection, token)


async def take_try(database: Database, token: str) -> Link | None:
    async with database.transaction() as connection:
        return await certificate_links.take_try(connection, token)


async def use(database: Database, link: Link) -> bool:
    async with database.transaction() as connection:
        return await certificate_links.use(connection, link)


async def test_a_link_is_open_for_fifteen_minutes_of_the_database(database: Database) -> None:
    """It tells company and conversation, and ends by the database's clock, for looks, tries and use alike."""
    token = await new_token(database)
    link = await find(database, token)
    assert link is not None
    assert (link.cnpj, link.razao_social, link.conversa, link.restam) == ("11222333000181", "Ana Design", CHAT, TRIES)
    assert 14 * 60 < (link.expira_em - link.agora).total_seconds() <= 15 * 60
    await database.pool.execute("UPDATE certificado_link SET expira_em = now()")
    assert await find(database, token) is None
    assert await take_try(database, token) is None
    assert not await use(database, link)


async def test_the_token_is_kept_nowhere(database: Database) -> None:
    """The row has its hash, the message its seal, which opens for that row alone; the audit names nobody."""
    made = await make(database)
    assert made is not None
    token = COFRE.open(made.selado, place(made.id))
    assert len(token) == 43  # 256 bits in base64url
    row = await database.pool.fetchrow("SELECT * FROM certificado_link")
    assert row["resumo"] == digest(token)
    tables = await database.pool.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    everything = ""
    for (table,) in tables:
        everything += str([tuple(found) for found in await database.pool.fetch(f"SELECT * FROM {table}")])  # noqa: S608
    assert digest(token) in everything
    assert token not in everything
    with pytest.raises(UnreadableSecretError):
        COFRE.open(made.selado, place("another"))
    audited = await database.pool.fetchrow("SELECT * FROM auditoria ORDER BY id DESC LIMIT 1")
    assert audited["acao"] == "pediu o link do certificado"
    assert PHONE[1:] not in str(tuple(audited))


async def test_a_new_link_ends_the_earlier_one(database: Database) -> None:
    """One company has one open link; of two that are made at once one is left."""
    first, second = await new_token(database), await new_token(database)
    assert await find(database, first) is None
    assert await find(database, second) is not None
    await asyncio.gather(*(make(database) for _ in range(4)))
    open_ = "SELECT count(*) FROM certificado_link WHERE usado_em IS NULL AND encerrado_em IS NULL"
    assert await database.pool.fetchval(open_) == 1


async def test_tries_are_counted_before_the_file_is_read(database: Database) -> None:
    """Ten at once are five; with them the link ends, but who holds a try may still use it up."""
    token = await new_token(database)
    taken = [link for link in await asyncio.gather(*(take_try(database, token) for _ in range(10))) if link]
    assert sorted(link.tentativas for link in taken) == [1, 2, 3, 4, 5]
    assert await find(database, token) is None
    assert await use(database, taken[0])


async def test_of_two_uses_one_counts(database: Database) -> None:
    """The second finds it used."""
    token = await new_token(database)
    link = await take_try(database, token)
    assert link is not None
    assert sorted(await asyncio.gather(*(use(database, link) for _ in range(4)))) == [False, False, False, True]
    assert await find(database, token) is None


async def test_it_is_for_the_companys_people_only(database: Database) -> None:
    """A stranger gets none; who issues no more, or for another company by now, has a dead one; removal deletes it."""
    assert await make(database, "+5521998877665") is None
    token = await new_token(database)
    link = await take_try(database, token)
    assert link is not None
    other = await database.pool.fetchval(_COMPANY, "12345678000195")
    await database.pool.execute("UPDATE usuario SET empresa_id = $1", other)
    assert await find(database, token) is None
    assert await take_try(database, token) is None
    assert not await use(database, link)
    await database.pool.execute("DELETE FROM usuario")
    assert await database.pool.fetchval("SELECT count(*) FROM certificado_link") == 0


async def test_without_a_master_key_nothing_is_made(database: Database) -> None:
    """The message could not be sealed."""
    with pytest.raises(NoMasterKeyError):
        async with database.transaction() as connection:
            await certificate_links.make(connection, Vault(()), telefone=PHONE, conversa=CHAT)
    assert await database.pool.fetchval("SELECT count(*) FROM certificado_link") == 0


async def test_what_ended_a_day_ago_is_forgotten(database: Database) -> None:
    """Nothing reads it any more."""
    await make(database)
    async with database.transaction() as connection:
        assert await certificate_links.forget(connection) == 0
    await database.pool.execute("UPDATE certificado_link SET expira_em = now() - interval '25 h'")
    async with database.transaction() as connection:
        assert await certificate_links.forget(connection) == 1
