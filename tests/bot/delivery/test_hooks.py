"""What other systems are told of notes, over real HTTP to a receiver that goes wrong: signed, and at least once."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from standardwebhooks import Webhook

from bot.delivery.hooks import LADDER, Hooks
from bot.loops.pump import Pump
from gateway.http.guarded import FORBIDDEN, Guarded
from persistence.api import hooks
from persistence.api.hooks import MOST, TooManyHooksError
from persistence.crypto import Vault
from persistence.db.engine import Database
from persistence.fiscal import issued, notes
from state_machine.cancellation.machine import StatusNota
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import Nota, Situacao
from telemetry.metrics import Metrics
from tests import stored_work
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COFRE = Vault((bytes(32),))
HERE = networks("127.0.0.0/8")
ALL: list[hooks.Evento] = [
    *("nota.autorizada", "nota.cancelada", "nota.recusada", "proposta.recusada", "proposta.expirada")
]


@dataclass
class Receiver:
    """Somebody else's system: it keeps what it hears, and answers each time with the next fault, or 204."""

    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    faults: list[Any] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Keep it, and go wrong as was asked."""
        self.heard.append(({name.lower(): value for name, value in request.headers.items()}, await request.read()))
        fault = self.faults.pop(0) if self.faults else 204
        return web.Response(status=fault) if isinstance(fault, int) else await fault(request)

    @property
    def ids(self) -> list[str]:
        """What it is told apart by."""
        return [headers["webhook-id"] for headers, _ in self.heard]

    def verified(self, secret: str) -> list[Any]:
        """Return what it heard, each verified by the outside's own library."""
        return [Webhook(secret).verify(content, headers) for headers, content in self.heard]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    app = web.Application()
    app.router.add_post("/hooks", found.answer)
    async with TestServer(app) as server:
        found.url = str(server.make_url("/hooks"))
        yield found


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await stored_work.clear(opened)
    yield opened
    await opened.close()


async def endpoint(database: Database, emissao_id: int, url: str, eventos: list[hooks.Evento] = ALL) -> Any:
    """Have the company of an emission told at ``url``; return id and secret."""
    company = (await stored_work.row(database, "nfse_emissao", emissao_id))["prestador_id"]
    async with database.transaction() as connection:
        return await hooks.add(connection, COFRE, company, quem="prosa_live_12345678", url=url, eventos=eventos)


def worker(
    database: Database,
    *,
    seconds: float = 15.0,
    cofre: Vault = COFRE,
    metrics: Metrics | None = None,
    **options: Any,
) -> Pump[hooks.TakenDelivery]:
    """One process's pump."""
    works = Hooks(database, cofre, Guarded(HERE, seconds=seconds), metrics or Metrics(), **options)
    return Pump("webhooks", works.claim, works.work, works.renew, lease_seconds=30, concurrency=2)


async def tell(database: Database, emissao_id: int, evento: hooks.DaNota = "nota.autorizada") -> None:
    async with database.transaction() as connection:
        hooks.tell_note(connection, evento, emissao_id)


async def due(database: Database) -> None:
    """Let what waits for its time be due now."""
    await database.pool.execute("UPDATE webhook_entrega SET a_partir_de = now() WHERE estado = 'pendente'")


async def states(database: Database) -> list[tuple[str, str | None]]:
    rows = await database.pool.fetch("SELECT estado, falha FROM webhook_entrega ORDER BY criado_em, chave")
    return [(row["estado"], row["falha"]) for row in rows]


