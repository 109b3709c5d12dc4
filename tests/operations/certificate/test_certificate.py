from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from operations.certificate import note_expiry
from operations.company import CompanyForm, add_company
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CNPJ = "11.222.333/0001-81"
STORED = "SELECT certificado_vence::text, versao, atualizado_em FROM empresa"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await add_company(
        database,
        CompanyForm(cnpj=CNPJ, razao_social="ANA DESIGN ME", inscricao_municipal="12345678", municipio="3550308"),
    )
    yield database
    await database.close()


async def test_a_date_is_noted_and_forgotten(database: Database) -> None:
    """The date stands with the company, whose version and fiscal data stay as they were."""
    before = await database.pool.fetchrow(STORED)
    assert await note_expiry(database, CNPJ, " 2027-03-14 ") == [
        "ANA DESIGN ME: o certificado vale até 14/03/2027. A página de saúde avisa 30 e 7 dias antes."
    ]
    after = await database.pool.fetchrow(STORED)
    assert after["certificado_vence"] == "2027-03-14"
    assert tuple(after)[1:] == tuple(before)[1:]
    assert "esquecida" in (await note_expiry(database, CNPJ, ""))[0]
    assert tuple(await database.pool.fetchrow(STORED)) == tuple(before)


@pytest.mark.parametrize(
    ("cnpj", "texto", "said"),
    [
        ("11.222.333/0001-82", "2027-03-14", "não é um CNPJ"),
        ("12.345.678/0001-95", "2027-03-14", "Nenhuma empresa"),
        (CNPJ, "14/03/2027", "não é uma data"),
        (CNPJ, "2027-02-30", "não é uma data"),
        (CNPJ, "0207-03-14", "confira o ano"),
    ],
)
async def test_what_cannot_be_right_changes_nothing(database: Database, cnpj: str, texto: str, said: str) -> None:
    """A slip of the keyboard is named."""
    before = tuple(await database.pool.fetchrow(STORED))
    with pytest.raises(CommandRefusedError, match=said):
        await note_expiry(database, cnpj, texto)
    assert tuple(await database.pool.fetchrow(STORED)) == before
