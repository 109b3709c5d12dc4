"""What was tried out in one environment is nothing in the other: no key, no number, no e-mail, nothing that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from aiohttp import FormData

from operations.api import make_key
from persistence.api import approvals
from state_machine.protocol.channel import Ambiente
from tests.webhooks.api.conftest import OURS
from tests.webhooks.api.test_submission import _person, _submit

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

_CANAL = """
INSERT INTO empresa_canal (empresa_id, tipo, canal, ambiente)
SELECT id, 'servico', 'nacional', $1 FROM empresa WHERE cnpj = '99000002000148'
ON CONFLICT (empresa_id, tipo) DO UPDATE SET ambiente = excluded.ambiente
"""
STATE = "SELECT estado, motivo FROM propostas"


async def _moves(erp: Erp, ambiente: Ambiente) -> str:
    """Let the company issue in this environment, and return a key of it."""
    await erp.database.pool.execute(_CANAL, ambiente)
    (chave,) = await make_key(erp.database, [OURS.cnpj], [], Ambiente.PRODUCAO, tudo=True)
    return chave


@pytest.fixture
async def practice(erp: Erp) -> str:
    """A key of practice, of a company that tries the API out and has an approver."""
    await _person(erp)
    return await _moves(erp, Ambiente.HOMOLOGACAO)


async def test_the_keys_and_emails_of_practice_are_others_in_earnest(erp: Erp, practice: str) -> None:
    """An ERP that was tried out makes the same clients and orders again: all are new, and say where they are."""
    made = []
    for chave in (practice, await _moves(erp, Ambiente.PRODUCAO)):
        cliente = await erp.client("cliente-7", chave=chave)
        order = {"cliente_id": cliente, "valor": "1500.00", "descricao": "Consultoria"}
        made.append(await erp.post("/propostas", order, "pedido-1001", chave=chave))
    tried, real = made
    assert (tried.body["ambiente"], real.body["ambiente"]) == ("homologacao", "producao")
    assert (real.status, "Idempotency-Replayed" in real.headers) == (201, False)
    assert real.body["id"] != tried.body["id"]
    sent = await _submit(erp, real.body["id"], "envio-1001", chave=chave)
    assert (sent.status, sent.body["estado"]) == (200, "enviada")


async def test_what_is_of_practice_is_not_found_in_earnest(erp: Erp, practice: str) -> None:
    """Neither shown nor submitted nor proposed for."""
    cliente = await erp.client(chave=practice)
    number = (await erp.post("/propostas", {"cliente_id": cliente, "valor": 1}, "p", chave=practice)).body["id"]
    live = await _moves(erp, Ambiente.PRODUCAO)
    for path in (f"/clientes/{cliente}", f"/propostas/{number}"):
        assert (await erp.ask("GET", path, chave=live)).codigo == "nao_encontrado"
    assert (await _submit(erp, number, chave=live)).codigo == "nao_encontrado"
    refused = await erp.post("/propostas", {"cliente_id": cliente, "valor": 1}, "q", chave=live)
    assert refused.body["erros"][0]["ponteiro"] == "/cliente_id"
    assert (await _submit(erp, number, chave=practice)).codigo == "ambiente_mudou"


async def test_what_waits_ends_when_the_company_moves(erp: Erp, practice: str) -> None:
    """Before it could be shown as a real invoice; what is of the company's environment waits on."""
    cliente = await erp.client(chave=practice)
    number = (await erp.post("/propostas", {"cliente_id": cliente, "valor": 1}, "p", chave=practice)).body["id"]
    assert (await _submit(erp, number, chave=practice)).status == 200
    for moves_to, ended, estado in ((Ambiente.HOMOLOGACAO, 0, "enviada"), (Ambiente.PRODUCAO, 1, "cancelada")):
        await _moves(erp, moves_to)
        async with erp.database.transaction() as connection:
            assert await approvals.end_overdue(connection) == ended
        found = await erp.database.pool.fetchrow(STATE)
        assert found["estado"] == estado
    assert found["motivo"] == approvals.MOVED


async def test_a_list_of_practice_is_not_sent_in_earnest(erp: Erp, practice: str) -> None:
    """Neither by a key of practice nor by one of production, which has not seen its notes."""
    form = {"tipo": "envio", "assunto": "Oi", "mensagem": "Bom dia", "arquivo": b"email\nana@exemplo.com.br\n"}

    async def sent(chave: str, key: str) -> tuple[int, dict[str, str]]:
        data = FormData()
        for name, value in form.items():
            data.add_field(name, value, filename="a.csv" if name == "arquivo" else None)
        answer = await erp.ask("POST", "/lotes", data=data, headers={"Idempotency-Key": key}, chave=chave)
        return answer.status, answer.body

    status, made = await sent(practice, "lista")
    assert status == 201
    live = await _moves(erp, Ambiente.PRODUCAO)
    assert (await sent(live, "lista"))[1]["codigo"] == "ambiente_mudou"
    for chave in (practice, live):
        yes = await erp.post(f"/lotes/{made['id']}/confirmar", {"revisao": made["revisao"]}, "sim", chave=chave)
        assert yes.codigo == "ambiente_mudou"
