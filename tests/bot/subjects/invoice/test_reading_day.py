"""The day that the extractor is told."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from bot.subjects.invoice.subject import read
from extractor.contract import Ato, Context, Extraction
from persistence.people.companies import Empresa

THEN = datetime(2026, 12, 1, 3, 30, tzinfo=UTC)


class Listener:
    """Hears what an extractor is told."""

    def __init__(self) -> None:
        self.told: list[Context] = []

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Find nothing."""
        self.told.append(contexto)
        return Extraction(Ato.DADOS)


@pytest.mark.parametrize(("municipio", "day"), [("1302603", date(2026, 11, 30)), ("3550308", date(2026, 12, 1))])
async def test_today_in_words_is_the_day_in_the_companys_city(municipio: str, day: date) -> None:
    """What "hoje" means is the same day as a competence that nobody said."""
    empresa = Empresa(1, "44555666000181", "ANA", "1", municipio, "mei", "01.01", None, None, THEN)
    listener = Listener()
    await read("nota de hoje", None, empresa, THEN, listener)
    assert [contexto.hoje for contexto in listener.told] == [day]
