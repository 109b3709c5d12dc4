"""Tells other systems what became of notes and proposals, signed as Standard Webhooks says, at least once.

Each happening keeps its ``webhook-id`` at every try, by which a receiver knows what it has heard.
"""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final, Protocol

import orjson
import structlog

from gateway.http.guarded import Told
from persistence.api import hooks
from persistence.api.hooks import TakenDelivery
from persistence.crypto import Vault
from persistence.db.engine import Database
from telemetry.metrics import Metrics

LADDER: Final = (5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 50400.0)  # seconds after each failure; then given up
CONCURRENCY: Final = 20
OF_ONE: Final = CONCURRENCY // 2  # of one company at most: its server may let each wait for all of its time
GONE: Final = 410
_SUCCESS: Final = range(200, 300)

log = structlog.get_logger(__name__)


class Poster(Protocol):
    """The way to addresses that others chose."""

    async def post(self, address: str, content: bytes, headers: dict[str, str]) -> Told:
        """Send it once."""


def signed(delivery: TakenDelivery, secret: str, moment: int) -> tuple[bytes, dict[str, str]]:
    """Return the body that tells of a happening, and the headers by which its receiver knows that we sent it."""
    content = orjson.dumps(_told(delivery.row))
    name, seconds = str(delivery.id), str(moment)
    key = base64.b64decode(secret.removeprefix(hooks.PREFIX))
    signature = base64.b64encode(hmac.digest(key, f"{name}.{seconds}.".encode() + content, "sha256")).decode()
    return content, {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{signature}",
    }


def _told(row: Any) -> dict[str, Any]:
    return {
        "type": row.evento,
        "timestamp": row.criado_em.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": {
            "empresa": row.cnpj,
            "proposta_id": row.proposta_id,
            "documento_fiscal": row.documento_fiscal,
            "numero": row.numero,
            "chave": row.chave,
            "valor": None if row.valor is None else str(row.valor),
            "tomador": {"nome": row.nome, "documento": row.documento},
            "estado": row.evento.partition(".")[2],
        },
    }


class Hooks:
    """Works on deliveries; any number of replicas. ``ladder``: seconds after each failure, then it is given up."""

    lease_seconds = hooks.LEASES.seconds
    concurrency = CONCURRENCY

    def __init__(
        self, database: Database, cofre: Vault, poster: Poster, metrics: Metrics, ladder: Sequence[float] = LADDER
    ) -> None:
        self._database, self._cofre, self._poster, self._ladder = database, cofre, poster, ladder
        self._metrics = metrics

    async def claim(self, limit: int) -> list[TakenDelivery]:
        """Take deliveries that are due."""
        async with self._database.alone() as connection:
            return await hooks.claim(connection, self._cofre, limit, OF_ONE)

    async def renew(self, delivery: TakenDelivery) -> bool:
        """Give a sign of life."""
        return await hooks.LEASES.keep(self._database, delivery)

    async def work(self, delivery: TakenDelivery) -> bool:
        """Send one, and store what became of it; never raises."""
        try:
            if time.monotonic() - delivery.taken_at < self.lease_seconds or await self.renew(delivery):
                await self._settle(delivery, await self._sent(delivery))
        except Exception as error:
            log.exception("webhook_failed", error=type(error).__name__)  # its lease runs out, and it goes again
        return False

    async def _sent(self, delivery: TakenDelivery) -> Told:
        if delivery.segredo is None:
            return Told(None, "sem_chave_mestra")
        content, headers = signed(delivery, delivery.segredo, int(time.time()))
        return await self._poster.post(delivery.url, content, headers)

    async def _settle(self, delivery: TakenDelivery, told: Told) -> None:
        falha = told.why or f"HTTP {told.status}"
        left = () if told.status == GONE else tuple(self._ladder[delivery.tentativas - 1 :])
        async with self._database.transaction() as connection:
            if told.status in _SUCCESS:
                await hooks.delivered(connection, delivery)
                return
            if told.status == GONE:
                ours = await hooks.gone(connection, delivery, falha)
            else:
                ours = await hooks.failed(connection, delivery, falha, left[0] if left else None)
        if ours and not left:
            self._metrics.hooks_given_up.inc()
            event = "webhook_gone" if told.status == GONE else "webhook_given_up"
            log.warning(event, webhook=str(delivery.webhook_id), reason=falha)
