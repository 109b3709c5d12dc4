"""The console's page of lists: how far each is, the yes and the stop, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations.batches import confirm, upload
from persistence.access.accounts import Papel
from persistence.staff.queue import pulse
from tests.made_batches import QUEM, listed
from tests.webhooks.console.conftest import COMPANIES

if TYPE_CHECKING:
    from persistence.db.connection import Row
    from tests.webhooks.console.conftest import Office


async def _uploaded(office: Office, nome: str) -> Row:
    file = listed(nome, "ana@test.com.br", f"{nome}@test.com.br", "nobody")
    return (await upload(office.database, office.companies[0], file, QUEM))[0]


async def _estado(office: Office, lote: Row) -> str:
    return str(await office.database.pool.fetchval("SELECT estado FROM lotes WHERE id = $1", lote.id))


async def test_a_list_is_said_yes_to_and_stopped(office: Office) -> None:
    """The page shows what became of the rows; the yes needs the revision that it shows; both name who did it."""
    before = await pulse(office.database)
    lote = await _uploaded(office, "novembro.csv")
    assert await pulse(office.database) != before  # what makes an open page look again
    async with office.at_work(Papel.SUPERVISOR) as rita:
        page = (await rita.get("/console/lotes"))[1]
        assert 'data-vivo="lotes"' in page
        assert "novembro.csv" in page
        assert "espera o sim" in page
        assert "0 de 2" in page
        assert "Enviar 2 e-mails" in page
        assert "Para ana@test.com.br" in page
        assert "Bom dia!" in page
        assert "endereços novos" not in page
        await confirm(office.database, lote.id, revisao=lote.revisao, quem="um sistema", person=False)
        page = (await rita.get("/console/lotes"))[1]
        assert "2 para endereços novos: um sistema disse sim, e 0 da empresa foram perguntadas" in page
        yes = f"/console/lotes/{lote.id}/confirmar"
        assert (await rita.post(yes, {"revisao": "0" * 12}, form="/console/lotes"))[0] == 409
        assert await _estado(office, lote) == "aguardando_confirmacao"
        for _ in range(2):
            status, _, where = await rita.post(yes, {"revisao": lote.revisao}, form="/console/lotes")
            assert (status, where) == (303, "/console/lotes")
        assert await _estado(office, lote) == "processando"
        for _ in range(2):
            assert (await rita.post(f"/console/lotes/{lote.id}/parar", {}, form="/console/lotes"))[0] == 303
        assert await _estado(office, lote) == "cancelado"
        audited = "SELECT acao FROM auditoria WHERE alvo = $1 AND quem = $2 AND staff_id IS NOT NULL ORDER BY id"
        rows = await office.database.pool.fetch(audited, f"lote {lote.id}", rita.who.nome)
        assert [row["acao"] for row in rows] == ["confirmou lote", "parou lote"]


async def test_another_companys_list_is_not_shown(office: Office) -> None:
    """Who works for other companies neither sees nor stops it; who only reads has no buttons."""
    lote = await _uploaded(office, "dezembro.csv")
    async with office.at_work(Papel.SUPERVISOR, (COMPANIES[1],)) as other:
        assert "dezembro.csv" not in (await other.get("/console/lotes"))[1]
        assert (await other.post(f"/console/lotes/{lote.id}/parar", {}, form="/console/lotes"))[0] == 404
    async with office.at_work(Papel.LEITURA, (COMPANIES[0],)) as reader:
        page = (await reader.get("/console/lotes"))[1]
        assert "dezembro.csv" in page
        assert "/parar" not in page
        assert "/confirmar" not in page
    assert await _estado(office, lote) == "aguardando_confirmacao"