async def test_a_note_is_told_as_it_stands_and_verified_by_the_outside(database: Database, receiver: Receiver) -> None:
    """Number, key, value and customer are there, and the library of Standard Webhooks takes the signature."""
    emissao_id = await stored_work.emission(database)
    _, secret = await endpoint(database, emissao_id, receiver.url)
    nota = Nota("x", "", Situacao.AUTORIZADA, numero="42", chave="9" * 50)
    async with database.transaction() as connection:
        notes.record_note(connection, emissao_id, nota, conteudo_visto=True)
    async with database.transaction() as connection:
        assert await issued.mark(connection, emissao_id, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO)
    await worker(database).run_once()
    company = await database.pool.fetchval("SELECT cnpj FROM empresa")
    told = {
        "empresa": company,
        "proposta_id": None,
        "documento_fiscal": "nfse",
        "numero": "42",
        "chave": "9" * 50,
        "valor": "1500.00",
        "tomador": {"nome": None, "documento": "12345678000195"},
    }
    heard = sorted(receiver.verified(secret), key=lambda each: str(each["type"]))
    assert [each["type"] for each in heard] == ["nota.autorizada", "nota.cancelada"]
    assert [each["data"] for each in heard] == [{**told, "estado": "autorizada"}, {**told, "estado": "cancelada"}]
    assert heard[0]["timestamp"].endswith("Z")
    assert len(set(receiver.ids)) == 2
    assert await states(database) == [("entregue", None)] * 2
    assert await worker(database).run_once() == 0


@pytest.mark.parametrize(("canal", "documento"), [("nacional", "nfse"), ("nfe", "nfe"), ("nfce", "nfce")])
async def test_which_document_it_is_stands_in_it(
    database: Database, receiver: Receiver, canal: str, documento: str
) -> None:
    """The first NFC-e and the first NFS-e have the same number."""
    emissao_id = await stored_work.emission(database, canal=canal)
    await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    await worker(database).run_once()
    [(_, content)] = receiver.heard
    assert json.loads(content)["data"]["documento_fiscal"] == documento


async def test_a_happening_is_one_row_for_each_endpoint_that_asked(database: Database, receiver: Receiver) -> None:
    """Told twice it is one; what was undone is none; another company and another happening are nobody's here."""
    emissao_id, other = await stored_work.emission(database), await stored_work.emission(database)
    await endpoint(database, emissao_id, receiver.url)
    await endpoint(database, emissao_id, receiver.url, ["nota.recusada"])
    with suppress(LookupError):
        async with database.transaction() as connection:
            hooks.tell_note(connection, "nota.autorizada", emissao_id)
            await connection.exec_driver_sql("SELECT 1")
            raise LookupError("it is undone")
    assert await states(database) == []
    for _ in range(2):
        await tell(database, emissao_id)
    await tell(database, other)
    assert await states(database) == [("pendente", None)]


async def test_a_note_that_another_took_the_place_of_is_told_as_cancelled(
    database: Database, receiver: Receiver
) -> None:
    """It is told of the old one, in the commit that records the new one."""
    old, company = await stored_work.issued(database, "41")
    emissao_id = await stored_work.emission(database, prestador_id=company, substitui_id=old)
    await endpoint(database, emissao_id, receiver.url)
    async with database.transaction() as connection:
        notes.record_note(connection, emissao_id, Nota("x", "", Situacao.AUTORIZADA, numero="42"), conteudo_visto=True)
        issued.replaced(connection, emissao_id)
    await worker(database).run_once()
    heard = {json.loads(content)["type"]: json.loads(content)["data"]["numero"] for _, content in receiver.heard}
    assert heard == {"nota.autorizada": "42", "nota.cancelada": "41"}
    assert await database.pool.fetchval("SELECT status FROM nfse_processada WHERE numero = '41'") == "cancelado"


async def test_what_fails_climbs_the_ladder_and_is_given_up(database: Database, receiver: Receiver) -> None:
    """The id stays through all tries, each waits for its step; given up it is shown, and goes again when asked."""
    emissao_id = await stored_work.emission(database)
    webhook_id, _ = await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    metrics = Metrics()
    pump = worker(database, metrics=metrics)
    receiver.faults = [500] * (1 + len(LADDER))
    for step in LADDER:
        await pump.run_once()
        waits = await database.pool.fetchval("SELECT a_partir_de - atualizado_em FROM webhook_entrega")
        assert abs(waits.total_seconds() - step) < 1
        assert await pump.run_once() == 0
        await due(database)
    assert b"prosa_hooks_given_up_total 0.0" in metrics.expose()
    await pump.run_once()
    assert await states(database) == [("desistida", "HTTP 500")]
    assert b"prosa_hooks_given_up_total 1.0" in metrics.expose()
    assert len(receiver.ids) == 1 + len(LADDER)
    assert len(set(receiver.ids)) == 1
    company = await database.pool.fetchval("SELECT empresa_id FROM webhook")
    async with database.transaction() as connection:
        (shown,) = await hooks.of_company(connection, company, Ambiente.PRODUCAO)
        assert (shown.pendentes, shown.desistidas, shown.falha) == (0, 1, "HTTP 500")
        assert await hooks.resend(connection, company, Ambiente.HOMOLOGACAO, webhook_id) is None
        assert await hooks.resend(connection, company, Ambiente.PRODUCAO, webhook_id) == 1
    await pump.run_once()
    assert await states(database) == [("entregue", None)]
    assert len(set(receiver.ids)) == 1


