"""Finds orders to the authority that take long and whose people have not heard so, and marks them as told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from persistence.versions import literals
from state_machine.cancellation.machine import EstadoCancelamento
from state_machine.cancellation.reconciliation import Envio
from state_machine.protocol.emission import EM_CURSO, StatusEmissao
from state_machine.protocol.origin import CONVERSA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.db.connection import Connection

BATCH: Final = 200  # of each kind at once: the next look is a second later

# Whoever works on one right now tells by itself; the key of the news keeps it from being told twice.
_EMISSIONS = sa.text(f"""
WITH demoradas AS (
    SELECT id, session_id FROM nfse_emissao
    WHERE avisado_em IS NULL AND origem = ANY(:origens) AND status IN ({literals(EM_CURSO)})
      AND criado_em <= now() - make_interval(secs => :seconds)
      AND NOT (status = '{StatusEmissao.PENDENTE}' AND em_duvida IS FALSE
        AND criado_em <= now() - make_interval(secs => :asked))
    ORDER BY criado_em LIMIT :batch FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE nfse_emissao e SET avisado_em = now()
FROM demoradas d LEFT JOIN session_snapshot s ON s.id = d.session_id WHERE e.id = d.id
RETURNING e.id, e.origem, s.conversa, e.sessao_id, e.correlacao, e.id_integracao
""")  # noqa: S608 - our own constants
# A Retry-After of hours must not keep back the question to the person; looking at it calls nobody.
_FORWARD = sa.text(f"""
UPDATE nfse_emissao SET proxima_acao_em = now()
WHERE proxima_acao_em > now() AND status = '{StatusEmissao.PENDENTE}' AND em_duvida IS FALSE
  AND retida IS DISTINCT FROM 'pessoa' AND coalesce(desejado_em, criado_em) <= now() - make_interval(secs => :seconds)
""")  # noqa: S608 - our own constants
_CANCELLATIONS = sa.text(f"""
WITH demorados AS (
    SELECT id FROM cancelamento c
    WHERE proxima_acao_em IS NOT NULL AND (c.conversa IS NOT NULL OR EXISTS (
        SELECT FROM nfse_emissao e WHERE e.id = c.emissao_id AND e.origem = ANY(:origens)))
      AND estado = '{EstadoCancelamento.PENDENTE}'
      AND envio <> '{Envio.COM_GENTE}' AND avisado_em IS NULL
      AND confirmado_em <= now() - make_interval(secs => :seconds)
    ORDER BY confirmado_em LIMIT :batch FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE cancelamento c SET avisado_em = now()
FROM demorados, nfse_emissao e WHERE c.id = demorados.id AND e.id = c.emissao_id
RETURNING c.id, c.conversa, c.emissao_id, c.correlacao, e.id_integracao, e.origem, e.sessao_id
""")  # noqa: S608 - our own constants


@dataclass(frozen=True, slots=True)
class Demorada:
    """An order under way since longer than people wait without a word, and whose it is.

    ``id`` is the emission's or, where one is asked for, the cancellation's.
    """

    id: int
    emissao_id: int
    origem: str
    sessao_id: str
    conversa: str | None
    correlacao: str


async def slow_emissions(
    connection: Connection, origens: Sequence[str], seconds: float, asked: float
) -> list[Demorada]:
    """Mark emissions older than so many seconds (database clock) as told, each once, and return them.

    Only those of ``origens``: the release that knows another one tells it. What nobody accepted for ``asked`` seconds
    is left out: its person is asked whether it is still wanted.
    """
    rows = await connection.execute(
        _EMISSIONS, {"origens": list(origens), "seconds": seconds, "batch": BATCH, "asked": asked}
    )
    return [Demorada(r.id, r.id, r.origem, r.sessao_id, r.conversa, r.correlacao or r.id_integracao) for r in rows]


async def bring_forward(connection: Connection, seconds: float) -> int:
    """Make due what nobody accepted for so many seconds: its person is asked before anything is sent."""
    return (await connection.execute(_FORWARD, {"seconds": seconds})).rowcount


async def slow_cancellations(connection: Connection, origens: Sequence[str], seconds: float) -> list[Demorada]:
    """Mark cancellations that were confirmed so many seconds ago as told, each once, and return them.

    Only those that a conversation or one of ``origens`` hears of.
    """
    rows = await connection.execute(_CANCELLATIONS, {"origens": list(origens), "seconds": seconds, "batch": BATCH})
    return [
        Demorada(
            r.id,
            r.emissao_id,
            r.origem if r.conversa is None else CONVERSA,
            r.sessao_id,
            r.conversa,
            r.correlacao or r.id_integracao,
        )
        for r in rows
    ]
