from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from persistence.access.accounts import Papel
from tests.narrowing import group
from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Person
    from tests.webhooks.console.conftest import Browser, Desk


async def _acts(who: Browser, sessao_id: str, acao: str, motivo: str = "pedido da pessoa", **fields: str) -> int:
    """Open the action's page, read it, and press."""
    query = f"?mensagem={fields['mensagem']}" if "mensagem" in fields else ""
    path = f"/console/sessoes/{sessao_id}/acoes/{acao}"
    return (await who.post(path, {"motivo": motivo, **fields}, form=path + query))[0]


async def _summary(desk: Desk) -> tuple[Person, str]:
    """Somebody with the summary on the screen, and the session's id."""
    ana = await desk.road.person()
    await ana.say(FULL)
    await desk.road.settled()
    return ana, (await desk.road.session(ana))["sessao_id"]


async def _audited(desk: Desk, sessao_id: str) -> list[tuple[str, str]]:
    rows = await desk.office.database.pool.fetch(
        "SELECT acao, motivo FROM auditoria WHERE alvo = $1 ORDER BY id", sessao_id
    )
    return [(row["acao"], row["motivo"]) for row in rows]


async def test_the_documents_of_a_note_are_opened_with_a_reason(desk: Desk) -> None:
    """Support gets the very bytes, the audit gets who and why; readers, strangers and the impatient get nothing."""
    ana, sessao_id = await _summary(desk)
    path, page = f"/console/sessoes/{sessao_id}/documentos", f"/console/sessoes/{sessao_id}"
    async with desk.office.at_work() as sara, desk.office.at_work(Papel.LEITURA) as leo:
        fields = {"formato": "pdf", "motivo": "cliente pediu"}
        assert (await sara.post(path, fields, form="/console/senha"))[0] == 404  # no note yet
        await ana.touch("Confirmar")
        await ana.files()
        await desk.road.settled()
        assert (await sara.post(path, {**fields, "motivo": " "}, form=page))[0] == 422
        assert (await sara.post(path, {**fields, "formato": "exe"}, form=page))[0] == 422
        assert (await leo.post(path, fields, form="/console/senha"))[0] == 403
        pool = desk.office.database.pool
        for formato, begins in (("pdf", "%PDF"), ("xml", "<")):
            csrf = group(r'name="csrf" value="([0-9a-f]+)"', (await sara.get(page))[1])
            data = {"formato": formato, "motivo": "cliente pediu", "csrf": csrf}
            async with sara.session.post(f"{sara.base}{path}", data=data) as answer:
                assert answer.status == 200
                assert answer.content_type == f"application/{formato}"
                assert answer.headers["Content-Disposition"].startswith('attachment; filename="NFSe-')
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                body = await answer.read()
            assert body.startswith(begins.encode())
            kept = "SELECT conteudo FROM nfse_documento d JOIN nfse_emissao e ON e.id = d.emissao_id "
            kept += "WHERE e.sessao_id = $1 AND formato = $2"
            assert body == await pool.fetchval(kept, sessao_id, formato)
        assert await _audited(desk, sessao_id) == [("abriu PDF", "cliente pediu"), ("abriu XML", "cliente pediu")]
        gone = "DELETE FROM nfse_documento WHERE emissao_id IN (SELECT id FROM nfse_emissao WHERE sessao_id = $1)"
        await pool.execute(gone, sessao_id)
        status, text, _ = await sara.post(path, fields, form=page)
        assert (status, "ainda não está aqui" in text) == (409, True)
    async with desk.office.at_work(Papel.ADMIN, ("12.345.678/0001-95",)) as other:
        assert (await other.post(path, fields, form="/console/senha"))[0] == 404


async def test_the_files_of_a_note_are_sent_again_once_for_one_press(desk: Desk) -> None:
    """PDF and XML go out once more however often the form arrives; a new form is a new sending."""
    ana, sessao_id = await _summary(desk)
    path = f"/console/sessoes/{sessao_id}/acoes/reenviar_nota"
    pool = desk.office.database.pool
    files = "SELECT count(*) FROM outbox WHERE sessao_id = $1 AND mensagem->>'tipo' = 'arquivo'"
    async with desk.office.at_work() as sara:
        assert (await sara.get(path))[0] == 409
        await ana.touch("Confirmar")
        await ana.files()
        await desk.road.settled()
        hidden = dict(re.findall(r'name="(csrf|chave)" value="([^"]+)"', (await sara.get(path))[1]))
        fields = {**hidden, "motivo": "perdeu o celular"}
        answers = await asyncio.gather(*(sara.post(path, fields) for _ in range(5)))
        assert {status for status, _, _ in answers} == {303}
        await desk.road.settled()
        assert await pool.fetchval(files, sessao_id) == 4
        await ana.files()
        assert len(await desk.road.notes(ana)) == 1
        assert await _acts(sara, sessao_id, "reenviar_nota") == 303
        await desk.road.settled()
        assert await pool.fetchval(files, sessao_id) == 6
        await pool.execute(
            "UPDATE conversas SET ultima_entrada_em = now() - interval '25 hours' WHERE wa_id = $1", ana.who
        )
        assert (await sara.get(path))[0] == 409
    assert await _audited(desk, sessao_id) == [
        ("reenviar_nota", "perdeu o celular"),
        ("reenviar_nota", "pedido da pessoa"),
    ]
