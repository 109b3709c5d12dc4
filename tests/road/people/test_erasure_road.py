"""An erasure, proven by a search of everything that is kept: every column, Valkey's keys and files, the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest
import redis
from structlog.testing import capture_logs

from operations.person import Pedinte, remove
from tests.road.road_people import open_road, until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

WORD = "zaratustrina"
CPF = "529.982.247-25"
WORDS = f"nota de 321 pra Maria {WORD.title()}, CPF {CPF}, aula de {WORD}, e-mail maria@{WORD}.example"
# What stands on the fiscal document itself, and stays for as long as the law wants it.
FISCAL = {
    "nfse_emissao.bytes",  # the request, as it was sent
    "nfse_emissao.descricao_servico",
    "nfse_documento.conteudo",  # PDF and XML
    "session_snapshot.descricao",
    "session_snapshot.cnpj_razao_social",
    "session_snapshot.rascunho",
    "cliente_tomador.razao_social",
}
COLUMNS = """
SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema') AND t.table_type = 'BASE TABLE'
"""


async def places(road: Road, word: str) -> set[str]:
    """Every column of every table in which the word stands, in any case."""
    found = set()
    for table, column, kind in await road.database.pool.fetch(COLUMNS):
        text = f"encode(\"{column}\", 'escape')" if kind == "bytea" else f'"{column}"::text'
        if await road.database.pool.fetchval(
            f"SELECT EXISTS (SELECT FROM {table} WHERE strpos(lower({text}), $1) > 0)",  # noqa: S608 - from the catalogue
            word,
        ):
            found.add(f"{table}.{column}")
    return found


def on_disk(cache: redis.Redis, word: str) -> list[str]:
    """The files of Valkey that hold the word; its directory is this machine's."""
    directory = cache.config_get("dir")["dir"]
    assert isinstance(directory, str)
    files = [path for path in Path(directory).rglob("*") if path.is_file()]
    assert any(path.suffix == ".aof" for path in files)
    return [path.name for path in files if word.encode() in path.read_bytes().lower()]


# Where the conversation of this test does not bring the word by itself.
ELSEWHERE = (
    """UPDATE cliente_tomador SET logradouro = 'Rua ' || $3, dados_receita_raw = jsonb_build_object('x', $3)
    WHERE cnpj = '52998224725' AND $1 <> $2""",
    "INSERT INTO anotacao (conversa, quem, texto) SELECT $1, 'sara', $3 WHERE $2 <> ''",
    """INSERT INTO inbox (chave, lane, tipo, payload, estado, correlacao, erro) SELECT 'posta-de-lado:' || $2, $1,
    'mensagem', jsonb_build_object('mensagem', $3), 2, 'c', $3""",
    """INSERT INTO inbox (chave, lane, tipo, payload, estado, correlacao) SELECT 'dica:' || $2, 'emissao:x', 'gateway',
    jsonb_build_object('corpo', jsonb_build_object('id', id_integracao, 'nome', $3), 'hints', '[]'::jsonb), 1, 'c'
    FROM nfse_emissao WHERE sessao_id = $2 AND $1 <> ''""",
    """INSERT INTO cancelamento (emissao_id, conversa, pedido_por, estado, codigo, motivo, versao, resposta_gateway,
    recusa) SELECT id, $1, 'conversa', 'recusado', '1', 'erro na emissão', 1, jsonb_build_object('x', $3), $3
    FROM nfse_emissao WHERE sessao_id = $2""",
    """UPDATE gateway_tentativas t SET pedido = $3, resposta = $3, detalhe = $3 FROM nfse_emissao e
    WHERE e.id = t.emissao_id AND e.sessao_id = $2 AND $1 <> ''""",
    """UPDATE nfse_emissao SET resposta_gateway = jsonb_build_object('x', $3),
    webhook_payload = jsonb_build_object('x', $3), erro_mensagem = $3 WHERE sessao_id = $2 AND $1 <> ''""",
    """INSERT INTO cliente_apelido (empresa_id, documento, apelido, conversa)
    SELECT empresa_id, '52998224725', $3, $1 FROM session_snapshot WHERE sessao_id = $2""",
    """UPDATE nfse_processada p SET webhook_payload = jsonb_build_object('x', $3) FROM nfse_emissao e
    WHERE e.id = p.emissao_id AND e.sessao_id = $2 AND $1 <> ''""",
)
BEFORE = FISCAL | {
    "inbox.payload",
    "inbox.erro",
    "outbox.mensagem",
    "transicoes.detalhe",
    "conversas.nome_perfil",
    "cliente_apelido.apelido",
    "cliente_tomador.email",
    "cliente_tomador.logradouro",
    "cliente_tomador.dados_receita_raw",
    "anotacao.texto",
    "cancelamento.resposta_gateway",
    "cancelamento.recusa",
    "gateway_tentativas.pedido",
    "gateway_tentativas.resposta",
    "gateway_tentativas.detalhe",
    "nfse_emissao.webhook_payload",
    "nfse_emissao.resposta_gateway",
    "nfse_emissao.erro_mensagem",
    "nfse_processada.webhook_payload",
    "session_snapshot.descricao_extracted",
}


