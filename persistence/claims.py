"""What is not ordered by conversation: whose turn it is, in whose hands it is, and what a late commit may change.

Keeps whose hands the rows of a table are in: a lease, renewed while the work lasts, under a fence.

A row is ours while its ``epoch`` is the one under which we took it. Whoever takes it over raises it; what we store
after that touches nothing.

Shares a worker's slots among companies: which due work of a kind it takes next, and in which order.

A company takes a slot only while it holds fewer than are free. So alone it has half of them, several have less each,
and whoever comes next finds room. Of those that may, the one that holds least goes first; among equals, what is due for
longest. Inside a company conversations go before all other origins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.db.clock import in_seconds
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people.channels import canal_of, of_channel
from state_machine.cancellation.reconciliation import Envio
from state_machine.protocol.channel import CONVERSA, Canal
from state_machine.protocol.emission import StatusEmissao
from state_machine.values.errors import ProsaError

LEASE_SECONDS = 15.0  # renewed while the work lasts (a call takes up to 60 s); a dead worker's rows wait this long

T = TypeVar("T")


class OrderLeaseLostError(ProsaError):
    """Somebody else took this order over; what we learnt is theirs to learn again."""

    code = "order_lease_lost"


@dataclass(frozen=True, slots=True)
class Taken:
    """An order under our lease: ``epoch`` is its fence, ``emissao_id`` the emission that it is about."""

    id: int
    epoch: int
    emissao_id: int
    prestador_id: int
    prestador: str  # the issuer's CNPJ
    id_integracao: str
    chave: str  # text form of the natural key at the authority
    canal: Canal
    origem: str  # kind of who ordered it, and where news go
    sessao_id: str  # the origin's id
    conversa: str | None
    correlacao: str | None
    tomada_em: float  # our monotonic clock when we took it, to notice that we were frozen


def taken(row: Any, emissao_id: int, tomada_em: float) -> dict[str, Any]:
    """Return what is ``Taken`` of a claimed row, which has the columns of its emission beside its own."""
    alike = ("id", "epoch", "prestador_id", "id_integracao", "sessao_id", "conversa", "correlacao")
    return {
        **{name: getattr(row, name) for name in alike},
        "emissao_id": emissao_id,
        "prestador": row.prestador_cnpj,
        "chave": row.chave_natural or row.id_integracao,
        "canal": canal_of(row.canal, row.ambiente),
        "origem": row.origem if row.conversa is None else CONVERSA,  # who asked for it in a chat is told there
        "tomada_em": tomada_em,
    }


class Leases(Generic[T]):
    """The leases on one table's rows. ``fence``: what of a row must be as we took it; ``standing`` must hold too.

    ``was``: columns that a claim changes, and how a row that was taken tells what they were before. ``until`` is the
    lease's end; where that is kept as when the worker was last heard, ``ahead`` is 0.
    """

    def __init__(
        self,
        table: sa.Table,
        *standing: sa.ColumnElement[bool],
        fence: tuple[str, ...] = ("id", "epoch"),
        was: Mapping[str, Callable[[T], Any]] = MappingProxyType({}),
        until: str = "lease_until",
        seconds: float = LEASE_SECONDS,
        ahead: float = LEASE_SECONDS,
    ) -> None:
        self.seconds, self._ahead = seconds, ahead
        self._fence, self._was, self._columns = fence, was, table.c
        self._ours = table.update().where(*(table.c[name] == sa.bindparam(f"b_{name}") for name in fence), *standing)
        self._renew = self._ours.where(table.c[until].is_not(None)).values({until: in_seconds("b_seconds")})

    def fence(self, piece: T) -> dict[str, Any]:
        """Return the parameters that keep a late commit from changing anything."""
        return {f"b_{name}": getattr(piece, name) for name in self._fence}

    async def renew(self, connection: Connection, piece: T) -> bool:
        """Extend the lease from now; False when it was given back or is another's."""
        values = {**self.fence(piece), "b_seconds": self._ahead}
        return (await connection.execute(self._renew, values)).rowcount == 1

    async def keep(self, database: Database, piece: T) -> bool:
        """Do so in a transaction of its own."""
        async with database.alone() as connection:
            return await self.renew(connection, piece)

    async def give_back(self, connection: Connection, piece: T) -> bool:
        """Return an order that was taken and not sent: it is due again as it was. False if it is another's."""
        statement = self._ours.values(lease_until=None, proxima_acao_em=sa.func.now())
        values = {**self.fence(piece), **{name: was(piece) for name, was in self._was.items()}}
        return (await connection.execute(statement, values)).rowcount == 1

    def settlement(self, **own: Any) -> sa.Update:
        """Compose what stores what followed of an order and ends its lease; ``own`` are its kind's columns.

        ``b_seconds`` until the next look, ``b_atenta`` if a hint makes it sooner, ``b_motivo``, ``b_resposta`` (the
        JSON received, as text), ``b_avisado`` if the person was told just now.
        """
        c, now = self._columns, sa.func.now()
        # A hint that came while we were at work asks for one more look; it is no reason to send earlier.
        hinted = sa.and_(sa.bindparam("b_atenta", type_=sa.Boolean), c.dica_em.is_not(None))
        told = sa.cast(sa.bindparam("b_resposta", type_=sa.Text), JSONB)
        common: dict[str, Any] = {
            "lease_until": None,
            "proxima_acao_em": sa.case((hinted, now), else_=in_seconds("b_seconds")),
            "erro_mensagem": sa.func.coalesce(sa.bindparam("b_motivo", type_=sa.Text), c.erro_mensagem),
            "resposta_gateway": sa.func.coalesce(told, c.resposta_gateway),
            "avisado_em": sa.case((sa.bindparam("b_avisado", type_=sa.Boolean), now), else_=c.avisado_em),
        }
        return self._ours.values(**{**common, **own})


