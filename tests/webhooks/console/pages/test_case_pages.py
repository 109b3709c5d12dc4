from __future__ import annotations

import asyncio
import base64
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from aiohttp import ClientSession

from persistence.access.accounts import Papel
from tests.narrowing import group
from tests.road.road_people import FULL, PADARIA, Person
from webhooks.console.render.format import PAGE

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Desk


async def _issued(desk: Desk) -> tuple[Person, Any]:
    """Somebody who had an invoice issued after a correction, and the session's row."""
    ana = await desk.road.person()
    await ana.say(FULL)
    await ana.say("na verdade é 1.800")
    await ana.touch("Confirmar")
    await ana.files()
    await desk.road.settled()
    return ana, await desk.road.session(ana)


async def test_a_case_tells_the_whole_story(desk: Desk) -> None:
    """Messages with their ticks, what was read beside what was accepted, transitions, gateway calls: one line."""
    _, session = await _issued(desk)
    async with desk.office.at_work(Papel.LEITURA) as sara:
        status, page = await sara.get(f"/console/sessoes/{session['sessao_id']}")
    assert status == 200
    for told in (
        "foi autorizada.",
        "faz uma nota de 1500 pra",
        "leu <b>valor</b> em “1.800”",
        "✓ R$ 1.800,00",
        "confirmou · espera o sim → em emissão · confirmada · versão 2",
        "a nota foi autorizada · em emissão → autorizada · versão 2",
        "Gateway: envio · recebida, em processamento · HTTP 200",
        "<summary>o que foi</summary>",
        "✓✓",
        "tocou em <b>Confirmar</b>",
    ):
        assert told in page, told
    assert page.index("faz uma nota") < page.index("Mudei o valor") < page.index("tocou em") < page.index("NFSe-")


async def test_a_case_reads_as_a_chat_with_the_machine_folded(desk: Desk) -> None:
    """What people and Prosa said stands on two sides; what the machine did between is one line, and opens."""
    _, session = await _issued(desk)
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get(f"/console/sessoes/{session['sessao_id']}"))[1]
    line = page[page.index('data-testid="linha-do-tempo"') : page.index("</ol>", page.index("linha-do-tempo"))]
    folds = re.findall(
        r'<details class="fold"><summary data-stop>([^<]+)</summary>(.*?)\n    </details>', line, re.DOTALL
    )
    assert folds[0][0].startswith("leu 3 campos · espera o sim")
    assert re.match(r"\d chamadas ao gateway · autorizada", folds[-1][0])
    spoken = re.sub(r'<details class="fold">.*?\n    </details>', "", line, flags=re.DOTALL)
    assert set(re.findall(r'data-tipo="(\w+)"', spoken)) == {"in", "out"}
    assert {tipo for _, inside in folds for tipo in re.findall(r'data-tipo="(\w+)"', inside)} == {"step", "gate"}
    assert line.count('<li class="by-in">') == 3


async def test_one_action_stands_out_by_what_the_case_asks(desk: Desk) -> None:
    """A refusal of ours is tried again, who asked for a person is answered; where all is well nothing stands out."""
    main = re.compile(r'<a class="button main" [^>]*data-testid="acao-(\w+)"')
    _, session = await _issued(desk)
    refused, wish = await desk.refused("815"), "UPDATE conversas SET pessoa_pedida_em = $2, pessoa_motivo = $3 {}"
    wish = wish.format("WHERE conversa = (SELECT conversa FROM session_snapshot WHERE sessao_id = $1)")
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        assert main.findall((await rita.get(f"/console/sessoes/{session['sessao_id']}"))[1]) == []
        page = (await rita.get(f"/console/sessoes/{refused}"))[1]
        assert main.findall(page) == ["reprocessar"]
        assert page.count('data-testid="acao-reprocessar"') == 1
        await desk.office.database.pool.execute(wish, refused, datetime.now(UTC), "palavras")
        assert main.findall((await rita.get(f"/console/sessoes/{refused}"))[1]) == ["assumir"]
        await desk.office.database.pool.execute(wish, refused, None, None)


async def test_nothing_that_names_a_person_is_shown_unasked(desk: Desk) -> None:
    """Phone and document are masked on every page of a case."""
    ana, session = await _issued(desk)
    async with desk.office.at_work(Papel.ADMIN) as sara:
        for path in ("", "/snapshot"):
            page = (await sara.get(f"/console/sessoes/{session['sessao_id']}{path}"))[1]
            assert ana.who not in page
            assert PADARIA not in page
            assert "12345678000195" not in page
        contact = await desk.office.database.pool.fetchval(
            "SELECT codigo FROM conversas WHERE conversa = $1", session["conversa"]
        )
        assert ana.who not in (await sara.get(f"/console/contatos/{contact}"))[1]


