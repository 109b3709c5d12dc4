"""A system's list to addresses that never got a mail goes when one of the company's people says yes, and not before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from operations.batches import confirm, upload
from operations.company import add_company, remove_user
from persistence.access.accounts import Alcance
from persistence.batches import records
from proofs.demo.world import COMPANY
from proofs.sandbox.mailbox import Mailbox
from state_machine.protocol.channel import Canal
from tests.made_batches import QUEM, company, listed
from tests.road.road_people import FULL, Person, Road, open_road
from tests.webhooks.api.conftest import THEIRS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.db.connection import Row

SYSTEM = "prosa_live_abcd"


@pytest.fixture(scope="module")
def box() -> Mailbox:
    return Mailbox()


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str, box: Mailbox) -> AsyncIterator[Road]:
    async with box.listening() as port:
        settings: dict[str, Any] = {
            "smtp_url": SecretStr(f"smtp+plain://127.0.0.1:{port}"),
            "smtp_from": "notas@ana.com.br",
            "public_url": "https://prosa.exemplo.com.br",
        }
        async with open_road(database_url, redis_url, **settings) as road:
            yield road


@pytest.fixture
async def mailing(opened: Road) -> Road:
    """A road with a mail server, and a company without people and lists."""
    await opened.database.pool.execute("DELETE FROM lotes")
    await opened.database.pool.execute("UPDATE conversas SET ultima_entrada_em = now() - interval '2 days'")
    return opened


async def _both(road: Road) -> tuple[Person, Person]:
    people = await road.person(), await road.person()
    await add_company(road.database, replace(COMPANY, usuarios=tuple(each.who for each in people)))
    for each in people:
        await each.say("oi")
    return people


async def _sent(road: Road, nome: str, *emails: str) -> Row:
    """Return a list to which its system said yes."""
    lote, _ = await upload(road.database, await company(road.database), listed(nome, *emails), SYSTEM)
    return await _yes(road, lote)


async def _yes(road: Road, lote: Row) -> Row:
    await confirm(road.database, lote.id, revisao=lote.revisao, quem=SYSTEM, person=False)
    return await _now(road, lote)


async def _now(road: Road, lote: Row) -> Row:
    async with road.database.transaction() as connection:
        found = await records.by_id(connection, lote.id)
    assert found is not None
    return found


async def test_the_first_of_two_people_lets_it_go(mailing: Road, box: Mailbox) -> None:
    """Both see what goes; one yes is enough, the other is told; the next list to the same addresses asks nobody."""
    (ana, rui), before = await _both(mailing), len(box.kept)
    lote = await _sent(mailing, "a.csv", "um@x.com.br", "dois@x.com.br")
    assert (lote.estado, lote.pergunta_novos, lote.pergunta_pessoas) == ("aguardando_confirmacao", 2, 2)
    await _yes(mailing, lote)  # once more: nobody is asked twice
    for each in (ana, rui):
        asked = await each.expect(f"o lote {lote.id} (a.csv): 2 e-mails, 2 para quem nunca recebeu")
        assert "O primeiro, para um@x.com.br:\n*Suas notas*\nBom dia!" in asked.text
        assert [button.title for button in asked.buttons] == ["Enviar", "Não enviar"]
    assert len(box.kept) == before
    assert "2 e-mails começam a sair" in (await ana.press("Enviar")).text
    for title in ("Enviar", "Não enviar"):
        assert "já foi confirmado" in (await rui.press(title)).text
    await mailing.settled()
    assert sorted(mail.to for mail in box.kept[before:]) == ["dois@x.com.br", "um@x.com.br"]
    user = await mailing.database.pool.fetchval("SELECT id FROM usuario WHERE telefone = $1", ana.who)
    assert (await _now(mailing, lote)).confirmado_por == f"WhatsApp, usuário {user}"
    assert (await _sent(mailing, "b.csv", "dois@x.com.br", "UM@x.com.br")).confirmado_por == SYSTEM


async def test_a_no_stops_it(mailing: Road, box: Mailbox) -> None:
    """Nothing goes, and a draft that is open stays; the system's yes is none any more."""
    (ana, rui), before = await _both(mailing), len(box.kept)
    summary = await ana.say(FULL)
    lote = await _sent(mailing, "c.csv", "tres@x.com.br")
    await ana.expect("1 e-mail, 1 para quem nunca recebeu")
    await rui.expect("c.csv")
    answer = (await ana.press("Não enviar")).text
    assert f"Lote {lote.id} (c.csv) parado: 1 e-mail não sai mais" in answer
    assert "continua guardada" in answer
    assert "já foi parado" in (await rui.press("Enviar")).text
    assert ((await _now(mailing, lote)).estado, len(box.kept)) == ("cancelado", before)
    await ana.touch("Confirmar", of=summary)
    await ana.files()


async def test_the_button_of_what_changed_sends_nothing(mailing: Road, box: Mailbox) -> None:
    """Of other words, of another company, of who issues no longer, and of a list that a restore has wait again."""
    (ana, rui), before, pool = await _both(mailing), len(box.kept), mailing.database.pool
    lote = await _sent(mailing, "d.csv", "quatro@x.com.br")
    old = await ana.expect("d.csv")
    await rui.expect("d.csv")
    other = replace(listed("d.csv", "quatro@x.com.br"), mensagem="Boa tarde!")
    changed, _ = await upload(mailing.database, lote.empresa_id, other, QUEM)
    assert "mudou" in (await ana.press("Enviar", old)).text
    await _yes(mailing, changed)
    new = await ana.expect("Boa tarde!")
    assert "mudou" in (await ana.press("Enviar", old)).text
    async with mailing.database.transaction() as connection:
        await records.doubt(connection)
    assert "não espera este sim" in (await ana.press("Enviar", new)).text
    await _yes(mailing, changed)
    await ana.expect("Boa tarde!")
    await add_company(mailing.database, THEIRS, Canal("plugnotas"))
    moved = "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = $1) WHERE telefone = $2"
    assert await pool.execute(moved, "99000003000192", ana.who) == "UPDATE 1"
    await ana.press("Enviar")
    async with mailing.database.transaction() as connection:
        await remove_user(connection, ana.who, "", Alcance(todas=True), quem=QUEM, staff_id=None)
    await ana.press("Enviar")
    await pool.execute("UPDATE lotes SET usuario = 'prosa_test_abcd'")
    await rui.expect("Boa tarde!")
    await rui.expect("Boa tarde!")
    assert "outro ambiente" in (await rui.press("Enviar")).text
    assert ((await _now(mailing, lote)).estado, len(box.kept)) == ("aguardando_confirmacao", before)
