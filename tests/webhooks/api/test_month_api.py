"""A month over the API: its sums, its files, and what names none."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

from operations.api import make_key
from persistence.people import channels
from state_machine.protocol.channel import Ambiente
from tests import stored_work
from tests.webhooks.api.conftest import OURS

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp


async def _ours(erp: Erp) -> int:
    async with erp.database.alone() as connection:
        return int((await channels.company(connection, "99000002000148")).id)


async def test_a_month_tells_its_sums_and_gives_its_files(erp: Erp) -> None:
    """Of the key's company alone."""
    ours = await _ours(erp)
    await stored_work.issued(erp.database, "1", ours)
    await stored_work.issued(erp.database, "3", ours, status="cancelado")
    await stored_work.issued(erp.database, "9")
    told = await erp.ask("GET", "/fechamentos/2026-11")
    assert told.body == {"mes": "2026-11", "notas": 1, "canceladas": 1, "total": "1500.00", "faltam": ["2"]}
    headers = {"Authorization": f"Bearer {erp.ours}"}
    async with erp.session.get(f"{erp.base}/api/v1/fechamentos/2026-11.zip", headers=headers) as answer:
        assert answer.headers["Content-Disposition"].endswith('-2026-11.zip"')
        assert answer.headers["Cache-Control"] == "no-store"
        names = zipfile.ZipFile(BytesIO(await answer.read())).namelist()
    assert {name.partition("/")[2] for name in names} >= {"NFSe-1.pdf", "NFSe-3-CANCELADA.xml"}
    async with erp.session.get(f"{erp.base}/api/v1/fechamentos/2026-11.csv", headers=headers) as answer:
        assert answer.content_type == "text/csv"
        assert (await answer.text(encoding="utf-8-sig")).startswith("Número;")


async def test_what_is_no_month_and_who_may_not_ask(erp: Erp) -> None:
    """A problem document, as everywhere."""
    assert (await erp.ask("GET", "/fechamentos/2026-13")).codigo == "nao_encontrado"
    assert (await erp.ask("GET", "/fechamentos/2026-13.zip")).codigo == "nao_encontrado"
    assert (await erp.ask("GET", "/fechamentos/2026-11.exe")).codigo == "nao_encontrado"
    (key,) = await make_key(erp.database, [OURS.cnpj], ["lotes:ler"], Ambiente.PRODUCAO)
    assert (await erp.ask("GET", "/fechamentos/2026-11.csv", chave=key)).codigo == "escopo_insuficiente"
