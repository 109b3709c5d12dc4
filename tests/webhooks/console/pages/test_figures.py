from __future__ import annotations

import csv
import html
import io
import json
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest

from operations.month import sheet
from persistence.access.accounts import Papel
from persistence.fiscal import suspension
from persistence.staff import dashboard
from state_machine.protocol.channel import Ambiente
from tests.narrowing import group
from tests.road.road_people import until
from webhooks.console.render.export import month
from webhooks.console.render.format import brl
from webhooks.console.render.model_spend import bars, columns

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from tests.webhooks.console.conftest import Desk


@pytest.fixture(scope="module")
async def history(desk: Desk) -> str:
    """One invoice issued and one refused; returns the refused session's id."""
    ana = await desk.road.person()
    await ana.issue()
    return await desk.refused("700")


async def test_failures_of_one_kind_are_one_group(desk: Desk, history: str) -> None:
    """Code, status and city make a group, with how often, how many are open, and one to look at."""
    pool = desk.office.database.pool
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get("/console/falhas?dias=7"))[1]
        assert page.count('data-testid="grupo"') == 1
        assert history in page
        assert "voltou" not in page
        await pool.execute(
            "INSERT INTO resolvida (sessao_id, quem, motivo, em) VALUES ($1, 'x', 'y', now() - interval '1 hour')",
            history,
        )
        assert "voltou" in (await sara.get("/console/falhas?dias=7"))[1]
    async with desk.office.at_work(Papel.LEITURA, ("12.345.678/0001-95",)) as other:
        assert "Nenhuma falha" in (await other.get("/console/falhas"))[1]


async def test_the_dashboard_counts_the_way_to_the_invoice(desk: Desk, history: str) -> None:
    """Two began, gave all, and confirmed; one was authorised; each only for their companies."""
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get("/console/painel?dias=7"))[1]
    rows = {"abriram uma nota": 2, "deram todos os dados": 2, "confirmaram": 2, "tiveram a nota autorizada": 1}
    for label, count in rows.items():
        assert f'<th scope="row">{label}</th><td class="num">{count}</td>' in page
    refused = page[page.index("Recusas</caption>") :]
    assert refused.index("E9902: O prestador não tem autorização do mu") < refused.index("</table>")
    async with desk.office.at_work(Papel.LEITURA, ("12.345.678/0001-95",)) as other:
        assert "Nenhuma conversa neste período" in (await other.get("/console/painel"))[1]
    assert history


async def test_the_week_stands_beside_the_one_before_and_is_of_now(desk: Desk, history: str) -> None:
    """Notes, their sum, refusals, the way there and the staff's answer, beside seven days earlier; notes by hour."""
    pool, cells = desk.office.database.pool, r"<b>([^<]*)</b><span>[^<]*</span><small>([^<]*) na semana antes</small>"
    moved = "UPDATE nfse_emissao SET criado_em = criado_em + $2 * interval '8 days' WHERE sessao_id = $1"
    asked = "UPDATE conversas SET pessoa_pedida_em = now() - interval '25 minutes', pessoa_motivo = 'palavras'"
    total = "SELECT sum(valor_servico) FROM nfse_emissao WHERE status = 'concluido'"
    act = f"/console/sessoes/{history}/acoes"
    async with desk.office.at_work(Papel.SUPORTE) as sara:

        async def week() -> list[tuple[str, str]]:
            return re.findall(cells, (await sara.get("/console/painel"))[1])

        assert await dashboard.refresh(desk.office.database)
        first = await week()
        assert [now for now, _ in first[:3]] == ["1", brl(await pool.fetchval(total)), "1"]
        assert first[4] == ("–", "–")
        await pool.execute(moved, history, -1)
        assert (await week())[2] == ("0", "1")
        await pool.execute(moved, history, 1)
        ana = await desk.road.person()
        await ana.issue()
        assert [now for now, _ in (await week())[:2]] == ["2", brl(await pool.fetchval(total))]
        assert "Notas por hora</caption>" in (await sara.get("/console/painel"))[1]
        await pool.execute(asked)
        assert (await sara.post(f"{act}/assumir", {"motivo": "pediu"}, form=f"{act}/assumir"))[0] == 303
        assert (await week())[4][0] == "25 min"
        await sara.post(f"{act}/devolver", {}, form=f"{act}/devolver")
        await pool.execute("DELETE FROM painel")


