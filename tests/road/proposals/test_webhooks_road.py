"""A company's system hears over real HTTP what became of its proposals and of every note, each happening once."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr
from standardwebhooks import Webhook

from proofs.sandbox.phone.switches import VALUE_REFUSED
from tests.road.proposals.erp import approver, erp_of
from tests.road.road_people import FULL, open_road, until
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.proposals.erp import Erp
    from tests.road.road_people import Person, Road

ALL = ["nota.autorizada", "nota.cancelada", "nota.recusada", "proposta.expirada", "proposta.recusada"]


@pytest.fixture(scope="module")
async def open_for_module(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """Open a road whose webhooks may lead to this machine."""
    key = SecretStr(base64.b64encode(bytes(32)).decode())
    here = networks("127.0.0.0/8")
    async with open_road(database_url, redis_url, master_key=key, webhook_redes_permitidas=here) as road:
        yield road


@pytest.fixture
async def ana(road: Road) -> Person:
    return await approver(road)


@pytest.fixture
async def erp(road: Road, ana: Person) -> Erp:
    return await erp_of(road)


class Heard:
    """What the company's system heard, verified."""

    def __init__(self) -> None:
        self.secret, self.told = "", dict[str, Any]()
        self.again = 0

    async def answer(self, request: web.Request) -> web.Response:
        """Take it; what came before is counted."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        said = Webhook(self.secret).verify(await request.read(), headers)
        self.again += headers["webhook-id"] in self.told
        self.told[headers["webhook-id"]] = said
        return web.Response(status=204)

    async def becomes(self, *types: str) -> list[Any]:
        """Wait until it has heard of so many and return what was told of each."""

        async def all_of_them() -> list[Any] | None:
            found = list(self.told.values())
            return found if len(found) >= len(types) else None

        found = sorted(await until(all_of_them), key=lambda each: types.index(each["type"]))
        assert [each["type"] for each in found] == [*types]
        return [each["data"] for each in found]


@pytest.fixture
async def heard(road: Road, erp: Erp) -> AsyncIterator[Heard]:
    found = Heard()
    app = web.Application()
    app.router.add_post("/", found.answer)
    await road.database.pool.execute("DELETE FROM webhook")
    async with TestServer(app) as server:
        made = await erp.post("/webhooks", {"url": str(server.make_url("/")), "eventos": ALL})
        found.secret = made["segredo"]
        yield found
        await road.settled()
        left = "SELECT evento, estado, falha FROM webhook_entrega WHERE estado <> 'entregue'"

        async def delivered() -> bool:  # who heard it answered; that this is stored comes after
            return not await road.database.pool.fetch(left)

        await until(delivered)
        assert await road.database.pool.fetchval("SELECT count(*) FROM webhook_entrega") == len(found.told)
        assert found.again == 0


async def test_a_proposals_note_is_told_when_it_is_issued_and_when_it_is_cancelled(
    road: Road, erp: Erp, ana: Person, heard: Heard
) -> None:
    """With the proposal's number, the note's, its value and customer."""
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await ana.files()
    (told,) = await heard.becomes("nota.autorizada")
    (note,) = await road.notes(ana)
    assert (told["proposta_id"], told["numero"], told["valor"]) == (proposta, note.numero, "1500.00")
    assert told["tomador"]["documento"] == "12345678000195"
    await ana.say(f"cancelar nota {note.numero}")
    summary = await ana.say("valor errado, vou emitir outra")
    await ana.press("Cancelar a nota", of=summary)
    _, cancelled = await heard.becomes("nota.autorizada", "nota.cancelada")
    assert cancelled == {**told, "estado": "cancelada"}


async def test_a_note_of_the_chat_is_told_without_a_proposal(ana: Person, heard: Heard) -> None:
    """It is the company's too."""
    await ana.issue(FULL)
    (told,) = await heard.becomes("nota.autorizada")
    assert told["proposta_id"] is None
    assert told["estado"] == "autorizada"


async def test_what_ends_without_a_note_is_told(road: Road, erp: Erp, ana: Person, heard: Heard) -> None:
    """The approver's no each time that it is said, the authority's, and a week of silence."""
    refused = await erp.proposes()
    await ana.expect("propôs esta nota")
    cancelled = await ana.press("Cancelar")
    await erp.becomes(refused, "recusada")
    (told,) = await heard.becomes("proposta.recusada")
    assert (told["proposta_id"], told["numero"], told["estado"]) == (refused, None, "recusada")
    assert (told["valor"], told["tomador"]["nome"]) == ("1500.00", "Padaria do João")
    await ana.press(cancelled.buttons[0].title)
    await ana.press("Cancelar")
    await erp.becomes(refused, "recusada")
    assert await heard.becomes("proposta.recusada", "proposta.recusada") == [told, told]
    road.world.plugnotas.faults.set("rejeitar", times=1, message=VALUE_REFUSED)
    rejected = await erp.proposes()
    await ana.expect("propôs esta nota")
    await ana.press("Confirmar")
    await erp.becomes(rejected, "rejeitada")
    *_, no = await heard.becomes("proposta.recusada", "proposta.recusada", "nota.recusada")
    assert (no["proposta_id"], no["numero"], no["estado"]) == (rejected, None, "recusada")
    away = "UPDATE conversas SET ultima_entrada_em = now() - interval '25 hours' WHERE conversa = $1"
    await road.database.pool.execute(away, road.conversation(ana))
    late = await erp.proposes()
    week = "UPDATE propostas SET enviada_em = now() - interval '169 hours' WHERE id = $1"
    await road.database.pool.execute(week, late)
    await road.house.schedule.run_job("proposals_overdue")
    *_, end = await heard.becomes("proposta.recusada", "proposta.recusada", "nota.recusada", "proposta.expirada")
    assert (end["proposta_id"], end["estado"]) == (late, "expirada")
