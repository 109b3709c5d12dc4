"""What an operator is told of a company's channel, and what is stored when it is changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from gateway.nacional.payload import left_out
from gateway.registry import REGISTRY, rows_for
from operations import services
from operations.channel import choose, company_of, left_out_of, show
from operations.company import CompanyError, add_company
from operations.person import issuer_of
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database
from persistence.people import channels, goods
from persistence.people.companies import get_company
from persistence.people.services import of_company as own_services
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Ambiente, Canal, Natureza, TipoDocumento
from state_machine.services.codes import IbsCbs, Servico

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NATURES = {name: row.natureza for name, row in REGISTRY.items()} | {
    "cidade": Natureza(environments="each"),
    "estado": Natureza(environments="each", documento=TipoDocumento.PRODUTO),
}
CAFE = replace(COMPANY, cnpj="99.000.002/0001-48", usuarios=())


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=1)
    yield opened
    await opened.close()


async def _chosen(database: Database, empresa_id: int, tipo: TipoDocumento = TipoDocumento.SERVICO) -> Canal:
    async with database.transaction() as connection:
        return await channels.chosen(connection, empresa_id, tipo)


async def test_only_a_new_company_takes_the_default_channel(database: Database) -> None:
    """Who is registered already keeps its channel when the default or its data change."""
    empresa_id = await add_company(database, CAFE, Canal("plugnotas", Ambiente.HOMOLOGACAO))
    assert await add_company(database, CAFE, Canal("outro")) == empresa_id
    assert await _chosen(database, empresa_id) == Canal("plugnotas", Ambiente.HOMOLOGACAO)


async def test_each_kind_of_document_has_its_own_channel(database: Database) -> None:
    """What is set for products leaves services as they are; the change is in the audit."""
    empresa_id = await add_company(database, CAFE)
    before = await _chosen(database, empresa_id)
    there: dict[str, Any] = {"cnpj": CAFE.cnpj, "documento": "produto", "nome": "estado", "ambiente": "producao"}
    with pytest.raises(CommandRefusedError, match="inscrição estadual"):
        await choose(database, NATURES, **there)
    with pytest.raises(CommandRefusedError, match="documentos de servico"):
        await choose(database, NATURES, **{**there, "nome": "cidade"})
    async with database.transaction() as connection:
        await goods.save_seller(connection, empresa_id, {"inscricao_estadual": "110042490114"})
    [told, _] = await choose(database, NATURES, **there)
    assert "produto pelo canal estado, ambiente producao" in told
    assert await _chosen(database, empresa_id, TipoDocumento.PRODUTO) == Canal("estado", Ambiente.PRODUCAO)
    assert await _chosen(database, empresa_id) == before
    assert [told] == await show(database, NATURES, CAFE.cnpj, "produto")
    assert await database.pool.fetchval("SELECT count(*) FROM auditoria WHERE acao = 'mudou o canal'") == 1


@pytest.mark.parametrize(
    ("cnpj", "documento", "nome", "ambiente"),
    [
        ("1", "servico", "plugnotas", None),
        ("11.444.777/0001-61", "servico", "plugnotas", None),
        (CAFE.cnpj, "frete", "plugnotas", None),
        (CAFE.cnpj, "servico", "nenhum", None),
        (CAFE.cnpj, "servico", "cidade", "ensaio"),
        (CAFE.cnpj, "servico", "plugnotas", "homologacao"),  # its address and key are the installation's
    ],
)
async def test_what_cannot_be_changes_nothing(
    database: Database, cnpj: str, documento: str, nome: str, ambiente: str | None
) -> None:
    """No such company, document, channel or environment: one sentence, and the choice stays."""
    empresa_id = await add_company(database, CAFE)
    before = await _chosen(database, empresa_id)
    with pytest.raises(CommandRefusedError, match=r"[Nn]ada mudou"):
        await choose(database, NATURES, cnpj=cnpj, documento=documento, nome=nome, ambiente=ambiente)
    assert await _chosen(database, empresa_id) == before


async def test_one_series_is_written_in_one_way_where_we_number(database: Database) -> None:
    """900 and 00900 are one series at SEFIN: whoever registers it, or comes with it from elsewhere, counts on."""
    series = "SELECT serie_rps FROM empresa WHERE id = $1"
    form = replace(CAFE, canal="nacional", regime="simples", tributos_sn="6", serie_rps="00900")
    empresa_id = await add_company(database, form, None, REGISTRY)
    assert await database.pool.fetchval(series, empresa_id) == "900"
    await database.pool.execute("UPDATE empresa SET serie_rps = '00900' WHERE id = $1", empresa_id)
    await add_company(database, form, None, REGISTRY)
    assert await database.pool.fetchval(series, empresa_id) == "00900"  # of an older release: its numbers go on
    await choose(database, NATURES, cnpj=CAFE.cnpj, documento="servico", nome="plugnotas", ambiente=None)
    assert await database.pool.fetchval(series, empresa_id) == "00900"  # text, at a city's
    await choose(database, NATURES, cnpj=CAFE.cnpj, documento="servico", nome="nacional", ambiente=None, rows=REGISTRY)
    assert await database.pool.fetchval(series, empresa_id) == "900"


async def test_an_installation_without_plugnotas_puts_no_company_there(database: Database) -> None:
    """What is missing is named, and nothing is stored: neither a new company nor a change of channel."""
    new = replace(CAFE, cnpj="11.222.333/0001-81", tributos_sn="6")
    rows = rows_for(Settings(gateway="nacional", plugnotas_api_key=SecretStr(""), gateway_webhook_secret=SecretStr("")))
    with pytest.raises(CompanyError, match="faltam PROSA_PLUGNOTAS_API_KEY e PROSA_GATEWAY_WEBHOOK_SECRET"):
        await add_company(database, new, Canal("plugnotas"), rows)
    assert await database.pool.fetchval("SELECT count(*) FROM empresa WHERE cnpj = '11222333000181'") == 0
    empresa_id = await add_company(database, new, Canal("nacional"), rows)
    with pytest.raises(CommandRefusedError, match="faltam PROSA_PLUGNOTAS_API_KEY"):
        await choose(database, NATURES, cnpj=new.cnpj, documento="servico", nome="plugnotas", ambiente=None, rows=rows)
    assert await _chosen(database, empresa_id) == Canal("nacional")


async def test_a_registration_is_told_what_its_notes_will_lack(database: Database) -> None:
    """A company of the normal regime hears of IBS/CBS where it is registered or changes channel; no other does."""
    levied = replace(CAFE, tributos_federal="13.45", tributos_estadual="0", tributos_municipal="2")
    new = replace(levied, cnpj="11.444.777/0001-61", regime="normal")
    await add_company(database, new, Canal("plugnotas"), REGISTRY)
    assert await left_out_of(database, REGISTRY, new.cnpj) == []
    await add_company(database, replace(new, serie_rps="900"), Canal("plugnotas"), REGISTRY)
    (*_, told) = await choose(
        database, NATURES, cnpj=new.cnpj, documento="servico", nome="nacional", ambiente=None, rows=REGISTRY
    )
    assert "IBS/CBS" in told
    assert await left_out_of(database, REGISTRY, new.cnpj) == [told]
    code = "17.01.01"
    assert f"em {code}; a nota sai sem o grupo até 31/12/2026" in told
    later = rows_for(Settings(nacional_ibs_cbs_obrigatorio=date(2027, 3, 1)))
    assert "a partir de 01/03/2027 nada é confirmado" in (await left_out_of(database, later, new.cnpj))[0]
    await services.add(database, new.cnpj, services.ServiceForm(codigo=code, nbs="115061000", ind_op="030101"))
    assert await left_out_of(database, REGISTRY, new.cnpj) == []
    await services.add(database, new.cnpj, services.ServiceForm(codigo="08.02.01"))
    assert "em 08.02.01; a nota" in (await left_out_of(database, REGISTRY, new.cnpj))[0]
    await add_company(database, replace(new, regime="simples", tributos_sn="6"), None, REGISTRY)
    company, own = await _registered(database, new.cnpj)
    assert left_out(company, own, hoje=date(2026, 11, 30)) is None
    told = left_out(company, own, hoje=date(2026, 12, 1)) or ""
    assert told.startswith("falta até 01/01/2027")
    assert "cClassTrib em 08.02.01;" in told
    assert "(cAtvSN) em 17.01.01, 08.02.01;" in told
    assert "(regApIBSCBSSN)" in told


async def test_what_2027_asks_of_the_simples_is_said_by_the_operator(database: Database) -> None:
    """Nothing of it is supposed; once all is said nothing is told, and the issuer of an invoice carries it."""
    form = replace(CAFE, cnpj="45.723.174/0001-10", regime="simples-pendente", tributos_sn="6", atividade_sn="09")
    await add_company(database, replace(form, serie_rps="900"), Canal("nacional"), REGISTRY)
    code = services.ServiceForm(codigo="17.01.01", nbs="115061000", ind_op="030101")
    assert "cAtvSN 09" in " ".join(await services.add(database, form.cnpj, code))
    company, own = await _registered(database, form.cnpj)
    assert "regApIBSCBSSN" in (left_out(company, own, hoje=date(2026, 12, 1)) or "")
    await add_company(database, replace(form, serie_rps="900", apuracao_ibscbs="3"), None, REGISTRY)
    company, own = await _registered(database, form.cnpj)
    assert left_out(company, own, hoje=date(2026, 12, 1)) is None
    async with database.transaction() as connection:
        empresa, _ = await get_company(connection, company.id)
    prestador = issuer_of(empresa, empresa.principal)
    assert (prestador.regime, prestador.apuracao_ibscbs, prestador.atividade_sn) == ("simples-pendente", "3", "09")
    with pytest.raises(CompanyError, match="--reg-apuracao-ibscbs"):
        await add_company(database, replace(form, apuracao_ibscbs="4"), None, REGISTRY)
    with pytest.raises(CommandRefusedError, match="cAtvSN"):
        await services.add(database, form.cnpj, replace(code, atividade_sn="99"))


async def test_a_company_of_sao_paulo_has_a_code_of_the_citys_own_and_its_taxes(database: Database) -> None:
    """Its invoice says them; MEI and Simples are led to the national issuer, and nothing is stored of either."""
    form = replace(
        CAFE,
        cnpj="11.444.777/0001-61",
        inscricao_municipal="31000000",
        municipio="3550308",
        regime="normal",
        codigo_servico="02658",
        aliquota="5",
        serie_rps="PROSA",
        primeiro_rps=1,
        canal="paulistana",
        nbs="118054000",
        ind_op="100301",
        class_trib="000001",
    )
    for regime in ("mei", "simples"):
        with pytest.raises(CompanyError, match="--canal nacional"):
            await add_company(database, replace(form, regime=regime), None, REGISTRY)
    with pytest.raises(CompanyError, match="--nbs"):
        await add_company(database, replace(form, nbs=None), None, REGISTRY)
    with pytest.raises(CompanyError, match="--cindop"):
        await add_company(database, replace(form, ind_op="1003"), None, REGISTRY)
    empresa_id = await add_company(database, form, None, REGISTRY)
    async with database.transaction() as connection:
        empresa, _ = await get_company(connection, empresa_id)
    prestador = issuer_of(empresa, empresa.principal)
    assert (prestador.codigo_servico, prestador.codigo_nbs) == ("02658", "118054000")
    assert prestador.ibs_cbs == IbsCbs("100301", "000", "000001")


@pytest.mark.parametrize(("asked", "told"), [(False, False), (True, True)])
def test_a_mei_is_asked_only_where_a_setting_says_so(asked: bool, told: bool) -> None:
    """Nobody knows yet whether a MEI must say it."""
    company = {"regime": "mei", "apuracao_ibscbs": None}
    said = left_out(company, [Servico("170101")], Settings(nacional_nt009_mei=asked), date(2026, 12, 1))
    assert (said is not None) is told
    assert "regApIBSCBSSN" not in (said or "")


async def _registered(database: Database, cnpj: str) -> tuple[Any, tuple[Servico, ...]]:
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        return company, await own_services(connection, company.id, company.codigo_servico)
