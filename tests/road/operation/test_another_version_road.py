"""Rows that another version of us wrote: they wait for it, untouched and counted, and everybody else goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

import persistence.queue.lanes
from tests.road.road_people import FULL, unlike, until
from tests.road.road_stage import BACK_OFF_PASSES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Person, Road

LOOKED_AGAIN = 0.3  # seconds


@pytest.fixture(autouse=True)
async def alone(road: Road, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Looks again soon, and in the end nobody's message has failed."""
    monkeypatch.setattr(persistence.queue.lanes, "LEFT_SECONDS", LOOKED_AGAIN)
    yield
    assert await road.database.pool.fetchval("SELECT count(*) FROM inbox WHERE estado = 2 OR tentativas > 0") == 0


async def _unknown(road: Road) -> dict[str, int]:
    return {tabela: count for tabela, count in (await road.house.backlog.unknown()).items() if count}


async def _one_note(road: Road, person: Person) -> None:
    await person.files()
    await road.settled()
    assert len(await road.notes(person)) == 1


async def _left(road: Road) -> float:
    return road.house.metrics.registry.get_sample_value("prosa_lanes_left_total") or 0.0


async def _is_left(road: Road) -> None:
    """Wait until a lane was given back."""
    before = await _left(road)

    async def grown() -> bool:
        return await _left(road) > before

    await until(grown)


async def _confirmed_and_held(road: Road, ana: Person) -> str:
    """An order that the gateway puts off, so that its emission stays pending."""
    road.world.plugnotas.faults.set("limite_429", seconds=1, method="POST")
    await ana.say(unlike())
    await ana.touch("Confirmar")
    key = str((await road.reached(ana, "processando"))["id_integracao"])
    waits = "lease_until IS NULL AND status = 'pendente' AND proxima_acao_em > now()"
    held = f"SELECT {waits} FROM nfse_emissao WHERE id_integracao = $1"  # noqa: S608 - ours
    await until(lambda: road.database.pool.fetchval(held, key))
    return key


async def test_an_unknown_status_stops_no_other_emission(road: Road) -> None:
    """It stays as it is, due, counted and told; when it is known again it goes on, and others never waited."""
    ana, rui = await road.person(), await road.person()
    key = await _confirmed_and_held(road, ana)
    pool = road.database.pool
    await pool.execute(
        "UPDATE nfse_emissao SET status = 'novo', proxima_acao_em = now() - interval '1 day' WHERE id_integracao = $1",
        key,
    )
    road.world.plugnotas.faults.clear()
    await rui.issue(unlike())
    row = await pool.fetchrow("SELECT * FROM nfse_emissao WHERE id_integracao = $1", key)
    assert (row["status"], row["lease_until"]) == ("novo", None)
    assert await _unknown(road) == {"nfse_emissao": 1}
    with capture_logs() as logs:
        await road.house.schedule.run_job("watch")
    told = [
        (line["log_level"], line["kind"], line["count"]) for line in logs if line["event"] == "rows_of_another_version"
    ]
    assert told == [("error", "nfse_emissao", 1)]
    await pool.execute("UPDATE nfse_emissao SET status = 'pendente' WHERE id_integracao = $1", key)
    await _one_note(road, ana)


async def test_an_attempt_after_one_of_unknown_status_is_not_sent(road: Road) -> None:
    """Whether the first was accepted only its own version can tell: the second waits, and nobody else."""
    ana, rui = await road.person(), await road.person()
    road.world.plugnotas.faults.set("rejeitar", times=1)
    await ana.say(unlike())
    await ana.touch("Confirmar")
    await ana.expect("não foi aceita")
    await road.settled()
    first = (await road.session(ana))["id_integracao"]
    pool = road.database.pool
    await pool.execute("UPDATE nfse_emissao SET status = 'novo' WHERE id_integracao = $1", first)
    columns = ", ".join(
        row["column_name"]
        for row in await pool.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'nfse_emissao' "
            "AND column_name NOT IN ('id', 'tentativa', 'id_integracao', 'status', 'proxima_acao_em', 'envios')"
        )
    )
    second = await pool.fetchval(
        f"INSERT INTO nfse_emissao ({columns}, tentativa, id_integracao, status, proxima_acao_em) "  # noqa: S608 - ours
        f"SELECT {columns}, 2, id_integracao || 'x', 'pendente', now() FROM nfse_emissao WHERE id_integracao = $1 "
        "RETURNING id",
        first,
    )
    await rui.issue(unlike())
    row = await pool.fetchrow("SELECT status, envios, epoch FROM nfse_emissao WHERE id = $1", second)
    assert (row["status"], row["envios"]) == ("pendente", 0)
    assert await _unknown(road) == {"nfse_emissao": 1}
    await pool.execute("DELETE FROM nfse_emissao WHERE id = $1", second)
    await pool.execute("UPDATE nfse_emissao SET status = 'rejeitado' WHERE id_integracao = $1", first)


