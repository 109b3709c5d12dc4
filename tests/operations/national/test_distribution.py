"""What others did with a company's notes, read from the simulated ADN into the database."""

from __future__ import annotations

import base64
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.master_key import vault_of
from bot.operator.reconcile import channels_of
from bot.settings import Settings
from gateway.registry import REGISTRY
from operations.certificate import keep_certificate
from operations.company import add_company
from operations.national.distribution import Feed
from operations.national.verify import verify
from persistence.db.engine import Database
from persistence.national import elsewhere
from proofs.demo.world import COMPANY
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.sandbox.world import World, WorldConfig
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import CannotTell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.national.elsewhere import Ours

FORM = replace(COMPANY, regime="simples", canal="nacional", tributos_sn="6", primeiro_rps=100)
CANAL = Canal("nacional", Ambiente.HOMOLOGACAO)
PADARIA = "12345678000195"


async def _dies(*_: Any) -> None:
    raise RuntimeError("the worker ends before its commit")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


def _settings(world: World) -> Settings:
    """The settings that lead to the simulated authority."""
    return Settings(
        nacional_sefin_url=world.urls.nacional_sefin or "",
        nacional_adn_url=world.urls.nacional_adn or "",
        nacional_ca_file=Path(world.urls.nacional_ca_file or ""),
        master_key=SecretStr(base64.b64encode(b"k" * 32).decode()),
        fiscal_environment="homologacao",
    )


async def _company(database: Database, settings: Settings, world: World) -> int:
    """Register the company with its certificate."""
    await add_company(database, FORM, None, REGISTRY)
    pfx = world.authority.pfx_for(FORM.cnpj, "senha-do-a1", days=300)
    await keep_certificate(database, vault_of(settings), cnpj=FORM.cnpj, arquivo=pfx, senha="senha-do-a1")
    return int(await database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj))


async def test_a_list_is_read_once_and_what_a_day_brought_once_more(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes of others are kept, a number of our series is alarmed once; 429 and a lost commit leave the cursor."""

    async def cancelled(_: Any, ours: Ours) -> None:
        raise AssertionError(ours)

    async with World(config=WorldConfig(nacional=NacionalConfig(page=2))) as world:
        sefin, adn, pool = world.sefin, world.adn, database.pool
        settings = _settings(world)
        empresa_id = await _company(database, settings, world)

        def made(**changes: Any) -> Any:
            return sefin.issue_elsewhere(
                FORM.cnpj, tomador=PADARIA, valor=Decimal("99.90"), municipio=FORM.municipio, **changes
            )

        async def kept() -> list[tuple[Any, ...]]:
            rows = await pool.fetch("SELECT * FROM nota_de_fora ORDER BY numero::int")
            return [(row["chave"], row["situacao"], row["serie"], row["numero_dps"]) for row in rows]

        async def cursor() -> int:
            return int(await pool.fetchval("SELECT nsu FROM distribuicao"))

        portal, before, taken = made(), made(serie="900", numero=99), made(serie="900", numero=100)
        sefin.cancel_elsewhere(portal.chave)
        sefin.issue_elsewhere(PADARIA, tomador=FORM.cnpj, valor=Decimal(5))  # of which the company is the customer
        last = max(note.nsu for note in sefin.notes.values())
        async with channels_of(settings, database) as channels:
            feed = Feed(database, channels, cancelled)
            adn.faults.set("limite_429", seconds=900)
            assert await feed.read_due() == 0
            calls = len(adn.ledger.of("fault"))
            assert await feed.read_due() == 0
            assert len(adn.ledger.of("fault")) == calls  # it asked to be left alone
            left = await pool.fetchval("SELECT calado_ate - now() > interval '14 minutes' FROM distribuicao")
            assert left
            assert isinstance(await feed.read(CANAL, empresa_id, FORM.cnpj), CannotTell)
            adn.faults.clear()
            await pool.execute("UPDATE distribuicao SET calado_ate = now(), proxima_em = now()")

            with monkeypatch.context() as patch:
                patch.setattr(elsewhere, "ended", _dies)
                with pytest.raises(RuntimeError):
                    await feed.read_due()
            assert (len(await kept()), await cursor()) == (2, before.nsu)  # the lot before the one that was lost

            with capture_logs() as logs:
                assert await feed.read_due() == 3
            found = [
                (portal.chave, "cancelada", None, None),
                (before.chave, "autorizada", None, None),
                (taken.chave, "autorizada", "900", 100),
            ]
            assert (await kept(), await cursor()) == (found, last)
            alarms = [(each["serie"], each["numero"]) for each in logs if each["event"] == "series_used_elsewhere"]
            assert alarms == [("900", 100)]
            shared = [each.dito for each in await verify(database, channels, FORM.cnpj) if not each.serve]
            assert [said.partition(":")[0] for said in shared] == ["Série 900"]
            assert "número 100" in shared[0]
            assert await pool.fetchval("SELECT array_agg(numero) FROM numero_visto") == [100]
            assert await feed.read_due() == 0
            await pool.execute("UPDATE distribuicao SET proxima_em = now(), relido_em = now() - interval '2 days'")
            assert await feed.read_due() == 0
            assert await cursor() == 0
            with capture_logs() as logs:
                assert await feed.read(CANAL, empresa_id, FORM.cnpj) == 5
            assert (await kept(), await cursor()) == (found, last)
            assert "series_used_elsewhere" not in {each["event"] for each in logs}
