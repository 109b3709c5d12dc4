"""Keeps whose hands the rows of a table are in: a lease, renewed while the work lasts, under a fence.

A row is ours while its ``epoch`` is the one under which we took it. Whoever takes it over raises it; what we store
after that touches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.db.moments import in_seconds
from persistence.people.channels import canal_of
from state_machine.protocol.origin import CONVERSA
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from state_machine.protocol.channel import Canal

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
