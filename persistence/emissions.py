"""Keeps emissions under way: who is at work on which, what may be sent, every attempt, and what followed from it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence import gateway_operations
from persistence.tables import gateway_tentativas, nfse_emissao, nfse_processada
from state_machine.emission import StatusEmissao
from state_machine.reconciliation import Andamento
from state_machine.reprocessing import Anterior

if TYPE_CHECKING:
    from persistence.connection import Connection
    from persistence.idempotency_key import Operation
    from state_machine.reconciliation import Passo


LEASE_SECONDS = 15.0  # renewed while a gateway call lasts (up to 60 s); a dead worker's emissions wait this long


class EmissionLeaseLostError(Exception):
    """Somebody else took this emission over; what we learnt is theirs to learn again."""


@dataclass(frozen=True, slots=True)
class Tarefa:
    """An emission under our lease. ``era`` is its status before we took it: only ``pendente`` may be sent.

    ``pronta``: it is stored as ``enviando`` under its idempotency record, so that the bytes may leave now.
    """

    id: int
    epoch: int
    era: StatusEmissao
    pronta: bool
    conversa: str
    sessao_id: str
    revisao: int
    tentativa: int
    prestador_id: int
    payload: bytes
    id_externo: str | None
    correlacao: str | None
    andamento: Andamento
    suspenso: str | None  # why the company's submissions are stopped
    sonda_em: float  # seconds until one of them may try again
    tomada_em: float  # our monotonic clock when we took it, to notice that we were frozen

    @property
    def operation(self) -> Operation:
        """The record under which its bytes are sent."""
        atual = self.andamento
        return gateway_operations.issuing(self.sessao_id, atual.prestador, atual.id_integracao, self.payload)


@dataclass(frozen=True, slots=True)
class Chamada:
    """One gateway call for the record: ``pedido`` and ``resposta`` masked and cut, ``None`` where there was none."""

    operacao: str
    resultado: str
    detalhe: str | None
    latencia_ms: int
    http_status: int | None = None
    pedido: str | None = None
    resposta: str | None = None


# Ready to be sent is what nothing stands in the way of: the others are looked at first (``start_sending``).
_CLAIM = sa.text("""
WITH due AS (
    SELECT id, status FROM nfse_emissao
    WHERE proxima_acao_em <= now() AND (lease_until IS NULL OR lease_until < now())
    ORDER BY proxima_acao_em LIMIT :limit FOR UPDATE SKIP LOCKED
), prontas AS (
    SELECT due.id, due.status AS era, s.conversa, p.envio_suspenso,
        greatest(coalesce(extract(epoch FROM p.sonda_em - now()), 0), 0)::float8 AS sonda_em,
        due.status = 'pendente' AND :enviar AND p.envio_suspenso IS NULL AND e.tentativa = 1 AS pronta
    FROM due JOIN nfse_emissao e ON e.id = due.id
    JOIN session_snapshot s ON s.id = e.session_id JOIN empresa p ON p.id = e.prestador_id
)
UPDATE nfse_emissao e
SET lease_until = now() + make_interval(secs => :lease), epoch = e.epoch + 1, dica_em = NULL,
    status = CASE WHEN prontas.pronta THEN 'enviando' ELSE e.status END,
    enviado_em = CASE WHEN prontas.pronta THEN coalesce(e.enviado_em, now()) ELSE e.enviado_em END
FROM prontas WHERE e.id = prontas.id
RETURNING e.*, prontas.era, prontas.conversa, prontas.pronta, prontas.envio_suspenso, prontas.sonda_em
""")
_START = sa.text("""
UPDATE nfse_emissao SET status = 'enviando', enviado_em = coalesce(enviado_em, now()),
    lease_until = now() + make_interval(secs => :lease)
