from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from persistence.access.accounts import Papel
from tests.narrowing import group

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Browser, Desk

PATH = "/console/falhas/grupo/resolver"
OTHER = "12.345.678/0001-95"


async def _link(who: Browser) -> str:
    """The address of the first group in the list."""
    page = (await who.get("/console/falhas?dias=7"))[1]
    return html.unescape(group(r'href="(/console/falhas/grupo\?[^"]+)"', page))


async def _form(who: Browser, link: str) -> dict[str, str]:
    """What the group's page would send."""
    page = (await who.get(link))[1]
    fields = re.findall(r'name="(csrf|chave|codigo|status|cidade|dias|faz|visto)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in fields}


async def _resolves(who: Browser, motivo: str = "código acertado", **changes: str) -> int:
    return (await who.post(PATH, {**await _form(who, await _link(who)), "motivo": motivo, **changes}))[0]


async def _open_ones(who: Browser, link: str) -> set[str]:
    return set(
        re.findall(r'data-testid="plano"><td><a class="mono" href="/console/sessoes/([^"]+)"', (await who.get(link))[1])
    )


async def test_a_resolved_group_is_open_no_more_until_it_fails_again(desk: Desk) -> None:
    """It needs a reason, is audited once, leaves nothing to rehearse, and comes back with the next failure alone."""
    pool = desk.office.database.pool
    first = await desk.refused("701")
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        link = await _link(rita)
        assert await _open_ones(rita, link) == {first}
        assert await _resolves(rita, motivo=" ") == 422
        form = {**await _form(rita, link), "motivo": "código acertado"}
        answers = [await rita.post(PATH, form) for _ in range(2)]
        assert [(status, where) for status, _, where in answers] == [(303, link)] * 2
        rows = await pool.fetch("SELECT * FROM auditoria WHERE motivo = 'código acertado'")
        assert [(row["acao"], row["quem"], row["empresa_id"]) for row in rows] == [("resolver grupo", rita.who.nome, 1)]
        page = (await rita.get("/console/falhas?dias=7"))[1]
        assert ">resolvido</span>" in page
        assert f"resolvido por {rita.who.nome}" in page
        assert "voltou" not in page
        assert await _open_ones(rita, link) == set()
        assert await _resolves(rita, faz="apagar") == 422
        second = await desk.refused("702")
        page = (await rita.get("/console/falhas?dias=7"))[1]
        assert ">voltou</span>" in page
        assert ">resolvido</span>" not in page
        assert await _open_ones(rita, link) == {second}


async def test_what_nobody_saw_is_not_resolved(desk: Desk) -> None:
    """A failure between opening the page and pressing stays open."""
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        await desk.refused("703")
        link = await _link(rita)
        form = {**await _form(rita, link), "motivo": "acertado"}
        unseen = await desk.refused("704")
        assert (await rita.post(PATH, form))[0] == 303
        assert await _open_ones(rita, link) == {unseen}
        assert ">voltou</span>" in (await rita.get("/console/falhas?dias=7"))[1]
        assert (await rita.post(PATH, {**form, "chave": "outra", "visto": "ontem"}))[0] == 422
        assert (await rita.post(PATH, {**form, "chave": "mais uma", "visto": "2999-01-01T00:00:00+00:00"}))[0] == 303
        later = await desk.refused("705")  # nobody resolves the future
        assert await _open_ones(rita, link) == {later}


async def test_a_resolution_can_be_taken_back(desk: Desk) -> None:
    """Reopening shows the failures again, with a reason in the audit."""
    sessao_id = await desk.refused("706")
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        link = await _link(rita)
        assert await _resolves(rita) == 303
        assert await _open_ones(rita, link) == set()
        form = await _form(rita, link)
        assert form["faz"] == "reabrir"
        assert (await rita.post(PATH, {**form, "motivo": "não era isso"}))[0] == 303
        assert sessao_id in await _open_ones(rita, link)
        acao = "SELECT acao FROM auditoria WHERE motivo = 'não era isso'"
        assert await desk.office.database.pool.fetchval(acao) == "reabrir grupo"
        assert (await rita.post(PATH, {**form, "chave": "de novo", "motivo": "outra vez"}))[0] == 409


async def test_who_is_bound_to_a_company_resolves_only_there(desk: Desk) -> None:
    """The same failure of another company stays open, and who has none of the group resolves nothing."""
    pool, other = desk.office.database.pool, desk.office.companies[1]
    ours, theirs = await desk.refused("707"), await desk.refused("708")
    async with (
        desk.office.at_work(Papel.SUPERVISOR) as rita,
        desk.office.at_work(Papel.SUPERVISOR, (OTHER,)) as bound,
    ):
        link = await _link(rita)
        form = {**await _form(rita, link), "motivo": "só a minha"}
        assert (await bound.post(PATH, {**form, **await _token(bound)}))[0] == 409
        await pool.execute("UPDATE nfse_emissao SET prestador_id = $1 WHERE sessao_id = $2", other, theirs)
        assert (await bound.post(PATH, {**form, **await _token(bound), "chave": "outra"}))[0] == 303
        assert await _open_ones(bound, link) == set()
        left = await _open_ones(rita, link)
        assert ours in left
        assert theirs not in left
        rows = await pool.fetch("SELECT empresa_id FROM auditoria WHERE motivo = 'só a minha'")
        assert [row["empresa_id"] for row in rows] == [other]


async def _token(who: Browser) -> dict[str, str]:
    page = (await who.get("/console/senha"))[1]
    return {"csrf": group(r'name="csrf" value="([0-9a-f]+)"', page)}


async def test_the_queue_keeps_what_needs_eyes(desk: Desk) -> None:
    """Resolving a group of conflicts takes none of its invoices off the queue."""
    pool, sessao_id = desk.office.database.pool, await desk.refused("709")
    await pool.execute("UPDATE nfse_emissao SET status = 'conflito' WHERE sessao_id = $1", sessao_id)
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        page = (await rita.get("/console/falhas?dias=7"))[1]
        link = next(
            html.unescape(found)
            for found in re.findall(r'href="(/console/falhas/grupo[^"]+)"', page)
            if "conflito" in found
        )
        assert (await rita.post(PATH, {**await _form(rita, link), "motivo": "comparadas"}))[0] == 303
        assert await _open_ones(rita, link) == set()
        assert sessao_id in (await rita.get("/console"))[1]
    await pool.execute("UPDATE nfse_emissao SET status = 'rejeitado' WHERE sessao_id = $1", sessao_id)
