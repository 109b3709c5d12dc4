from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from operations.person import Pedinte, PersonError, copy, rehearse, remove
from persistence.access.accounts import Papel
from persistence.tables import metadata
from state_machine.invoice.session import Mensagem
from state_machine.machine.events import NotaAutorizada
from state_machine.machine.transition import transition
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from tests.road.road_people import Person
    from tests.webhooks.console.conftest import Browser, Desk

CPF, MASKED = "52998224725", "529.982.247-25"
# What stands on the fiscal document itself, and stays as long as the law wants it.
FISCAL = {
    ("cliente_tomador", "cnpj"),
    ("nfse_emissao", "tomador_documento"),
    ("session_snapshot", "cnpj"),
    ("session_snapshot", "rascunho"),
}


async def _where(desk: Desk, needle: str) -> set[tuple[str, str]]:
    """Every text or JSON column of the database in which ``needle`` stands, in plain letters or as base64."""
    pool, found = desk.office.database.pool, set()
    hidden = {base64.b64encode(b"x" * skip + needle.encode()).decode()[4 if skip else 0 : -4] for skip in range(3)}
    for table in metadata.sorted_tables:
        for column in table.c:
            if str(column.type) not in {"TEXT", "JSONB"} and "VARCHAR" not in str(column.type):
                continue
            for form in {needle, *hidden}:
                query = f'SELECT EXISTS (SELECT FROM {table.name} WHERE strpos("{column.name}"::text, $1) > 0)'  # noqa: S608 - names of our own tables
                if await pool.fetchval(query, form):
                    found.add((table.name, column.name))
    return found


async def _erased(desk: Desk, whom: str) -> None:
    async with desk.office.database.transaction() as connection:
        await remove(connection, whom, "pedido do titular", Pedinte())


async def _issued(desk: Desk, words: str = FULL) -> Person:
    ana = await desk.road.person()
    await ana.issue(words)
    conversa = desk.road.conversation(ana)

    async def ticked() -> bool:  # a tick that comes after the erasure is kept for its eight days
        waiting = "SELECT count(*) FROM outbox WHERE conversa = $1 AND status <> 'lido'"
        return bool(await desk.office.database.pool.fetchval(waiting, conversa) == 0)

    await until(ticked)
    await desk.road.settled()
    return ana


async def test_who_writes_is_erased_and_their_invoice_stays(desk: Desk) -> None:
    """No column holds the phone, the conversation's key or a wamid any more; note, PDF and XML are as they were."""
    ana = await _issued(desk)
    pool, conversa = desk.office.database.pool, desk.road.conversation(ana)
    sessao_id = (await desk.road.session(ana))["sessao_id"]
    wamids = [row["chave"] for row in await pool.fetch("SELECT chave FROM inbox WHERE lane = $1", conversa)]
    wamids = [key for key in wamids if key.startswith("wamid.")]
    await pool.execute(
        "INSERT INTO anotacao (conversa, quem, texto) VALUES ($1, 'sara', $2)", conversa, f"ligar no {ana.who}"
    )
    assert {("conversas", "wa_id"), ("inbox", "chave"), ("anotacao", "texto")} <= await _where(desk, ana.who)
    fiscal = (
        "SELECT md5(string_agg(d.conteudo, '' ORDER BY d.id)) FROM nfse_documento d "
        "JOIN nfse_emissao e ON e.id = d.emissao_id WHERE e.sessao_id = $1"
    )
    before = await pool.fetchval(fiscal, sessao_id)
    assert before
    assert wamids
    await _erased(desk, f"+{ana.who}")
    for needle in (ana.who, conversa, conversa.partition(":")[2], *wamids):
        assert await _where(desk, needle) == set(), needle
    assert await pool.fetchval(fiscal, sessao_id) == before
    row = await pool.fetchrow("SELECT * FROM session_snapshot WHERE sessao_id = $1", sessao_id)
    assert (row["estado"], row["cnpj"], row["valor_extracted"], row["telefone"]) == (
        "aprovado",
        "12345678000195",
        None,
        None,
    )
    await _erased(desk, f"+{ana.who}")  # again: nothing more happens
    assert await _where(desk, ana.who) == set()
    async with desk.office.at_work(Papel.ADMIN) as rita:
        for path in (f"/sessoes/{sessao_id}", f"/sessoes/{sessao_id}/snapshot", "?ver=todas", "?ver=desconhecidas"):
            status, page = await rita.get(f"/console{path}")
            assert (status, ana.who in page) == (200, False), path
        assert "apagado" not in (await rita.get("/console?ver=desconhecidas"))[1]


async def test_who_was_erased_may_come_back_as_somebody_new(desk: Desk) -> None:
    """The number no longer issues; a word from it is answered as from a stranger, without anything of before."""
    ana = await _issued(desk)
    await _erased(desk, f"+{ana.who}")
    answer = await ana.say(FULL)
    assert "Confere" not in answer.text
    await desk.road.settled()
    assert await desk.road.sessions(ana) == []