async def _true(value: Any) -> Any:
    return value


async def received(road: Road, change: dict[str, Any]) -> None:
    """Bring a body of Meta's to the door, signed."""
    raw = orjson.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]})
    courier = road.world.meta.courier
    async with (
        aiohttp.ClientSession() as session,
        session.post(courier.url or "", data=raw, headers=courier._headers(raw)) as answer,
    ):
        assert answer.status == 200


async def everywhere(road: Road, ana: Person) -> None:
    """Have the word said wherever a person's word can come to stand."""
    unreadable = {"from": ana.who, "type": "text", "text": {"body": WORD}}  # no id
    number = {"phone_number_id": road.world.config.meta.account.phone_number_id}
    await received(road, {"field": "messages", "value": {"metadata": number, "messages": [unreadable]}})
    elsewhere = {"id": f"wamid.elsewhere.{ana.who}", "from": ana.who, "type": "text", "text": {"body": WORD}}
    value = {"metadata": {"phone_number_id": "999888777666555"}, "messages": [elsewhere]}  # not a number that we serve
    await received(road, {"field": "messages", "value": value})
    await received(road, {"field": "account_update", "value": {"phone_number": ana.who, "about": WORD}})
    sessao_id = (await road.session(ana))["sessao_id"]
    for statement in ELSEWHERE:
        typed = statement.replace("$1", "$1::text").replace("$2", "$2::text").replace("$3", "$3::text")
        await road.database.pool.execute(typed, road.conversation(ana), sessao_id, WORD)
    kinds = await road.database.pool.fetch("SELECT DISTINCT tipo FROM inbox WHERE strpos(payload::text, $1) > 0", WORD)
    assert {"mensagem", "ilegivel", "aviso_meta", "gateway"} <= {row["tipo"] for row in kinds}


async def read_by_all(road: Road, ana: Person) -> None:
    """Wait for the ticks: one that comes after the erasure is kept for its eight days."""
    waiting = "SELECT count(*) = 0 FROM outbox WHERE conversa = $1 AND status <> 'lido'"
    await until(lambda: road.database.pool.fetchval(waiting, road.conversation(ana)))
    await road.settled()


@pytest.mark.timeout(500)  # a whole conversation, then every column is searched several times
@pytest.mark.parametrize("cpf_first", [True, False])
async def test_a_word_said_everywhere_is_left_on_the_invoice_alone(
    database_url: str, redis_url: str, cpf_first: bool
) -> None:
    """Who writes and who is invoiced are erased: only the fiscal document still says the word."""
    with capture_logs() as logs:
        async with open_road(database_url, redis_url) as road:
            with redis.Redis.from_url(redis_url) as cache:
                ana = await road.person()
                await road.world.meta.user_text(ana.who, WORDS, name=WORD.title())
                await ana.expect()
                await until(lambda: _true(on_disk(cache, WORD)))
                await ana.touch("Confirmar")
                await ana.files()
                await read_by_all(road, ana)
                await everywhere(road, ana)
                await road.settled()
                assert BEFORE - await places(road, WORD) == set()
                whom = [CPF, f"+{ana.who}"] if cpf_first else [f"+{ana.who}", CPF]
                for one in whom:
                    async with road.database.transaction() as connection:
                        done = await remove(connection, one, "pedido do titular", Pedinte())
                    assert await road.house.live.erase(done.conversas)
                assert await places(road, WORD) == FISCAL
                sent = {"nfse_emissao.bytes", "nfse_documento.conteudo"}
                assert await places(road, f"@{WORD}") <= sent
                assert await places(road, ana.who) == set()
                assert [key for key in cache.scan_iter() if WORD in repr((key, cache.dump(key))).lower()] == []

                await until(lambda: _true(not on_disk(cache, WORD) and not on_disk(cache, ana.who)))
    assert [line for line in logs if WORD in repr(line).lower()] == []
