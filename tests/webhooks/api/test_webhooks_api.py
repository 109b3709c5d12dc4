"""Endpoints that a company's other systems make over the API, see, end, and have told again."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from operations.api import make_key
from persistence.api.hooks import MOST, PREFIX
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ
from tests.webhooks.api.conftest import OURS

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

pytestmark = pytest.mark.asyncio(loop_scope="module")
_ROW = """
INSERT INTO webhook_entrega (webhook_id, evento, chave, estado, tentativas, falha)
VALUES ($1, 'nota.autorizada', $2, $3, $4, $5)
"""
NEW: dict[str, Any] = {"url": "https://exemplo.com.br/prosa", "eventos": ["nota.autorizada", "nota.cancelada"]}


async def test_an_endpoint_is_made_shown_and_ended(erp: Erp) -> None:
    """Its secret is shown once, and stands nowhere else; each of both is audited."""
    made = await erp.post("/webhooks", NEW, None)
    assert made.status == 201
    assert made.body["segredo"].startswith(PREFIX)
    assert {name: made.body[name] for name in NEW} == NEW
    shown = await erp.ask("GET", "/webhooks")
    (one,) = shown.body["itens"]
    assert one.pop("criado_em")
    assert one == {"id": made.body["id"], **NEW, "desligado_em": None, "pendentes": 0, "desistidas": 0, "falha": None}
    kept = await erp.database.pool.fetchrow("SELECT * FROM webhook")
    assert made.body["segredo"] not in str(kept)
    gone = await erp.ask("DELETE", f"/webhooks/{made.body['id']}")
    assert gone.status == 204
    assert await erp.count("webhook") == 0
    assert (await erp.ask("DELETE", f"/webhooks/{made.body['id']}")).codigo == "nao_encontrado"
    done = await erp.database.pool.fetch(
        "SELECT acao, quem FROM auditoria WHERE alvo = $1 ORDER BY id", made.body["id"]
    )
    assert [row["acao"] for row in done] == ["criou webhook", "apagou webhook"]
    assert all(erp.ours.startswith(row["quem"]) for row in done)


async def test_what_was_not_taken_is_shown_and_goes_again(erp: Erp) -> None:
    """The latest failure with its reason; what waits for its first try is not counted."""
    made = (await erp.post("/webhooks", NEW, None)).body
    for number, row in enumerate((("desistida", 8, "HTTP 500"), ("pendente", 1, "demorou"), ("pendente", 0, None))):
        await erp.database.pool.execute(_ROW, made["id"], f"n{number}", *row)
    await erp.database.pool.execute(
        "UPDATE webhook_entrega SET atualizado_em = now() - interval '1 h' WHERE tentativas < 8"
    )
    (one,) = (await erp.ask("GET", "/webhooks")).body["itens"]
    assert (one["pendentes"], one["desistidas"]) == (2, 1)
    assert (one["falha"]["evento"], one["falha"]["motivo"]) == ("nota.autorizada", "HTTP 500")
    again = await erp.post(f"/webhooks/{made['id']}/reenviar", {}, None)
    assert (again.status, again.body) == (200, {"reenviadas": 2})
    assert await erp.database.pool.fetchval("SELECT count(*) FROM webhook_entrega WHERE estado = 'pendente'") == 3


async def test_an_endpoint_is_one_companys_in_one_environment(erp: Erp) -> None:
    """Another one's key, and one of the other environment, find nothing of it."""
    made = (await erp.post("/webhooks", NEW, None)).body
    test_key, _ = await _key(erp, Ambiente.HOMOLOGACAO, [])
    for chave in (erp.theirs, test_key):
        assert (await erp.ask("GET", "/webhooks", chave=chave)).body == {"itens": []}
        assert (await erp.ask("DELETE", f"/webhooks/{made['id']}", chave=chave)).codigo == "nao_encontrado"
        again = await erp.post(f"/webhooks/{made['id']}/reenviar", {}, None, chave=chave)
        assert again.codigo == "nao_encontrado"
    assert await erp.count("webhook") == 1


