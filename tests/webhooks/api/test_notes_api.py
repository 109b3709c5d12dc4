"""A proposal's note over the API: its facts, its files, what became of it; and lists of proposals and clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from operations.api import make_key
from persistence.people import channels
from state_machine.proposal import EstadoProposta
from state_machine.protocol.channel import Ambiente
from tests import stored_work
from tests.owner import as_owner
from tests.webhooks.api.conftest import OURS
from tests.webhooks.api.test_api_environment import _moves

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

_IS_OF = """
UPDATE propostas SET estado = 'emitida', sessao_id = (
    SELECT s.sessao_id FROM session_snapshot s JOIN nfse_emissao e ON e.session_id = s.id WHERE e.id = $2
) WHERE id = $1
"""
_NAMED = "UPDATE cliente_tomador SET razao_social = 'Padaria do Zé' WHERE id = (SELECT tomador_id FROM nfse_emissao)"


async def _issued(erp: Erp, status: str = "autorizado") -> tuple[int, int]:
    """Make a proposal of which note 7 came; return it, and the emission."""
    made = await erp.post("/propostas", {"cliente_id": await erp.client(), "valor": 1}, "p")
    assert made.body["nota"] is None
    async with erp.database.alone() as connection:
        ours = (await channels.company(connection, "99000002000148")).id
    emissao_id, _ = await stored_work.issued(erp.database, "7", ours, status=status)
    await erp.database.pool.execute(_NAMED)
    await erp.database.pool.execute(_IS_OF, made.body["id"], emissao_id)
    return int(made.body["id"]), emissao_id


async def _status(erp: Erp, status: str) -> None:
    await erp.database.pool.execute("UPDATE nfse_processada SET status = $1 WHERE numero = '7'", status)


async def _replaced(erp: Erp, emissao_id: int) -> None:
    newer, _ = await stored_work.issued(erp.database, "8")
    await stored_work.change(erp.database, "nfse_emissao", newer, substitui_id=emissao_id)


async def test_a_proposal_tells_its_note(erp: Erp) -> None:
    """Alone, in lists, and to whoever repeats its key: what another system keeps of it."""
    proposta, _ = await _issued(erp)
    address = f"/api/v1/propostas/{proposta}/nota"
    nota = {
        "numero": "7",
        "chave": "chave",
        "emitida_em": "2026-11-23",
        "valor": "1500.00",
        "tomador": {"nome": "Padaria do Zé", "documento": "12345678000195"},
        "pdf": f"{address}.pdf",
        "xml": f"{address}.xml",
        "estado": "autorizada",
        "substituida_por": None,
    }
    assert (await erp.ask("GET", f"/propostas/{proposta}")).body["nota"] == nota
    assert [each["nota"] for each in (await erp.ask("GET", "/propostas")).body["itens"]] == [nota]


async def test_a_note_follows_what_becomes_of_it(erp: Erp) -> None:
    """A cancellation that was asked for, one that was made, and the note that took its place."""
    proposta, emissao_id = await _issued(erp)
    told = []
    for status in ("cancelamento_pendente", "cancelado"):
        await _status(erp, status)
        told.append((await erp.ask("GET", f"/propostas/{proposta}")).body["nota"])
    await _replaced(erp, emissao_id)
    told.append((await erp.ask("GET", f"/propostas/{proposta}")).body["nota"])
    assert [(nota["numero"], nota["estado"], nota["substituida_por"]) for nota in told] == [
        ("7", "cancelamento pedido", None),
        ("7", "cancelada", None),
        ("7", "substituída", "8"),
    ]


@pytest.mark.parametrize(("formato", "mime"), [("pdf", "application/pdf"), ("xml", "application/xml")])
async def test_a_note_gives_its_files(erp: Erp, formato: str, mime: str) -> None:
    """Those that are kept, under a name that says what became of it; to its company alone."""
    proposta, emissao_id = await _issued(erp)
    headers = {"Authorization": f"Bearer {erp.ours}"}
    path = f"/propostas/{proposta}/nota.{formato}"
    names = []
    for status in ("autorizado", "cancelado"):
        await _status(erp, status)
        async with erp.session.get(f"{erp.base}/api/v1{path}", headers=headers) as answer:
            assert (await answer.read(), answer.content_type) == (f"{formato}7".encode(), mime)
            names.append(answer.headers["Content-Disposition"])
    assert names == [f'attachment; filename="NFSe-7{mark}.{formato}"' for mark in ("", "-CANCELADA")]
    assert (await erp.ask("GET", path, chave=erp.theirs)).codigo == "nao_encontrado"
    (other,) = await make_key(erp.database, [OURS.cnpj], ["lotes:ler"], Ambiente.PRODUCAO)
    assert (await erp.ask("GET", path, chave=other)).codigo == "escopo_insuficiente"
    await erp.database.pool.execute("DELETE FROM nfse_documento WHERE emissao_id = $1", emissao_id)
    assert (await erp.ask("GET", path)).codigo == "sem_documento"


async def test_a_drawn_pdf_without_its_mark_is_not_given(erp: Erp) -> None:
    """The kept one of a cancelled note does not say so: the caller is told; the XML is as it was."""
    proposta, emissao_id = await _issued(erp)
    await stored_work.change(erp.database, "nfse_emissao", emissao_id, canal="nacional")
    path = f"{erp.base}/api/v1/propostas/{proposta}/nota"
    headers = {"Authorization": f"Bearer {erp.ours}"}
    assert (await erp.session.get(f"{path}.pdf", headers=headers)).status == 200
    await _status(erp, "cancelado")
    refused = await erp.ask("GET", f"/propostas/{proposta}/nota.pdf")
    assert (refused.status, refused.codigo) == (409, "sem_documento")
    assert "cancelada" in refused.body["detail"]
    assert (await erp.session.get(f"{path}.xml", headers=headers)).status == 200


async def test_before_there_is_a_note_there_is_no_file(erp: Erp) -> None:
    """Nor of what is neither PDF nor XML."""
    made = await erp.post("/propostas", {"cliente_id": await erp.client(), "valor": 1}, "p")
    for end in ("pdf", "xml", "zip"):
        assert (await erp.ask("GET", f"/propostas/{made.body['id']}/nota.{end}")).codigo == "nao_encontrado"


@pytest.mark.parametrize("kind", ["clientes", "propostas"])
async def test_a_list_is_of_the_company_and_environment_of_its_key(erp: Erp, kind: str) -> None:
    """Newest first, page by page, without a gap; what is new comes before, and moves nothing."""

    async def make(number: int, chave: str) -> int:
        body = {"nome": "Ana", "email": f"a{number}@exemplo.com.br"}
        made = await erp.post("/clientes", body, f"c{number}", chave=chave)
        if kind == "propostas":
            made = await erp.post("/propostas", {"cliente_id": made.body["id"], "valor": 1}, f"p{number}", chave=chave)
        return int(made.body["id"])

    ids = [await make(number, erp.ours) for number in range(3)]
    practice = await make(3, await _moves(erp, Ambiente.HOMOLOGACAO))
    await _moves(erp, Ambiente.PRODUCAO)
    theirs = await make(4, erp.theirs)
    first = (await erp.ask("GET", f"/{kind}?limite=2")).body
    assert [each["id"] for each in first["itens"]] == [ids[2], ids[1]]
    assert first["itens"][0] == (await erp.ask("GET", f"/{kind}/{ids[2]}")).body
    assert practice not in {each["id"] for each in (await erp.ask("GET", f"/{kind}")).body["itens"]}
    await make(5, erp.ours)
    rest = (await erp.ask("GET", f"/{kind}?limite=2&cursor={first['proximo']}")).body
    assert ([each["id"] for each in rest["itens"]], rest["proximo"]) == ([ids[0]], None)
    assert [each["id"] for each in (await erp.ask("GET", f"/{kind}", chave=erp.theirs)).body["itens"]] == [theirs]


async def test_proposals_are_listed_by_state(erp: Erp) -> None:
    """A state that there is not is refused, as is what no list knows."""
    proposta, _ = await _issued(erp)
    for estado in EstadoProposta:
        found = await erp.ask("GET", f"/propostas?estado={estado}")
        assert [each["id"] for each in found.body["itens"]] == [proposta] * (estado == "emitida")
    for query in ("estado=PENDING", "estado=", "cursor=x", "limite=0", "pagina=2"):
        assert (await erp.ask("GET", f"/propostas?{query}")).codigo == "corpo_invalido"
    assert (await erp.ask("GET", "/clientes?estado=emitida")).codigo == "corpo_invalido"
    assert (await erp.ask("GET", "/propostas?estado=emitida&estado=rascunho")).codigo == "pedido_invalido"


async def test_a_page_of_a_list_costs_the_same_beside_many_of_others(erp: Erp) -> None:
    """It is found by company and environment, and not by a walk through everybody's."""
    await erp.client()
    await as_owner(
        erp.database.pool,
        "ALTER TABLE clientes DISABLE TRIGGER USER; "
        "INSERT INTO clientes (id, empresa_id, nome, usuario) OVERRIDING SYSTEM VALUE "
        "SELECT n, (SELECT empresa_id FROM clientes LIMIT 1), 'x', "
        "CASE WHEN n > 1000 THEN 'prosa_live_x' ELSE 'prosa_test_x' END FROM generate_series(1, 20000) AS n; "
        "ALTER TABLE clientes ENABLE TRIGGER USER; ANALYZE clientes",
    )
    plan = await erp.database.pool.fetchval(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT id, nome FROM clientes "
        "WHERE empresa_id = (SELECT empresa_id FROM clientes LIMIT 1) AND ambiente = 'homologacao' "
        "AND id <= 20000 ORDER BY id DESC LIMIT 20"
    )
    assert json.loads(plan)[0]["Plan"]["Shared Hit Blocks"] <= 30, plan
