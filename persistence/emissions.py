"""Keeps emissions: the confirmed intent with its exact bytes, who is at work on it, every attempt, and the note."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import (
    cliente_tomador,
    empresa,
    gateway_tentativas,
    nfse_emissao,
    nfse_processada,
)
from state_machine.emission import StatusEmissao
from state_machine.reconciliation import Andamento

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

    from sqlalchemy.ext.asyncio import AsyncConnection

    from state_machine.reconciliation import Passo


LEASE_SECONDS = 15.0  # renewed while a gateway call lasts (up to 60 s); a dead worker's emissions wait this long


class EmissionLeaseLostError(Exception):
    """Somebody else took this emission over; what we learnt is theirs to learn again."""


@dataclass(frozen=True, slots=True)
class NovaEmissao:
    """What the user confirmed, ready to be stored; ``payload`` is what will be sent, byte for byte."""

    session_id: int
    sessao_id: str
    revisao: int
    prestador_id: int
    prestador_cnpj: str
    tomador_id: int
    tomador_documento: str
    id_integracao: str
    valor: Decimal
    descricao: str
    codigo_servico: str
    competencia: date
    payload: bytes
    correlacao: str | None


@dataclass(frozen=True, slots=True)
class Tarefa:
    """An emission under our lease. ``era`` is its status before we took it: only ``pendente`` may be sent."""

    id: int
    epoch: int
    era: StatusEmissao
    conversa: str
    sessao_id: str
    payload: bytes
    id_externo: str | None
    correlacao: str | None
    andamento: Andamento
    tomada_em: float  # our monotonic clock when we took it, to notice that we were frozen


def integration_id(sessao_id: str, revisao: int, tentativa: int = 1) -> str:
    """Return the reference that goes to the gateway: stable for a confirmed revision, other for another attempt.

    At most 50 characters of ``[A-Za-z0-9-]``. ``sessao_id`` is unique in the database and belongs to one company.
    """
    return f"{sessao_id}-r{revisao}-{tentativa}"


def fingerprint(nova: NovaEmissao) -> str:
    """Return the SHA-256 (hex) of the invoice's content in canonical JSON; equal content, equal fingerprint."""
    content = {
        "prestador": nova.prestador_cnpj,
        "tomador": nova.tomador_documento,
        "servico": nova.codigo_servico,
        "centavos": int(nova.valor * 100),
        "competencia": nova.competencia.isoformat(),
        "descricao": nova.descricao,
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


async def upsert_tomador(connection: AsyncConnection, empresa_id: int, values: dict[str, Any]) -> int:
    """Create or refresh the company's customer (``cnpj`` and any other column) and return its id."""
    statement = insert(cliente_tomador).values(empresa_id=empresa_id, **values)
    known = {k: statement.excluded[k] for k, v in values.items() if v is not None and k != "cnpj"}
    return int(
        (
            await connection.execute(
                statement.on_conflict_do_update(
                    index_elements=[cliente_tomador.c.empresa_id, cliente_tomador.c.cnpj],
                    set_={**known, "atualizado_em": sa.func.now()},
                ).returning(cliente_tomador.c.id)
            )
        ).scalar_one()
    )


async def create(connection: AsyncConnection, nova: NovaEmissao) -> int:
    """Store the intent, due at once; a second one for the same session and revision is refused by the database."""
    statement = (
        nfse_emissao.insert()
        .values(
            session_id=nova.session_id,
            sessao_id=nova.sessao_id,
            revisao=nova.revisao,
            prestador_id=nova.prestador_id,
            prestador_cnpj=nova.prestador_cnpj,
            tomador_id=nova.tomador_id,
            tomador_documento=nova.tomador_documento,
            id_integracao=nova.id_integracao,
            status=StatusEmissao.PENDENTE,
            valor_servico=nova.valor,
            descricao_servico=nova.descricao,
            codigo_servico=nova.codigo_servico,
            competencia=nova.competencia,
            impressao=fingerprint(nova),
            payload_enviado=nova.payload,
            proxima_acao_em=sa.func.now(),
            correlacao=nova.correlacao,
        )
        .returning(nfse_emissao.c.id)
    )
    return int((await connection.execute(statement)).scalar_one())


_CLAIM = sa.text("""
WITH due AS (
    SELECT id, status FROM nfse_emissao
    WHERE proxima_acao_em <= now() AND (lease_until IS NULL OR lease_until < now())
    ORDER BY proxima_acao_em LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE nfse_emissao e
SET lease_until = now() + make_interval(secs => :lease), epoch = e.epoch + 1, dica_em = NULL,
    status = CASE WHEN e.status = 'pendente' THEN 'enviando' ELSE e.status END,
    enviado_em = CASE WHEN e.status = 'pendente' THEN coalesce(e.enviado_em, now()) ELSE e.enviado_em END
FROM due, session_snapshot s
WHERE e.id = due.id AND s.id = e.session_id
RETURNING e.*, due.status AS era, s.conversa
""")


async def claim(connection: AsyncConnection, limit: int, lease_seconds: float) -> list[Tarefa]:
    """Take due emissions. One that was ``pendente`` is stored as ``enviando`` before anybody may send it."""
    tomada_em = time.monotonic()
    rows = await connection.execute(_CLAIM, {"limit": limit, "lease": lease_seconds})
    return [
        Tarefa(
            row.id,
            row.epoch,
            StatusEmissao(row.era),
            row.conversa,
            row.sessao_id,
            row.payload_enviado,
            row.id_externo,
            row.correlacao,
            Andamento(
                row.id_integracao,
                row.prestador_cnpj,
                row.tomador_documento,
                row.valor_servico,
                StatusEmissao(row.era),
                row.criado_em,
                row.consultas,
                row.envios,
                row.ausente_desde,
                row.avisado_em is not None,
            ),
            tomada_em,
        )
        for row in rows
    ]


async def renew(connection: AsyncConnection, tarefa: Tarefa, lease_seconds: float) -> bool:
    """Extend the lease from now; False when it was given back or is another's."""
    held = _ours(tarefa).where(nfse_emissao.c.lease_until.is_not(None))
    return (await connection.execute(held.values(lease_until=_in_seconds(lease_seconds)))).rowcount == 1


async def give_back(connection: AsyncConnection, tarefa: Tarefa) -> None:
    """Return an emission that was taken and not sent: it is due again as it was. Nothing happens if it is another's."""
    back = _ours(tarefa).values(status=tarefa.era, lease_until=None, proxima_acao_em=sa.func.now())
    await connection.execute(back)


async def settle(connection: AsyncConnection, tarefa: Tarefa, passo: Passo, *, resposta: Any = None) -> None:
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


async def record_attempt(
    connection: AsyncConnection, emissao_id: int, operacao: str, resultado: str, detalhe: str | None, latencia_ms: int
) -> None:
    """Append one gateway call to the record."""
    await connection.execute(
        gateway_tentativas.insert().values(
            emissao_id=emissao_id, operacao=operacao, resultado=resultado, detalhe=detalhe, latencia_ms=latencia_ms
        )
    )


async def hint(connection: AsyncConnection, id_integracao: str | None, id_externo: str | None, corpo: Any) -> int:
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


async def suspend(connection: AsyncConnection, emissao_id: int, motivo: str | None) -> None:
    """Note on the company why the gateway refuses us, or that it no longer does."""
    dona = sa.select(nfse_emissao.c.prestador_id).where(nfse_emissao.c.id == emissao_id).scalar_subquery()
    await connection.execute(
        empresa.update()
        .where(empresa.c.id == dona, empresa.c.envio_suspenso.is_distinct_from(motivo))
        .values(envio_suspenso=motivo)
    )