async def test_health_says_what_waits(desk: Desk, history: str) -> None:
    """Lags, the oldest unknown, refused credentials and the gateway's last hour, on one page."""
    pool = desk.office.database.pool
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get("/console/saude"))[1]
        assert "Emissões sem fim" not in page
        assert "recebida, em processamento" in page
        await pool.execute("UPDATE empresa SET envio_suspenso = 'token vencido' WHERE id = 1")
        await pool.execute("UPDATE nfse_emissao SET status = 'conflito' WHERE sessao_id = $1", history)
        page = (await sara.get("/console/saude"))[1]
        assert "token vencido" in page
        assert "conflito" in page
        await pool.execute("UPDATE empresa SET envio_suspenso = NULL")
        await pool.execute("UPDATE nfse_emissao SET status = 'rejeitado' WHERE sessao_id = $1", history)


async def test_health_begins_with_one_sentence_and_shows_what_is_not_zero(desk: Desk, history: str) -> None:
    """All in order, or what is wrong in words; no figure that is nothing, and no table of it."""
    pool = desk.office.database.pool
    alive = (
        "INSERT INTO disjuntor (processo, destino, aberto, mudou_em, visto_em) "
        "SELECT 'm:1:x', $1::text, $1 <> 'modelo', now(), now()"
    )
    sentence = r'data-testid="ordem"><b>([^<]+)</b>'
    async with desk.office.at_work(Papel.LEITURA) as sara:
        await pool.execute("DELETE FROM disjuntor")
        assert "nenhum processo deu notícia" in group(sentence, (await sara.get("/console/saude"))[1])
        await pool.execute(alive, "modelo")
        page = (await sara.get("/console/saude"))[1]
        assert group(sentence, page) == "Tudo em ordem."
        assert '<div class="tile' not in page
        assert "<h2>Operações sem resposta" not in page
        await pool.execute(alive, "gateway_envio")
        await pool.execute("UPDATE empresa SET envio_suspenso = 'token vencido' WHERE id = 1")
        await pool.execute("UPDATE nfse_emissao SET status = 'conflito' WHERE sessao_id = $1", history)
        page = (await sara.get("/console/saude"))[1]
    await pool.execute("UPDATE empresa SET envio_suspenso = NULL")
    await pool.execute("UPDATE nfse_emissao SET status = 'rejeitado' WHERE sessao_id = $1", history)
    await pool.execute("DELETE FROM disjuntor")
    assert group(sentence, page) == (
        "Falta olhar 3 coisas: 1 empresa com credencial recusada; 1 nota na situação “conflito no gateway”; "
        "em pausa: gateway fiscal: envios."
    )


async def test_health_lists_operations_without_an_answer(desk: Desk, history: str) -> None:
    """Each with its session, for those who see its company; what somebody is at, or has ended, is not among them."""
    pool = desk.office.database.pool
    record = (
        "INSERT INTO idempotency_records (idempotency_key, process_instance_id, activity_id, operation_name, "
        "input_hash, status, lease_until, expires_at) "
        "VALUES ($1, $2, 'emitir', 'emitir_nfse', '', 'PENDING', now() + make_interval(mins => $3), now())"
    )
    await pool.execute(record, "lost", history, -1)
    await pool.execute(record, "of a command", "comando-1", -1)
    await pool.execute(record, "under way", "em-andamento", 1)
    try:
        async with desk.office.at_work(Papel.LEITURA) as sara:
            page = (await sara.get("/console/saude"))[1]
        assert page.count('data-testid="aberta"') == 2
        assert f'href="/console/sessoes/{history}"' in page
        async with desk.office.at_work(Papel.LEITURA, ("12.345.678/0001-95",)) as other:
            assert 'data-testid="aberta"' not in (await other.get("/console/saude"))[1]
    finally:
        await pool.execute(
            "DELETE FROM idempotency_records WHERE idempotency_key = ANY($1)", ["lost", "of a command", "under way"]
        )