async def test_nothing_is_erased_while_an_invoice_is_under_way(desk: Desk) -> None:
    """An open summary, an unknown outcome and a conflict each refuse, and say what to do; then nothing has changed."""
    ana = await desk.road.person()
    await ana.say(FULL)
    await desk.road.settled()
    with pytest.raises(PersonError, match="esperando a pessoa"):
        await _erased(desk, f"+{ana.who}")
    await ana.touch("Confirmar")
    await ana.files()
    await desk.road.settled()
    pool, sessao_id = desk.office.database.pool, (await desk.road.session(ana))["sessao_id"]
    for status in ("desconhecido", "conflito"):
        await pool.execute("UPDATE nfse_emissao SET status = $2 WHERE sessao_id = $1", sessao_id, status)
        with pytest.raises(PersonError, match="consulte no gateway"):
            await _erased(desk, f"+{ana.who}")
    assert ("conversas", "wa_id") in await _where(desk, ana.who)
    await pool.execute("UPDATE nfse_emissao SET status = 'concluido' WHERE sessao_id = $1", sessao_id)
    await _erased(desk, f"+{ana.who}")


async def test_a_customer_is_erased_from_everything_but_the_invoice(desk: Desk) -> None:
    """By CPF: words, drafts, journal and messages lose them; what stands on the fiscal document stays."""
    ana = await _issued(desk, f"nota de 321 pra Maria da Silva, CPF {MASKED}, aula de barista")
    sessao_id = (await desk.road.session(ana))["sessao_id"]
    await ana.say(f"o cpf {MASKED} quer outra nota")  # named again, and no invoice came of it
    await ana.touch("Cancelar")
    await desk.road.settled()
    assert ("outbox", "mensagem") in await _where(desk, MASKED)
    async with desk.office.database.transaction() as connection:
        copied = await copy(connection, MASKED, "pedido", Pedinte())
    assert copied["dados"]["notas"]
    assert copied["dados"]["mensagens recebidas"]
    await desk.office.database.pool.execute(
        "UPDATE session_snapshot SET estado = 'cancelado_usuario' WHERE estado = 'dados_incompletos'"
    )
    await _erased(desk, CPF)
    assert await _where(desk, CPF) | await _where(desk, MASKED) <= FISCAL
    assert (
        await desk.office.database.pool.fetchval(
            "SELECT tomador_documento FROM nfse_emissao WHERE sessao_id = $1", sessao_id
        )
        == CPF
    )


async def test_late_truth_about_an_erased_persons_invoice_is_stored_and_told_to_nobody(desk: Desk) -> None:
    """A session without its person still goes through the state machine, and no message is made for it."""
    from persistence.conversations import snapshots  # noqa: PLC0415 - only here
    from persistence.queue import outbox  # noqa: PLC0415 - only here

    ana = await _issued(desk)
    sessao_id = (await desk.road.session(ana))["sessao_id"]
    await _erased(desk, f"+{ana.who}")
    async with desk.office.database.transaction() as connection:
        key = (
            await connection.exec_driver_sql("SELECT conversa FROM session_snapshot WHERE sessao_id = $1", (sessao_id,))
        ).scalar_one()
        sessao = await snapshots.load(connection, key, sessao_id)
        assert sessao is not None
        assert sessao.mostrado_em is not None
        transition(sessao, NotaAutorizada("9", 1), sessao.mostrado_em)
        outbox.enqueue(connection, conversa=key, mensagem=Mensagem("x"))
    assert await desk.office.database.pool.fetchval("SELECT count(*) FROM outbox WHERE conversa = $1", key) == 0


async def _sent(rita: Browser, path: str, fields: dict[str, str]) -> tuple[int, str]:
    status, page, _ = await rita.post(f"/console/pessoas/{path}", fields, form="/console/pessoas")
    return status, page


async def test_an_admin_copies_and_erases_on_the_console(desk: Desk) -> None:
    """The rehearsal shows the parts, the copy leaves as JSON, the erasure is done once; all of it is in the audit."""
    ana = await _issued(desk)
    pool = desk.office.database.pool
    quem = {"quem": f"+{ana.who}"}
    async with desk.office.at_work(Papel.ADMIN) as rita:
        status, page = await _sent(rita, "ensaio", quem)
        assert (status, "a lei fiscal manda guardar" in page, "mensagens recebidas" in page) == (200, True, True)
        assert (await _sent(rita, "exportar", {**quem, "motivo": " "}))[0] == 422
        status, text = await _sent(rita, "exportar", {**quem, "motivo": "pedido por e-mail"})
        data: dict[str, Any] = json.loads(text)["dados"]
        assert (status, data["conversas"][0]["wa_id"]) == (200, ana.who)
        assert {"mensagens recebidas", "mensagens enviadas", "diário", "sessões", "PDF e XML"} <= {
            name for name, rows in data.items() if rows
        }
        fields = {**quem, "motivo": "pedido por e-mail", "chave": f"apagar-{ana.who}"}
        assert 'data-testid="feito"' in (await _sent(rita, "apagar", fields))[1]
        assert 'data-testid="feito"' in (await _sent(rita, "apagar", fields))[1]
        rows = await pool.fetch(
            "SELECT acao, motivo FROM auditoria WHERE quem = $1 AND alvo IS NOT NULL", rita.who.nome
        )
        assert [tuple(row) for row in rows] == [
            ("exportar pessoa", "pedido por e-mail"),
            ("apagar pessoa", "pedido por e-mail"),
        ]
        assert "Diga um telefone" in (await _sent(rita, "ensaio", {"quem": "ninguém"}))[1]
    async with desk.office.at_work(Papel.ADMIN, ("12.345.678/0001-95",)) as other:
        assert (await _sent(other, "ensaio", quem))[0] == 403


async def test_nobody_known_is_nothing(desk: Desk) -> None:
    """A number that never wrote has no rows, and a rehearsal says so."""
    async with desk.office.database.transaction() as connection:
        assert (await rehearse(connection, "+5511900000001")).vazio
