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
