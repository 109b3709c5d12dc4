"""What an operator is told of a company's service codes, and what is stored when they change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from operations.company import add_company
from operations.protocol import CommandRefusedError
from operations.services import ServiceForm, add, remove, show
from persistence.db.engine import Database
from persistence.people.companies import get_company
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Canal
from state_machine.services.codes import IbsCbs, Servico

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.people.companies import Empresa

FORM = replace(COMPANY, cnpj="99.000.002/0001-48", usuarios=(), codigo_servico="010101")
CNPJ = FORM.cnpj


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=1)
    await opened.pool.execute("DELETE FROM empresa_servico")
    await add_company(opened, FORM, Canal("nacional"))
    yield opened
    await opened.close()


async def _empresa(database: Database) -> Empresa:
    empresa_id = await database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = '99000002000148'")
    async with database.transaction() as connection:
        return (await get_company(connection, empresa_id))[0]


async def test_a_company_of_an_older_release_has_its_one_code(database: Database) -> None:
    """No row is needed: the registration's code is the main one."""
    assert await show(database, CNPJ) == [
        FORM.razao_social,
        "1. 01.01.01 – Análise e desenvolvimento de sistemas (principal)",
    ]
    assert (await _empresa(database)).servicos == (Servico("010101"),)


async def test_a_code_is_added_with_the_companys_words_and_its_nbs(database: Database) -> None:
    """It is audited, and the company has a new version: a summary that was shown is shown again."""
    before = (await _empresa(database)).versao
    told = await add(database, CNPJ, ServiceForm(codigo="01.07.01", descricao=" plano  ouro ", nbs="1.1506.10.00"))
    assert told[2] == "2. 01.07.01 – plano ouro, NBS 115061000"
    empresa = await _empresa(database)
    assert empresa.servicos == (Servico("010101"), Servico("010701", "plano ouro", "115061000"))
    assert (empresa.versao, empresa.codigo_servico) == (before + 1, "010101")
    assert await database.pool.fetchval("SELECT count(*) FROM auditoria WHERE acao = 'deu código de serviço'") == 1


async def test_a_code_has_what_the_new_taxes_ask(database: Database) -> None:
    """The common case is offered and told as such; what is not said again stays, and what is said takes its place."""
    told = await add(database, CNPJ, ServiceForm(codigo="01.07.01", nbs="115061000", ind_op="030101"))
    assert told[2].endswith("NBS 115061000, cIndOp 030101, CST 000, cClassTrib 000001")
    assert "Quem decide é a contabilidade" in told[-1]
    told = await add(database, CNPJ, ServiceForm(codigo="01.07.01", descricao="plano ouro"))
    assert "contabilidade" not in told[-1]
    mended = ServiceForm(codigo="01.07.01", descricao="plano ouro", cst="200", class_trib="200001")
    assert "contabilidade" not in (await add(database, CNPJ, mended))[-1]
    group = IbsCbs("030101", "200", "200001")
    kept = (await _empresa(database)).servicos[1]
    assert (kept, kept.grupo) == (Servico("010701", "plano ouro", "115061000", group), group)
    await database.pool.execute("UPDATE empresa_servico SET nbs = NULL")  # as the release before may
    assert (await _empresa(database)).servicos[1].grupo is None


async def test_another_main_code_keeps_the_former_one(database: Database) -> None:
    """Nothing that the company could issue is lost."""
    await add(database, CNPJ, ServiceForm(codigo="170101", principal=True))
    empresa = await _empresa(database)
    assert [servico.codigo for servico in empresa.servicos] == ["170101", "010101"]
    assert empresa.codigo_servico == "170101"


async def test_a_code_is_taken_away_but_never_the_main_one(database: Database) -> None:
    """A company without a code could issue nothing."""
    await add(database, CNPJ, ServiceForm(codigo="170101"))
    main, other = [servico.codigo for servico in (await _empresa(database)).servicos]
    with pytest.raises(CommandRefusedError, match="principal"):
        await remove(database, CNPJ, main)
    await remove(database, CNPJ, other)
    assert [servico.codigo for servico in (await _empresa(database)).servicos] == [main]
    with pytest.raises(CommandRefusedError, match="não é um código desta empresa"):
        await remove(database, CNPJ, other)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (ServiceForm(codigo="999998"), "lista nacional"),
        (ServiceForm(codigo="17.01"), "lista nacional"),
        (ServiceForm(codigo="170101", descricao="x" * 61), "descrição"),
        (ServiceForm(codigo="170101", descricao="a|b"), "descrição"),
        (ServiceForm(codigo="170101", nbs="123"), "NBS"),
        (ServiceForm(codigo="170101", nbs="115061000", ind_op="03010"), "cIndOp tem 6"),
        (ServiceForm(codigo="170101", nbs="115061000", ind_op="030101", cst="٠٠٠"), "CST 3"),
        (ServiceForm(codigo="170101", nbs="115061000", ind_op="030101", class_trib="1"), "cClassTrib 6"),
        (ServiceForm(codigo="170101", nbs="115061000", cst="000"), "pede o NBS e o cIndOp"),
        (ServiceForm(codigo="170101", ind_op="030101"), "pede o NBS e o cIndOp"),
    ],
)
async def test_what_cannot_be_right_changes_nothing(database: Database, form: ServiceForm, said: str) -> None:
    """It is said what was wrong."""
    before = await _empresa(database)
    with pytest.raises(CommandRefusedError, match=said):
        await add(database, CNPJ, form)
    assert await _empresa(database) == before


@pytest.mark.parametrize(
    ("codigo", "asked"), [("070202", "CNO da obra"), ("121301", "evento"), ("071001", "cidade"), ("170501", "cliente")]
)
async def test_a_code_whose_dps_needs_more_says_what_will_be_asked(database: Database, codigo: str, asked: str) -> None:
    """The building site, the event, or the city where the tax is due."""
    assert asked in (await add(database, CNPJ, ServiceForm(codigo=codigo)))[-1]


async def test_another_channel_has_no_list(database: Database) -> None:
    """PlugNotas takes the registration's code, as always."""
    await database.pool.execute("UPDATE empresa_canal SET canal = 'plugnotas'")
    assert (await _empresa(database)).servicos == ()


async def test_a_company_that_nobody_knows_is_refused(database: Database) -> None:
    """The CNPJ may be wrong, or of nobody here."""
    for cnpj in ("123", "11.222.333/0001-81"):
        with pytest.raises(CommandRefusedError, match="CNPJ"):
            await show(database, cnpj)
