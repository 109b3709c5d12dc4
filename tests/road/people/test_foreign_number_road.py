from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import httpx
import orjson

from tests.patience import PATIENCE
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road

FOREIGN = "999888777666555"


async def test_a_signed_message_for_another_number_is_kept_and_opens_nothing(road: Road) -> None:
    """It is stored and acknowledged; no session, no answer, no conversation; the next one to us is answered as ever."""
    ana = await road.person()
    messages = [
        {"id": f"wamid.foreign.{n}", "from": ana.who, "type": "text", "text": {"body": FULL}, "timestamp": "1795262400"}
        for n in range(2)
    ]
    value = {"metadata": {"phone_number_id": FOREIGN}, "messages": messages}
    raw = orjson.dumps({"entry": [{"id": "W", "changes": [{"field": "messages", "value": value}]}]})
    secret = road.world.config.meta.app_secret.encode()
    signature = "sha256=" + hmac.new(secret, raw, hashlib.sha256).hexdigest()
    before = road.house.metrics.messages_foreign._value.get()
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        answer = await client.post(
            f"{road.address}/webhooks/whatsapp", content=raw, headers={"X-Hub-Signature-256": signature}
        )
    assert answer.status_code == 200
    await road.settled()
    lane = f"{FOREIGN}:{ana.who}"
    pool = road.database.pool
    assert await pool.fetchval("SELECT count(*) FROM inbox WHERE lane = $1 AND feito_em IS NOT NULL", lane) == 2
    assert await pool.fetchval("SELECT count(*) FROM session_snapshot WHERE conversa = $1", lane) == 0
    assert await pool.fetchval("SELECT count(*) FROM conversas WHERE conversa = $1", lane) == 0
    assert road.house.metrics.messages_foreign._value.get() - before == 2
    assert ana.answers == []
    assert "R$ 1.500,00" in (await ana.say(FULL)).text