async def test_a_list_leaves_masked_and_audited(desk: Desk, history: str) -> None:
    """CSV and JSON hold what the page shows, masked, for supervisors; the audit knows who took how many."""
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        text = (await rita.get("/console/exportar.json?ver=todas&estado=rejeitado"))[1]
        [row] = json.loads(text)
        assert row["sessao_id"] == history
        assert "•" in row["telefone"]
        assert "•" in row["documento"]
        sheet = (await rita.get("/console/exportar.csv?ver=todas"))[1]
        assert sheet.splitlines()[0].lstrip("\ufeff").startswith("numero;situacao;data;hora;")
        assert ";'+55" in sheet  # no cell is a formula
        last = await desk.office.database.pool.fetchrow("SELECT * FROM auditoria ORDER BY id DESC LIMIT 1")
        assert (last["acao"], last["quem"]) == ("exportou", rita.who.nome)
    async with desk.office.at_work(Papel.SUPERVISOR, ("12.345.678/0001-95",)) as other:
        assert json.loads((await other.get("/console/exportar.json?ver=todas"))[1]) == []


async def test_an_accountant_reads_the_notes_of_a_month(desk: Desk, history: str) -> None:
    """A line for each note: number, state, local day and hour, decimal comma, rate; the month is the one in Brazil."""
    pool = desk.office.database.pool
    first = await pool.fetchval("SELECT id FROM nfse_processada ORDER BY id LIMIT 1")
    numero, sessao, valor = await pool.fetchrow(
        "SELECT p.numero, e.sessao_id, e.valor_servico FROM nfse_processada p "
        "JOIN nfse_emissao e ON e.id = p.emissao_id ORDER BY p.id"
    )
    # 23:30 of 31 October in Brazil is November in UTC; this note does not say its day
    recorded = "UPDATE nfse_processada SET criado_em = $2, data_emissao = $3 WHERE id = $1"
    await pool.execute(recorded, first, datetime(2026, 11, 1, 2, 30, tzinfo=UTC), None)
    sent = b'[{"servico": [{"iss": {"aliquota": 2.5}}]}]'
    await pool.execute("UPDATE nfse_emissao SET bytes = $2 WHERE sessao_id = $1", sessao, sent)

    async def lines(address: str) -> list[dict[str, str]]:
        text = (await rita.get(f"/console/exportar.csv?ver=todas&{address}"))[1]
        return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff")), delimiter=";"))

    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        [note] = await lines("mes=2026-10")
        assert (note["numero"], note["situacao"]) == (numero, "autorizada")
        assert (note["data"], note["hora"]) == ("31/10/2026", "23:30:00")
        assert (note["valor"], note["iss_percentual"]) == (f"{valor}".replace(".", ","), "2,5")
        assert "PADARIA" in note["cliente"]
        assert "•" in note["documento"]
        assert sessao not in {line["sessao_id"] for line in await lines("mes=2026-11")}
        assert history in {line["sessao_id"] for line in await lines("")}
        assert (await rita.get("/console/exportar.csv?ver=todas&mes=2026-13"))[0] == 400
        gone = "UPDATE nfse_processada SET status = 'cancelado', cancelado_em = now() WHERE id = $1"
        await pool.execute(gone, first)
        [note] = await lines("mes=2026-10")
        assert note["situacao"] == "cancelada"
        assert note["cancelada_em"]
        await pool.execute("UPDATE session_snapshot SET cnpj_razao_social = '=1+1' WHERE sessao_id = $1", sessao)
        [note] = await lines("mes=2026-10")
        assert note["cliente"] == "'=1+1"
        await pool.execute(recorded, first, datetime(2026, 11, 1, 12, tzinfo=UTC), "2026-10-31T23:59:00-03:00")
        [note] = await lines("mes=2026-10")  # what was known a day late is of the day that stands on it
        assert note["data"] == "31/10/2026"