async def test_a_reveal_needs_a_reason_and_leaves_a_trace(desk: Desk) -> None:
    """With a reason the page shows everything for a minute; the audit names who, what and why."""
    ana, session = await _issued(desk)
    path = f"/console/sessoes/{session['sessao_id']}"
    async with desk.office.at_work() as sara:
        assert (await sara.post(f"{path}/mostrar", {"motivo": ""}, form=path))[0] == 422
        status, page, _ = await sara.post(f"{path}/mostrar", {"motivo": "cliente no telefone"}, form=path)
        assert status == 200
        assert f"+{ana.who}" in page
        assert PADARIA in page
        assert "data-vivo" not in page, "an open page asks for its address again, and this one answers no GET"
        row = await desk.office.database.pool.fetchrow("SELECT * FROM auditoria ORDER BY id DESC LIMIT 1")
        wanted = (sara.who.nome, "mostrou dados", session["sessao_id"], "cliente no telefone")
        assert (row["quem"], row["acao"], row["alvo"], row["motivo"]) == wanted
        masked = (await sara.get(path))[1]
        assert ana.who not in masked
        assert "data-vivo" in masked


@pytest.mark.parametrize("how", ["phone", "old phone", "bare", "session", "reference", "wamid", "note"])
async def test_a_case_is_found_by_whatever_is_in_hand(desk: Desk, how: str) -> None:
    """One box, one press: the only find opens by itself."""
    ana, session = await _issued(desk)
    pool = desk.office.database.pool
    said = "SELECT chave FROM inbox WHERE lane = $1 AND tipo = 'mensagem'"
    wamid = await pool.fetchval(said, session["conversa"])
    numero = await pool.fetchval(
        "SELECT numero FROM nfse_processada p JOIN nfse_emissao e ON e.id = p.emissao_id WHERE e.sessao_id = $1",
        session["sessao_id"],
    )
    typed = {
        "phone": f"+55 ({ana.who[2:4]}) {ana.who[4:9]}-{ana.who[9:]}",
        "old phone": f"{ana.who[2:4]} {ana.who[5:]}",
        "bare": ana.who[4:],
        "session": session["sessao_id"],
        "reference": session["id_integracao"],
        "wamid": wamid,
        "note": numero,
    }[how]
    async with desk.office.at_work(Papel.LEITURA) as sara:
        assert (await sara.search(typed))[1] == f"/console/sessoes/{session['sessao_id']}"


async def test_a_document_finds_all_its_invoices(desk: Desk) -> None:
    """A customer's CNPJ, written in any way, lists every session about it."""
    await _issued(desk)
    _, session = await _issued(desk)
    async with desk.office.at_work(Papel.LEITURA) as sara:
        name = str(session["cnpj_razao_social"])
        for typed in (PADARIA, "12345678000195", name.upper(), name[1:8].lower(), "R$ 1.800,00"):
            page, address = await sara.search(typed)
            assert session["sessao_id"] in page, typed
            assert address.startswith("/console/busca?b=v1.")


async def test_no_search_stands_in_an_address(desk: Desk) -> None:
    """No address on the way holds what was typed; the last one opens again for who typed it, and for nobody else."""
    ana, session = await _issued(desk)
    await _issued(desk)
    async with desk.office.at_work(Papel.LEITURA) as sara, desk.office.at_work(Papel.ADMIN) as eva:
        for typed in (PADARIA, "12345678000195", ana.who, "529.982.247-25"):
            form = (await sara.get("/console/busca"))[1]
            fields = {"csrf": group(r'name="csrf" value="(\w+)"', form), "q": typed}
            async with sara.session.post(f"{sara.base}/console/busca", data=fields) as answer:
                for address in (hop.url for hop in (*answer.history, answer)):
                    decoded = unquote(str(address))
                    assert typed not in decoded
                    assert base64.b64encode(typed.encode()).decode().rstrip("=") not in decoded
        again = (await sara.search(PADARIA))[1]
        assert session["sessao_id"] in (await sara.get(again))[1]
        for opened in (await eva.get(again), await sara.get("/console/busca", params={"q": PADARIA})):
            assert opened[0] == 200
            assert session["sessao_id"] not in opened[1]
        for foul in ("v1.x.y", "v1", "v1.", "12345678000195", "v1.00000000.AAAA"):
            status, page = await sara.get("/console/busca", params={"b": foul})
            assert (status, session["sessao_id"] in page) == (200, False)


