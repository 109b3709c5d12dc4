from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from persistence.access.accounts import Papel
from persistence.access.views import AT_MOST
from tests.narrowing import group

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Browser, Office

REFUSED = {"nome": "Recusadas de hoje", "ver": "todas", "estado": "rejeitado", "de": "1.500,00"}
THERE = "/console?ver=todas&estado=rejeitado&de=1.500%2C00"


async def _save(who: Browser, fields: dict[str, str]) -> tuple[int, str]:
    status, _, where = await who.post("/console/vistas", fields, form="/console")
    return status, where


async def _tabs(who: Browser, path: str = "/console") -> list[tuple[str, bool]]:
    """The person's own tabs: name, and whether it is the present one."""
    page = (await who.get(path))[1]
    found = re.findall(r'<a class="own"[^>]*?( aria-current="page")? data-testid="vista">([^<]*)</a>', page)
    return [(name, bool(here)) for here, name in found]


def _number(page: str) -> str:
    return group(r'action="/console/vistas/(\d+)/apagar"', page)


async def test_filters_get_a_name_and_a_tab(office: Office) -> None:
    """A saved view stands beside the lists, leads to its filters, is marked there, and goes when it is deleted."""
    async with office.at_work(Papel.LEITURA) as sara:
        assert 'data-testid="salvar-vista"' in (await sara.get(THERE))[1]
        assert await _save(sara, REFUSED) == (303, THERE)
        assert await _tabs(sara) == [("Recusadas de hoje", False)]
        assert await _tabs(sara, THERE) == [("Recusadas de hoje", True)]
        page = (await sara.get(THERE))[1]
        assert '<option value="rejeitado" selected>' in page
        assert 'data-testid="salvar-vista"' not in page
        status, _, where = await sara.post(f"/console/vistas/{_number(page)}/apagar", {}, form=THERE)
        assert (status, where) == (303, THERE)
        assert await _tabs(sara) == []


async def test_the_same_name_means_the_newest_filters(office: Office) -> None:
    """Saving under a name that exists makes no second tab."""
    async with office.at_work(Papel.LEITURA) as sara:
        await _save(sara, REFUSED)
        assert await _save(sara, {**REFUSED, "nome": "  Recusadas   de hoje ", "estado": "erro"}) == (
            303,
            "/console?ver=todas&estado=erro&de=1.500%2C00",
        )
        assert await _tabs(sara, THERE) == [("Recusadas de hoje", False)]


async def test_a_view_is_its_owners_alone(office: Office) -> None:
    """A colleague neither sees it nor deletes it, and whoever has an account anew begins without any."""
    async with office.at_work(Papel.ADMIN) as rita, office.at_work(Papel.LEITURA) as sara:
        await _save(sara, REFUSED)
        number = _number((await sara.get(THERE))[1])
        assert await _tabs(rita) == []
        assert (await rita.post(f"/console/vistas/{number}/apagar", {}, form="/console"))[0] == 303
        assert await _tabs(sara) == [("Recusadas de hoje", False)]
        await office.database.pool.execute("DELETE FROM staff WHERE nome = $1", sara.who.nome)
        assert not await office.database.pool.fetchval("SELECT count(*) FROM staff_vista WHERE id = $1", int(number))


async def test_what_makes_no_view_is_refused(office: Office) -> None:
    """No name, no filter, a name or a filter that is too long: nothing is stored."""
    async with office.at_work(Papel.LEITURA) as sara:
        for wrong in (
            {"nome": " "},
            {"nome": "x" * 41},
            {"estado": "inventado", "de": "muito"},
            {"atendente": "x" * 41},
            {"estado": "", "de": "", "atendente": "  "},
        ):
            assert (await _save(sara, {**REFUSED, **wrong}))[0] == 422
        assert await _tabs(sara) == []


async def test_nobody_has_more_than_twenty(office: Office) -> None:
    """The last free place is given once, however many presses come together; replacing one needs no place."""
    async with office.at_work(Papel.LEITURA) as sara:
        for number in range(AT_MOST - 1):
            await _save(sara, {**REFUSED, "nome": f"aba {number}"})
        page = (await sara.get(THERE))[1]
        token = group(r'name="csrf" value="([0-9a-f]+)"', page)
        together = (_save(sara, {**REFUSED, "nome": f"última {n}", "csrf": token}) for n in range(5))
        statuses = sorted(status for status, _ in await asyncio.gather(*together))
        assert statuses == [303, 409, 409, 409, 409]
        assert len(await _tabs(sara)) == AT_MOST
        assert "Você já tem 20 abas" in (await sara.post("/console/vistas", {**REFUSED, "csrf": token}))[1]
        assert (await _save(sara, {**REFUSED, "nome": "aba 3", "estado": "erro"}))[0] == 303


async def test_a_view_shows_no_more_than_its_owner_may_see(office: Office) -> None:
    """Who is bound to one company saves no filter on another's, and a view made before that shows nothing of it."""
    first, second = office.companies
    async with office.at_work(Papel.LEITURA, ("11.222.333/0001-81",)) as sara:
        assert (await _save(sara, {"nome": "a outra", "ver": "todas", "empresa": str(second)}))[0] == 404
        assert (await _save(sara, {"nome": "a minha", "ver": "todas", "empresa": str(first)}))[0] == 303
        await office.database.pool.execute(
            "UPDATE staff_vista SET filtros = jsonb_build_object('ver', 'todas', 'empresa', $1::text)",
            str(second),
        )
        status, page = await sara.get(f"/console?ver=todas&empresa={second}")
        assert (status, "Nada com estes filtros" in page) == (200, True)


async def test_a_name_is_text_and_nothing_else(office: Office) -> None:
    """Markup in a name is shown as it was typed."""
    async with office.at_work(Papel.LEITURA) as sara:
        await _save(sara, {**REFUSED, "nome": "<b>oi</b>"})
        assert [name for name, _ in await _tabs(sara)] == ["&lt;b&gt;oi&lt;/b&gt;"]