async def test_a_note_that_ended_is_a_figure_and_a_filter_of_its_own(desk: Desk, history: str) -> None:
    """The funnel loses nothing that passed a step; the days and the list's filter count what stands."""
    pool, ana = desk.office.database.pool, await desk.road.person()
    other = await desk.road.person()
    await other.issue()  # one that stands
    await ana.issue()
    sessao = (await desk.road.session(ana))["sessao_id"]
    mark = (
        "UPDATE nfse_processada SET status = $2 WHERE emissao_id IN (SELECT id FROM nfse_emissao WHERE sessao_id = $1)"
    )

    async def figures() -> tuple[int, ...]:
        page = (await sara.get("/console/painel?dias=7"))[1]
        table = page[page.index("Notas por dia</caption>") :]
        days = re.findall(r'<td class="num">(\d+)</td>', table[: table.index("</table>")])
        shown = [
            (re.findall(rf'<th scope="row">{label}</th><td class="num">(\d+)</td>', page) or ["0"])[0]
            for label in ("tiveram a nota autorizada", "cancelaram depois", "substituíram depois")
        ]
        return *map(int, shown), sum(map(int, days))

    async def listed(estado: str) -> bool:
        return f'data-id="{sessao}"' in (await sara.get(f"/console?ver=todas&estado={estado}"))[1]

    async with desk.office.at_work(Papel.LEITURA) as sara:
        authorised, cancelled, replaced, days = await figures()
        assert (await listed("aprovado"), await listed("cancelada")) == (True, False)
        await pool.execute(mark, sessao, "cancelamento_pendente")  # it stands until the authority says otherwise
        assert await figures() == (authorised, cancelled, replaced, days)
        assert (await listed("aprovado"), await listed("cancelada")) == (True, False)
        await pool.execute(mark, sessao, "cancelado")
        assert await figures() == (authorised, cancelled + 1, replaced, days - 1)
        assert (await listed("aprovado"), await listed("cancelada")) == (False, True)
        assert await dashboard.refresh(desk.office.database)
        assert await figures() == (authorised, cancelled + 1, replaced, days - 1)
        # sums that a release without this figure kept say nothing of it: the page counts itself
        await pool.execute("UPDATE painel SET dados = dados - 'substituidas'")
        assert await figures() == (authorised, cancelled + 1, replaced, days - 1)
        instead = (await desk.road.session(other))["sessao_id"]
        of_other = "UPDATE nfse_emissao SET substitui_id = $2 WHERE sessao_id = $1"
        old = await pool.fetchval("SELECT max(id) FROM nfse_emissao WHERE sessao_id = $1", sessao)
        await pool.execute(of_other, instead, old)
        assert await figures() == (authorised, cancelled, replaced + 1, days - 1)
        await pool.execute(of_other, instead, None)
        await pool.execute("DELETE FROM painel")
    assert history


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_no_cell_of_a_sheet_is_a_formula(first: str) -> None:
    """Whatever a spreadsheet would run is text in it; JSON, which no spreadsheet opens, keeps its words."""
    [row] = csv.DictReader(
        io.StringIO(sheet([{"cliente": f"{first}1+1"}]).decode("utf-8-sig"), newline=""), delimiter=";"
    )
    assert row["cliente"] == f"'{first}1+1"


@pytest.mark.parametrize(
    ("texto", "period"),
    [
        ("2026-12", (date(2026, 12, 1), date(2027, 1, 1))),
        ("2028-02", (date(2028, 2, 1), date(2028, 3, 1))),
        ("", None),
        (None, None),
    ],
)
def test_a_month_begins_and_ends(texto: str | None, period: tuple[date, date] | None) -> None:
    """From its first day up to the next month's."""
    assert month(texto) == period


async def test_an_open_page_is_no_person(desk: Desk) -> None:
    """News that a page fetches by itself do not keep a session alive; a person's own look does."""
    pool = desk.office.database.pool
    async with desk.office.at_work() as sara:
        back = (
            "UPDATE staff_sessao SET visto_em = now() - interval '20 minutes' "
            "WHERE staff_id = (SELECT id FROM staff WHERE nome = $1)"
        )
        seen = (
            "SELECT now() - visto_em < interval '1 minute' FROM staff_sessao "
            "JOIN staff s ON s.id = staff_id WHERE nome = $1"
        )
        await pool.execute(back, sara.who.nome)
        assert "pulso" in (await sara.get("/console/eventos?agora=1"))[1]
        await sara.get("/console", headers={"X-Prosa-Auto": "1"})
        assert not await pool.fetchval(seen, sara.who.nome)
        await sara.get("/console")
        assert await pool.fetchval(seen, sara.who.nome)


async def test_the_stream_tells_that_something_happened(desk: Desk) -> None:
    """An event comes when a person writes, without the page asking."""
    async with desk.office.at_work() as sara, sara.session.get(f"{sara.base}/console/eventos") as stream:
        assert stream.content_type == "text/event-stream"
        first = await _event(stream)
        ana = await desk.road.person()
        await ana.say("oi")
        assert await _event(stream) != first


async def _event(stream: ClientResponse) -> bytes:
    while True:
        line = await stream.content.readline()
        if line.startswith(b"data:"):
            return line


def test_charts_say_their_figures() -> None:
    """Every bar has its label and figure as text; labels are escaped; nothing is a bar of nothing."""
    svg = str(bars([("<b>", 3), ("dois", 1), ("nada", 0)], de=4))
    assert "&lt;b&gt;" in svg
    assert "3 · 75%" in svg
    assert 'width="0"' in svg
    assert "style=" not in svg + str(columns([("2026-11-21", 2)]))
    assert str(columns([])).startswith("<svg")


