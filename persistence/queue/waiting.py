"""Reads which confirmed invoices have no final answer yet, for how long, and what each of them waits for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - part of a record that is built at run time
from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.versions import literals
from state_machine.protocol.emission import EM_CURSO

if TYPE_CHECKING:
    from persistence.db.connection import Connection

# What is under way is found by the index over it. After a 429 or 503 the next call keeps to their Retry-After.
_WAITING = sa.text(f"""
SELECT p.razao_social, p.cnpj, e.id_integracao, e.status, e.retida, e.criado_em, e.proxima_acao_em,
    extract(epoch FROM now() - e.criado_em)::float8 AS idade,
    coalesce(e.lease_until > now(), false) AS em_maos,
    e.proxima_acao_em <= now() AS na_vez,
    coalesce(u.http_status IN (429, 503), false) AS pausa_pedida
FROM nfse_emissao e JOIN empresa p ON p.id = e.prestador_id
LEFT JOIN LATERAL (
    SELECT t.http_status FROM gateway_tentativas t WHERE t.emissao_id = e.id ORDER BY t.id DESC LIMIT 1
) u ON true
WHERE e.status IN ({literals(EM_CURSO)})
ORDER BY p.razao_social, p.id, e.criado_em
""")  # noqa: S608 - our own constants


@dataclass(frozen=True, slots=True)
class Espera:
    """One emission under way; ``idade`` in seconds.

    ``em_maos``: a worker is at it now; ``na_vez``: it is due, and waits for a slot; ``pausa_pedida``: the gateway
    answered 429 or 503 last, so nothing is called before ``proxima_acao_em``; ``retida`` as in ``nfse_emissao``.
    """

    razao_social: str
    cnpj: str
    id_integracao: str
    status: str
    retida: str | None
    criado_em: datetime
    proxima_acao_em: datetime | None
    idade: float
    em_maos: bool
    na_vez: bool | None
    pausa_pedida: bool


async def under_way(connection: Connection) -> list[Espera]:
    """List them, company by company, the oldest first."""
    return [Espera(**row) for row in await connection.execute(_WAITING)]