@pytest.mark.parametrize("column", ["envio", "codigo"])
async def test_an_unknown_cancellation_stops_no_other(road: Road, column: str) -> None:
    """One that says something new waits; another's goes to the authority."""
    ana, rui = await road.person(), await road.person()
    for person in (ana, rui):
        await person.issue(unlike())
    await road.settled()
    road.world.plugnotas.faults.set("limite_429", seconds=1, method="POST")
    [note] = await road.notes(ana)
    await ana.say(f"cancela a nota {note.numero}")
    await ana.say("valor errado, vou emitir outra")
    await ana.press("Cancelar a nota")
    pool = road.database.pool
    held = (
        "SELECT c.id FROM cancelamento c JOIN nfse_processada p ON p.emissao_id = c.emissao_id WHERE p.numero = $1 "
        "AND c.lease_until IS NULL AND c.envio = 'a_enviar' AND c.proxima_acao_em > now() AND c.estado = 'pendente'"
    )
    number = await until(lambda: pool.fetchval(held, note.numero))
    before = await pool.fetchval(f"SELECT {column} FROM cancelamento WHERE id = $1", number)  # noqa: S608 - ours
    change = f"UPDATE cancelamento SET {column} = $2, proxima_acao_em = now() WHERE id = $1"  # noqa: S608 - ours
    await pool.execute(change, number, "novo")
    road.world.plugnotas.faults.clear()
    [other] = await road.notes(rui)
    await rui.say(f"cancela a nota {other.numero}")
    await rui.say("valor errado, vou emitir outra")
    await rui.press("Cancelar a nota")
    await rui.expect(f"Nota {other.numero} cancelada")
    assert await _unknown(road) == {"cancelamento": 1}
    await pool.execute(change, number, before)
    await ana.expect(f"Nota {note.numero} cancelada")


async def test_a_message_of_an_unknown_kind_waits_in_its_place(road: Road) -> None:
    """It is not given up and not overtaken in its conversation; other conversations go on."""
    ana, rui = await road.person(), await road.person()
    await ana.say("oi")
    await road.settled()
    pool = road.database.pool
    number = await pool.fetchval(
        "INSERT INTO outbox (conversa, mensagem) VALUES ($1, $2) RETURNING id",
        road.conversation(ana),
        {"tipo": "lista", "texto": "escolha", "opcoes": ["a"]},
    )
    await ana.tell(FULL)
    await rui.issue(unlike())
    assert (await pool.fetchval("SELECT status FROM outbox WHERE id = $1", number)) == "pendente"
    assert (await _unknown(road))["outbox"] == 1
    assert len(ana.answers) == 1
    text = {"tipo": "texto", "texto": "escolha", "botoes": [], "novo": 1}
    await pool.execute("UPDATE outbox SET mensagem = $2 WHERE id = $1", number, text)
    await ana.expect("escolha")
    await ana.expect("R$ 1.500,00")


async def _change(road: Road, ana: Person, column: str, value: Any) -> None:
    await road.database.pool.execute(
        f"UPDATE session_snapshot SET {column} = $2 WHERE conversa = $1",  # noqa: S608 - ours
        road.conversation(ana),
        value,
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [("estado", "aguardando_gestor"), ("snapshot_reason", "novo"), ("pendente", "local")],
)
async def test_a_session_that_we_cannot_read_waits_with_its_conversation(road: Road, column: str, value: str) -> None:
    """A yes to a summary of another version's is not taken by this one; who can read it answers, and others go on."""
    ana, rui = await road.person(), await road.person()
    summary = await ana.say(unlike())
    await road.settled()
    before = (await road.session(ana))[column]
    await _change(road, ana, column, value)
    await road.house.redis.flushdb()
    await ana.touch("Confirmar", of=summary)
    await _is_left(road)
    await rui.issue(unlike())
    assert await road.notes(ana) == []
    assert len(await road.sessions(ana)) == 1
    await _change(road, ana, column, before)
    await _one_note(road, ana)


async def test_words_to_a_session_in_an_unknown_state_open_no_other(road: Road) -> None:
    """It may wait for these very words: they wait too, and no second session lies beside it."""
    ana, rui = await road.person(), await road.person()
    await ana.say(FULL)
    await road.settled()
    await _change(road, ana, "estado", "aguardando_gestor")
    await ana.tell(unlike())
    await _is_left(road)
    await rui.issue(unlike())
    assert (len(await road.sessions(ana)), len(ana.answers)) == (1, 1)
    await _change(road, ana, "estado", "aguardando_confirmacao")
    await ana.expect("Mudei o valor")


async def test_staff_take_no_conversation_over_whose_session_we_cannot_read(road: Road) -> None:
    """Its summary would stay valid, as only its own version can void it: the command waits with the conversation."""
    ana = await road.person()
    await ana.say(FULL)
    await road.settled()
    await _change(road, ana, "estado", "aguardando_gestor")
    pool, lane = road.database.pool, road.conversation(ana)
    sara = (
        "INSERT INTO staff (nome, papel, senha_hash, totp_segredo, todas_empresas) "
        "VALUES ('sara', 'suporte', 'x', 'x', true) RETURNING id"
    )
    command = {"comando": "assumir", "quem": "sara", "staff_id": await pool.fetchval(sara)}
    put = "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ('assumir', $1, 'equipe', $2, 'c')"
    await pool.execute(put, lane, command)
    await pool.execute("UPDATE lanes SET ready_at = now() WHERE lane = $1", lane)
    await _is_left(road)
    assert len(ana.answers) == 1
    await _change(road, ana, "estado", "aguardando_confirmacao")
    await ana.expect("sara")


