"""Answers with characters, numbers and depths that PostgreSQL cannot store: nothing of ours gets stuck on them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest
from pydantic import SecretStr

from extractor.model.prompt import NOTHING
from proofs.sandbox.model import Reply
from proofs.sandbox.plugnotas.model import CANCELLED
from tests.road.road_people import FULL, PADARIA, open_road, unlike, until
from tests.road.tampering import ODD, UNREADABLE, Tamper, beside, tampered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.world import World
    from tests.road.road_people import Person, Road

NEWEST = "SELECT coalesce(max(id), 0) FROM inbox"
STUCK = "SELECT count(*) FROM inbox WHERE (estado = 2 OR tentativas > 0) AND id > $1"  # others' rows are older


@dataclass
class Ways:
    """The road, and what stands before each simulator."""

    road: Road
    gateway: Tamper
    register: Tamper
    meta: Tamper
    model: Tamper


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str) -> AsyncIterator[Ways]:
    async with AsyncExitStack() as stack:
        found: dict[str, Tamper] = {}

        async def between(world: World) -> dict[str, Any]:
            urls = world.urls
            settings: dict[str, Any] = {"openai_api_key": SecretStr("sk-test"), "openai_model": world.model.model}
            for name, url in (
                ("plugnotas_url", urls.plugnotas),
                ("cnpj_api_url", urls.cnpj_api),
                ("whatsapp_api_url", urls.whatsapp_api),
                ("openai_base_url", urls.openai_base),
            ):
                settings[name], found[name] = await stack.enter_async_context(tampered(url))
            return settings

        road = await stack.enter_async_context(open_road(database_url, redis_url, between=between))
        yield Ways(
            road,
            gateway=found["plugnotas_url"],
            register=found["cnpj_api_url"],
            meta=found["whatsapp_api_url"],
            model=found["openai_base_url"],
        )


@pytest.fixture
async def ways(opened: Ways) -> AsyncIterator[Ways]:
    """Every way clean, all faults mended, nothing remembered of companies, and afterwards nobody's message failed."""
    for tamper in (opened.gateway, opened.register, opened.meta, opened.model):
        tamper.stop()
        tamper.where, tamper.struck = "", 0
    for simulator in opened.road.world.simulators:
        simulator.faults.clear()
    opened.road.world.model.answer_with(lambda _: Reply({**NOTHING, "ato": "informar", "valor": "não sei"}))
    await opened.road.database.pool.execute("DELETE FROM cnpj_cache")
    newest = await opened.road.database.pool.fetchval(NEWEST)
    yield opened
    assert await opened.road.database.pool.fetchval(STUCK, newest) == 0


async def _one_note(road: Road, person: Person) -> None:
    await road.settled()
    assert len(await road.notes(person)) == 1


async def _key(road: Road, person: Person) -> str:
    return str((await road.reached(person, "processando"))["id_integracao"])


@pytest.mark.parametrize("odd", ODD)
async def test_an_answer_of_the_gateway_that_cannot_be_stored_settles_its_invoice(ways: Ways, odd: str) -> None:
    """To the order and to every question: the invoice is issued, delivered, and every call is on record."""
    ways.gateway.members = beside(ODD[odd], "mensagem", "protocol", "cStat", "novo")
    ana = await ways.road.person()
    await ana.issue()
    await _one_note(ways.road, ana)
    assert ways.gateway.struck >= 2
    kept = await ways.road.database.pool.fetch(
        "SELECT resultado FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
        "WHERE e.id_integracao = $1",
        (await ways.road.session(ana))["id_integracao"],
    )
    assert {"Accepted", "Found"} <= {row["resultado"] for row in kept}


@pytest.mark.parametrize("odd", ODD)
async def test_a_refusal_that_cannot_be_stored_is_told(ways: Ways, odd: str) -> None:
    """The authority's refusal reaches its person, whatever stands beside it."""
    ways.road.world.plugnotas.faults.set("rejeitar", times=1)
    ways.gateway.members = beside(ODD[odd], "protocol", "novo")
    ana = await ways.road.person()
    await ana.say(unlike())
    assert "não foi aceita" in (await ana.press("Confirmar")).text


@pytest.mark.parametrize("unreadable", UNREADABLE)
async def test_an_unreadable_answer_of_the_gateway_tells_nothing(ways: Ways, unreadable: str) -> None:
    """It is asked again, nothing is sent twice, and the first answer that can be read settles the invoice."""
    ways.gateway.members = b'"novo": ' + UNREADABLE[unreadable]
    ana = await ways.road.person()
    await ana.say(unlike())
    await ana.touch("Confirmar")
    key = await _key(ways.road, ana)

    async def asked() -> bool:
        return bool(
            await ways.road.database.pool.fetchval(
                "SELECT EXISTS (SELECT FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
                "WHERE e.id_integracao = $1 AND t.resultado = 'CannotTell' AND t.resposta IS NOT NULL)",
                key,
            )
        )

    await until(asked)
    ways.gateway.stop()
    await ana.files()
    await _one_note(ways.road, ana)
    orders = ways.road.world.plugnotas.ledger.of("note.created")
    assert sum(record.data["payload"]["idIntegracao"] == key for record in orders) == 1


