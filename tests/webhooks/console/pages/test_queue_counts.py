from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from persistence.access.accounts import Alcance, Papel
from persistence.staff import figures, queue
from tests.stored_work import emission
from webhooks.console.pages import queue as pages

if TYPE_CHECKING:
    import pytest

    from tests.webhooks.console.conftest import Browser, Office

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


_REFUSED = """
UPDATE session_snapshot SET estado = 'rejeitado', pendente = NULL WHERE id = (SELECT session_id FROM nfse_emissao
    WHERE id = $1) RETURNING sessao_id
"""
_TAKEN_UP = """
INSERT INTO session_snapshot (sessao_id, conversa, empresa_id, estado, snapshot_reason, cnpj_status, valor_status,
    descricao_status, data_complete, missing_fields, rascunho, revisao, versao, resumos, origem)
SELECT $2, conversa, empresa_id, $3, 'confirmed', 'validated', 'validated', 'validated', true, '[]', '{}', 1, 1, 1, $1
FROM session_snapshot WHERE sessao_id = $1
"""


async def test_a_refusal_waits_for_staff_whatever_its_person_begins(office: Office) -> None:
    """A corrected copy that was given up repairs nothing; one that went to the authority does, however late."""
    database, pool = office.database, office.database.pool
    refused = await pool.fetchval(_REFUSED, await emission(database, status="rejeitado", proxima_acao_em=None))

    async def open_now() -> tuple[bool, int]:
        async with database.alone() as connection:
            rows = await queue.needing_eyes(connection, Alcance(todas=True), queue.Filtros(), 50)
            groups = await figures.failure_groups(connection, Alcance(todas=True), timedelta(days=7))
        return refused in {row.sessao_id for row in rows}, sum(group.abertas for group in groups)

    assert await open_now() == (True, 1)
    for number, (of, estado) in enumerate(
        ((refused, "coleta"), (refused, "cancelado_usuario"), ("copia-1", "expirado"))
    ):
        await pool.execute(_TAKEN_UP, of, f"copia-{number}", estado)
        assert await open_now() == (True, 1)
    await pool.execute(_TAKEN_UP, "copia-2", "copia-3", "aprovado")
    assert await open_now() == (False, 0)


async def test_a_wish_for_a_person_stands_where_it_was_said(office: Office) -> None:
    """What its person begins afterwards is neither the wish's place nor its time, and says nothing of it."""
    database, pool = office.database, office.database.pool
    said = await pool.fetchval(_REFUSED, await emission(database, status="concluido", proxima_acao_em=None))
    await pool.execute("UPDATE session_snapshot SET estado = 'aprovado' WHERE sessao_id = $1", said)
    conversa = await pool.fetchval("SELECT conversa FROM session_snapshot WHERE sessao_id = $1", said)
    await pool.execute(
        "UPDATE conversas SET pessoa_pedida_em = clock_timestamp(), pessoa_motivo = 'palavras' WHERE conversa = $1",
        conversa,
    )
    await pool.execute(_TAKEN_UP, said, "depois-1", "aprovado")
    async with database.alone() as connection:
        rows = await queue.needing_eyes(connection, Alcance(todas=True), queue.Filtros(), 50)
    assert [row.sessao_id for row in rows if "pediu_pessoa" in row.causas] == [said]
    async with office.at_work(Papel.LEITURA) as sara:
        asked, later = [(await sara.get(f"/console/sessoes/{each}"))[1] for each in (said, "depois-1")]
        listed = (await sara.get("/console?ver=todas"))[1]
    assert "A pessoa pediu alguém da equipe" in asked
    assert "A pessoa pediu alguém da equipe" not in later
    assert listed.count("quer falar com uma pessoa") == 1
    await pool.execute("UPDATE conversas SET pessoa_pedida_em = NULL WHERE conversa = $1", conversa)


