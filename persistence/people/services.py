"""Keeps which national service codes a company has beside its main one, which stays ``empresa.codigo_servico``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.tables import empresa, empresa_servico
from persistence.tables.base import literals
from state_machine.protocol.channel import NATIONAL_LIST, TipoDocumento
from state_machine.services.codes import IbsCbs, Servico, digits

_S = empresa_servico.c
_FIELDS: Final = (
    "nbs",
    "ind_op",
    "cst",
    "class_trib",
    "atividade_sn",
    "descricao",
)  # the last may hold anything but a |
_ROWS: Final = sa.select(_S.codigo, *(_S[name] for name in _FIELDS)).where(_S.empresa_id == sa.bindparam("b_empresa"))
_OF: Final = _ROWS.order_by(_S.criado_em, _S.codigo)


def column(e: str) -> str:
    """Return the SQL of a company's codes as an array of texts, joined by "|"; ``e`` names the company's row.

    Null where the company's channel does not take codes of the national list.
    """
    told = " || '|' || ".join(["es.codigo", *(f"coalesce(es.{name}, '')" for name in _FIELDS)])
    return f"""CASE WHEN EXISTS (
        SELECT FROM empresa_canal ec
        WHERE ec.empresa_id = {e}.id AND ec.tipo = '{TipoDocumento.SERVICO}' AND ec.canal IN ({literals(NATIONAL_LIST)})
    ) THEN ARRAY(
        SELECT {told} FROM empresa_servico es
        WHERE es.empresa_id = {e}.id ORDER BY es.criado_em, es.codigo
    ) END"""  # noqa: S608 - our own constants


def read(principal: str, stored: Iterable[str] | None) -> tuple[Servico, ...]:
    """Return what ``column`` told as services, the main one first; none where the list is not the channel's."""
    if stored is None:
        return ()
    return _ordered(principal, [_service(*text.split("|", len(_FIELDS))) for text in stored])


def _service(codigo: str, *beside: str | None) -> Servico:
    nbs, ind_op, cst, class_trib, atividade, descricao = beside
    group = IbsCbs(ind_op, cst, class_trib) if ind_op and cst and class_trib else None
    return Servico(codigo, descricao or None, nbs or None, group, atividade or None)


def _ordered(principal: str, rows: list[Servico]) -> tuple[Servico, ...]:
    try:
        main = digits(principal)
    except ValueError:  # an item of the LC 116: this channel refuses it before any summary
        return tuple(rows)
    first = next((row for row in rows if row.codigo == main), Servico(main))
    return (first, *(row for row in rows if row.codigo != main))


async def of_company(connection: Connection, empresa_id: int, principal: str) -> tuple[Servico, ...]:
    """Return a company's services whatever its channel, the main one first."""
    rows = await connection.execute(_OF, {"b_empresa": empresa_id})
    return _ordered(principal, [_service(*row) for row in rows])


async def keep(connection: Connection, empresa_id: int, servico: Servico) -> None:
    """Add a code to a company's, or change what stands beside it."""
    values: dict[str, Any] = {
        "descricao": servico.descricao,
        "nbs": servico.nbs,
        "atividade_sn": servico.atividade_sn,
    }
    values |= asdict(servico.ibs_cbs) if servico.ibs_cbs else dict.fromkeys(IbsCbs.__slots__)
    row = insert(empresa_servico).values(empresa_id=empresa_id, codigo=servico.codigo, **values)
    await connection.execute(row.on_conflict_do_update(index_elements=[_S.empresa_id, _S.codigo], set_=values))


async def remove(connection: Connection, empresa_id: int, codigo: str) -> None:
    """Take a code away from a company."""
    await connection.execute(empresa_servico.delete().where(_S.empresa_id == empresa_id, _S.codigo == codigo))


async def changed(connection: Connection, empresa_id: int, principal: str) -> None:
    """Set the main code and let the company have a new version: summaries that were shown are shown again."""
    told = {"codigo_servico": principal, "versao": empresa.c.versao + 1, "atualizado_em": sa.func.now()}
    await connection.execute(empresa.update().where(empresa.c.id == empresa_id).values(told))