async def test_an_invoice_that_a_release_before_could_not_settle_is_settled(ways: Ways) -> None:
    """Left under a lease that ran out, with its order sent and no answer stored: the next question ends it."""
    ways.road.world.plugnotas.faults.set("perder_resposta", times=1)
    ways.road.world.plugnotas.faults.set("sem_webhook")
    ways.road.world.plugnotas.faults.set("erro_500", method="GET")
    ana = await ways.road.person()
    await ana.say(unlike())
    await ana.touch("Confirmar")
    key = await _key(ways.road, ana)
    pool = ways.road.database.pool
    asked = "SELECT lease_until IS NULL AND consultas > 0 FROM nfse_emissao WHERE id_integracao = $1"
    await until(lambda: pool.fetchval(asked, key))
    ways.gateway.members = beside(ODD["NUL"], "mensagem", "protocol")
    await pool.execute(
        "UPDATE nfse_emissao SET status = 'enviando', epoch = epoch + 40, lease_until = now() - interval '1 s', "
        "proxima_acao_em = now() - interval '1 day' WHERE id_integracao = $1",
        key,
    )
    ways.road.world.plugnotas.faults.clear()
    ways.road.house.pumps["emissions"].ring()
    await ana.files()
    await _one_note(ways.road, ana)


@pytest.mark.parametrize("odd", ODD)
async def test_a_cancellation_survives_what_the_gateway_says(ways: Ways, odd: str) -> None:
    """The order to cancel and the questions after it are answered with what cannot be stored: it is cancelled."""
    ana = await ways.road.person()
    await ana.issue()
    await ways.road.settled()
    [note] = await ways.road.notes(ana)
    ways.gateway.members = beside(ODD[odd], "mensagem", "novo")
    await ana.say(f"cancela a nota {note.numero}")
    await ana.say("valor errado, vou emitir outra")
    await ana.press("Cancelar a nota")
    await ana.expect(f"Nota {note.numero} cancelada")
    await ways.road.settled()
    assert ways.road.world.plugnotas.notes[note.id].situacao == CANCELLED


@pytest.mark.parametrize("odd", ODD)
async def test_what_the_register_says_costs_nobody_their_message(ways: Ways, odd: str) -> None:
    """The name is shown, the entry is remembered, and the invoice goes its way."""
    ways.register.members = beside(ODD[odd], "nome_fantasia", "email", "descricao_situacao_cadastral", "capital_social")
    ana = await ways.road.person()
    summary = await ana.say(unlike())
    assert "PADARIA DO ZÉ" in summary.text
    assert ways.register.struck == 1
    assert await ways.road.database.pool.fetchval("SELECT dados IS NOT NULL FROM cnpj_cache") is True
    await ana.touch("Confirmar")
    await ana.files()
    await _one_note(ways.road, ana)


@pytest.mark.parametrize("odd", [name for name in ODD if ODD[name].startswith(b'"')])
async def test_a_name_that_cannot_be_stored_is_shown_without_what_spoils_it(ways: Ways, odd: str) -> None:
    """The register's name itself has the odd character: it stands in the summary and in the note as far as it can."""
    ways.register.members = b'"razao_social": ' + ODD[odd].replace(b'"', b'"PADARIA ', 1)
    ana = await ways.road.person()
    summary = await ana.say(unlike())
    assert "PADARIA a" in summary.text or "PADARIA ?" in summary.text  # as it is signed
    await ana.touch("Confirmar")
    await ana.files()
    await _one_note(ways.road, ana)


@pytest.mark.parametrize("unreadable", [name for name in UNREADABLE if "brackets" in name or "levels" in name])
async def test_an_unreadable_register_blocks_nothing(ways: Ways, unreadable: str) -> None:
    """The summary says that the name was not found, and nothing is remembered."""
    ways.register.members = b'"novo": ' + UNREADABLE[unreadable]
    ana = await ways.road.person()
    assert "sem nome" in (await ana.say(unlike())).text
    assert await ways.road.database.pool.fetchval("SELECT count(*) FROM cnpj_cache") == 0


@pytest.mark.parametrize("odd", ODD)
async def test_an_answer_of_meta_that_cannot_be_stored_sends_nothing_twice(ways: Ways, odd: str) -> None:
    """Every message is settled by the answer to its one sending."""
    ways.meta.members = beside(ODD[odd], "novo", "error_data")
    ana = await ways.road.person()
    await ana.issue()
    await _one_note(ways.road, ana)
    assert len(ana.answers) == 3