async def test_an_endpoint_that_is_gone_is_told_nothing(database: Database, receiver: Receiver) -> None:
    """Its 410 ends all that waits, and nothing new is kept for it until somebody asks."""
    emissao_id = await stored_work.emission(database)
    webhook_id, _ = await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    receiver.faults = [410]
    await worker(database).run_once()
    await tell(database, emissao_id, "nota.cancelada")
    assert await states(database) == [("desistida", "HTTP 410")]
    assert await database.pool.fetchval("SELECT desligado_em IS NOT NULL FROM webhook")
    company = await database.pool.fetchval("SELECT empresa_id FROM webhook")
    async with database.transaction() as connection:
        assert await hooks.resend(connection, company, Ambiente.PRODUCAO, webhook_id) == 1
    await tell(database, emissao_id, "nota.cancelada")
    await worker(database).run_once()
    assert await states(database) == [("entregue", None)] * 2


async def _elsewhere(request: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": str(request.url.with_path("/other"))})


async def _never(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65536)


async def _stuck(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"x")
    return await _never(request)


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (_elsewhere, ("pendente", "HTTP 307")),
        (_never, ("pendente", "demorou")),
        (_endless, ("entregue", None)),
        (_stuck, ("entregue", None)),
        (404, ("pendente", "HTTP 404")),
    ],
)
async def test_only_a_2xx_in_time_is_success(
    database: Database, receiver: Receiver, fault: Any, state: tuple[str, str | None]
) -> None:
    """No redirect is followed, no answer is waited for without end, and of a body nothing counts."""
    emissao_id = await stored_work.emission(database)
    await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    receiver.faults = [fault]
    await worker(database, seconds=1.0).run_once()
    assert await states(database) == [state]
    assert len(receiver.heard) == 1


async def test_nobody_listens(database: Database, receiver: Receiver) -> None:
    """A port without a server, and an address inside that is not permitted, wait for the next step."""
    emissao_id = await stored_work.emission(database)
    for url in ("http://127.0.0.1:9/x", "https://10.0.0.1/x"):
        await endpoint(database, emissao_id, url)
    await tell(database, emissao_id)
    await worker(database).run_once()
    assert {falha for _, falha in await states(database)} == {"ClientConnectorError", FORBIDDEN}
    assert receiver.heard == []


async def test_two_workers_deliver_once(database: Database, receiver: Receiver) -> None:
    """Each happening goes by one of them."""
    emissions = [await stored_work.emission(database) for _ in range(6)]
    for emissao_id in emissions:
        await endpoint(database, emissao_id, receiver.url)
        await tell(database, emissao_id)
    await asyncio.gather(worker(database).run_once(), worker(database).run_once())
    assert len(receiver.ids) == len(set(receiver.ids)) == 6
    assert await states(database) == [("entregue", None)] * 6


async def test_who_dies_between_sending_and_settling_is_followed_with_the_same_id(
    database: Database, receiver: Receiver
) -> None:
    """Another worker sends it again when the lease has run out; what the first one says late changes nothing."""
    emissao_id = await stored_work.emission(database)
    await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    first = Hooks(database, COFRE, Guarded(HERE), Metrics())
    (delivery,) = await first.claim(5)
    told = await first._sent(delivery)
    assert told.status == 204
    assert await worker(database).run_once() == 0
    await database.pool.execute("UPDATE webhook_entrega SET lease_until = now() - interval '1 s'")
    receiver.faults = [500]
    await worker(database).run_once()
    await first._settle(delivery, told)
    assert await states(database) == [("pendente", "HTTP 500")]
    assert len(receiver.ids) == 2
    assert len(set(receiver.ids)) == 1


