"""Counts in the database what an extractor's model takes, after each reading; a count never costs a turn."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog

from persistence.conversations import model_use
from persistence.db.outage import is_outage

if TYPE_CHECKING:
    from bot.ports import Extractor
    from extractor.contract import Context, Extraction
    from persistence.db.engine import Database

log = structlog.get_logger(__name__)


class Counted:
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
