"""Reads orders that no conversation gave: one whole, those that need eyes, those that a search names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.fiscal.issued import SUBSTITUTA
from persistence.staff.case import MESSAGES, CaseTimeline
from persistence.staff.groups import GROUP_RESOLVED, NEWEST, WHEN
from persistence.tables import (
    cliente_tomador,
    empresa,
    gateway_tentativas,
    grupo_resolvido,
    nfse_emissao,
    nfse_processada,
)
from state_machine.protocol.emission import PEDEM_OLHOS, StatusEmissao

if TYPE_CHECKING:
    from persistence.access.accounts import Alcance
    from persistence.db.connection import Connection

_E = nfse_emissao.c
DOUBTED = sa.text("interval '2 minutes'")  # a younger doubt mends itself


def _orders(alcance: Alcance, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    joined = nfse_emissao.join(empresa, empresa.c.id == _E.prestador_id)
    joined = joined.join(cliente_tomador, cliente_tomador.c.id == _E.tomador_id)
    joined = joined.outerjoin(nfse_processada, nfse_processada.c.emissao_id == _E.id)
    joined = joined.outerjoin(grupo_resolvido, GROUP_RESOLVED)
    statement = sa.select(
        nfse_emissao,
        nfse_processada.c.numero,
        nfse_processada.c.status.label("nota_status"),
        SUBSTITUTA,
        cliente_tomador.c.razao_social.label("cliente"),
        empresa.c.razao_social,
        empresa.c.envio_suspenso,
        sa.func.now().label("agora"),
    )
    ours = (_E.session_id.is_(None), alcance.em(_E.prestador_id))
    return statement.select_from(joined).where(*ours, *conditions)


async def attempts(connection: Connection, alcance: Alcance, pedido: str) -> list[Any]:
    """Return the attempts at one order, the newest first, each with its note; none where somebody may not see it."""
    statement = _orders(alcance, _E.sessao_id == pedido).order_by(_E.id.desc())
    return list(await connection.execute(statement))


async def record(connection: Connection, emissoes: list[Any]) -> CaseTimeline:
    """Return what a timeline has of these attempts: their calls."""
    t = gateway_tentativas.c
    tried = gateway_tentativas.select().where(t.emissao_id.in_([emissao.id for emissao in emissoes]))
    calls = list(await connection.execute(tried.order_by(t.id.desc()).limit(MESSAGES)))
    return CaseTimeline(entradas=[], saidas=[], passos=[], tentativas=calls, notas=[], handovers=[])


def waiting(alcance: Alcance) -> sa.Select[Any]:
    """Select the orders that somebody must look at, and whose group nobody has resolved since."""
    doubt = sa.and_(_E.status == StatusEmissao.DESCONHECIDO, _E.criado_em > sa.func.now() - DOUBTED)
    seen = sa.func.coalesce(grupo_resolvido.c.em >= WHEN, sa.false())
    return _orders(alcance, _E.status.in_(PEDEM_OLHOS), ~doubt, ~seen, NEWEST)


async def needing_eyes(connection: Connection, alcance: Alcance, antes: int | None, limite: int) -> list[Any]:
    """List them, who waits longest first; ``antes`` is the id that the next page continues from."""
    statement = waiting(alcance).order_by(_E.id).limit(limite)
    if antes is not None:
        statement = statement.where(_E.id > antes)
    return list(await connection.execute(statement))


async def named(connection: Connection, alcance: Alcance, texto: str, limite: int) -> list[Any]:
    """List the orders that have this id, this reference at the gateway, or a note of this number."""
    numbered = sa.select(nfse_processada.c.emissao_id).where(nfse_processada.c.numero == texto)
    either = sa.or_(_E.sessao_id == texto, _E.id_integracao == texto, _E.id.in_(numbered))
    return list(await connection.execute(_orders(alcance, either, NEWEST).order_by(_E.id.desc()).limit(limite)))