async def test_another_companys_case_does_not_exist(desk: Desk) -> None:
    """Who is bound to one company finds nothing of another's: not in lists, not by search, not by address."""
    ana, session = await _issued(desk)
    sessao_id = session["sessao_id"]
    contact = await desk.office.database.pool.fetchval(
        "SELECT codigo FROM conversas WHERE conversa = $1", session["conversa"]
    )
    async with desk.office.at_work(Papel.ADMIN, ("12.345.678/0001-95",)) as other:
        for path in ("", "/snapshot"):
            assert (await other.get(f"/console/sessoes/{sessao_id}{path}"))[0] == 404
        assert (await other.get(f"/console/contatos/{contact}"))[0] == 404
        assert (await other.post(f"/console/sessoes/{sessao_id}/mostrar", {"motivo": "x"}))[0] == 404
        for typed in (sessao_id, session["id_integracao"], ana.who, "12345678000195", "1"):
            assert f"/console/sessoes/{sessao_id}" not in (await other.search(typed))[0]
        for ver in ("atencao", "todas"):
            assert sessao_id not in (await other.get("/console", params={"ver": ver}))[1]
    async with desk.office.at_work(Papel.LEITURA, ("11.222.333/0001-81",)) as own:
        assert (await own.get(f"/console/sessoes/{sessao_id}"))[0] == 200


async def test_two_revisions_stand_side_by_side(desk: Desk) -> None:
    """What changed between two revisions is marked, with the words it was read from; the confirmed text is verbatim."""
    _, session = await _issued(desk)
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get(f"/console/sessoes/{session['sessao_id']}/snapshot?de=1&para=2"))[1]
    changed = page[page.index('class="changed"') :].partition("</tr>")[0]
    assert "valor" in changed
    assert "R$ 1.500,00" in changed
    assert "R$ 1.800,00" in changed
    assert page.count('class="changed"') == 1
    confirmed = page[page.index("<blockquote") :].partition("</blockquote>")[0]
    assert "Mudei o valor de R$ 1.500,00 para R$ 1.800,00." in confirmed
    assert "pelo botão" in page
    assert "idIntegracao" in page


async def test_a_stuck_case_comes_to_the_queue_and_leaves_it(desk: Desk) -> None:
    """What needs eyes is in the queue with its cause; what is resolved is not, until it changes again."""
    _, session = await _issued(desk)
    sessao_id, pool = session["sessao_id"], desk.office.database.pool
    async with desk.office.at_work(Papel.LEITURA) as sara:
        assert sessao_id not in (await sara.get("/console"))[1]
        await pool.execute(
            "UPDATE outbox SET status = 'falhou', erro = 'x', wamid = NULL WHERE sessao_id = $1", sessao_id
        )
        page = (await sara.get("/console"))[1]
        assert sessao_id in page
        assert "mensagem não chegou" in page
        await pool.execute("INSERT INTO resolvida (sessao_id, quem, motivo) VALUES ($1, 'ana', 'ok')", sessao_id)
        assert sessao_id not in (await sara.get("/console"))[1]
        await pool.execute(
            "UPDATE session_snapshot SET updated_at = now() + interval '1 second' WHERE sessao_id = $1", sessao_id
        )
        assert sessao_id in (await sara.get("/console"))[1]


async def test_filters_stand_in_the_address(desk: Desk) -> None:
    """A filtered list can be sent to a colleague; a filter that makes no sense narrows nothing and breaks nothing."""
    _, session = await _issued(desk)
    sessao_id = session["sessao_id"]
    async with desk.office.at_work(Papel.LEITURA) as sara:

        async def shows(**query: str) -> bool:
            status, page = await sara.get("/console", params={"ver": "todas", **query})
            assert status == 200
            return sessao_id in page

        assert await shows(estado="aprovado", motivo="webhook_success", de="1.800,00", ate="1800")
        assert not await shows(estado="erro")
        assert not await shows(de="1.800,01")
        assert not await shows(atendente="ninguem")
        assert await shows(estado="isto não existe", de="abc", empresa="-1", antes="x")


async def test_a_number_nobody_knows_is_listed_for_who_sees_everything(desk: Desk) -> None:
    """A stranger's conversation is found in its own list, opens, and is nobody's who is bound to a company."""
    carla = await desk.road.person(known=False)
    await carla.say("oi, quero uma nota")
    await desk.road.settled()
    codigo = await desk.office.database.pool.fetchval("SELECT codigo FROM conversas WHERE wa_id = $1", carla.who)
    async with desk.office.at_work(Papel.LEITURA) as sara:
        assert str(codigo) in (await sara.get("/console?ver=desconhecidas"))[1]
        assert "oi, quero uma nota" in (await sara.get(f"/console/contatos/{codigo}"))[1]
    async with desk.office.at_work(Papel.ADMIN, ("11.222.333/0001-81",)) as bound:
        status, text, *_ = await bound.get("/console?ver=desconhecidas")
        assert (status, str(codigo) in text) == (404, False)
        assert (await bound.get(f"/console/contatos/{codigo}"))[0] == 404