async def test_a_slow_company_leaves_room_for_the_others(database: Database, receiver: Receiver) -> None:
    """It has half of the places at most, and who has fewest goes first."""
    slow, quick = await stored_work.emission(database), await stored_work.emission(database)
    for _ in range(5):
        await endpoint(database, slow, receiver.url)
    await tell(database, slow)
    await endpoint(database, quick, receiver.url)
    await tell(database, quick)
    async with database.transaction() as connection:
        taken = await hooks.claim(connection, COFRE, 4, 2)
    companies = await database.pool.fetch("SELECT id, empresa_id FROM webhook")
    of = {row["id"]: row["empresa_id"] for row in companies}
    assert len([each for each in taken if of[each.webhook_id] == max(of.values())]) == 1
    assert len(taken) == 3
    async with database.transaction() as connection:
        assert await hooks.claim(connection, COFRE, 4, 2) == []


async def test_secrets_are_sealed_and_go_with_the_key(database: Database, receiver: Receiver) -> None:
    """No secret stands in the table; a lost key is told as a failure, and a new one takes it over."""
    emissao_id = await stored_work.emission(database)
    _, secret = await endpoint(database, emissao_id, receiver.url)
    assert secret not in str(await database.pool.fetchrow("SELECT * FROM webhook"))
    await tell(database, emissao_id)
    for lost in (Vault(()), Vault((bytes([1] * 32),))):
        await worker(database, cofre=lost).run_once()
        assert await states(database) == [("pendente", "sem_chave_mestra")]
        await due(database)
    new = Vault((bytes([1] * 32), bytes(32)))
    async with database.transaction() as connection:
        assert await hooks.rekey(connection, Vault((bytes([1] * 32),))) == (0, [receiver.url])
        assert await hooks.rekey(connection, new) == (1, [])
    await worker(database, cofre=Vault((bytes([1] * 32),))).run_once()
    assert len(receiver.verified(secret)) == 1


async def test_a_company_has_twenty_endpoints_at_most(database: Database, receiver: Receiver) -> None:
    """Also when two are made at the same moment."""
    emissao_id = await stored_work.emission(database)
    for _ in range(MOST - 1):
        await endpoint(database, emissao_id, receiver.url)
    two = (endpoint(database, emissao_id, receiver.url) for _ in range(2))
    made = await asyncio.gather(*two, return_exceptions=True)
    assert len([each for each in made if isinstance(each, TooManyHooksError)]) == 1
    assert await database.pool.fetchval("SELECT count(*) FROM webhook") == MOST


async def test_what_was_told_long_ago_is_forgotten(database: Database, receiver: Receiver) -> None:
    """What waits stays."""
    emissao_id = await stored_work.emission(database)
    await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    await worker(database).run_once()
    await tell(database, emissao_id, "nota.cancelada")
    await database.pool.execute("UPDATE webhook_entrega SET atualizado_em = now() - interval '31 days'")
    async with database.transaction() as connection:
        assert await hooks.forget(connection) == 1
    assert await states(database) == [("pendente", None)]


async def test_who_was_frozen_sends_nothing_that_is_anothers(database: Database, receiver: Receiver) -> None:
    """Long after it took a delivery it asks first; while that is still its own, it goes."""
    emissao_id = await stored_work.emission(database)
    await endpoint(database, emissao_id, receiver.url)
    await tell(database, emissao_id)
    frozen = Hooks(database, COFRE, Guarded(HERE), Metrics())
    (taken,) = await frozen.claim(5)
    late = replace(taken, taken_at=taken.taken_at - 60)
    await database.pool.execute("UPDATE webhook_entrega SET lease_until = now() - interval '1 s'")
    (again,) = await Hooks(database, COFRE, Guarded(HERE), Metrics()).claim(5)
    await frozen.work(late)
    assert receiver.heard == []
    await frozen.work(replace(again, taken_at=again.taken_at - 60))
    assert await states(database) == [("entregue", None)]
    assert len(receiver.heard) == 1