def restored_before(n: str) -> str:
    """Return the condition that ``h``, the history, was put back not long before ``n`` was confirmed.

    Whoever ordered it may have confirmed more than is known; a conversation or a proposal does not live longer.
    """
    return f"h.restaurado_em > {n}.criado_em - make_interval(days => {RECALL_DAYS})"


RECALL_DAYS = 7
WINDOW = 200  # due emissions that are looked at first: several times the slots of a worker
_HELD = "unnest(CAST(:empresas AS bigint[]), CAST(:ocupadas AS int[])) AS o (id, vagas)"  # by each company
_FREE = "(n.lease_until IS NULL OR n.lease_until < now())"
_DUE = f"n.proxima_acao_em <= now() AND {_FREE}"
_LEASE = "lease_until = now() + make_interval(secs => :lease), epoch = n.epoch + 1, dica_em = NULL"


def _turn(table: str, was: str) -> str:
    """Return what leads from ``esperam`` to ``due``, those whose turn it is; their rows are locked as they are now.

    ``lugar`` is how many slots the company would hold with this one, ``alcance`` that and how many were taken by then.
    """
    return f"""vez AS (
    SELECT id, lugar + row_number() OVER (ORDER BY lugar, proxima_acao_em, id) AS alcance FROM esperam
), due AS (
    SELECT id, {was} AS era FROM {table} n
    WHERE id = ANY(ARRAY(SELECT id FROM vez WHERE alcance <= CAST(:livres AS int) + 1)) AND {_DUE}
    FOR UPDATE SKIP LOCKED
)"""  # noqa: S608 - our own constants


# Who has something due is mostly seen in the window of what is due for longest. Only when long queues fill it, so that
# too few companies in it hold nothing, does a step lead from each company with open emissions to the next: then what
# one company has in its queue still costs another nothing. ``esperam`` is written as a range of that index, for an
# equation would let PostgreSQL walk through everybody's by the index over what is due. ``BETWEEN`` says no more than
# the pair after it, but lets PostgreSQL guess the range as short in this index as in any other that begins likewise.
# Ready to be sent is what nothing stands in the way of: the others are looked at first (``start_sending``).
# What a conversation ordered goes first: somebody sits before the phone. Each of both kinds has an index of its own.


def _fila(sign: str) -> str:
    return f"""(
        SELECT n.id, n.proxima_acao_em, n.origem <> '{CONVERSA}' AS depois FROM nfse_emissao n
        WHERE n.prestador_id BETWEEN filas.id AND filas.id AND (n.prestador_id, n.proxima_acao_em) <= (filas.id, now())
          AND n.proxima_acao_em IS NOT NULL AND n.origem {sign} '{CONVERSA}'
          AND {_FREE}
        ORDER BY n.prestador_id, n.proxima_acao_em LIMIT greatest((CAST(:livres AS int) + 1 - filas.ocupadas) / 2, 0)
    )"""  # noqa: S608 - our own constants


