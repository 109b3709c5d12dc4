"""What one company may have done: beyond it 429 and when to come again, and no other company is the poorer for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import FormData

from state_machine.values.documents import CNPJ
from tests.made_batches import mailed
from tests.webhooks.api.conftest import OURS
from webhooks.api.call import Bounds
from webhooks.api.problems import ProblemError

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Answer, Erp

DAY = 86_400
ONE_LIST = Bounds(lists=1)


def _list(rows: int, name: str) -> bytes:
    return ("email;mensagem\n" + "".join(f"{name}{number}@test.com.br;Oi\n" for number in range(rows))).encode()


async def _send(erp: Erp, name: str, rows: int = 2, **options: Any) -> Answer:
    form = FormData(default_to_multipart=True)
    form.add_field("arquivo", _list(rows, name), filename=f"{name}.csv")
    for field, value in {"tipo": "envio", "assunto": "Aviso"}.items():
        form.add_field(field, value)
    return await erp.ask("POST", "/lotes", headers={"Idempotency-Key": f"list-{name}"}, data=form, **options)


async def _yes(erp: Erp, made: Answer, key: str = "yes", **options: Any) -> Answer:
    path = f"/lotes/{made.body['id']}/confirmar"
    return await erp.post(path, {"revisao": made.body["revisao"]}, f"{key}-{made.body['id']}", **options)


def _refused(answer: Answer, codigo: str, within: int) -> None:
    assert (answer.status, answer.codigo) == (429, codigo)
    assert 0 < int(answer.headers["Retry-After"]) <= within
    assert "com a mesma chave" in answer.body["detail"]


def test_requests_come_back_one_by_one() -> None:
    """A minute's requests may come at once, then each has its time; another company's are its own."""
    now = [1000.0]
    bounds = Bounds(requests=60, clock=lambda: now[0])
    for _ in range(60):
        bounds.request(1)
    with pytest.raises(ProblemError) as refused:
        bounds.request(1)
    assert (refused.value.codigo, refused.value.headers) == ("pedidos_demais", {"Retry-After": "1"})
    bounds.request(2)
    now[0] += 1
    bounds.request(1)
    with pytest.raises(ProblemError):
        bounds.request(1)


@pytest.mark.parametrize("erp", [Bounds(requests=3)], indirect=True)
async def test_a_companys_keys_share_its_requests(erp: Erp) -> None:
    """What is too much for one key is so for another of the same company, and for no other company."""
    for _ in range(3):
        assert (await erp.ask("GET", "/lotes")).status == 200
    _refused(await erp.ask("GET", "/lotes"), "pedidos_demais", 20)
    both = {"Prosa-Empresa": "99000002000148"}
    _refused(await erp.ask("GET", "/lotes", chave=erp.both, headers=both), "pedidos_demais", 20)
    _refused(await erp.post("/clientes", {}), "pedidos_demais", 20)
    assert (await erp.ask("GET", "/lotes", chave=erp.theirs)).status == 200


@pytest.mark.parametrize("erp", [ONE_LIST], indirect=True)
async def test_one_list_is_read_at_a_time(erp: Erp) -> None:
    """While a company's list is read its next one is refused, another company's is not; repeated, it is taken."""
    ours = await erp.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", CNPJ(OURS.cnpj).numero)
    with ONE_LIST.reading(ours):
        _refused(await _send(erp, "a"), "lista_em_leitura", 5)
        assert (await erp.ask("GET", "/lotes")).body["itens"] == []
        assert (await _send(erp, "a", chave=erp.theirs)).status == 201
    assert (await _send(erp, "a", rows=0)).codigo == "lista_vazia"  # gives its turn back too
    assert (await _send(erp, "b")).status == 201
    assert (await _send(erp, "b")).headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("erp", [Bounds(list_bytes=150)], indirect=True)
async def test_lists_of_a_day_have_so_many_bytes(erp: Erp) -> None:
    """Beyond them nothing is stored; what came before is answered still; a day later there is room again."""
    assert len(_list(5, "a")) * 2 > 150 > len(_list(5, "a"))
    made = await _send(erp, "a", 5)
    assert made.status == 201
    _refused(await _send(erp, "b", 5), "listas_demais", DAY)
    assert (await erp.count("lotes"), await erp.count("lote_linhas")) == (1, 5)
    assert (await _send(erp, "a", 5)).body["id"] == made.body["id"]
    assert (await _send(erp, "c", 5, chave=erp.theirs)).status == 201
    await erp.database.pool.execute("UPDATE lotes SET criado_em = criado_em - interval '23 h'")
    _refused(await _send(erp, "b", 5), "listas_demais", 3600)
    await erp.database.pool.execute("UPDATE lotes SET criado_em = criado_em - interval '1 h'")
    assert (await _send(erp, "b", 5)).status == 201


@pytest.mark.parametrize("erp", [Bounds(mails=5)], indirect=True)
async def test_mails_of_a_day_are_so_many(erp: Erp) -> None:
    """Two yeses at once do not pass together; a repetition is answered; what was stopped leaves its room."""
    await mailed(erp.database, *(f"{name}{number}@test.com.br" for name in "abc" for number in range(5)))
    lists = [await _send(erp, name, 3) for name in ("a", "b")]
    answers = await asyncio.gather(*(_yes(erp, made) for made in lists))
    assert sorted(answer.status for answer in answers) == [200, 429]
    index = [answer.status for answer in answers].index(200)
    sent, waits = lists[index], lists[1 - index]
    _refused(await _yes(erp, waits), "emails_demais", DAY)
    assert await erp.count("lote_fila") == 1
    assert (await erp.ask("GET", f"/lotes/{waits.body['id']}")).body["estado"] == "aguardando_confirmacao"
    assert (await _yes(erp, sent)).headers["Idempotency-Replayed"] == "true"
    theirs = await _send(erp, "c", 5, chave=erp.theirs)
    assert (await _yes(erp, theirs, chave=erp.theirs)).status == 200
    stopped = "UPDATE lote_linhas SET estado = 'CANCELADA' WHERE lote_id = $1"
    await erp.database.pool.execute(stopped, sent.body["id"])
    assert (await _yes(erp, waits)).status == 200
