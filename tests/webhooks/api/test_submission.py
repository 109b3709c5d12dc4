"""The submission of a proposal (the specification's 5.3): once, by whom, to whom, and what is refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from persistence.api import approvals, keys
from persistence.people import channels, goods
from state_machine.goods import checked
from state_machine.invoice.fields import Campo
from state_machine.proposal import draft, place
from state_machine.protocol.channel import Canal, TipoDocumento
from tests.owner import as_owner
from tests.road.road_people import until

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tests.webhooks.api.conftest import Answer, Erp

SPECIFICATION = pytest.mark.parametrize("erp", [False], indirect=True)  # PROSA_API_CHAVE_ESTRITA=false
ANA, BIA = "5511912345678", "5511987654321"
_BLOCKED = "SELECT count(*) > 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%propostas%'"
OURS, THEIRS = "99000002000148", "99000003000192"


async def _person(erp: Erp, cnpj: str = OURS, telefone: str = ANA, *, wrote: bool = True) -> str:
    """Let somebody issue for a company; return their conversation, which there is if they ``wrote``."""
    usuario = await erp.database.pool.fetchval(
        "INSERT INTO usuario (empresa_id, telefone) SELECT id, $2 FROM empresa WHERE cnpj = $1 RETURNING id",
        cnpj,
        telefone,
    )
    if wrote:
        await erp.database.pool.execute(
            "INSERT INTO conversas (conversa, phone_number_id, endereco, usuario_id, ultima_entrada_em)"
            " VALUES ($1, '1', $2, $3, now())",
            f"1:{telefone}",
            telefone,
            usuario,
        )
    return f"1:{telefone}"


async def _proposal(erp: Erp, key: str = "p") -> int:
    made = await erp.post("/propostas", {"cliente_id": await erp.client(), "valor": "1500.00"}, key)
    assert made.status == 201
    return int(made.body["id"])


async def _submit(erp: Erp, proposta: int, key: str | None = "submit-001", versao: Any = 1, **options: Any) -> Answer:
    return await erp.post(f"/propostas/{proposta}/submeter", {"versao": versao}, key, **options)


async def _together(erp: Erp, sent: list[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """Send at once; the first two have looked their key up and wait for a proposal before either may go on."""
    async with erp.database.pool.acquire() as other:
        transaction = other.transaction()
        await transaction.start()
        await other.execute("SELECT FROM propostas FOR UPDATE")
        answers = asyncio.gather(*sent)
        await until(lambda: _two_blocked(other))
        await transaction.commit()
    return list(await answers)


async def _two_blocked(connection: Any) -> bool:
    await connection.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees one moment of it otherwise
    return bool(await connection.fetchval(_BLOCKED))


async def _rows(erp: Erp) -> list[Any]:
    return list(await erp.database.pool.fetch("SELECT * FROM inbox WHERE tipo = 'proposta' ORDER BY id"))


@pytest.fixture(autouse=True)
async def empty(erp: Erp) -> None:
    """No row of a test before."""
    await as_owner(erp.database.pool, "TRUNCATE inbox, lanes")


async def test_5_3_submit_a_proposal_with_idempotency(erp: Erp) -> None:
    """The second request under the key does nothing, and gets the proposal as the first left it."""
    lane = await _person(erp)
    proposta = await _proposal(erp)
    first = await _submit(erp, proposta)
    assert first.status == 200
    assert (first.body["id"], first.body["estado"], first.body["versao"]) == (proposta, "enviada", 2)
    assert "Idempotency-Replayed" not in first.headers
    second = await _submit(erp, proposta)
    assert (second.status, second.body) == (200, first.body)
    assert second.headers["Idempotency-Replayed"] == "true"
    (row,) = await _rows(erp)
    assert (row["lane"], row["chave"], row["payload"]) == (lane, f"proposta:{proposta}:2", {"proposta_id": proposta})
    stored = await erp.database.pool.fetchrow("SELECT * FROM idempotencia_operacoes")
    assert (stored["tipo_operacao"], stored["entidade_id"]) == ("submeter_proposta", proposta)
    assert (stored["resultado"]["estado"], stored["resultado"]["versao"]) == ("enviada", 2)
    assert stored["usuario"] == erp.ours[:19]


async def test_5_3_the_second_request_gets_the_state_of_now(erp: Erp) -> None:
    """It may have been accepted meanwhile: the stale version of the request does not matter."""
    await _person(erp)
    proposta = await _proposal(erp)
    await _submit(erp, proposta)
    await erp.database.pool.execute("UPDATE propostas SET estado = 'aceita', versao = 4, valor = 1800")
    again = await _submit(erp, proposta)
    assert again.status == 200
    assert (again.body["estado"], again.body["versao"], again.body["valor"]) == ("aceita", 4, "1800.00")
    assert len(await _rows(erp)) == 1


async def test_a_stale_version_is_refused_and_uses_no_key_up(erp: Erp) -> None:
    """Whoever read an older version must look again; a proposal that was sent is not sent under another key."""
    await _person(erp)
    proposta = await _proposal(erp)
    stale = await _submit(erp, proposta, versao=2)
    assert (stale.status, stale.codigo) == (409, "versao_desatualizada")
    assert await erp.count("idempotencia_operacoes") == 0
    assert (await _submit(erp, proposta)).status == 200
    other = await _submit(erp, proposta, "submit-002")
    assert (other.status, other.codigo) == (409, "versao_desatualizada")
    sent = await _submit(erp, proposta, "submit-003", versao=2)
    assert (sent.status, sent.codigo) == (409, "estado_invalido")
    assert len(await _rows(erp)) == 1


async def test_a_key_of_another_submission_is_refused(erp: Erp) -> None:
    """Of another version, and of another proposal."""
    await _person(erp)
    one, other = await _proposal(erp, "one"), await _proposal(erp, "other")
    await _submit(erp, one)
    for proposta, versao in ((one, 2), (one, "x"), (other, 1)):
        refused = await _submit(erp, proposta, versao=versao)
        assert (refused.status, refused.codigo) == (422, "chave_reutilizada")
    assert len(await _rows(erp)) == 1


@SPECIFICATION
async def test_5_3_the_key_alone_decides(erp: Erp) -> None:
    """In the specification's way any body under the key gets the proposal that was submitted under it."""
    await _person(erp)
    one, other = await _proposal(erp, "one"), await _proposal(erp, "other")
    first = await _submit(erp, one)
    for proposta, versao in ((one, 7), (one, "x"), (other, 1)):
        again = await _submit(erp, proposta, versao=versao)
        assert (again.status, again.body) == (200, first.body)