_PARADA = f"CASE WHEN p.suspenso_canal IS NULL OR p.suspenso_canal = {of_channel('e')} THEN p.envio_suspenso END"
CLAIM_EMISSIONS = sa.text(f"""
WITH RECURSIVE janela AS MATERIALIZED (
    SELECT n.prestador_id FROM nfse_emissao n WHERE {_DUE} ORDER BY n.proxima_acao_em LIMIT :janela
), passos AS (
    SELECT 0::bigint AS id FROM (
        SELECT count(*) AS linhas,
            count(DISTINCT prestador_id) FILTER (WHERE prestador_id <> ALL(CAST(:empresas AS bigint[]))) AS novas
        FROM janela
    ) vista WHERE linhas >= :janela AND novas < CAST(:livres AS int)
    UNION ALL
    SELECT proxima.id FROM passos CROSS JOIN LATERAL (
        SELECT n.prestador_id AS id FROM nfse_emissao n
        WHERE n.prestador_id > passos.id AND n.proxima_acao_em IS NOT NULL ORDER BY n.prestador_id LIMIT 1
    ) proxima
), empresas AS (
    SELECT prestador_id AS id FROM janela UNION SELECT id FROM passos
), filas AS (
    SELECT empresas.id, coalesce(o.vagas, 0) AS ocupadas FROM empresas LEFT JOIN {_HELD} ON o.id = empresas.id
), esperam AS (
    SELECT fila.id, fila.proxima_acao_em, filas.ocupadas
        + row_number() OVER (PARTITION BY filas.id ORDER BY fila.depois, fila.proxima_acao_em, fila.id) AS lugar
    FROM filas CROSS JOIN LATERAL ({_fila("=")} UNION ALL {_fila("<>")}) fila
), {_turn("nfse_emissao", "status")}, prontas AS (
    SELECT due.id, due.era, s.conversa, {_PARADA} AS envio_suspenso,
        e.tentativa = 1 AND s.origem IS NULL AS primeira,
        EXISTS (SELECT FROM historia h WHERE {restored_before("e")}) AS restored,
        greatest(coalesce(extract(epoch FROM p.sonda_em - now()), 0), 0)::float8 AS sonda_em,
        due.era = '{StatusEmissao.PENDENTE}' AND e.prestador_cnpj <> ALL(CAST(:quietas AS text[]))
            AND {_PARADA} IS NULL AND e.tentativa = 1 AND s.origem IS NULL
            AND NOT e.a_preparar
            AND NOT EXISTS (SELECT FROM historia h WHERE h.suspeita IS NOT NULL AND e.numero_rps IS NOT NULL
                OR {restored_before("e")})
            AND (p.restauro_desde IS NULL OR e.numero_rps IS NULL)
            AND coalesce(e.desejado_em, e.criado_em) > now() - make_interval(secs => :recente) AS pronta
    FROM due JOIN nfse_emissao e ON e.id = due.id
    LEFT JOIN session_snapshot s ON s.id = e.session_id JOIN empresa p ON p.id = e.prestador_id
)
UPDATE nfse_emissao n
SET {_LEASE}, status = CASE WHEN prontas.pronta THEN '{StatusEmissao.ENVIANDO}' ELSE n.status END,
    enviado_em = CASE WHEN prontas.pronta THEN coalesce(n.enviado_em, now()) ELSE n.enviado_em END,
    ultimo_envio_em = CASE WHEN prontas.pronta THEN now() ELSE n.ultimo_envio_em END
FROM prontas WHERE n.id = prontas.id
RETURNING n.*, prontas.era, prontas.conversa, prontas.pronta, prontas.primeira, prontas.restored,
    prontas.envio_suspenso, prontas.sonda_em, now() AS agora
""")  # noqa: S608 - our own constants
# Cancellations are rare: all that are due may be looked at.
CLAIM_CANCELLATIONS = sa.text(f"""
WITH esperam AS (
    SELECT n.id, n.proxima_acao_em, coalesce(o.vagas, 0)
        + row_number() OVER (PARTITION BY e.prestador_id ORDER BY n.proxima_acao_em, n.id) AS lugar
    FROM cancelamento n JOIN nfse_emissao e ON e.id = n.emissao_id LEFT JOIN {_HELD} ON o.id = e.prestador_id
    WHERE {_DUE}
), {_turn("cancelamento", "envio")}
UPDATE cancelamento n
SET {_LEASE}, envio = CASE WHEN n.envio = '{Envio.A_ENVIAR}' THEN '{Envio.ENVIANDO}' ELSE n.envio END
FROM due, nfse_emissao e, nfse_processada p
WHERE n.id = due.id AND e.id = n.emissao_id AND p.emissao_id = e.id
RETURNING n.*, due.era, e.prestador_id, e.prestador_cnpj, e.id_integracao, e.canal, e.ambiente,
    e.chave_natural, e.origem, e.sessao_id, p.id_externo
""")  # noqa: S608 - our own constants


def shares(livres: int, ocupadas: Mapping[int, int]) -> dict[str, Any]:
    """Return the parameters: how many slots are free, how many each company (by id) holds."""
    return {
        "livres": livres,
        "janela": WINDOW,
        "empresas": list(ocupadas),
        "ocupadas": list(ocupadas.values()),
    }
