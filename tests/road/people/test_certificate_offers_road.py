"""Houses of their own: one whose whole output is searched for the token, and those that offer no link."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from tests.made_certificates import SENHA, company, pfx, rsa_key, traces
from tests.owner import as_owner
from tests.road.people.certificate_people import KEY, PUBLIC, ask, send
from tests.road.road_people import open_road
from tests.road.road_stage import open_stage

if TYPE_CHECKING:
    from pathlib import Path


# Signed with a certificate that is kept here.
NATIONAL = """
INSERT INTO empresa_canal (empresa_id, tipo, canal) SELECT id, 'servico', 'nacional' FROM empresa
ON CONFLICT (empresa_id, tipo) DO UPDATE SET canal = excluded.canal
"""
THERE = "DELETE FROM empresa_canal WHERE tipo = 'servico'"  # the gateway's, which keeps it


@pytest.mark.slow
async def test_no_output_has_the_token(
    database_url: str, redis_url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All that a process writes while the page is asked, refuses, fails and takes; a failure names only its kind."""
    changes: dict[str, Any] = {
        "PROSA_PUBLIC_URL": PUBLIC,
        "PROSA_MASTER_KEY": KEY.get_secret_value(),
        "PROSA_LOG_LEVEL": "DEBUG",
    }
    async with open_stage(database_url, redis_url, tmp_path, **changes) as stage:
        prosa = await stage.start("serve")
        address = next(str(entry["address"]) for entry in prosa.log if "address" in entry)
        person, made = await stage.person(), company(key=rsa_key("logged"))
        await stage.database.pool.execute(NATIONAL)
        token = await ask(person)
        assert (await send(address, token, pfx(made), "errada"))[0] == 422
        rename = "ALTER TABLE {} RENAME TO {}"
        await as_owner(stage.database.pool, rename.format("certificado_link", "fora"))
        assert (await send(address, token, pfx(made)))[0] == 500
        await as_owner(stage.database.pool, rename.format("fora", "certificado_link"))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rsplit(":", 1)[1]))
        writer.write(f"GET /certificado/{token} HTTP/1.1\r\nBroken header\r\n\r\n".encode())
        assert b"400" in await reader.readline()
        writer.close()
        assert (await send(address, token, pfx(made)))[0] == 200
        await person.expect("Recebi e conferi o certificado")
        await stage.database.pool.execute(THERE)
        await prosa.terminate()
    said = (json.dumps(prosa.log) + "".join(capfd.readouterr())).encode()
    for event in ("public_page_failed", "certificate_refused", "certificate_kept"):
        assert event.encode() in said
    assert not [secret for secret in (token.encode(), SENHA.encode(), *traces(made)) if secret in said]


async def test_who_issues_where_the_certificate_is_kept_is_asked_for_no_key(database_url: str, redis_url: str) -> None:
    """Neither for the words nor for a file; where else than there it would be used, the link comes."""
    async with open_road(database_url, redis_url, public_url=PUBLIC, master_key=KEY) as road:
        person, pool = await road.person(), road.database.pool
        await pool.execute(THERE)
        links = await pool.fetchval("SELECT count(*) FROM certificado_link")
        for asked in ("certificado", "quero trocar o certificado"):
            said = (await person.say(asked)).text
            assert "fica no emissor" in said
            assert "/certificado/" not in said
        await road.world.meta.user_media(person.who, pfx(), "application/x-pkcs12", filename="ana.pfx")
        await person.expect("Não abri nem guardei o arquivo")
        assert await pool.fetchval("SELECT count(*) FROM certificado_link") == links
        await pool.execute(NATIONAL)
        await ask(person)
        await pool.execute(THERE)


@pytest.mark.usefixtures("signed_here")
@pytest.mark.parametrize("changes", [{"public_url": ""}, {"master_key": SecretStr("")}], ids=["no address", "no key"])
async def test_an_installation_without_links_says_whom_to_ask(
    database_url: str, redis_url: str, changes: dict[str, Any]
) -> None:
    """No link is made, and no page is served without an address."""
    settings: dict[str, Any] = {"public_url": PUBLIC, "master_key": KEY} | changes
    async with open_road(database_url, redis_url, **settings) as road:
        person = await road.person()
        before = await road.database.pool.fetchval("SELECT count(*) FROM certificado_link")
        said = (await person.say("certificado")).text
        assert "quem cuida da instalação" in said
        assert await road.database.pool.fetchval("SELECT count(*) FROM certificado_link") == before
        async with ClientSession() as session, session.get(f"{road.address}/certificado/x") as answer:
            assert answer.status == 404
            assert ("Este link" in await answer.text()) is bool(settings["public_url"])