@pytest.mark.parametrize("odd", [name for name in ODD if ODD[name].startswith(b'"')])
async def test_an_id_of_meta_that_cannot_be_stored_sends_nothing_twice(ways: Ways, odd: str) -> None:
    """A message that Meta took under such an id is sent: nobody gets it again because its id cannot be written."""
    wamid = ODD[odd].replace(b'"', b'"wamid.%s' % str(len(odd)).encode(), 1)
    ways.road.world.meta.faults.set("sem_webhook")
    ways.meta.members, ways.meta.where = b'"messages": [{"id": %s}]' % wamid, "/messages"
    ana = await ways.road.person()
    await ana.say(unlike())
    row = await until(
        lambda: ways.road.database.pool.fetchrow("SELECT * FROM outbox WHERE wamid LIKE $1", f"wamid.{len(odd)}%")
    )
    assert (row["status"], row["tentativas"]) == ("enviado", 1)


@pytest.mark.parametrize("code", [b"99999999999", b"9" * 6000, b'"99999999999"', b"1e99999999999999999999"])
async def test_an_error_code_of_meta_out_of_every_range_is_an_unknown_one(ways: Ways, code: bytes) -> None:
    """The message that Meta refused is given up once, and told to the operator."""
    ways.meta.members, ways.meta.where = b'"error": {"code": %s, "message": "\\u0000"}' % code, "/messages"
    ana = await ways.road.person()
    await ana.tell(unlike())
    conversa = ways.road.conversation(ana)
    row = await until(
        lambda: ways.road.database.pool.fetchrow(
            "SELECT * FROM outbox WHERE conversa = $1 AND status IN ('falhou', 'enviado')", conversa
        )
    )
    assert row["run_at"] is None


@pytest.mark.parametrize("odd", ["a\x00b", "a\ud83d", "\udc00b"])
async def test_words_that_cannot_be_stored_are_answered(ways: Ways, odd: str) -> None:
    """A person's name and words with odd characters, and keys that nobody knows: the summary comes, and the invoice."""
    ana = await ways.road.person()
    meta = ways.road.world.meta
    said = meta.said(ana.who, {"type": "text", "text": {"body": f"{FULL} {odd}"}, odd: {odd: odd}}, name=f"Ana {odd}")
    await meta.deliver_batch([said])
    assert "R$ 1.500,00" in (await ana.expect()).text
    await ana.touch("Confirmar")
    await ana.files()
    await _one_note(ways.road, ana)


@pytest.mark.parametrize("odd", ODD)
async def test_a_hint_that_cannot_be_stored_is_followed(ways: Ways, odd: str) -> None:
    """The gateway's own webhook with odd JSON beside the note's key: the note is read again and the invoice ends."""
    world = ways.road.world
    world.plugnotas.faults.set("sem_webhook")
    world.plugnotas.faults.set("erro_500", method="GET")
    ana = await ways.road.person()
    await ana.say(unlike())
    await ana.touch("Confirmar")
    key = await _key(ways.road, ana)
    raw = b'{"idIntegracao": "%s", %s}' % (key.encode(), beside(ODD[odd], "mensagem", "id"))
    secret = world.config.plugnotas.webhook_secret
    async with aiohttp.ClientSession() as session:
        url = f"{ways.road.address}/webhooks/gateway/{secret}"
        async with session.post(url, data=raw, headers={"X-Prosa-Secret": secret}) as answer:
            assert answer.status == 200
    pool = ways.road.database.pool
    kept = "SELECT webhook_payload IS NOT NULL FROM nfse_emissao WHERE id_integracao = $1"
    await until(lambda: pool.fetchval(kept, key))
    world.plugnotas.faults.clear()
    await ana.files()
    await _one_note(ways.road, ana)


@pytest.mark.parametrize("odd", ODD)
async def test_what_a_model_says_costs_nobody_their_message(ways: Ways, odd: str) -> None:
    """Around its answer and in it, in its counts too: the rules finish the conversation."""
    value = ODD[odd]
    ways.model.members = b'"novo": %s, "usage": {"prompt_tokens": %s, "completion_tokens": %s}' % (value, value, value)
    said = orjson.dumps({**NOTHING, "ato": "informar", "valor": "1500", "descricao": "MARK"})
    inner = said.replace(b'"MARK"', value if value.startswith(b'"') else b"null").decode("utf-8", "replace")
    ways.road.world.model.answer_with(lambda _: Reply(inner))
    ana = await ways.road.person()
    await ana.say("bom dia, então, queria ver com vocês aquela história da nota")
    assert ways.model.struck
    ways.model.stop()  # a model that is well again reads the order: three failures in a row would silence it
    ways.road.world.model.answer_with(lambda _: Reply({**NOTHING, "ato": "informar", "valor": "1500"}))
    await ana.tell(f"nota de 1500 pra {PADARIA}, consultoria de marketing")
    await ways.road.world.meta.wait_for(ana.who, lambda b: any(x.title == "Confirmar" for x in b.buttons), 30.0)
    await ana.touch("Confirmar")
    await ways.road.world.meta.wait_for(ana.who, lambda b: b.attachment is not None, 30.0)
    await _one_note(ways.road, ana)
