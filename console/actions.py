"""Takes an action on a case: shows its consequence, asks why, stores the command with its audit in one commit."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bot.cancel_command import order
from console.access import see_other
from console.commands import POR_NOME, TEXTO_MAX, Acao, payload
from console.format import Olhar
from persistence import audit, handoff, idempotency, issued, staff_case
from persistence.arrival import Arrival
from persistence.idempotency import Replay, Started
from persistence.idempotency_key import Operation
from state_machine.cancelamento import Codigo, StatusNota, motivo_de

if TYPE_CHECKING:
    from console.visit import Visita
    from persistence.connection import Connection
    from persistence.staff_case import Caso


async def form(visita: Visita) -> web.StreamResponse:
    """The page that says what will happen, and asks why."""
    acao = _action(visita)
    async with visita.deps.database.transaction() as connection:
        caso = await _case(connection, visita)
        mensagem = await _message(connection, visita, caso) if acao.nome == "reenviar" else None
    if not acao.cabe(caso, visita.staff):
        raise web.HTTPConflict(text="late")
    return _page(visita, acao, caso, mensagem)


async def act(visita: Visita) -> web.StreamResponse:
    """Store the command, its audit row and its idempotency record in one commit; a second press changes nothing."""
    acao = _action(visita)
    quem, sessao_id = visita.staff, visita.request.match_info["sessao_id"]
    chave, motivo = await visita.campo("chave", 100), await visita.campo("motivo")
    texto = await visita.campo("texto", TEXTO_MAX)
    numero = await visita.campo("mensagem", 19)
    if not chave or not motivo or (acao.texto and not texto) or (acao.nome == "reenviar" and not numero.isdecimal()):
        raise web.HTTPUnprocessableEntity
    campos: dict[str, Any] = {"texto": texto} if acao.texto else {}
    if acao.nome == "reenviar":
        campos["outbox_id"] = int(numero)
    operation = Operation.named(
        chave, f"console:{acao.nome}", f"staff:{quem.id}", sessao_id, {"motivo": motivo, **campos}
    )
    async with visita.deps.database.transaction() as connection:
        begun = await idempotency.begin(connection, operation)
        if isinstance(begun, Started):
            caso = await _case(connection, visita)
            if not acao.cabe(caso, quem):
                raise web.HTTPConflict(text="late")
            if acao.nome == "reenviar":
                await _message(connection, visita, caso)
            await _store(connection, visita, acao, caso, motivo, campos, operation.key)
            await idempotency.succeed(connection, begun, {"acao": acao.nome, "sessao_id": sessao_id})
        elif not isinstance(begun, Replay):
            raise web.HTTPConflict
    return see_other(f"/console/sessoes/{sessao_id}?feito={acao.nome}")


async def _store(
    connection: Connection,
    visita: Visita,
    acao: Acao,
    caso: Caso,
    motivo: str,
    campos: dict[str, Any],
    chave: str,
) -> None:
    quem, s = visita.staff, caso.sessao
    correlacao = f"equipe-{secrets.token_hex(4)}"
    detalhe = {"mensagem": campos["outbox_id"]} if "outbox_id" in campos else None
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
            ordem = {"ordem": ordenado, "sessao_id": s.sessao_id, "id_integracao": key}
            arrival = Arrival(f"{ordenado}:{key}{vez}", s.conversa, "ordem", ordem, correlacao, imediato=True)
            await _put(connection, visita, arrival)
        case _:
            pedido = payload(acao, quem, s.sessao_id, motivo, campos)
            await _put(
                connection, visita, Arrival(f"equipe:{chave}", s.conversa, "equipe", pedido, correlacao, imediato=True)
            )


async def _put(connection: Connection, visita: Visita, arrival: Arrival) -> None:
    await visita.deps.inbox.put_in(connection, [arrival])


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


def _page(visita: Visita, acao: Acao, caso: Caso, mensagem: Any) -> web.Response:
    olhar = Olhar()
    trecho = mensagem.mensagem.get("texto") or mensagem.mensagem.get("nome") if mensagem is not None else None
    return visita.pagina(
        "acao.html",
        acao=acao,
        s=caso.sessao,
        chave=secrets.token_urlsafe(16),
        mensagem=mensagem,
        trecho=olhar.texto(trecho) if trecho else None,
        olhar=olhar,
        texto_max=TEXTO_MAX,
    )
