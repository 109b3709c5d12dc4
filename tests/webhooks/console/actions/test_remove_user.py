"""A phone's right to issue is taken away on the console; what was said to one company stays that company's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations.company import CompanyForm, add_company
from persistence.access.accounts import Papel
from tests.narrowing import group
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Person
    from tests.webhooks.console.conftest import Desk

OURS = "11.222.333/0001-81"  # the demo's company
THEIRS = "12.345.678/0001-95"  # the other one of the desk


async def _contact(desk: Desk, person: Person) -> str:
    conversa = desk.road.conversation(person)
    return str(await desk.road.database.pool.fetchval("SELECT codigo FROM conversas WHERE conversa = $1", conversa))


async def test_a_supervisor_takes_the_right_to_issue_away(desk: Desk) -> None:
    """With a reason, once, at once: the open summary issues nothing, and the audit names who, why and which company."""
    ana = await desk.road.person()
    summary = await ana.say(FULL)
    await desk.road.settled()
    contact = f"/console/contatos/{await _contact(desk, ana)}"
    path = f"{contact}/remover-usuario"
    async with desk.office.at_work(Papel.SUPORTE) as sara:
        assert "remover-usuario" not in (await sara.get(contact))[1]
        assert (await sara.post(path, {"motivo": "x", "chave": "k"}, form=contact))[0] == 403
    async with desk.office.at_work(Papel.SUPERVISOR, (OURS,)) as eva:
        assert "remover-usuario" in (await eva.get(contact))[1]
        page = (await eva.get(path))[1]
        assert "deixa de emitir na hora" in page
        assert ana.who not in page
        assert (await eva.post(path, {"motivo": ""}, form=path))[0] == 422
        fields = {"motivo": "saiu da empresa", "chave": group(r'name="chave" value="([^"]+)"', page)}
        for _ in range(2):  # a second press
            status, done, _ = await eva.post(path, fields, form=path)
            assert (status, "não serão emitidas: 1" in done) == (200, True)
        nome = eva.who.nome
    rows = await desk.road.database.pool.fetch("SELECT * FROM auditoria WHERE acao = 'removeu usuário'")
    assert [(r["quem"], r["motivo"], r["empresa_id"]) for r in rows] == [(nome, "saiu da empresa", 1)]
    assert ana.who not in str([dict(row) for row in rows])
    assert "não está mais ligado a nenhuma empresa" in (await ana.press("Confirmar", of=summary)).text
    assert await desk.road.notes(ana) == []
    async with desk.office.at_work(Papel.SUPERVISOR) as everywhere:
        status, again, _ = await everywhere.post(path, {"motivo": "outra vez"}, form=path)
        assert (status, "nada foi feito" in again) == (409, True)


async def test_another_companys_supervisor_takes_nothing_away(desk: Desk) -> None:
    """Who is bound to one company finds no such page for another's people, and the right stays."""
    ana = await desk.road.person()
    await ana.say(FULL)
    await desk.road.settled()
    path = f"/console/contatos/{await _contact(desk, ana)}/remover-usuario"
    async with desk.office.at_work(Papel.SUPERVISOR, (THEIRS,)) as other:
        assert (await other.get(path))[0] == 404
        assert (await other.post(path, {"motivo": "x", "chave": "chave-de-fora"}))[0] == 404
    kept = "SELECT count(*) FROM usuario WHERE telefone = $1"
    assert await desk.road.database.pool.fetchval(kept, ana.who) == 1


async def test_a_conversation_of_two_companies_shows_each_its_own_part(desk: Desk) -> None:
    """A number that went over to another company: its staff see what came after, the former one's what came before."""
    ana, pool = await desk.road.person(), desk.road.database.pool
    await ana.issue(FULL.replace("1500", "1357"))  # an open one would go over with its person
    await desk.road.settled()
    before = (await desk.road.session(ana))["sessao_id"]
    contact = f"/console/contatos/{await _contact(desk, ana)}"
    async with desk.office.at_work(Papel.SUPORTE, (OURS,)) as own:
        await own.post(f"/console/sessoes/{before}/acoes/anotar", {"motivo": "m", "texto": "anotado-antes"},
                       form=f"/console/sessoes/{before}/acoes/anotar")  # fmt: skip
    async with desk.office.at_work(Papel.SUPERVISOR) as eva:
        await eva.post(f"{contact}/remover-usuario", {"motivo": "mudou"}, form=f"{contact}/remover-usuario")
    form = CompanyForm(
        cnpj=THEIRS, razao_social="OUTRA LTDA", inscricao_municipal="123", municipio="3550308", usuarios=(ana.who,)
    )
    await add_company(desk.road.database, form)
    await ana.say(FULL.replace("1500", "2468"))
    await desk.road.settled()
    after = (await desk.road.session(ana))["sessao_id"]
    assert after != before
    sent = "SELECT id FROM outbox WHERE sessao_id = $1 ORDER BY id LIMIT 1"
    old = await pool.fetchval(sent, before)
    async with (
        desk.office.at_work(Papel.SUPORTE, (OURS,)) as first,
        desk.office.at_work(Papel.SUPORTE, (THEIRS,)) as second,
        desk.office.at_work(Papel.SUPORTE) as everybody,
    ):
        pages = [(await who.get(contact))[1] for who in (first, second, everybody)]
        marks = ("nota de 1357", "anotado-antes", before, "nota de 2468", after)
        shown = [[mark in page for mark in marks] for page in pages]
        assert shown == [
            [True, True, True, False, False],
            [False, False, False, True, True],
            [True, True, True, True, True],
        ]
        assert "nota de 2468" not in (await first.get(f"/console/sessoes/{before}"))[1]
        assert (await first.get(f"/console/sessoes/{after}"))[0] == 404
        again = f"/console/sessoes/{after}/acoes/reenviar?mensagem={old}"
        assert (await second.get(again))[0] == 404
        assert (await everybody.get(again))[0] == 200


async def test_a_row_set_aside_is_shown_to_the_company_it_was_said_to(desk: Desk) -> None:
    """What failed before the number went over is for the former company's staff, not for the present one's."""
    ana, pool = await desk.road.person(), desk.road.database.pool
    await ana.say(FULL)
    await desk.road.settled()
    conversa = desk.road.conversation(ana)
    row = await pool.fetchval(
        "UPDATE inbox SET estado = 2, erro = 'x' WHERE id = (SELECT max(id) FROM inbox WHERE lane = $1) RETURNING id",
        conversa,
    )
    other = await pool.fetchval("SELECT id FROM empresa WHERE razao_social = 'OUTRA LTDA'")
    await pool.execute("UPDATE usuario SET empresa_id = $2, criado_em = now() WHERE telefone = $1", ana.who, other)
    async with (
        desk.office.at_work(Papel.SUPORTE, (OURS,)) as first,
        desk.office.at_work(Papel.SUPORTE, (THEIRS,)) as second,
    ):
        for who, status in ((first, 200), (second, 404)):
            assert (await who.get(f"/console/quarentena/{row}"))[0] == status
            listed = (await who.get("/console?ver=quarentena"))[1]
            assert (f"/console/quarentena/{row}" in listed) is (status == 200)
    await pool.execute("UPDATE inbox SET estado = 1 WHERE id = $1", row)
