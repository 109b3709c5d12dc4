"""Takes an action on a case: shows its consequence, asks why, stores the command with its audit in one commit."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final

from aiohttp import web

from operations.cancel_order import order
from persistence.audit import records as audit
from persistence.conversations import handoff
from persistence.db.connection import Connection
from persistence.fiscal import issued
from persistence.idempotency import records as idempotency
from persistence.idempotency.records import Operation, Replay, Started
from persistence.queue.inbox import Arrival
from persistence.rows import OrderRow, StaffRow
from persistence.staff import case as staff_case
from persistence.staff.case import Caso
from persistence.staff.figures import WAITED
from state_machine.cancellation.machine import MOTIVO_MIN, Codigo, StatusNota, motivo_de
from webhooks.console.access.visit import Visita, see_other
from webhooks.console.actions.commands import POR_NOME, TEXTO_MAX, Acao
from webhooks.console.actions.commands import issued as issued_of
from webhooks.console.render.format import Olhar

LOOK_EVERY: Final = 0.1  # seconds
OBEYED_LOOKS: Final = 30  # a worker needs some milliseconds, and longer than three seconds nobody waits for a page


async def form(visita: Visita) -> web.StreamResponse:
    """The page that says what will happen, and asks why."""
    acao = _action(visita)
    async with visita.deps.database.transaction() as connection:
        caso = await _case(connection, visita)
        mensagem = await _message(connection, visita, caso) if acao.nome == "reenviar" else None
    if not acao.cabe(caso, visita.staff):
        raise web.HTTPConflict(text="late")
    asked = acao.nome == "assumir" and caso.sessao.pessoa_motivo
    return _page(visita, acao, caso, mensagem, motivo="pediu uma pessoa" if asked else "")


async def act(visita: Visita) -> web.StreamResponse:
    """Store the command, its audit row and its idempotency record in one commit; a second press changes nothing.

    What is missing is said on the same page, which keeps what was typed. The answer waits a little for the command to
    be carried out, so that the next page shows what came of it.
    """
    acao = _action(visita)
    quem, sessao_id = visita.staff, visita.request.match_info["sessao_id"]
    chave, motivo = await visita.campo("chave", 100), await visita.campo("motivo")
    texto = await visita.campo("texto", TEXTO_MAX)
    numero = await visita.campo("mensagem", 19)
    if not chave or (acao.nome == "reenviar" and not numero.isdecimal()):
        raise web.HTTPUnprocessableEntity
    if erro := _missing(acao, motivo, texto):
        return await _again(visita, acao, erro, motivo, texto)
    campos: dict[str, Any] = {"texto": texto} if acao.texto else {}
    if acao.nome == "reenviar":
        campos["outbox_id"] = int(numero)
    operation = Operation.named(
        chave, f"console:{acao.nome}", f"staff:{quem.id}", sessao_id, {"motivo": motivo, **campos}
    )
    chegada: str | None = None
    async with visita.deps.database.transaction() as connection:
        begun = await idempotency.begin(connection, operation)
        if isinstance(begun, Started):
            caso = await _case(connection, visita)
            if not acao.cabe(caso, quem):
                raise web.HTTPConflict(text="late")
            if acao.nome == "reenviar":
                await _message(connection, visita, caso)
            chegada = await _store(connection, visita, acao, caso, motivo, campos, operation.key)
            await idempotency.succeed(connection, begun, {"acao": acao.nome, "sessao_id": sessao_id})
        elif not isinstance(begun, Replay):
            raise web.HTTPConflict
    if chegada is not None:
        await _obeyed(visita, chegada)
    composer = "#compor" if acao.nome in {"assumir", "escrever"} else ""
    return see_other(f"/console/sessoes/{sessao_id}?feito={acao.nome}{composer}")


def _missing(acao: Acao, motivo: str, texto: str) -> str | None:
    """Say what the form still needs; ``None``: nothing."""
    if acao.texto and not texto:
        return "Falta escrever o texto."
    if acao.motivo and not motivo:
        return "Falta dizer por quê."
    if acao.comando == "cancelar" and motivo_de(Codigo.OUTROS, motivo) is None:
        tem = len(" ".join(motivo.split()))
        return f"A prefeitura pede um motivo com pelo menos {MOTIVO_MIN} letras, e este tem {tem}. Nada foi pedido."
    return None


async def _again(visita: Visita, acao: Acao, erro: str, motivo: str, texto: str) -> web.Response:
    """Show the form once more with what was typed and what is missing."""
    async with visita.deps.database.transaction() as connection:
        caso = await _case(connection, visita)
        mensagem = await _message(connection, visita, caso) if acao.nome == "reenviar" else None
    return _page(visita, acao, caso, mensagem, erro=erro, motivo=motivo, texto=texto)


async def _obeyed(visita: Visita, chegada: str) -> None:
    """Wait until the command was carried out; one that takes longer shows on the page by itself."""
    for _ in range(OBEYED_LOOKS):
        async with visita.deps.database.transaction() as connection:
            if await handoff.is_carried_out(connection, chegada):
                return
        await asyncio.sleep(LOOK_EVERY)


async def _store(
    connection: Connection,
    visita: Visita,
    acao: Acao,
    caso: Caso,
    motivo: str,
    campos: dict[str, Any],
    chave: str,
) -> str | None:
    """Write the audit and the command; returns the command's key in the inbox, if it goes there."""
    quem, s = visita.staff, caso.sessao
    correlacao = f"equipe-{secrets.token_hex(4)}"
    detalhe = {"mensagem": campos["outbox_id"]} if "outbox_id" in campos else None
    if acao.nome == "assumir" and s.pessoa_pedida_em is not None:
        detalhe = {WAITED: round((s.agora - s.pessoa_pedida_em).total_seconds())}
    await audit.write(
        connection,
        staff_id=quem.id,
        quem=quem.nome,
        acao=acao.nome,
        alvo=s.sessao_id,
        empresa_id=s.empresa_id,
        motivo=motivo,
        detalhe=detalhe,
        correlacao=correlacao,
    )
    match acao.comando:
        case None:
            await handoff.note(connection, s.conversa, s.sessao_id, quem.nome, campos["texto"])
        case "cancelar":
            await _cancel(connection, caso, motivo)
        case "reprocessar" | "enviar" as ordenado:  # the same row as the commands put: an attempt is made anew once
            emissao = caso.emissoes[0]
            key, vez = emissao.id_integracao, f":{emissao.versao}" if ordenado == "enviar" else ""
            ordem = OrderRow(ordenado, s.sessao_id, key)
            arrival = Arrival.of(ordem, chave=f"{ordenado}:{key}{vez}", lane=s.conversa, correlacao=correlacao)
            await visita.deps.inbox.put_in(connection, [arrival])
            return arrival.chave
        case comando:
            if comando == "reenviar_nota":
                campos = {**campos, "emissao_id": nota.id if (nota := issued_of(caso)) else 0}
            pedido = StaffRow(comando, quem.id, quem.nome, quem.exibicao, s.sessao_id, motivo, **campos)
            arrival = Arrival.of(pedido, chave=f"equipe:{chave}", lane=s.conversa, correlacao=correlacao)
            await visita.deps.inbox.put_in(connection, [arrival])
            return arrival.chave
    return None


