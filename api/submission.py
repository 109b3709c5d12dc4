"""Submits a proposal: once under its caller's key, it becomes a turn in the conversation of its approver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from pydantic import ValidationError

from api.models import PropostaResposta, Submissao
from api.problems import ProblemError, invalid
from api.resources import PROPOSTAS, REPLAYED, under_way
from persistence.api import approvers, entities, operations
from persistence.api.entities import LARGEST_ID, UnderWayError
from persistence.api.operations import SUBMIT
from persistence.idempotency.key import input_hash
from persistence.people import channels
from persistence.queue.arrival import Arrival
from persistence.rows.inbox_rows import ProposalRow
from persistence.tables import propostas
from state_machine.proposal.states import EstadoProposta

if TYPE_CHECKING:
    from aiohttp import web

    from api.call import ApiCall
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

_P: Final = propostas.c
_SENT: Final = (
    propostas.update()
    .where(_P.id == sa.bindparam("b_id"))
    .values(
        estado=EstadoProposta.ENVIADA.value,
        versao=_P.versao + 1,
        aprovador_id=sa.bindparam("b_aprovador"),
        alterada_por=sa.bindparam("b_quem"),
        enviada_em=sa.func.now(),
        atualizada_em=sa.func.now(),
    )
    .returning(propostas)
)


async def submit(call: ApiCall) -> web.Response:
    """Send a proposal to its approver, once for each key; a repetition gets the proposal as it is now."""
    key = call.key
    raw = await call.body()
    body: Submissao | None
    try:
        body, refused = Submissao.model_validate(raw), None
    except ValidationError as error:
        body, refused = None, invalid(error)
    corpo = "" if body is None else input_hash(body.model_dump(mode="json"))
    sent = None
    async with call.deps.database.transaction() as connection:
        before = await operations.find(connection, call.empresa_id, call.ambiente, key, SUBMIT)
        if before is None:
            if body is None:
                raise refused or ProblemError("corpo_invalido", "")
            try:
                proposta = await _locked(connection, call)
                before = await operations.find(
                    connection, call.empresa_id, call.ambiente, key, SUBMIT
                )  # whoever had the lock first
                sent = await _send(connection, call, key, corpo, body, proposta) if before is None else None
            except UnderWayError:
                raise under_way() from None
        now = sent
        if before is not None:
            if call.deps.strict and (before.corpo_sha256, before.entidade_id) != (corpo, call.id):
                raise ProblemError("chave_reutilizada", "Nada foi feito. Para um pedido novo, mande uma chave nova.")
            now = await entities.by_id(connection, propostas, call.empresa_id, call.ambiente, before.entidade_id)
    if now is None:
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
    return PROPOSTAS.answer(now, 200, {} if sent is not None else {REPLAYED: "true"})


async def check_environment(connection: Connection, call: ApiCall) -> None:
    """Raise ``ProblemError`` unless the company issues in the environment of the caller's key."""
    ambiente = (await channels.chosen(connection, call.empresa_id)).ambiente or call.deps.ambiente
    if call.ambiente is not ambiente:
        raise ProblemError("ambiente_mudou", f"A empresa agora emite em {ambiente}. Use uma chave de lá.")


async def _locked(connection: Connection, call: ApiCall) -> Found:
    known = call.id <= LARGEST_ID
    found = await operations.lock(connection, call.empresa_id, call.ambiente, call.id) if known else None
    if found is None:
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
    return found


async def _send(connection: Connection, call: ApiCall, key: str, corpo: str, body: Submissao, proposta: Found) -> Found:
    """Do it, and note that it is done; raises ``ProblemError`` for what must not be sent, and then nothing stands."""
    if proposta.versao != body.versao:
        raise ProblemError("versao_desatualizada", f"Está na versão {proposta.versao}. Leia de novo e decida.")
    if proposta.estado != EstadoProposta.RASCUNHO:
        raise ProblemError("estado_invalido", f"Está {proposta.estado}, na versão {proposta.versao}.")
    await check_environment(connection, call)
    aprovador = await approvers.of_company(connection, call.empresa_id)
    if aprovador is None:
        raise ProblemError("sem_aprovador", "A empresa não tem ninguém que possa emitir.")
    if aprovador.conversa is None:
        raise ProblemError("sem_aprovador", "Quem aprova ainda não escreveu ao Prosa. Peça que mande um oi e repita.")
    values = {"b_id": proposta.id, "b_aprovador": aprovador.id, "b_quem": call.quem}
    sent = (await connection.execute(_SENT, values)).one()
    done = {
        "empresa_id": call.empresa_id,
        "idempotencia_key": key,
        "tipo_operacao": SUBMIT,
        "entidade_id": sent.id,
        "resultado": PropostaResposta.model_validate(sent).model_dump(mode="json"),
        "corpo_sha256": corpo,
        "usuario": call.quem,
    }
    if not await operations.add(connection, done):
        raise UnderWayError  # the same key sends another proposal at this moment: the repetition is told which
    chave = f"proposta:{sent.id}:{sent.versao}"
    row = ProposalRow(sent.id)
    arrival = Arrival.of(row, chave=chave, lane=aprovador.conversa, correlacao=call.correlacao)
    await call.deps.inbox.put_in(connection, [arrival])
    return sent
