from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from operations.company import CompanyError, CompanyForm, add_company, checked
from persistence.db.engine import Database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FORM = CompanyForm(
    cnpj="11.222.333/0001-81",
    razao_social="ANA DESIGN ME",
    inscricao_municipal="12345678",
    municipio="3550308",
    usuarios=("+55 (11) 98765-4321",),
)


@pytest.fixture(scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cnpj": "11.222.333/0001-82"}, "--cnpj"),
        ({"cnpj": "529.982.247-25"}, "--cnpj"),
        ({"cnpj": ""}, "--cnpj"),
        ({"razao_social": "  "}, "--razao-social"),
        ({"inscricao_municipal": ""}, "--inscricao-municipal"),
        ({"municipio": "São Paulo"}, "--municipio"),
        ({"municipio": "355030"}, "--municipio"),
        ({"municipio": "9999999"}, "começam pelos do estado"),
        ({"regime": "MEI"}, "--regime"),
        ({"codigo_servico": "17"}, "--codigo-servico"),
        ({"cnae": "123"}, "--cnae"),
        ({"aliquota": "dois"}, "--aliquota"),
        ({"aliquota": "5.01"}, "de 0 a 5"),
        ({"aliquota": "-1"}, "--aliquota"),
        ({"aliquota": "NaN"}, "--aliquota"),
        ({"usuarios": ("12",)}, "--usuario"),
        ({"usuarios": ("+5511987654321", "eu")}, "--usuario"),
    ],
)
def test_what_cannot_be_right_is_named(change: dict[str, Any], named: str) -> None:
    """A form is refused as a whole, with the option to correct."""
    with pytest.raises(CompanyError, match=named):
        checked(replace(FORM, **change))


def test_what_is_right_is_normalised() -> None:
    """Documents and phones lose their marks, the ninth digit is put in, a comma is a point, a name is one line."""
    columns, phones = checked(
        replace(FORM, usuarios=("+55 11 8765-4321",), cnae="6201-5/01", aliquota="2,5", codigo_servico="17.01")
    )
    assert phones == ["5511987654321"]
    assert columns["cnpj"] == "11222333000181"
    assert (columns["cnae"], str(columns["aliquota"])) == ("6201501", "2.5")
    named, _ = checked(replace(FORM, razao_social=" ANA\r\nDESIGN\u200b\x1b  ME\n", inscricao_municipal="12\n3"))
    assert (named["razao_social"], named["inscricao_municipal"]) == ("ANA DESIGN ME", "12 3")
    assert checked(replace(FORM, cnpj="12.abc.345/01de-35"))[0]["cnpj"] == "12ABC34501DE35"


async def test_adding_again_updates(database: Database) -> None:
    """The same CNPJ is the same company: new data replace the old, new people join those who may issue."""
    first = await add_company(database, FORM)
    again = replace(FORM, razao_social="ANA DESIGN LTDA", usuarios=("+5521998877665",), regime="simples")
    assert await add_company(database, again) == first
    row = await database.pool.fetchrow("SELECT razao_social, regime FROM empresa WHERE id = $1", first)
    assert tuple(row or ()) == ("ANA DESIGN LTDA", "simples")
    phones = await database.pool.fetch("SELECT telefone FROM usuario WHERE empresa_id = $1 ORDER BY id", first)
    assert [phone["telefone"] for phone in phones] == ["5511987654321", "5521998877665"]


async def test_who_got_the_right_to_issue_is_audited(database: Database) -> None:
    """A grant is written once, in its own commit and without the phone; saying it again grants nothing."""
    pool, written = database.pool, "SELECT quem, acao, empresa_id, detalhe FROM auditoria ORDER BY id"
    form = replace(FORM, cnpj="53.113.791/0001-22", usuarios=("+5541987650001", "+5541987650002"))
    before = len(await pool.fetch(written))
    company = await add_company(database, form)
    await add_company(database, form)
    await add_company(database, replace(form, usuarios=(*form.usuarios, "+5541987650003")))
    first, second = (await pool.fetch(written))[before:]
    assert (first["quem"], first["acao"], first["empresa_id"]) == ("linha de comando", "deu direito de emitir", company)
    assert [len(row["detalhe"]["usuarios"]) for row in (first, second)] == [2, 1]
    ids = await pool.fetch("SELECT id FROM usuario WHERE empresa_id = $1 ORDER BY id", company)
    told = [number for row in (first, second) for number in row["detalhe"]["usuarios"]]
    assert told == [row["id"] for row in ids]
    assert "4198765" not in str([dict(first), dict(second)])
    with pytest.raises(CompanyError):
        await add_company(
            database, replace(form, cnpj="12.345.678/0001-95", usuarios=("+5541987650004", *form.usuarios))
        )
    assert len(await pool.fetch(written)) == before + 2


async def test_a_phone_of_another_company_changes_nothing(database: Database) -> None:
    """Somebody who issues for one company is not moved to another by a slip: the whole form is refused."""
    await add_company(database, FORM)
    other = replace(FORM, cnpj="12.345.678/0001-95", usuarios=("+5531987654321", *FORM.usuarios))
    with pytest.raises(CompanyError, match="outra empresa"):
        await add_company(database, other)
    known = "SELECT count(*) FROM empresa WHERE cnpj = '12345678000195'"
    assert await database.pool.fetchval(known) == 0
    assert await database.pool.fetchval("SELECT count(*) FROM usuario WHERE telefone = '5531987654321'") == 0