async def test_a_group_of_failures_is_tried_again_after_a_rehearsal(desk: Desk) -> None:
    """Each member says what would happen; one press orders that once for each, audited, and the safe are issued."""
    pool = desk.office.database.pool
    ours, theirs = await desk.refused("801"), await desk.refused("802")
    await pool.execute("UPDATE session_snapshot SET pendente = NULL, versao = versao + 1 WHERE sessao_id = $1", ours)
    await pool.execute(
        "UPDATE session_snapshot SET pendente = 'valor', versao = versao + 1 WHERE sessao_id = $1", theirs
    )
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        page = (await rita.get("/console/falhas?dias=7"))[1]
        link = group(r'href="(/console/falhas/grupo\?[^"]+)"', page).replace("&amp;", "&")
        page = (await rita.get(link))[1]
        plans = {
            part.split('"')[0].rsplit("/", 1)[-1]: part
            for part in page.split('data-testid="plano"><td><a class="mono" href="')
        }
        assert "reprocessar" in plans[ours]
        assert "quem corrige é a pessoa" in plans[theirs]
        fields = dict(re.findall(r'name="(csrf|chave|codigo|status|cidade|dias)" value="([^"]*)"', page))
        fields = {name: html.unescape(value) for name, value in fields.items()}
        path = "/console/falhas/grupo"
        assert (await rita.post(path, fields))[0] == 422  # no reason
        answers = [await rita.post(path, {**fields, "motivo": "código acertado"}) for _ in range(2)]
        assert [status for status, _, _ in answers] == [303, 303]
        assert answers[0][2] == answers[1][2]

        async def issued() -> bool:
            status = "SELECT estado FROM session_snapshot WHERE sessao_id = $1"
            return bool(await pool.fetchval(status, ours) == "aprovado")

        await until(issued)
        await desk.road.settled()
        rows = await pool.fetch("SELECT alvo, acao FROM auditoria WHERE motivo = 'código acertado'")
        assert ("reprocessar") in {row["acao"] for row in rows if row["alvo"] == ours}
        assert theirs not in {row["alvo"] for row in rows}
        assert len(rows) == len({row["alvo"] for row in rows})
        assert await pool.fetchval("SELECT count(*) FROM nfse_emissao WHERE sessao_id = $1", ours) == 2
    async with desk.office.at_work(Papel.SUPERVISOR, ("12.345.678/0001-95",)) as other:
        assert "Nada em aberto" in (await other.get(link))[1]


async def test_what_changed_after_it_was_resolved_is_open_again(desk: Desk) -> None:
    """A resolved failure leaves the group's open ones, and comes back when its case moves."""
    sessao_id = await desk.refused("803")
    pool, query = desk.office.database.pool, "INSERT INTO resolvida (sessao_id, quem, motivo) VALUES ($1, 'x', 'y')"
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        page = (await rita.get("/console/falhas?dias=7"))[1]
        link = group(r'href="(/console/falhas/grupo\?[^"]+)"', page).replace("&amp;", "&")
        assert sessao_id in (await rita.get(link))[1]
        await pool.execute(query, sessao_id)
        assert sessao_id not in (await rita.get(link))[1]
        await pool.execute("UPDATE session_snapshot SET updated_at = now() WHERE sessao_id = $1", sessao_id)
        assert sessao_id in (await rita.get(link))[1]


async def test_health_says_what_the_database_knows_of_the_breaker(desk: Desk) -> None:
    """Emissions held back are counted with why, and the page says that each process has a breaker of its own."""
    sessao_id = await desk.refused("804")
    pool = desk.office.database.pool
    await pool.execute(
        "UPDATE nfse_emissao SET proxima_acao_em = now() + interval '1 hour', retida = 'circuito' WHERE sessao_id = $1",
        sessao_id,
    )
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get("/console/saude"))[1]
    await pool.execute("UPDATE nfse_emissao SET proxima_acao_em = NULL, retida = NULL WHERE sessao_id = $1", sessao_id)
    assert "o gateway não respondia" in page
    assert "Cada processo tem as suas" in page


