"""A company's own clients as people call them: whose they are, which come first, and how long words are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from extractor.fields.clients import find_client
from persistence import outside
from persistence.db.engine import Database
from persistence.people import clients, retention
from persistence.people.retention import Prazos
from state_machine.invoice.choices import MOST, Cliente
from tests.owner import as_owner
from tests.stored_work import Counting, clear, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PADARIA, CPF = "12345678000195", "52998224725"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    await opened.pool.execute("DELETE FROM cnpj_cache")
    return opened


async def company(database: Database) -> int:
    """Return a company that has invoiced PADARIA once."""
    empresa_id: int = (await row(database, "nfse_emissao", await emission(database)))["prestador_id"]
    return empresa_id


async def known(database: Database, empresa_id: int, *nomes: str, documento: str | None = None) -> list[Cliente]:
    async with database.alone() as connection:
        return await clients.of_company(connection, empresa_id, nomes, documento)


async def remember(database: Database, empresa_id: int, apelido: str, documento: str, conversa: str = "c") -> None:
    async with database.transaction() as connection:
        clients.remember(connection, empresa_id, apelido, documento, conversa)


async def test_a_client_has_the_names_that_records_and_register_know(database: Database) -> None:
    """The name on its invoices first, then trade name, the register's own, and nicknames; of a CPF only ours."""
    mine = await company(database)
    await database.pool.execute(
        "INSERT INTO cliente_tomador (empresa_id, cnpj, razao_social) VALUES ($1, $2, 'Maria Souza')", mine, CPF
    )
    async with database.alone() as connection:
        entry = {"cnpj": PADARIA, "razao_social": "PADARIA DO ZÉ LTDA", "nome_fantasia": "Pão Quente"}
        await outside.cache_company(connection, PADARIA, entry)
    await remember(database, mine, "padoca", PADARIA)
    assert await known(database, mine) == [
        Cliente(CPF, "Maria Souza"),
        Cliente(PADARIA, "PADARIA DO ZÉ LTDA", ("Pão Quente", "PADARIA DO ZÉ LTDA", "padoca")),
    ]


async def test_another_companys_clients_and_nicknames_are_its_own(database: Database) -> None:
    """The same client of two companies has the nicknames of each."""
    mine, another = await company(database), await company(database)
    await remember(database, mine, "padoca", PADARIA)
    assert await known(database, mine) == [Cliente(PADARIA, None, ("padoca",))]
    assert await known(database, another) == [Cliente(PADARIA, None)]


async def test_a_nickname_said_again_stays_one_and_is_the_last_speakers(database: Database) -> None:
    """It goes with whoever said it last, and its time begins anew."""
    mine = await company(database)
    await remember(database, mine, "padoca", PADARIA, "1:ana")
    await database.pool.execute("UPDATE cliente_apelido SET usado_em = now() - interval '40 days'")
    await remember(database, mine, "padoca", PADARIA, "1:bia")
    [stored] = await database.pool.fetch("SELECT *, usado_em > now() - interval '1 hour' AS agora FROM cliente_apelido")
    assert (stored["conversa"], stored["agora"]) == ("1:bia", True)


WORDS = ("Padaria", "Mercado", "Oficina", "Clínica", "Farmácia", "Escola", "Pousada", "Gráfica")


async def many(database: Database, empresa_id: int, count: int) -> None:
    """Give the company so many clients, each with a number in letters; a tenth of them has a trade name of its own."""
    await database.pool.execute(
        "INSERT INTO cliente_tomador (empresa_id, cnpj, razao_social, dados_receita_raw) "
        "SELECT $1, lpad(n::text, 11, '0'), ($2::text[])[1 + n % 8] || ' ' || own || ' LTDA', "
        "CASE WHEN n % 10 = 0 THEN jsonb_build_object('nome_fantasia', 'Loja ' || own) END "
        "FROM generate_series(1, $3::integer) n, translate(lpad(n::text, 5, '0'), '0123456789', 'abcdefghij') own",
        empresa_id,
        [*WORDS],
        count,
    )


async def test_of_many_clients_those_called_so_are_found_whatever_their_number(database: Database) -> None:
    """By name, by a mistyped one, by trade name and by nickname; who stands is there, and another's never is."""
    mine, another = await company(database), await company(database)
    await many(database, mine, 5_000)
    await many(database, another, 1_100)
    await as_owner(database.pool, "VACUUM ANALYZE cliente_tomador")
    assert "Pousada aaacc LTDA" in [each.nome for each in await known(database, mine, "pousada do aaacc")]
    assert "Farmácia abghg LTDA" in [each.nome for each in await known(database, mine, "farmassia abghg")]
    [shop] = [each for each in await known(database, mine, "loja aeifa") if "Loja aeifa" in each.outros]
    await remember(database, mine, "zezao", shop.documento)
    assert shop.documento in [each.documento for each in await known(database, mine, "Zezão")]
    assert [each.documento for each in await known(database, mine, "xyz", documento="00000000007")] == ["00000000007"]
    assert await known(database, another, "Zezão") == []
    assert find_client("pousada aaacc", await known(database, mine, "pousada aaacc")).certo
    assert len(await known(database, mine, *WORDS[:4])) == MOST + 1


async def test_a_name_costs_little_more_where_there_are_many_clients(database: Database) -> None:
    """Pages that are read to find one of 1,100 and one of 20,000, of which an eighth shares a word with it."""
    few, lots = await company(database), await company(database)
    await many(database, few, 1_100)
    await many(database, lots, 20_000)
    await as_owner(database.pool, "VACUUM ANALYZE cliente_tomador")
    read = []
    for each in (few, lots):
        seen: Any = Counting(database)
        assert find_client("pousada aaacc", await clients.of_company(seen, each, ["pousada aaacc"])).certo
        read.append(seen.buffers)
    assert read[1] <= 2.5 * read[0], read


@pytest.mark.parametrize(("days", "left"), [(0, 1), (60, 1), (30, 0)])
async def test_a_nickname_is_kept_as_long_as_a_message(database: Database, days: int, left: int) -> None:
    """It is a person's word: not said for so long, it goes."""
    mine = await company(database)
    await remember(database, mine, "padoca", PADARIA)
    await database.pool.execute("UPDATE cliente_apelido SET usado_em = now() - interval '40 days'")
    await retention.sweep(database, Prazos(days, 0, 0, 0, 0))
    assert await database.pool.fetchval("SELECT count(*) FROM cliente_apelido") == left