WHERE id = :id AND epoch = :epoch AND status = 'pendente'
""")


async def claim(connection: Connection, limit: int, lease_seconds: float, *, enviar: bool = True) -> list[Tarefa]:
    """Take due emissions. One that may be sent is stored as ``enviando``, under its record, before anybody sends it.

    Without ``enviar`` nothing is made ready: the gateway is left alone, and people are only told what they wait for.
    """
    tomada_em = time.monotonic()
    rows = await connection.execute(_CLAIM, {"limit": limit, "lease": lease_seconds, "enviar": enviar})
    tarefas = [_tarefa(row, tomada_em) for row in rows]
    operations = [tarefa.operation for tarefa in tarefas if tarefa.pronta]
    taken = await gateway_operations.begin(connection, operations, lease_seconds)
    return [t if not t.pronta or t.operation.key in taken else replace(t, pronta=False) for t in tarefas]


def _tarefa(row: Any, tomada_em: float) -> Tarefa:
    return Tarefa(
        id=row.id,
        epoch=row.epoch,
        era=StatusEmissao(row.era),
        pronta=row.pronta,
        conversa=row.conversa,
        sessao_id=row.sessao_id,
        revisao=row.revisao,
        tentativa=row.tentativa,
        prestador_id=row.prestador_id,
        payload=row.payload_enviado,
        id_externo=row.id_externo,
        correlacao=row.correlacao,
        andamento=_andamento(row, StatusEmissao(row.era)),
        suspenso=row.envio_suspenso,
        sonda_em=row.sonda_em,
        tomada_em=tomada_em,
    )


def _andamento(row: Any, status: StatusEmissao) -> Andamento:
    return Andamento(
        row.id_integracao,
        row.prestador_cnpj,
        row.tomador_documento,
        row.valor_servico,
        status,
        row.criado_em,
        row.consultas,
        row.envios,
        row.ausente_desde,
        row.avisado_em is not None,
    )


async def start_sending(connection: Connection, tarefa: Tarefa, lease_seconds: float) -> Tarefa | None:
    """Make ready what was looked at first; ``None`` when its record is another's or has other bytes.

    Raises ``EmissionLeaseLostError``.
    """
    tomada_em = time.monotonic()
    if not await gateway_operations.begin(connection, [tarefa.operation], lease_seconds):
        return None
    values = {"id": tarefa.id, "epoch": tarefa.epoch, "lease": lease_seconds}
    if (await connection.execute(_START, values)).rowcount != 1:
        raise EmissionLeaseLostError(tarefa.andamento.id_integracao)
    return replace(tarefa, pronta=True, tomada_em=tomada_em)


async def earlier_attempts(connection: Connection, tarefa: Tarefa) -> list[Anterior]:
    """Return the attempts at the same revision before this one, oldest first."""
    statement = (
        nfse_emissao.select()
        .where(
            nfse_emissao.c.sessao_id == tarefa.sessao_id,
            nfse_emissao.c.revisao == tarefa.revisao,
            nfse_emissao.c.tentativa < tarefa.tentativa,
        )
        .order_by(nfse_emissao.c.tentativa)
    )
    rows = await connection.execute(statement)
    return [Anterior(row.id, _andamento(row, StatusEmissao(row.status)), row.id_externo) for row in rows]


async def look_at(connection: Connection, emissao_id: int) -> None:
    """Ask the gateway about this emission now, as after a webhook."""
    await connection.execute(
        nfse_emissao.update()
        .where(nfse_emissao.c.id == emissao_id)
        .values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())
    )


async def renew(connection: Connection, tarefa: Tarefa, lease_seconds: float) -> bool:
    """Extend the lease from now; False when it was given back or is another's."""
    held = _ours(tarefa).where(nfse_emissao.c.lease_until.is_not(None))
    ours = (await connection.execute(held.values(lease_until=_in_seconds(lease_seconds)))).rowcount == 1
    if ours and tarefa.pronta:
        await gateway_operations.renew(connection, tarefa.operation, lease_seconds)
    return ours


async def give_back(connection: Connection, tarefa: Tarefa) -> None:
    """Return an emission that was taken and not sent: it is due again as it was. Nothing happens if it is another's."""
    back = _ours(tarefa).values(status=tarefa.era, lease_until=None, proxima_acao_em=sa.func.now())
    if (await connection.execute(back)).rowcount == 1 and tarefa.pronta:
        await gateway_operations.leave_open(connection, tarefa.operation, None)


async def settle(connection: Connection, tarefa: Tarefa, passo: Passo, *, resposta: Any = None) -> None:
    """Store what followed and give the lease back. Raises ``EmissionLeaseLostError`` for a late commit."""
    novo, antes = passo.andamento, tarefa.andamento
    values: dict[str, Any] = {
        "status": novo.status,
        "consultas": novo.consultas,
        "envios": novo.envios,
        "ausente_desde": novo.ausente_desde,
        # A hint that came while we were at work asks for one more look; it is no reason to send earlier.
        "proxima_acao_em": _in_seconds(passo.daqui)
        if novo.status is StatusEmissao.PENDENTE
        else sa.case((nfse_emissao.c.dica_em.is_not(None), sa.func.now()), else_=_in_seconds(passo.daqui)),
        "retida": passo.retida,
        "lease_until": None,
        "versao": nfse_emissao.c.versao + 1,
    }
    if passo.motivo is not None or novo.status is StatusEmissao.CONCLUIDO:
        values["erro_mensagem"] = passo.motivo
    if resposta is not None:
        values["resposta_gateway"] = resposta
    if novo.avisado and not antes.avisado:
        values["avisado_em"] = sa.func.now()
    if passo.nota and passo.nota.id_externo:
        values["id_externo"] = passo.nota.id_externo
    if passo.daqui is None:
        values["processado_em"] = sa.func.now()
    if (await connection.execute(_ours(tarefa).values(**values))).rowcount != 1:
        raise EmissionLeaseLostError(tarefa.andamento.id_integracao)


def _ours(tarefa: Tarefa) -> sa.Update:
    """Change the emission only while nobody else took it over since: the epoch is the fence."""
    return nfse_emissao.update().where(nfse_emissao.c.id == tarefa.id, nfse_emissao.c.epoch == tarefa.epoch)


def _in_seconds(seconds: float | None) -> Any:
    if seconds is None:
        return sa.null()
    return sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


async def record_attempt(connection: Connection, emissao_id: int, chamada: Chamada) -> None:
    """Append one gateway call to the record."""
    await connection.execute(gateway_tentativas.insert().values(emissao_id=emissao_id, **asdict(chamada)))


async def hint(connection: Connection, id_integracao: str | None, id_externo: str | None, corpo: Any) -> int:
    """A webhook spoke of a note: store it and look at once. Returns how many emissions it concerns."""
    key = (
        nfse_emissao.c.id_integracao == id_integracao
        if id_integracao
        else nfse_emissao.c.id_externo == (id_externo or "")
    )
    pendente = nfse_emissao.c.status == StatusEmissao.PENDENTE  # nothing was sent, or its time was set by the gateway
    found = await connection.execute(
        nfse_emissao.update()
        .where(key)
        .values(
            dica_em=sa.func.now(),
            proxima_acao_em=sa.case((pendente, nfse_emissao.c.proxima_acao_em), else_=sa.func.now()),
            webhook_payload=corpo,
        )
        .returning(nfse_emissao.c.id)
    )
    ids = list(found.scalars())
    await connection.execute(
        nfse_processada.update()
        .where(nfse_processada.c.emissao_id.in_(ids), nfse_processada.c.webhook_payload.is_(None))
        .values(webhook_payload=corpo)
    )
    return len(ids)