async def test_health_shows_every_process_that_speaks(desk: Desk) -> None:
    """Open and closed breakers stand with their process; who fell silent is left out, and a change is news."""
    pool = desk.office.database.pool
    async with desk.office.at_work(Papel.LEITURA) as sara:
        before = (await sara.get("/console/eventos?agora=1"))[1]
        await pool.execute(
            "INSERT INTO disjuntor (processo, destino, aberto, mudou_em, visto_em) VALUES "
            "('maquina-a:77:abc', 'gateway', true, now() + interval '1 second', now()), "
            "('maquina-b:78:abc', 'modelo', false, now(), now()), "
            "('maquina-c:79:abc', 'gateway', true, now(), now() - interval '3 minutes')"
        )
        page = (await sara.get("/console/saude"))[1]
        assert (await sara.get("/console/eventos?agora=1"))[1] != before
    await pool.execute("DELETE FROM disjuntor WHERE processo LIKE 'maquina-%'")
    rows = re.findall(
        r'data-testid="disjuntor"><td>([^<]*)<br><small[^>]*>([^<]*)</small></td><td><span[^>]*>([\w ]+)', page
    )
    assert ("gateway fiscal", "maquina-a:77", "em pausa") in rows
    assert ("modelo de linguagem", "maquina-b:78", "normal") in rows
    assert "maquina-c" not in page


@pytest.mark.parametrize(
    ("dias", "said"),
    [
        (31, None),
        (30, ("busy", "vence em 30 dias")),
        (8, ("busy", "vence em 8 dias")),
        (7, ("bad", "vence em 7 dias")),
        (1, ("bad", "vence em 1 dia")),
        (0, ("bad", "vence hoje")),
        (-1, ("bad", "venceu há 1 dia")),
        (-400, ("bad", "venceu há 400 dias")),
    ],
)
async def test_health_warns_before_a_certificate_ends(desk: Desk, dias: int, said: tuple[str, str] | None) -> None:
    """At thirty days and at seven, and after the end; by the day in Brazil, and only of one's own companies."""
    pool = desk.office.database.pool
    ends = (
        "UPDATE empresa SET certificado_vence = (now() AT TIME ZONE 'America/Sao_Paulo')::date + $1::int WHERE id = 1"
    )
    await pool.execute(ends, dias)
    async with (
        desk.office.at_work(Papel.LEITURA) as sara,
        desk.office.at_work(Papel.LEITURA, ("12.345.678/0001-95",)) as other,
    ):
        page, elsewhere = (await sara.get("/console/saude"))[1], (await other.get("/console/saude"))[1]
    await pool.execute("UPDATE empresa SET certificado_vence = NULL")
    named = r'data-testid="certificado"><td><a href="/console/empresas/1">[^<]*</a></td>'
    found = re.findall(rf'{named}<td><span class="badge (\w+)">([^<]+)', page)
    assert found == ([said] if said else [])
    assert 'data-testid="certificado"' not in elsewhere
    assert "Sem data: 1 empresa." in page  # the other one


@pytest.mark.parametrize("how", ["a day old", "of another month"])
async def test_old_invoices_of_a_group_are_asked_about_again(desk: Desk, how: str) -> None:
    """What would go out says its age and competence, and nothing old goes without a word for exactly that many."""
    sessao_id = await desk.refused("811" if how == "a day old" else "812")
    pool = desk.office.database.pool
    # a group of its own, so that others' invoices do not count
    aged = {
        "a day old": "UPDATE nfse_emissao SET criado_em = criado_em - interval '25 hours' WHERE sessao_id = $1",
        "of another month": "UPDATE nfse_emissao SET competencia = '2026-01-05' WHERE sessao_id = $1",
    }
    await pool.execute(aged[how], sessao_id)
    own = "resposta_gateway = NULL, leitura_gateway = NULL, erro_mensagem = $2"
    await pool.execute(f"UPDATE nfse_emissao SET {own} WHERE sessao_id = $1", sessao_id, f"grupo {how}")  # noqa: S608 - our own words
    attempts = "SELECT count(*) FROM nfse_emissao WHERE sessao_id = $1"
    path = "/console/falhas/grupo"
    link = f"{path}?codigo=grupo+{how.replace(' ', '+')}&status=rejeitado&cidade=3550308&dias=7"
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        page = (await rita.get(link))[1]
        assert ('data-coluna="Confirmada há">1 dia' if how == "a day old" else '"Competência">01/2026') in page
        fields = dict(re.findall(r'name="(csrf|chave|codigo|status|cidade|dias)" value="([^"]*)"', page))
        for wrong in ({}, {"antigas": "2"}):
            status, page, _ = await rita.post(path, {**fields, "motivo": "acertado", **wrong})
            assert status == 422
            assert "confirme antes" in page
            assert 'value="acertado"' in page
            assert await pool.fetchval(attempts, sessao_id) == 1
        assert (await rita.post(path, {**fields, "motivo": "acertado", "antigas": "1"}))[0] == 303

        async def again() -> bool:
            return bool(await pool.fetchval(attempts, sessao_id) == 2)

        await until(again)
    await desk.road.settled()  # what was sent again must not meet the next test's fault


