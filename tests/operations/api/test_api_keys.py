"""What an operator is told of the keys of the API, and what is stored of one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from operations.api import list_keys, make_key, revoke_key
from operations.company import add_company
from operations.protocol import CommandRefusedError
from persistence.api.keys import holder
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Ambiente, Canal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FIRST = replace(COMPANY, cnpj="99.000.002/0001-48", usuarios=())
SECOND = replace(COMPANY, cnpj="99.000.003/0001-92", usuarios=())
PRACTICE = replace(COMPANY, cnpj="44.555.666/0001-81", usuarios=())
OWN = Ambiente.PRODUCAO


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=1)
    await opened.pool.execute("DELETE FROM api_chave")
    await add_company(opened, FIRST, Canal("plugnotas"))
    await add_company(opened, SECOND, Canal("plugnotas"))
    await add_company(opened, PRACTICE, Canal("nacional", Ambiente.HOMOLOGACAO))
    yield opened
    await opened.close()


async def test_a_key_is_shown_once_and_kept_as_its_hash(database: Database) -> None:
    """What the table holds opens nothing; the visible beginning is enough to name it."""
    (chave,) = await make_key(database, [FIRST.cnpj], ["propostas:escrever"], OWN)
    assert chave.startswith("prosa_live_")
    row = await database.pool.fetchrow("SELECT * FROM api_chave")
    assert row["resumo"] == hashlib.sha256(chave.encode()).hexdigest()
    assert chave not in str(dict(row))
    assert row["escopos"] == ["propostas:escrever"]
    assert await database.pool.fetchval("SELECT alvo FROM auditoria ORDER BY id DESC LIMIT 1") == row["prefixo"]


async def test_a_key_of_several_companies_acts_for_each(database: Database) -> None:
    """And for no other."""
    (chave,) = await make_key(database, [FIRST.cnpj, SECOND.cnpj], [], OWN, tudo=True)
    held = await holder(database, chave)
    assert held is not None
    assert held.empresas.keys() == {"99000002000148", "99000003000192"}


async def test_the_environment_of_a_company_is_seen_on_its_key(database: Database) -> None:
    """A key for trying out is not taken for one that issues; no key is of both."""
    assert (await make_key(database, [PRACTICE.cnpj], [], OWN, tudo=True))[0].startswith("prosa_test_")
    assert (await make_key(database, [FIRST.cnpj], [], Ambiente.HOMOLOGACAO, tudo=True))[0].startswith("prosa_test_")
    with pytest.raises(CommandRefusedError, match="ambiente"):
        await make_key(database, [FIRST.cnpj, PRACTICE.cnpj], [], OWN, tudo=True)


async def test_a_revoked_key_holds_no_longer(database: Database) -> None:
    """At once; the list says so, and it cannot be revoked again."""
    (chave,) = await make_key(database, [FIRST.cnpj], [], OWN, tudo=True)
    prefixo = chave[:19]
    assert await holder(database, chave) is not None
    assert (await list_keys(database, FIRST.cnpj))[0].startswith(f"{prefixo}…  criada ")
    await revoke_key(database, prefixo)
    assert await holder(database, chave) is None
    assert ", revogada " in (await list_keys(database, FIRST.cnpj))[0]
    with pytest.raises(CommandRefusedError, match="Nenhuma chave"):
        await revoke_key(database, prefixo)


async def test_the_use_of_a_key_is_noted(database: Database) -> None:
    """Who looks for keys that nobody needs sees when each was used last."""
    (chave,) = await make_key(database, [FIRST.cnpj], [], OWN, tudo=True)
    assert "nunca usada" in (await list_keys(database, FIRST.cnpj))[0]
    await holder(database, chave)
    assert "nunca usada" not in (await list_keys(database, FIRST.cnpj))[0]


@pytest.mark.parametrize("said", ["", "propostas", "propostas:", "Propostas:ler", "a:b:c", "clientes:apagar", "*"])
async def test_what_is_no_scope_makes_no_key(database: Database, said: str) -> None:
    """Nothing is stored, and the company is told to have none."""
    with pytest.raises(CommandRefusedError, match="escopo"):
        await make_key(database, [FIRST.cnpj], [said], OWN)
    assert await list_keys(database, FIRST.cnpj) == [f"{FIRST.razao_social} não tem chave da API."]


@pytest.mark.parametrize("cnpj", ["123", "12.345.678/0001-95"])
async def test_a_company_that_nobody_registered_gets_no_key(database: Database, cnpj: str) -> None:
    """Whether the number is wrong or only unknown."""
    with pytest.raises(CommandRefusedError, match="nada mudou"):
        await make_key(database, [cnpj], [], OWN, tudo=True)


async def test_what_a_key_may_do_is_said_when_it_is_made(database: Database) -> None:
    """A key for everything is no accident, and none is for everything and for something."""
    for escopos, tudo in (([], False), (["propostas:ler"], True)):
        with pytest.raises(CommandRefusedError, match="--tudo"):
            await make_key(database, [FIRST.cnpj], escopos, OWN, tudo=tudo)
    (chave,) = await make_key(database, [FIRST.cnpj], ["propostas:*", "lotes:ler"], OWN)
    held = await holder(database, chave)
    assert held is not None
    assert [held.may(each) for each in ("propostas:submeter", "lotes:ler", "lotes:confirmar", "clientes:ler")] == [
        True,
        True,
        False,
        False,
    ]


async def test_a_key_ends_by_itself(database: Database) -> None:
    """A year after it was made, or when it was said; one of before keys ended holds on, and is listed as such."""
    (chave,) = await make_key(database, [FIRST.cnpj], [], OWN, tudo=True)
    days = await database.pool.fetchval("SELECT vale_ate::date - criada_em::date FROM api_chave")
    assert days == 365
    await database.pool.execute("UPDATE api_chave SET vale_ate = now()")
    assert await holder(database, chave) is None
    assert ", vale até " in (await list_keys(database, FIRST.cnpj))[0]
    await database.pool.execute("UPDATE api_chave SET vale_ate = NULL")
    assert await holder(database, chave) is not None
    assert "não vence; pode tudo" in (await list_keys(database, FIRST.cnpj))[0]