async def _cancel(connection: Connection, caso: Caso, motivo: str) -> None:
    """Ask for the cancellation by the same rules as in the chat; the authority wants a reason of some length."""
    razao = motivo_de(Codigo.OUTROS, motivo)
    emissao = next(e for e in caso.emissoes if e.nota_status == StatusNota.AUTORIZADO)
    nota = await issued.locked(connection, emissao.id)
    if razao is None or nota is None:
        raise web.HTTPUnprocessableEntity
    await order(connection, nota, razao)


def _action(visita: Visita) -> Acao:
    acao = POR_NOME.get(visita.request.match_info["acao"])
    if acao is None:
        raise web.HTTPNotFound
    if not visita.staff.papel.alcanca(acao.papel):
        raise web.HTTPForbidden
    return acao


async def _case(connection: Connection, visita: Visita) -> Caso:
    sessao_id = visita.request.match_info["sessao_id"]
    caso = await staff_case.session(connection, visita.staff.alcance, sessao_id)
    if caso is None:
        raise web.HTTPNotFound
    return caso


async def _message(connection: Connection, visita: Visita, caso: Caso) -> Any:
    """Return the message to send again; one of another conversation does not exist."""
    wanted = visita.request.query.get("mensagem") or await _posted(visita)
    alcance, conversa = visita.staff.alcance, caso.sessao.conversa
    row = await staff_case.message(connection, alcance, conversa, int(wanted)) if wanted.isdecimal() else None
    if row is None:
        raise web.HTTPNotFound
    return row


async def _posted(visita: Visita) -> str:
    return await visita.campo("mensagem", 19) if visita.request.method == "POST" else ""


def _page(
    visita: Visita,
    acao: Acao,
    caso: Caso,
    mensagem: Any,
    *,
    erro: str | None = None,
    motivo: str = "",
    texto: str = "",
) -> web.Response:
    olhar = Olhar()
    trecho = mensagem.mensagem.get("texto") or mensagem.mensagem.get("nome") if mensagem is not None else None
    return visita.pagina(
        "acao.html",
        status=422 if erro else 200,
        acao=acao,
        erro=erro,
        motivo=motivo,
        texto=texto,
        s=caso.sessao,
        chave=secrets.token_urlsafe(16),
        mensagem=mensagem,
        trecho=olhar.texto(trecho) if trecho else None,
        olhar=olhar,
        texto_max=TEXTO_MAX,
    )
