"""Cancels an issued note for staff: once for each key, by the same rules as in the chat."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import cancellations, issued
from persistence.idempotency.records import (
    Conflict,
    Failed,
    InProgress,
    InvalidKeyError,
    Operation,
    Replay,
    Started,
    begin,
    succeed,
)
from state_machine.cancellation.machine import (
    Codigo,
    ConfirmouCancelamento,
    MotivoCancelamento,
    Motivou,
    NotaEmitida,
    StatusNota,
    Substituiu,
    abre,
    decide,
    motivo_de,
)
from state_machine.catalogue.texts.cancellation import descreve
from state_machine.invoice.summary import fim
from state_machine.values.documents import normaliza
from state_machine.values.errors import ProsaError


class CancelError(ProsaError):
    """Nothing was asked for, and the text says why."""

    code = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordem:
    """What staff asks: which note (number, our reference or the gateway's id), why, and under which key."""

    nota: str
    motivo: str
    codigo: str = "9"
    empresa: str | None = None
    chave: str | None = None


@dataclass(frozen=True, slots=True)
class Feito:
    """The answer, the same for every repetition of the order."""

    emissao_id: int
    resposta: str


async def cancel(database: Database, ordem: Ordem) -> Feito:
    """Store the order in one transaction with its idempotency record; raises ``CancelError``.

    Without ``chave`` a repetition is recognised by the note and the reason, until the cancellation has ended.
    """
    if ordem.codigo not in set(Codigo):
        raise CancelError("O código é 1 (erro na emissão), 2 (serviço não prestado) ou 9 (outros).")
    motivo = motivo_de(Codigo(ordem.codigo), ordem.motivo)
    if motivo is None:
        raise CancelError("A prefeitura pede um motivo com pelo menos 15 letras. Nada foi pedido.")
    async with database.transaction() as connection:
        nota = await _find(connection, ordem)
        match await begin(connection, await _operation(connection, ordem, nota, motivo)):
            case Started() as started:
                feito = Feito(nota.emissao_id, await order(connection, nota, motivo))
                await succeed(connection, started, asdict(feito))
                return feito
            case Replay(result):
                return Feito(**result)
            case Conflict():
                raise CancelError("Esta chave já foi usada com outra nota ou outro motivo. Nada foi pedido.")
            case InProgress() | Failed():  # never stored by this command: it works inside one transaction
                raise CancelError("Outro comando com esta chave está em andamento. Nada foi pedido.")


async def standing(database: Database, emissao_id: int) -> str:
    """Say how the note stands now."""
    async with database.transaction() as connection:
        nota = await issued.locked(connection, emissao_id)
    if nota is None:
        raise CancelError("A nota sumiu do banco.")
    agora = {
        StatusNota.AUTORIZADO: "válida; se o cancelamento foi recusado, o motivo está em cancelamento.erro_mensagem",
        StatusNota.CANCELAMENTO_PENDENTE: "cancelamento com a prefeitura; um worker segue perguntando",
        StatusNota.CANCELADO: fim(nota.substituta),
    }
    return f"{descreve(nota)}: {agora[nota.status]}."


async def _find(connection: Connection, ordem: Ordem) -> NotaEmitida:
    cnpj = normaliza(ordem.empresa) if ordem.empresa else None
    found = await issued.referred(connection, ordem.nota.strip(), cnpj)
    if not found:
        raise CancelError(f"Não achei a nota {ordem.nota}. Nada foi pedido.")
    if len(found) > 1:
        raise CancelError(f"Há mais de uma nota {ordem.nota}: diga de quem com --empresa CNPJ. Nada foi pedido.")
    nota = await issued.locked(connection, found[0])
    if nota is None:
        raise CancelError(f"A nota {ordem.nota} não foi autorizada: não há o que cancelar. Nada foi pedido.")
    return nota


async def _operation(connection: Connection, ordem: Ordem, nota: NotaEmitida, motivo: MotivoCancelamento) -> Operation:
    inputs = {"emissao": nota.emissao_id, **asdict(motivo)}
    if ordem.chave is None:
        rodada = await cancellations.ended(connection, nota.emissao_id)
        return Operation.of("cancelar", f"emissao-{nota.emissao_id}", f"rodada-{rodada}", inputs)
    try:
        return Operation.named(ordem.chave, "cancelar", "comando", "cancelar", inputs)
    except InvalidKeyError as error:
        raise CancelError("A chave tem de 1 a 255 letras. Nada foi pedido.") from error


async def order(connection: Connection, nota: NotaEmitida, motivo: MotivoCancelamento) -> str:
    """Ask for a locked note's cancellation, in the caller's transaction; returns what was done, in a sentence."""
    if nota.status is StatusNota.CANCELADO:
        return f"A nota {nota.numero} já estava cancelada."
    if nota.status is StatusNota.CANCELAMENTO_PENDENTE:
        return f"O cancelamento da nota {nota.numero} já tinha sido pedido."
    agora = await database_now(connection)
    for outro in await cancellations.live(connection, nota, None):  # somebody is asked about it in the chat
        await cancellations.save(connection, outro, decide(outro, Substituiu(), agora).cancelamento)
    conversa = await cancellations.conversation_of(connection, nota.emissao_id)
    novo = await cancellations.open_row(
        connection, nota, conversa, pedido_por="comando", correlacao=f"comando-{nota.emissao_id}", expira_em=agora
    )
    passo = abre(novo, nota, agora).cancelamento
    for evento in (Motivou(motivo.codigo, motivo.texto), ConfirmouCancelamento(passo.versao + 1)):
        depois = decide(passo, evento, agora).cancelamento
        await cancellations.save(connection, passo, depois)
        passo = depois
    return f"Cancelamento da nota {nota.numero} pedido."
