from __future__ import annotations

import re
from typing import TYPE_CHECKING

from persistence.access.accounts import Papel

if TYPE_CHECKING:
    from tests.console.conftest import Browser, Office

STRANGERS = (
    "INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em) "
    "SELECT 'x:' || n, 'x', 'x' || n, now() FROM generate_series($1::int, $2::int) n"
)


async def _shown(who: Browser) -> dict[str, str]:
    page = (await who.get("/console"))[1]
    return dict(re.findall(r'data-testid="aba-(\w+)">[^<]*<span class="count[^"]*">([^<]*)</span>', page))


async def test_tabs_count_up_to_a_thousand(office: Office) -> None:
    """Every number up to 999 is exact; beyond it the tab says that there are more."""
    async with office.at_work(Papel.LEITURA) as sara:
        assert await _shown(sara) == {"atencao": "0", "desconhecidas": "0", "quarentena": "0"}
        await office.database.pool.execute(STRANGERS, 1, 999)
        assert (await _shown(sara))["desconhecidas"] == "999"
        await office.database.pool.execute(STRANGERS, 1000, 1200)
        assert (await _shown(sara))["desconhecidas"] == "999+"
    async with office.at_work(Papel.LEITURA, ("11.222.333/0001-81",)) as bound:
        assert await _shown(bound) == {"atencao": "0", "quarentena": "0"}