async def test_what_was_given_up_says_nothing_beside_a_wish_for_a_person(office: Office) -> None:
    """The row says who asked and since when; the reason to take it over is there already."""
    pool = office.database.pool
    said = await pool.fetchval(_REFUSED, await emission(office.database, status="concluido", proxima_acao_em=None))
    gone = (
        "UPDATE session_snapshot SET estado = 'cancelado_usuario', valor = NULL WHERE sessao_id = $1 RETURNING conversa"
    )
    asked = "UPDATE conversas SET pessoa_pedida_em = now(), pessoa_motivo = 'palavras' WHERE conversa = $1"
    conversa = await pool.fetchval(gone, said)
    await pool.execute(asked, conversa)
    async with office.at_work() as sara:
        page = (await sara.get("/console"))[1]
        form = (await sara.get(f"/console/sessoes/{said}/acoes/assumir"))[1]
    row = page[page.index(f'data-id="{said}"') :].partition('data-testid="linha"')[2].partition('class="row')[0]
    assert "pediu uma pessoa" in row
    assert "desist" not in row
    assert "sem valor" not in row
    assert 'name="motivo" required maxlength="500" value="pediu uma pessoa"' in form
    await pool.execute("UPDATE conversas SET pessoa_pedida_em = NULL WHERE conversa = $1", conversa)


async def test_a_person_who_waits_is_one_row_since_the_oldest_cause(office: Office) -> None:
    """Two refusals of ours and a wish are one row and count once; past an hour the row says so."""
    database, pool = office.database, office.database.pool
    refused, another = [
        await pool.fetchval(_REFUSED, await emission(database, status="rejeitado", proxima_acao_em=None))
        for _ in range(2)
    ]
    first = await pool.fetchrow("SELECT id, conversa FROM session_snapshot WHERE sessao_id = $1", refused)
    await pool.execute("UPDATE session_snapshot SET conversa = $1 WHERE sessao_id = $2", first["conversa"], another)
    await pool.execute("UPDATE session_snapshot SET created_at = now() - interval '2 hours' WHERE id = $1", first["id"])
    await pool.execute(
        "UPDATE session_snapshot SET created_at = now() - interval '1 hour' WHERE sessao_id = $1", another
    )
    await pool.execute(
        "UPDATE conversas SET pessoa_pedida_em = now() - interval '90 minutes', pessoa_motivo = 'palavras' "
        "WHERE conversa = $1",
        first["conversa"],
    )
    await pool.execute(
        "UPDATE nfse_emissao SET erro_mensagem = 'O serviço não confere.', "
        """leitura_gateway = '{"codigos": ["E160"]}' WHERE status = 'rejeitado'"""
    )
    async with database.alone() as connection:
        rows = await queue.needing_eyes(connection, Alcance(todas=True), queue.Filtros(), 50)
        counted = await queue.counts(connection, Alcance(todas=True))
        causes = await queue.stopped_by_one_cause(connection, Alcance(todas=True), timedelta(days=30))
    (row,) = [row for row in rows if row.sessao_id in {refused, another}]
    assert (row.outras, counted["atencao"]) == (1, len(rows))
    assert set(row.todas_causas) == {"recusa_nossa", "pediu_pessoa"}
    assert 5400 <= row.espera < 5500
    assert [cause.quantas for cause in causes] == [2]
    async with office.at_work(Papel.SUPERVISOR) as sara:
        page = (await sara.get("/console"))[1]
    assert page.count('data-testid="linha"') == len(rows)
    assert '<span class="late">atrasada, há 1 h' in page
    assert "e mais 1 nota" in page
    assert "Ensaiar as 2" in page
    assert page.count("O serviço não confere (E160)") == 2  # of the group, and of the row
    await pool.execute("UPDATE conversas SET pessoa_pedida_em = NULL WHERE conversa = $1", first["conversa"])


async def test_who_waits_longest_comes_first_page_by_page(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old note that stopped just now is behind a new one that waits; of equal waits no page loses one."""
    database, pool = office.database, office.database.pool
    monkeypatch.setattr(pages, "PAGE", 2)
    waits: list[tuple[int, int, str]] = []
    for minutes in (1, 30, 30, 30, 50):
        sessao_id = await pool.fetchval(_REFUSED, await emission(database, status="rejeitado", proxima_acao_em=None))
        waits.append((-minutes, len(waits), sessao_id))
        await pool.execute(
            "UPDATE session_snapshot SET updated_at = date_trunc('day', now()) - $2 * interval '1 min' "
            "WHERE sessao_id = $1",
            sessao_id,
            minutes,
        )
    read, path = [], "/console"
    async with office.at_work(Papel.LEITURA) as sara:
        while path:
            page = (await sara.get(path))[1]
            read += re.findall(r'data-id="([^"]+)" data-testid="linha"', page)
            path = html.unescape(next(iter(re.findall(r'rel="next" href="([^"]+)"', page)), ""))
    ours = {sessao_id for *_, sessao_id in waits}
    assert [each for each in read if each in ours] == [sessao_id for *_, sessao_id in sorted(waits)]
    assert len(read) == len(set(read))
