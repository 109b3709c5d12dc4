"""The certificate's whole road: asked for in the chat, sent by the page, told in the chat; and what is left of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from operations.company import add_company
from proofs.demo.world import COMPANY
from state_machine.values.local_time import SAO_PAULO
from tests.made_certificates import NOW, SENHA, company, pfx, rsa_key, traces
from tests.road.people.certificate_people import KEY, PUBLIC, TOKEN, ask, send
from tests.road.road_people import FULL, Person, new_phone, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Road


pytestmark = pytest.mark.usefixtures("signed_here")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    async with open_road(database_url, redis_url, public_url=PUBLIC, master_key=KEY) as opened:
        yield opened


async def test_asked_sent_and_told(road: Road) -> None:
    """The chat gives the link, the page takes the file, the chat says so; no table has token, password or key."""
    person, made = await road.person(), company()
    token = await ask(person)
    async with ClientSession() as session, session.head(f"{road.address}/certificado/{token}") as preview:
        assert preview.status == 200
    assert (await send(road.address, token, pfx(made), "errada"))[0] == 422
    status, text = await send(road.address, token, pfx(made))
    assert status == 200, text
    told = await person.expect("Recebi e conferi o certificado")
    assert "a senha não foi guardada" in told.text
    assert (await send(road.address, token, pfx(made)))[0] == 404
    await road.settled()
    secrets = [token.encode(), SENHA.encode(), *traces(made)]
    tables = await road.database.pool.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for (table,) in tables:
        for row in await road.database.pool.fetch(f"SELECT t::text FROM {table} t"):  # noqa: S608 - our tables
            assert not [secret for secret in secrets if secret in row[0].encode()], table


async def test_a_certificate_in_the_chat_is_left_there(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not fetched, nothing of it is stored, the password under it neither; the answer is the link."""
    person = await road.person()
    fetched: list[str] = []
    read = road.world.meta.read_media

    def fetch(media: str) -> bytes | None:
        fetched.append(media)
        return read(media)

    monkeypatch.setattr(road.world.meta, "read_media", fetch)
    await road.world.meta.user_media(
        person.who, pfx(), "application/x-pkcs12", filename="ana.pfx", caption=f"a senha é {SENHA}"
    )
    said = (await person.expect("Não abri nem guardei o arquivo")).text
    assert TOKEN.search(said)
    await road.settled()
    assert not fetched
    payload = await road.database.pool.fetchval(
        "SELECT payload::text FROM inbox WHERE lane = $1", road.conversation(person)
    )
    assert SENHA not in payload
    assert "ana.pfx" not in payload


async def test_beside_a_draft_nothing_is_lost(road: Road) -> None:
    """The link comes, the draft stays; a yes said after it does not confirm the summary before it."""
    person = await road.person()
    await person.say(FULL)
    await ask(person, "quero enviar o certificado")
    again = await person.say("sim")
    assert "Confere" in again.text or "Confirma" in again.text or "confirma" in again.text
    assert not await road.notes(person)
    await person.touch("Confirmar")
    await person.files()
    assert len(await road.notes(person)) == 1


async def test_a_certificate_may_be_what_is_sold(road: Road) -> None:
    """Asked for the service, the word is the service."""
    person = await road.person()
    await person.say("nota de 300 pra 12.345.678/0001-95")
    said = (await person.say("enviar certificado digital")).text
    assert "/certificado/" not in said
    assert "certificado digital" in said.lower()


async def test_who_belongs_to_no_company_gets_no_link(road: Road) -> None:
    """Neither for the words nor for a file."""
    person = await road.person(known=False)
    said = (await person.say("certificado")).text
    assert "não está ligado" in said
    assert "/certificado/" not in said
    await road.world.meta.user_media(person.who, pfx(), "application/x-pkcs12", filename="ana.pfx")
    await road.settled()
    assert "/certificado/" not in "".join(person.answers)


async def test_who_lost_the_right_gets_no_link_and_has_a_dead_one(road: Road) -> None:
    """The draft that lies open still lets them be heard, and refused kindly."""
    person = await road.person()
    await person.say(FULL)
    token = await ask(person, "enviar certificado")
    await road.database.pool.execute("UPDATE conversas SET usuario_id = NULL")
    await road.database.pool.execute("DELETE FROM usuario WHERE telefone = $1", person.who)
    assert (await send(road.address, token, pfx()))[0] == 404
    said = (await person.say("enviar certificado")).text
    assert "só pode ser enviado por quem emite" in said
    assert "/certificado/" not in said


async def test_two_people_of_a_company_have_one_open_link(road: Road) -> None:
    """The newer one ends the older."""
    ana, bruno = new_phone(), new_phone()
    await add_company(road.database, replace(COMPANY, usuarios=(ana, bruno)))
    first = await ask(Person(road.world, ana))
    second = await ask(Person(road.world, bruno))
    async with ClientSession() as session:
        for token, status in ((first, 404), (second, 200)):
            async with session.get(f"{road.address}/certificado/{token}") as answer:
                assert answer.status == status


async def test_the_end_is_told_before_it_comes(road: Road) -> None:
    """Once in the chat, by the certificate's own day, with what to do."""
    person = await road.person()
    await person.say("oi")
    await road.database.pool.execute("DELETE FROM empresa_certificado")
    ends = NOW + timedelta(days=6, hours=1)
    assert (await send(road.address, await ask(person), pfx(company(key=rsa_key("ending"), ends=ends))))[0] == 200
    await person.expect("Recebi e conferi o certificado")
    assert await road.house.schedule.run_job("certificate_warnings") >= 1
    said = await person.expect("vence em ")
    assert f"{ends.astimezone(SAO_PAULO):%d/%m/%Y}" in said.text
    assert "escreve _certificado_" in said.text
    assert await road.house.schedule.run_job("certificate_warnings") == 0
