"""Chooses the extractor: two readers, behind a model when there is a key; counts what the model takes."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog

from extractor.hybrid import HybridExtractor
from extractor.two_readers import TwoReaders
from persistence.conversations import model_use
from persistence.db.outage import is_outage
from state_machine.protocol.breaker import Breaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bot.settings import Settings
    from extractor.contract import Context, Extraction, Extractor
    from persistence.db.engine import Database

log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_extractor(
    settings: Settings,
    guard: Callable[[], None],
    watch: Callable[[str], Callable[[bool], None]],
    may_ask: Callable[[str], Awaitable[bool]],
) -> AsyncIterator[Extractor]:
    """Open the extractor of these settings; ``guard`` is called before anything leaves for a model.

    ``watch`` returns what the model's breaker, where there is one, tells its changes to; ``may_ask`` tells whether the
    budget of a conversation allows a question.
    """
    key = settings.openai_api_key.get_secret_value()
    if not key:
        yield TwoReaders()
        return
    from extractor.model.openai_client import ModelClient  # noqa: PLC0415 - the SDK takes most of a second to import

    client = ModelClient(
        api_key=key,
        base_url=settings.openai_base_url,
        model=settings.openai_model,
        before_request=guard,
        breaker=Breaker(clock=time.monotonic, on_change=watch("modelo")),
    )
    async with HybridExtractor(client, may_ask) as extractor:
        yield extractor


class MeteredExtractor:
    """An extractor that reads as the one inside it does; ``modelo`` is what its model is called."""

    def __init__(self, inside: Extractor, database: Database, modelo: str) -> None:
        self._inside = inside
        self._database = database
        self._modelo = modelo

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn, and count."""
        leitura = await self._inside.extract(texto, contexto)
        if leitura.uso is not None:
            try:
                async with self._database.alone() as connection:
                    await model_use.add(connection, self._modelo, **asdict(leitura.uso))
            except Exception as error:  # noqa: BLE001 - the words were read: asking again would only cost more
                log.warning("model_use_not_counted", error=type(error).__name__, outage=is_outage(error))
        return leitura
