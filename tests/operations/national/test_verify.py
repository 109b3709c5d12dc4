"""``prosa empresa verificar`` against the simulated SEFIN and ADN."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from bot.master_key import vault_of
from bot.operator.reconcile import channels_of
from bot.settings import Settings
from gateway.registry import REGISTRY
from operations.certificate import keep_certificate
from operations.company import add_company
from operations.national.verify import verify
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from proofs.sandbox.nacional.register import City
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.sandbox.paulistana import codes
from proofs.sandbox.paulistana.rules import PaulistanaConfig
from proofs.sandbox.world import World, WorldConfig
from state_machine.protocol.channel import Canal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SENHA = "senha-do-a1"
FORM = replace(COMPANY, regime="simples", canal="nacional", tributos_sn="6")
OTHER = replace(COMPANY, cnpj="99000001000101", razao_social="OFICINA QUASE NOVA FICTÍCIA LTDA", usuarios=())


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


async def test_a_company_is_told_all_that_keeps_it_from_issuing(database: Database) -> None:
    """Certificate, agreement, rate, series and layout: each by its own sentence, and all well only at the end."""
    cities: dict[str, City] = {}
    async with World(config=WorldConfig(nacional=NacionalConfig(cities=cities))) as world:
        settings = Settings(
            nacional_sefin_url=world.urls.nacional_sefin or "",
            nacional_adn_url=world.urls.nacional_adn or "",
            nacional_ca_file=Path(world.urls.nacional_ca_file or ""),
            master_key=SecretStr(base64.b64encode(b"k" * 32).decode()),
            fiscal_environment="homologacao",
        )

        async def wrong() -> dict[str, str]:
            async with channels_of(settings, database) as channels:
                found = await verify(database, channels, FORM.cnpj)
            assert len(found) == 4
            return {each.dito.partition(":")[0]: each.dito for each in found if not each.serve}

        await add_company(database, FORM, None, REGISTRY)
        bare = await wrong()
        assert len(bare) == 3
        assert all("falta o certificado" in said for said in bare.values())

        pfx = world.authority.pfx_for(FORM.cnpj, SENHA, days=300)
        await keep_certificate(database, vault_of(settings), cnpj=FORM.cnpj, arquivo=pfx, senha=SENHA)
        assert await wrong() == {}
        assert world.adn.ledger.of("call")[-1].data["path"].endswith("/aliquota")

        cities[FORM.municipio] = City(issues=False)
        assert "não deixa emitir" in (await wrong())["Convênio"]
        cities[FORM.municipio] = City(registered=False)
        assert {name.split()[0] for name in await wrong()} == {"Convênio", "Código"}
        cities.clear()

        assert await wrong() == {}
        world.adn.faults.set("erro_500")
        cities[FORM.municipio] = City(issues=False)
        assert await wrong() == {}  # what was told before counts
        await database.pool.execute(
            "UPDATE cidade_parametro SET convenio_em = convenio_em - interval '3 days', "
            "aliquota_em = aliquota_em - interval '3 days'"
        )
        assert {said.partition("tente de novo")[1] for said in (await wrong()).values()} == {"tente de novo"}
        world.adn.faults.clear()
        assert "não deixa emitir" in (await wrong())["Convênio"]
        world.adn.faults.set("erro_500")
        assert "o ADN não respondeu agora" in (await wrong())["Convênio"]
        world.adn.faults.clear()
        cities.clear()

        await database.pool.execute(
            "UPDATE empresa SET regime = 'normal', tributos_federal = 1, tributos_estadual = 1, "
            "tributos_municipal = 1 WHERE cnpj = $1",
            FORM.cnpj,
        )
        for day, serves in ((date(2999, 1, 1), True), (date(2026, 8, 3), False)):
            told = settings.model_copy(update={"nacional_ibs_cbs_obrigatorio": day})
            async with channels_of(told, database) as channels:
                found = await verify(database, channels, FORM.cnpj)
            assert found[0].serve is serves
            assert f"a partir de {day:%d/%m/%Y} nada é confirmado" in found[1].dito
        await database.pool.execute("UPDATE empresa SET regime = 'simples'")

        await database.pool.execute("UPDATE empresa SET tributos_sn = NULL WHERE cnpj = $1", FORM.cnpj)
        assert "--tributos-sn" in (await wrong())["Cadastro"]

        await add_company(database, OTHER, Canal("plugnotas"))
        async with channels_of(settings, database) as channels:
            with pytest.raises(CommandRefusedError, match="plugnotas"):
                await verify(database, channels, OTHER.cnpj)


PAULISTANA = replace(
    COMPANY,
    cnpj="45723174000110",
    usuarios=(),
    regime="normal",
    canal="paulistana",
    codigo_servico="02658",
    inscricao_municipal="31000000",
    aliquota="5",
    serie_rps="PROSA",
    primeiro_rps=1,
    nbs="118054000",
    ind_op="100301",
    class_trib="000001",
)


async def test_a_company_of_sao_paulo_is_tried_without_a_note(database: Database) -> None:
    """The binding is probed by a question, an example is held against the city's rules, and no RPS leaves."""
    async with World(config=WorldConfig(paulistana=PaulistanaConfig())) as world:
        settings = Settings(
            paulistana_url=world.urls.paulistana or "",
            paulistana_ca_file=Path(world.urls.nacional_ca_file or ""),
            master_key=SecretStr(base64.b64encode(b"k" * 32).decode()),
            fiscal_environment="producao",
        )

        async def said() -> dict[str, tuple[bool, str]]:
            async with channels_of(settings, database) as channels:
                found = await verify(database, channels, PAULISTANA.cnpj)
            return {each.dito.partition(":")[0]: (each.serve, each.dito) for each in found}

        await add_company(database, PAULISTANA, None, REGISTRY)
        assert "falta o certificado" in (await said())["Certificado e SOAP"][1]
        pfx = world.authority.pfx_for(PAULISTANA.cnpj, SENHA, days=300)
        vault = vault_of(settings)
        await keep_certificate(database, vault, cnpj=PAULISTANA.cnpj, arquivo=pfx, senha=SENHA, unchecked=True)
        well = await said()
        assert [serve for serve, _ in well.values()] == [True] * 4
        assert "livre na prefeitura" in well["Série PROSA"][1]
        city = world.paulistana
        plain = city.config
        city.config = replace(plain, services=frozenset({"1"}))
        serve, words = (await said())["Teste de envio"]
        assert (serve, codes.Evento.told("306", "2658").descricao in words) == (False, True)
        city.config = replace(plain, binding="soap11")
        assert "PROSA_PAULISTANA_SOAP=soap11" in (await said())["SOAP"][1]
        city.config = plain
        city.faults.set("erro_500")
        assert "não deu para conferir" in (await said())["Certificado e SOAP"][1]
        called = {record.data["operation"] for record in city.ledger.of("call")} - {""}
        assert called == {"ConsultaCNPJ", "TesteEnvioLoteRPS", "ConsultaNFe", "ConsultaNFeEmitidas"}
        assert not city.notes