async def test_fifty_submissions_at_once_are_one(erp: Erp) -> None:
    """All of them get the proposal that one of them sent."""
    await _person(erp)
    proposta = await _proposal(erp)
    answers = await _together(erp, [_submit(erp, proposta) for _ in range(50)])
    assert {answer.status for answer in answers} == {200}
    assert {(answer.body["estado"], answer.body["versao"]) for answer in answers} == {("enviada", 2)}
    assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
    assert (await erp.count("idempotencia_operacoes"), len(await _rows(erp))) == (1, 1)


async def test_fifty_keys_at_once_send_a_proposal_once(erp: Erp) -> None:
    """Under whichever key came first; the others read that it is no longer as they saw it."""
    await _person(erp)
    proposta = await _proposal(erp)
    answers = await asyncio.gather(*(_submit(erp, proposta, f"key-{number}") for number in range(50)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 49
    assert len(await _rows(erp)) == 1


async def test_one_key_sends_one_of_two_proposals_at_once(erp: Erp) -> None:
    """The other one stays a draft."""
    await _person(erp)
    both = [await _proposal(erp, "one"), await _proposal(erp, "other")]
    answers = await _together(erp, [_submit(erp, proposta) for proposta in both])
    sent, refused = sorted(answer.status for answer in answers)
    assert sent == 200
    assert refused in {409, 422}  # whether the other one was at work or done
    states = await erp.database.pool.fetch("SELECT estado FROM propostas ORDER BY estado")
    assert [row["estado"] for row in states] == ["enviada", "rascunho"]
    assert len(await _rows(erp)) == 1


async def test_who_never_wrote_cannot_be_asked(erp: Erp) -> None:
    """The caller is told what to do, and repeats with its key."""
    proposta = await _proposal(erp)
    nobody = await _submit(erp, proposta)
    assert (nobody.status, nobody.codigo) == (409, "sem_aprovador")
    await _person(erp, wrote=False)
    silent = await _submit(erp, proposta)
    assert (silent.status, silent.codigo) == (409, "sem_aprovador")
    assert "mande um oi" in silent.body["detail"]
    assert await erp.count("idempotencia_operacoes") == 0
    await erp.database.pool.execute("DELETE FROM usuario")
    await _person(erp)
    assert (await _submit(erp, proposta)).status == 200


async def test_nothing_of_another_company_is_sent(erp: Erp) -> None:
    """A proposal of another company is not there, and its people are not asked."""
    await _person(erp, THEIRS, BIA)
    await _person(erp)
    proposta = await _proposal(erp)
    for number in (proposta, 999999, "9" * 19):
        missing = await _submit(erp, number, chave=erp.theirs)  # type: ignore[arg-type] # also what is no number of ours
        assert (missing.status, missing.codigo) == (404, "nao_encontrado")
    assert await _rows(erp) == []


async def test_a_key_of_another_environment_sends_nothing(erp: Erp) -> None:
    """A company that went from production to homologation wants another key."""
    await _person(erp)
    proposta = await _proposal(erp)
    await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = 'homologacao'")
    refused = await _submit(erp, proposta)
    assert (refused.status, refused.codigo) == (409, "ambiente_mudou")
    await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = NULL")
    assert (await _submit(erp, proposta)).status == 200


@pytest.mark.parametrize("versao", [None, 0, -1, "1", 1.5, True, 2**31])
async def test_a_wrong_version_is_a_field_s_problem(erp: Erp, versao: Any) -> None:
    """Nothing is stored."""
    await _person(erp)
    proposta = await _proposal(erp)
    refused = await _submit(erp, proposta, versao=versao)
    assert (refused.status, refused.codigo) == (422, "corpo_invalido")
    assert refused.body["erros"][0]["ponteiro"] == "/versao"
    assert (await _submit(erp, proposta, None)).codigo == "chave_obrigatoria"
    assert await erp.count("idempotencia_operacoes") == 0


async def test_a_whole_number_is_one_with_a_point_too(erp: Erp) -> None:
    """In JSON ``1.0`` is the integer 1; what is not whole, or has no end, is none."""
    await _person(erp)
    proposta = await _proposal(erp)
    for raw in (b"1.5", b"1e400", b"1e999999999"):
        assert (await erp.post(f"/propostas/{proposta}/submeter", b'{"versao": %s}' % raw, "s")).status in {400, 422}
    assert (await erp.post(f"/propostas/{proposta}/submeter", b'{"versao": 1.0}', "s")).status == 200


async def test_operations_are_forgotten_after_thirty_days(erp: Erp) -> None:
    """Not a day before."""
    await _person(erp)
    await _submit(erp, await _proposal(erp, "one"), "one")
    await _submit(erp, await _proposal(erp, "other"), "other")
    aged = "UPDATE idempotencia_operacoes SET created_at = now() - $1::interval WHERE idempotencia_key = $2"
    await erp.database.pool.execute(aged.replace("$1::interval", "interval '31 days'").replace("$2", "$1"), "one")
    await erp.database.pool.execute(aged.replace("$1::interval", "interval '29 days'").replace("$2", "$1"), "other")
    async with erp.database.transaction() as connection:
        assert await keys.forget_operations(connection) == 1
    assert await erp.database.pool.fetchval("SELECT idempotencia_key FROM idempotencia_operacoes") == "other"


_PLACE = {"cep": "01310100", "logradouro": "Rua A", "numero": "1", "bairro": "Centro", "codigo_municipio": "3550308"}
_EVENT = {"nome": "Casamento", "inicio": "2026-11-20", "fim": "2026-11-21", "endereco": _PLACE}


@pytest.mark.parametrize(
    ("said", "drafted"),
    [
        ({"local_prestacao": "4106902"}, {Campo.LOCAL: "Curitiba/PR (IBGE 4106902)"}),
        (
            {"obra": {"endereco": _PLACE, "inscricao_imobiliaria": "12-3"}},
            {Campo.LOCAL: "Rua A, 1, Centro, São Paulo/SP, 01310-100 (IBGE 3550308)", Campo.OBRA: "inscrição 12-3"},
        ),
        ({"obra": {"cno": "123456789012"}, "iss_retido": True}, {Campo.OBRA: "123456789012", Campo.RETIDO: "sim"}),
        ({"evento": _EVENT}, {Campo.EVENTO: "Casamento", Campo.DATA: "2026-11-20", Campo.FIM: "2026-11-21"}),
    ],
)
async def test_a_proposal_says_where_the_work_was_done(erp: Erp, said: Any, drafted: dict[Campo, str]) -> None:
    """It stands in the draft as if a person had said it."""
    body = {"cliente_id": await erp.client(), "valor": "1500.00", **said}
    made = await erp.post("/propostas", body, f"lugar-{len(str(said))}")
    assert made.status == 201
    kept = await erp.database.pool.fetchval("SELECT prestacao FROM propostas WHERE id = $1", int(made.body["id"]))
    rascunho = draft(1, place(orjson.loads(kept) if isinstance(kept, str) else kept))
    assert {campo: rascunho.validado(campo) for campo in drafted} == drafted


@pytest.mark.parametrize(
    "said",
    [
        {"local_prestacao": "9999999"},
        {"obra": {}},
        {"obra": {"cno": "123"}},
        {"evento": {**_EVENT, "fim": "2026-11-19"}},
        {"evento": {**_EVENT, "inicio": "ontem"}},
        {"iss_retido": "sim"},
    ],
)
async def test_a_place_that_is_none_is_refused(erp: Erp, said: Any) -> None:
    """No such city, a building site without number and address, an event that ends before it begins."""
    body = {"cliente_id": await erp.client(), "valor": "1500.00", **said}
    refused = await erp.post("/propostas", body, "lugar-nenhum")
    assert (refused.status, refused.body["codigo"]) == (422, "corpo_invalido")


async def _sells(erp: Erp) -> None:
    async with erp.database.transaction() as connection:
        company = await channels.company(connection, OURS)
        await goods.save_seller(connection, company.id, {"inscricao_estadual": "110042490114"})
        for canal, tipo in (("nfe", TipoDocumento.PRODUTO), ("nfce", TipoDocumento.CONSUMIDOR)):
            await channels.choose(connection, company.id, Canal(canal), tipo)
        told = {"codigo": "B1", "texto": "Bolo de pote", "ncm": "19059090", "cfop": "5102", "csosn": "102"}
        await goods.keep(connection, company.id, [checked({**told, "unidade": "UN", "preco": "12,00"}, "simples")])


_WHOLE = {
    "codigo": "X",
    "texto": "Torta",
    "ncm": "19059090",
    "cfop": "5102",
    "csosn": "102",
    "unidade": "UN",
    "preco": "50.00",
    "quantidade": "1",
}


async def test_products_are_kept_shown_and_taken_away(erp: Erp) -> None:
    """Under the code in the address: the same request twice is one product, another price the same product."""
    await _sells(erp)
    told = {name: _WHOLE[name] for name in _WHOLE if name not in {"codigo", "quantidade"}}
    for preco in ("50.00", "50.00", "55.00"):
        kept = await erp.ask("PUT", "/produtos/T-1", json={**told, "preco": preco})
        assert (kept.status, kept.body) == (200, {"codigo": "T-1", **told, "preco": preco})
    shown = (await erp.ask("GET", "/produtos")).body["itens"]
    assert [(each["codigo"], each["preco"]) for each in shown] == [("B1", "12.00"), ("T-1", "55.00")]
    refused = await erp.ask("PUT", "/produtos/T-2", json={**told, "ncm": "99999999"})
    assert (refused.codigo, refused.body["erros"][0]["ponteiro"]) == ("corpo_invalido", "/ncm")
    assert (await erp.ask("PUT", "/produtos/T-2", json=told)).codigo == "produto_recusado"  # another of its name
    assert (await erp.ask("DELETE", "/produtos/T-1")).status == 204
    assert (await erp.ask("DELETE", "/produtos/T-1")).codigo == "nao_encontrado"
    for way in ("/produtos/A/1", "/produtos/A%2F1"):  # a code may have a stroke
        kept = await erp.ask("PUT", way, json={**told, "texto": "Pudim"})
        assert (kept.status, kept.body["codigo"]) == (200, "A/1")
    assert (await erp.ask("DELETE", "/produtos/A%2F1")).status == 204
    assert [each["codigo"] for each in (await erp.ask("GET", "/produtos")).body["itens"]] == ["B1"]
    done = await erp.database.pool.fetch("SELECT acao, quem FROM auditoria ORDER BY id DESC LIMIT 2")
    assert [row["acao"] for row in done] == ["tirou produto", "guardou produtos"]
    assert all(erp.ours.startswith(row["quem"]) for row in done)


async def test_a_proposal_of_goods_is_made_of_products(erp: Erp) -> None:
    """Amount and text follow from the items, and the draft has them as a person's."""
    await _sells(erp)
    items = [{"produto": "B1", "quantidade": "9"}, _WHOLE]
    body = {"cliente_id": await erp.client(), "documento_fiscal": "nfe", "itens": items}
    made = await erp.post("/propostas", body, "goods")
    assert made.status == 201, made.body
    assert (made.body["valor"], made.body["descricao"]) == ("158.00", "9 Bolo de pote; 1 Torta")
    assert made.body["itens"][0]["codigo"] == "B1"
    row = await erp.database.pool.fetchrow("SELECT * FROM propostas WHERE id = $1", made.body["id"])
    drafted = draft(1, {Campo.ITENS: orjson.dumps(row["itens"]).decode(), Campo.MODELO: row["documento_fiscal"]})
    assert (drafted.valor_servico, len(drafted.produtos)) == (row["valor"], 2)


@pytest.mark.parametrize(
    ("said", "campo"),
    [
        ({"documento_fiscal": "nfe", "itens": [{"produto": "NADA", "quantidade": "1"}]}, "itens"),
        ({"documento_fiscal": "nfe", "itens": [{"produto": "B1", "quantidade": "0"}]}, "itens"),
        ({"documento_fiscal": "nfe", "itens": [{"produto": "B1", "quantidade": "1000000"}]}, "itens"),
        ({"documento_fiscal": "nfe", "itens": [{**_WHOLE, "ncm": "99999999"}]}, "itens"),
        ({"documento_fiscal": "nfe", "itens": [{**_WHOLE, "cfop": "5405"}]}, "itens"),
        ({"documento_fiscal": "nfe", "itens": []}, "itens"),
        ({"documento_fiscal": "nfe", "itens": [{"quantidade": "1"}]}, "itens"),
        ({"documento_fiscal": "nfe", "valor": "10.00"}, ""),
        ({"documento_fiscal": "nfse", "itens": [{"produto": "B1", "quantidade": "1"}]}, ""),
        ({"documento_fiscal": "nfe", "valor": "10.00", "itens": [{"produto": "B1", "quantidade": "1"}]}, ""),
    ],
)
async def test_goods_that_make_no_invoice_are_refused(erp: Erp, said: Any, campo: str) -> None:
    """By a problem that names where, and nothing is kept."""
    await _sells(erp)
    refused = await erp.post("/propostas", {"cliente_id": await erp.client(), **said}, "refused")
    assert refused.status == 422
    assert any(campo in str(error) for error in refused.body["erros"])


async def test_goods_are_of_the_environment_in_which_they_are_issued(erp: Erp) -> None:
    """Not of that of services: a key of the other one sends no proposal, and changes no product that is sold there."""
    await _sells(erp)
    await _person(erp)
    body = {"cliente_id": await erp.client(), "documento_fiscal": "nfe", "itens": [_WHOLE]}
    made = (await erp.post("/propostas", body, "elsewhere")).body["id"]
    await erp.database.pool.execute(
        "UPDATE empresa_canal SET ambiente = CASE tipo WHEN 'servico' THEN 'producao' ELSE 'homologacao' END"
    )
    assert (await _submit(erp, made)).codigo == "ambiente_mudou"
    told = {name: _WHOLE[name] for name in _WHOLE if name not in {"codigo", "quantidade"}}
    assert (await erp.ask("PUT", "/produtos/B1", json=told)).codigo == "ambiente_mudou"
    assert (await erp.ask("DELETE", "/produtos/B1")).codigo == "ambiente_mudou"
    await erp.database.pool.execute(
        "UPDATE empresa_canal SET ambiente = CASE tipo WHEN 'servico' THEN 'homologacao' ELSE 'producao' END"
    )
    assert (await erp.ask("PUT", "/produtos/B1", json=told)).status == 200
    assert (await _submit(erp, made)).status == 200
    async with erp.database.transaction() as connection:
        assert await approvals.end_overdue(connection) == 0
    await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = 'homologacao'")
    async with erp.database.transaction() as connection:
        assert await approvals.end_overdue(connection) == 1
    await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = NULL")


async def test_products_of_who_sells_to_consumers_alone_are_of_their_channel(erp: Erp) -> None:
    """Where there is no channel for NF-e, the one for NFC-e says the environment."""
    await _sells(erp)
    await erp.database.pool.execute("DELETE FROM empresa_canal WHERE tipo = 'produto'")
    await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = 'homologacao' WHERE tipo = 'consumidor'")
    told = {name: _WHOLE[name] for name in _WHOLE if name not in {"codigo", "quantidade"}}
    assert (await erp.ask("PUT", "/produtos/B1", json=told)).codigo == "ambiente_mudou"
    await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = NULL")


async def test_a_company_without_goods_is_offered_none(erp: Erp) -> None:
    """It has no channel for them."""
    await erp.database.pool.execute("DELETE FROM empresa_canal WHERE tipo <> 'servico'")
    body = {"cliente_id": await erp.client(), "documento_fiscal": "nfe", "itens": [_WHOLE]}
    refused = await erp.post("/propostas", body, "none")
    assert refused.status == 422
