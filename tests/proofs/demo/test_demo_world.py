"""The demo's two channels: whose note goes where, and the certificate that is offered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import aiohttp
import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

import proofs.demo.world
from bot.process.servers import Storage
from bot.settings import Settings
from persistence.people.certificates import _CURRENT
from proofs.demo.inside import Inside
from proofs.demo.world import COMPANY, NATIONAL_COMPANY, SENHA, STRANGERS_CNPJ, USERS, open_demo
from proofs.sandbox.nacional.authority import holder
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.demo.world import Demo

FULL = "faz uma nota de 1500 pra 12.345.678/0001-95, consultoria de marketing"
DAVI = next(user.wa_id for user in USERS if user.name == "Davi")


@pytest.fixture(scope="module")
async def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home of its own, a quick bot."""
    return Settings(home=tmp_path_factory.mktemp("demo"), port=0, debounce_seconds=0.2, repeat_window_seconds=0)


@pytest.fixture(scope="module")
async def demo(database_url: str, redis_url: str, settings: Settings) -> AsyncIterator[Demo]:
    """The demo as the command opens it, with an authority that decides faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs.demo.world, "PROCESSING_SECONDS", 0.1)
        async with open_demo(settings, Storage(database_url, redis_url, embedded=False)) as opened:
            yield opened


async def confirm(demo: Demo, who: str) -> None:
    """Write an invoice and confirm it."""
    meta = demo.world.meta
    await meta.user_text(who, FULL)
    shown = await meta.wait_for(who, lambda b: b.side == "bot" and bool(b.buttons), PATIENCE)
    button = next(button for button in shown.buttons if button.title == "Confirmar")
    await meta.user_button(who, button.id, button.title, shown.id)


async def test_each_company_issues_on_its_own_channel(demo: Demo) -> None:
    """Davi's note is SEFIN's, signed with his company's certificate; Ana's is PlugNotas'; the page finds both."""
    await confirm(demo, DAVI)
    await demo.world.sefin.ledger.wait_for(lambda record: record.kind == "nfse.issued", PATIENCE)
    (note,) = demo.world.sefin.notes.values()
    assert (note.prestador, note.by) == (NATIONAL_COMPANY.cnpj, "api")
    assert not demo.world.plugnotas.notes
    (shown,) = (await Inside(demo.house.database).view(DAVI))["emissoes"]
    assert shown["id_integracao"] == note.c_int_contrib
    await confirm(demo, USERS[0].wa_id)
    await demo.world.plugnotas.ledger.wait_for(lambda record: record.kind == "note.created", PATIENCE)
    assert [made.prestador for made in demo.world.plugnotas.notes.values()] == [COMPANY.cnpj]
    assert len(demo.world.sefin.notes) == 1
    (theirs,) = demo.world.plugnotas.notes.values()
    (shown,) = (await Inside(demo.house.database).view(USERS[0].wa_id))["emissoes"]
    assert shown["id_integracao"] == theirs.id_integracao


async def test_the_page_offers_certificates(demo: Demo) -> None:
    """Each company's link gives a file that the shown password opens, another one each time; two are bad."""
    async with aiohttp.ClientSession(demo.address) as session:
        page = await (await session.get("/")).text()
        assert f"<code>{SENHA}</code>" in page
        files = []
        for cnpj in (COMPANY.cnpj, COMPANY.cnpj, NATIONAL_COMPANY.cnpj):
            assert f"certificados/{cnpj}.pfx" in page
            async with session.get(f"/certificados/{cnpj}.pfx") as answer:
                assert answer.headers["Content-Disposition"].startswith("attachment")
                _, leaf, _ = pkcs12.load_key_and_certificates(await answer.read(), SENHA.encode())
            assert leaf is not None
            assert holder(leaf) == cnpj
            files.append(leaf.serial_number)
        assert len(set(files)) == 3
        for name, cnpj, good in (("vencido", NATIONAL_COMPANY.cnpj, False), ("de-outra", STRANGERS_CNPJ, True)):
            async with session.get(f"/certificados/{name}.pfx") as answer:
                _, leaf, _ = pkcs12.load_key_and_certificates(await answer.read(), SENHA.encode())
            assert leaf is not None
            assert (holder(leaf), leaf.not_valid_after_utc > datetime.now(UTC)) == (cnpj, good)
        assert (await session.get("/certificados/00000000000000.pfx")).status == 404


async def test_a_second_start_keeps_the_certificate(
    demo: Demo, database_url: str, redis_url: str, settings: Settings
) -> None:
    """The company's certificate is given once."""
    async with demo.house.database.transaction() as connection:
        before = (await connection.execute(_CURRENT, {"b_cnpj": NATIONAL_COMPANY.cnpj})).scalar_one()
    await proofs.demo.world._certify(demo.house, demo.house.settings, demo.world)
    async with demo.house.database.transaction() as connection:
        after = (await connection.execute(_CURRENT, {"b_cnpj": NATIONAL_COMPANY.cnpj})).scalar_one()
    assert after == before


@pytest.mark.parametrize(
    ("path", "status"), [("/api/v1/clientes", 401), ("/descadastro/nada", 404), ("/api/press", 403)]
)
async def test_other_systems_reach_the_demo(demo: Demo, path: str, status: int) -> None:
    """The API and the link of a mail are posted to by what is no page of the demo; the page's own paths are not."""
    async with aiohttp.ClientSession() as client, client.post(f"{demo.address}{path}") as answer:
        assert answer.status == status


async def test_the_page_answers_to_this_machines_names_alone(demo: Demo) -> None:
    """Another name that leads here would make a stranger's page the same origin (DNS rebinding)."""
    port = demo.address.rpartition(":")[2]
    statuses = {}
    async with aiohttp.ClientSession() as client:
        for host in ("127.0.0.1", "localhost", "[::1]", "evil.example", "localhost.evil.example"):
            async with client.get(f"{demo.address}/", headers={"Host": f"{host}:{port}"}) as answer:
                statuses[host] = answer.status
    assert statuses == {
        "127.0.0.1": 200, "localhost": 200, "[::1]": 200, "evil.example": 421, "localhost.evil.example": 421,
    }  # fmt: skip