async def test_a_cancelled_note_is_cancelled_everywhere(desk: Desk) -> None:
    """Lists, search, header, path, other notes, exports and the chat's own list: nowhere is it an authorised one."""
    ana, session = await _issued(desk)
    sessao_id, pool = session["sessao_id"], desk.office.database.pool
    await pool.execute(
        "UPDATE nfse_processada SET status = 'cancelado' WHERE emissao_id IN "
        "(SELECT id FROM nfse_emissao WHERE sessao_id = $1)",
        sessao_id,
    )
    await ana.say(FULL.replace("1500", "2300"))
    await desk.road.settled()
    other = (await desk.road.session(ana))["sessao_id"]
    codigo = await pool.fetchval("SELECT codigo FROM conversas WHERE conversa = $1", session["conversa"])
    wanted = ('<span class="badge off">cancelada</span>', '<s title="não vale mais">R$ 1.800,00</s>')
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        own, phone = f"/console/sessoes/{sessao_id}", (await rita.search(ana.who))[1]
        for page in ("/console?ver=todas", phone, own, f"/console/sessoes/{other}", f"/console/contatos/{codigo}"):
            shown = (await rita.get(page))[1]
            for told in wanted:
                assert told in shown, (page, told)
        shown = (await rita.get(own))[1]
        assert '<li>autorizada</li><li class="here" aria-current="step">cancelada</li>' in shown
        assert '<span class="badge good">autorizada</span>' not in shown
        line = next(
            row for row in (await rita.get("/console/exportar.csv?ver=todas"))[1].splitlines() if sessao_id in row
        )
        assert ";cancelada;" in line
        assert "*cancelada*" in (await ana.say("minhas notas")).text
        newer = (await _issued(desk))[1]["sessao_id"]
        numero = await pool.fetchval(
            "UPDATE nfse_emissao n SET substitui_id = o.id FROM nfse_emissao o, nfse_processada p "
            "WHERE n.sessao_id = $1 AND o.sessao_id = $2 AND p.emissao_id = n.id RETURNING p.numero",
            newer,
            sessao_id,
        )
        shown = (await rita.get(own))[1]
        assert f"</s> substituída pela nota {numero}</dd>" in shown
        assert f"foi autorizada e depois substituída pela nota {numero}." in shown
        assert f'<li class="here" aria-current="step">substituída pela nota {numero}</li>' in shown
        told = f'<span class="badge off">substituída pela nota {numero}</span>'
        for page in ("/console?ver=todas", phone, own, f"/console/sessoes/{other}", f"/console/contatos/{codigo}"):
            assert told in (await rita.get(page))[1], page
        for estado in ("cancelada", "substituida"):
            listed = f'data-id="{sessao_id}"' in (await rita.get(f"/console?ver=todas&estado={estado}"))[1]
            assert listed is (estado == "substituida")
        sheet = (await rita.get("/console/exportar.csv?ver=todas"))[1].splitlines()
        [line] = [row for row in sheet if f"{sessao_id};" in row]
        assert f";{numero};" in line
        assert ";substituída;" in line
    answer = await ana.say("minhas notas")
    assert f"*substituída pela nota {numero}*" in answer.text


async def test_a_page_of_long_messages_stops_nobody(desk: Desk) -> None:
    """300 messages of 4,096 letters are masked while others are served, and shortened where the page is full."""
    ana = await desk.road.person(known=False)
    await ana.say("oi")
    conversa = desk.road.conversation(ana)
    pool = desk.office.database.pool
    payload = (
        "jsonb_build_object('mensagem', "
        "jsonb_build_object('type', 'text', 'text', jsonb_build_object('body', $2::text)))"
    )
    await pool.execute(
        "INSERT INTO inbox (chave, lane, tipo, payload, correlacao, estado) "  # noqa: S608 - our own constant
        f"SELECT 'longa:' || n, $1, 'mensagem', {payload}, 'x', 1 FROM generate_series(1, 300) n",
        conversa,
        "a" * 4096,
    )
    codigo = await pool.fetchval("SELECT codigo FROM conversas WHERE conversa = $1", conversa)
    loop = asyncio.get_running_loop()
    stalls: list[float] = []

    async def healthy() -> None:
        async with ClientSession() as session:
            while True:
                began = loop.time()
                async with session.get(f"{desk.road.address}/healthz") as answer:
                    assert answer.status == 200
                stalls.append(loop.time() - began)

    async with desk.office.at_work(Papel.ADMIN) as sara:
        watching = asyncio.create_task(healthy())
        began = loop.time()
        status, page = await sara.get(f"/console/contatos/{codigo}")
        took = loop.time() - began
        watching.cancel()
    assert status == 200
    assert "texto cortado" in page
    assert len(page) < 2 * PAGE
    assert took < 5
    assert max(stalls, default=0) < 1