async def test_a_refusal_of_ours_waits_in_the_queue_of_people(desk: Desk) -> None:
    """Who can mend it finds it there until somebody does; a refusal that the person mends is not theirs."""
    sessao_id, pool = await desk.refused("813"), desk.office.database.pool
    row = f'data-id="{sessao_id}"'
    async with desk.office.at_work() as sara:
        page = (await sara.get("/console"))[1]
        assert row in page
        assert "recusa que a equipe resolve" in page
        assert "Quem resolve é a equipe" in (await sara.get(f"/console/sessoes/{sessao_id}"))[1]
        for pendente, listed in (("valor", False), (None, True)):
            await pool.execute("UPDATE session_snapshot SET pendente = $2 WHERE sessao_id = $1", sessao_id, pendente)
            assert (row in (await sara.get("/console"))[1]) is listed
        refused = """UPDATE session_snapshot SET rascunho = rascunho
            || '{"substitui": {"emissao_id": 1, "numero": "12", "recusada": true}}' WHERE sessao_id = $1"""
        await pool.execute(refused, sessao_id)  # its person was offered the way that is left
        assert row not in (await sara.get("/console"))[1]
        async with desk.office.at_work(Papel.SUPERVISOR) as rita:
            page = (await rita.get(f"/console/sessoes/{sessao_id}"))[1]
        assert "Cancelar e refazer" in page
        assert "/acoes/reprocessar" not in page
        undone = "UPDATE session_snapshot SET rascunho = rascunho - 'substitui' WHERE sessao_id = $1"
        await pool.execute(undone, sessao_id)
        assert row in (await sara.get("/console"))[1]
        taken = "UPDATE session_snapshot SET origem = $1 WHERE id = (SELECT max(id) FROM session_snapshot)"
        await desk.refused("814")
        await pool.execute(taken, sessao_id)
        assert row not in (await sara.get("/console"))[1]


async def test_a_layout_that_is_refused_is_chosen_by_an_admin(desk: Desk) -> None:
    """The page says that nothing leaves, and what the authority said; an admin's choice counts, with its reason."""
    database = desk.office.database
    async with database.transaction() as connection:
        assert await suspension.stop_layout(connection, Ambiente.PRODUCAO, "E1235 <finNFSe>", None)
        assert not await suspension.stop_layout(connection, Ambiente.PRODUCAO, "E1235 de novo", None)
    choice = {"ambiente": "producao", "leiaute": "nt009", "motivo": "a SEFIN mudou"}
    async with desk.office.at_work(Papel.SUPERVISOR) as sara:
        page = (await sara.get("/console/saude"))[1]
        assert "Ela disse: E1235 &lt;finNFSe&gt;" in page
        assert "Emitir no leiaute novo" not in page
        assert (await sara.post("/console/saude/leiaute", choice))[0] == 403
    async with desk.office.at_work(Papel.ADMIN) as rita:
        assert (await rita.post("/console/saude/leiaute", {**choice, "leiaute": "2.0"}))[0] == 422
        assert (await rita.post("/console/saude/leiaute", {**choice, "motivo": ""}))[0] == 422
        assert "nada é enviado neste ambiente" in (await rita.get("/console/saude"))[1]
        assert (await rita.post("/console/saude/leiaute", choice))[::2] == (303, "/console/saude")
        page = (await rita.get("/console/saude"))[1]
        assert f"novo (NT 009), por escolha de {rita.who.nome}" in page
        assert "Emitir no leiaute novo" not in page
        assert "Emitir no antigo" in page
    audited = "SELECT detalhe ->> 'leiaute' FROM auditoria WHERE acao = 'escolheu o leiaute'"
    assert await database.pool.fetchval(audited) == "nt009"
    await database.pool.execute("DELETE FROM nacional_leiaute")