async def test_a_session_in_an_unknown_state_outlives_its_deadline_and_news(road: Road) -> None:
    """The sweep's and the authority's rows wait in its lane too; no row is set aside meanwhile."""
    ana = await road.person()
    await ana.say(unlike())
    await road.settled()
    sessao = await road.session(ana)
    await _change(road, ana, "estado", "aguardando_gestor")
    await _change(road, ana, "expira_em", datetime.now(UTC) - timedelta(seconds=1))
    await road.database.pool.execute(
        "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($1, $2, 'prazo', $3, 'c')",
        f"prazo:{sessao['sessao_id']}:{sessao['versao']}",
        sessao["conversa"],
        {"sessao_id": sessao["sessao_id"]},
    )
    await road.database.pool.execute("UPDATE lanes SET ready_at = now() WHERE lane = $1", sessao["conversa"])
    await _is_left(road)
    await _change(road, ana, "estado", "aguardando_confirmacao")
    await road.reached(ana, "expirado")


@pytest.mark.parametrize("place", ["rascunho", "documento"])
@pytest.mark.parametrize("redis", ["kept", "flushed"])
async def test_a_field_that_we_do_not_know_is_neither_dropped_nor_left_out_of_a_note(
    road: Road, place: str, redis: str
) -> None:
    """What its person confirmed has more than we would issue: the yes waits for the version that put it there."""
    ana, rui = await road.person(), await road.person()
    summary = await ana.say(unlike())
    await road.settled()
    pool, conversa = road.database.pool, road.conversation(ana)
    path = ["local"] if place == "rascunho" else ["documento", "local"]
    put = "UPDATE session_snapshot SET rascunho = jsonb_set(rascunho, $2, $3), versao = versao + 1 WHERE conversa = $1"
    await pool.execute(put, conversa, path, {"status": "validated", "valor": "Campinas"})
    if redis == "flushed":
        await road.house.redis.flushdb()
    else:
        key = f"prosa:sessao:{conversa}"
        live = await road.house.redis.get(key)
        assert isinstance(live, bytes)
        await road.house.redis.set(key, live.replace(b'"rascunho":{', b'"rascunho":{"local":{"valor":"Campinas"},'))
        await pool.execute("UPDATE session_snapshot SET versao = versao - 1 WHERE conversa = $1", conversa)
    await ana.touch("Confirmar", of=summary)
    await _is_left(road)
    await rui.issue(unlike())
    assert await road.notes(ana) == []
    assert (await road.session(ana))["rascunho"][path[0]] != {}
    await pool.execute(put, conversa, path, {"status": "null", "valor": None})  # it says nothing: nothing is lost
    await _one_note(road, ana)


async def test_the_listing_of_notes_waits_when_one_of_them_is_unknown(road: Road) -> None:
    """A list that left one out would be a false answer; the conversation waits, others go on."""
    ana, rui = await road.person(), await road.person()
    await ana.issue(FULL)
    await road.settled()
    key = (await road.session(ana))["id_integracao"]
    pool = road.database.pool
    await pool.execute("UPDATE nfse_emissao SET status = 'novo' WHERE id_integracao = $1", key)
    await ana.tell("quais notas eu já emiti?")
    await _is_left(road)
    await rui.issue(unlike())
    await pool.execute("UPDATE nfse_emissao SET status = 'concluido' WHERE id_integracao = $1", key)
    await pool.execute(BACK_OFF_PASSES)
    await ana.expect("1.500")


@pytest.mark.parametrize(
    ("tipo", "payload"),
    [
        ("ordem", {"ordem": "nova", "sessao_id": "x", "id_integracao": "y"}),
        ("emissao", {"sessao_id": "x", "emissao_id": 1, "aviso": "novo"}),
        ("equipe", {"comando": "novo", "quem": "sara", "staff_id": 1}),
        ("novo", {}),
    ],
)
async def test_rows_that_say_something_new_wait_in_their_lane(road: Road, tipo: str, payload: dict[str, Any]) -> None:
    """An order, news, a command or a kind that this version does not know: uncounted, until somebody does."""
    ana = await road.person()
    await ana.say("oi")
    await road.settled()
    pool, lane = road.database.pool, road.conversation(ana)
    put = "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($1, $2, $1, $3, 'c')"
    await pool.execute(put, tipo, lane, payload)
    await pool.execute("UPDATE lanes SET ready_at = now() WHERE lane = $1", lane)
    await _is_left(road)
    assert tuple(await pool.fetchrow("SELECT estado, tentativas FROM inbox WHERE chave = $1", tipo)) == (0, 0)
    await pool.execute("DELETE FROM inbox WHERE chave = $1", tipo)