async def _key(erp: Erp, ambiente: Ambiente, escopos: list[str]) -> tuple[str, str]:
    """Make a key of the first company."""
    if ambiente is Ambiente.HOMOLOGACAO:
        await erp.database.pool.execute("UPDATE empresa_canal SET ambiente = 'homologacao'")
    made = await make_key(erp.database, [CNPJ(OURS.cnpj).numero], escopos, ambiente, tudo=not escopos)
    return made[0], ambiente.value


async def test_a_key_needs_the_scope(erp: Erp) -> None:
    """Who may look may not make."""
    chave, _ = await _key(erp, Ambiente.PRODUCAO, ["webhooks:ler"])
    assert (await erp.ask("GET", "/webhooks", chave=chave)).status == 200
    assert (await erp.post("/webhooks", NEW, None, chave=chave)).codigo == "escopo_insuficiente"
    some = f"/webhooks/{uuid.uuid4()}"
    assert (await erp.ask("DELETE", some, chave=chave)).codigo == "escopo_insuficiente"
    assert (await erp.post(f"{some}/reenviar", {}, None, chave=chave)).codigo == "escopo_insuficiente"


@pytest.mark.parametrize(
    ("changed", "ponteiro"),
    [
        *(({"url": url}, "/url") for url in ("", "ftp://exemplo.com.br", "https://10.0.0.1", "https://u:p@x.com", 1)),
        ({"eventos": []}, "/eventos"),
        ({"eventos": "nota.autorizada"}, "/eventos"),
        ({"eventos": None}, "/eventos"),
        ({"eventos": ["nota.outra"]}, "/eventos/0"),
        ({"segredo": "x"}, "/segredo"),
    ],
)
async def test_what_makes_no_sense_is_refused(erp: Erp, changed: dict[str, Any], ponteiro: str) -> None:
    """By its field; nothing is kept."""
    refused = await erp.post("/webhooks", {**NEW, **changed}, None)
    assert refused.codigo == "corpo_invalido"
    assert [erro["ponteiro"] for erro in refused.body["erros"]] == [ponteiro]
    assert await erp.count("webhook") == 0


async def test_a_permitted_network_may_be_named(erp: Erp) -> None:
    """Without encryption too; no other address that is inside."""
    assert (await erp.post("/webhooks", {**NEW, "url": "http://127.0.0.1:8000/x"}, None)).status == 201
    assert (await erp.post("/webhooks", {**NEW, "url": "http://10.0.0.1:8000/x"}, None)).codigo == "corpo_invalido"


async def test_a_company_has_only_so_many(erp: Erp) -> None:
    """Its number is told; another company is not held back."""
    for _ in range(MOST):
        assert (await erp.post("/webhooks", NEW, None)).status == 201
    refused = await erp.post("/webhooks", NEW, None)
    assert (refused.status, refused.codigo) == (409, "webhooks_demais")
    assert await erp.count("webhook") == MOST
    assert (await erp.post("/webhooks", NEW, None, chave=erp.theirs)).status == 201


@pytest.mark.parametrize("path", ["x", "0" * 36, "-" * 36, f"{uuid.UUID(int=1)}"])
async def test_what_is_no_endpoint_is_not_found(erp: Erp, path: str) -> None:
    """Also where it looks like one."""
    assert (await erp.ask("DELETE", f"/webhooks/{path}")).codigo == "nao_encontrado"


@pytest.mark.parametrize("erp", ["keyless"], indirect=True)
async def test_without_a_master_key_nothing_is_made(erp: Erp) -> None:
    """The answer says what is missing."""
    refused = await erp.post("/webhooks", NEW, None)
    assert (refused.status, refused.codigo) == (409, "sem_chave_mestra")
    assert "PROSA_MASTER_KEY" in refused.body["detail"]
