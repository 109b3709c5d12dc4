"""Keeps what a company that sells goods says of itself, and its products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal.attempts import RAISED
from persistence.people.channels import canal_of
from persistence.tables import empresa, empresa_comercio, produtos
from state_machine.cancellation.machine import StatusNota
from state_machine.documents import Endereco
from state_machine.goods import COLUNAS, Produto
from state_machine.protocol.channel import Canal, Kept, TipoDocumento

MOST: Final = 5000  # products of a company

_C, _P = empresa_comercio.c, produtos.c
_KINDS: Final = {"nfe": TipoDocumento.PRODUTO, "nfce": TipoDocumento.CONSUMIDOR}
_OF: Final = (
    sa.select(*(_P[name] for name in COLUNAS)).where(_P.empresa_id == sa.bindparam("b_empresa")).order_by(_P.codigo)
)
_NAMED: Final = _OF.where(_P.codigo == sa.any_(sa.bindparam("b_codigos", type_=sa.ARRAY(sa.Text))))


@dataclass(frozen=True, slots=True)
class Comercio:
    """A company as a seller of goods; ``canais`` by model ("nfe", "nfce"), ``series`` with their first numbers."""

    inscricao_estadual: str
    endereco: Endereco | None = None
    canais: Mapping[str, Canal] = field(default_factory=dict)
    series: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def column(e: str) -> str:
    """Return the SQL of a company as a seller, as JSON; ``e`` names the company's row. Null where it sells none."""
    return f"""(SELECT jsonb_build_object('ie', ec.inscricao_estadual, 'endereco', ec.endereco,
        'nfe', jsonb_build_array(ec.serie_nfe, ec.primeiro_nfe),
        'nfce', jsonb_build_array(ec.serie_nfce, ec.primeiro_nfce),
        'canais', (SELECT jsonb_object_agg(c.tipo, jsonb_build_array(c.canal, c.ambiente)) FROM empresa_canal c
            WHERE c.empresa_id = {e}.id AND c.tipo <> '{TipoDocumento.SERVICO}'))
        FROM empresa_comercio ec WHERE ec.empresa_id = {e}.id)"""  # noqa: S608 - our own constant


def read(told: Mapping[str, Any] | None) -> Comercio | None:
    """Return what ``column`` told."""
    if told is None:
        return None
    chosen = told["canais"] or {}
    return Comercio(
        told["ie"],
        Endereco(**told["endereco"]) if told["endereco"] else None,
        {modelo: canal_of(*chosen[tipo]) for modelo, tipo in _KINDS.items() if tipo in chosen},
        {modelo: (str(told[modelo][0]), int(told[modelo][1])) for modelo in _KINDS},
    )


async def save_seller(connection: Connection, empresa_id: int, said: Mapping[str, Any]) -> None:
    """Keep what was said of a company as a seller (columns by name, ``None`` for nothing); the rest stays.

    The company gets a new version: summaries that were shown are shown again.
    """
    values = {name: value for name, value in said.items() if value is not None}
    row = insert(empresa_comercio).values(empresa_id=empresa_id, **values)
    changed = {**values, "atualizado_em": sa.func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=[_C.empresa_id], set_=changed))
    await _changed(connection, empresa_id)


async def seller(connection: Connection, empresa_id: int) -> Any:
    """Return the row of a company as a seller, ``None`` where it sells no goods."""
    return (await connection.execute(empresa_comercio.select().where(_C.empresa_id == empresa_id))).one_or_none()


async def keep(connection: Connection, empresa_id: int, novos: Sequence[Produto]) -> int:
    """Add products, or change those of the same code; returns how many the company has now."""
    rows = [{**asdict(each), "empresa_id": empresa_id} for each in novos]
    statement = insert(produtos)
    changed = {name: statement.excluded[name] for name in COLUNAS if name != "codigo"}
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=[_P.empresa_id, _P.codigo], set_={**changed, "atualizado_em": sa.func.now()}
        ),
        rows,
    )
    count = sa.select(sa.func.count()).where(_P.empresa_id == empresa_id)
    return int((await connection.execute(count)).scalar_one())


async def remove(connection: Connection, empresa_id: int, codigo: str) -> bool:
    """Take a product away; invoices keep their copy. False where there is none of that code."""
    gone = produtos.delete().where(_P.empresa_id == empresa_id, _P.codigo == codigo)
    return (await connection.execute(gone)).rowcount == 1


async def of_company(connection: Connection, empresa_id: int) -> tuple[Produto, ...]:
    """Return a company's products by code."""
    rows = await connection.execute(_OF, {"b_empresa": empresa_id})
    return tuple(Produto(**{name: getattr(row, name) for name in COLUNAS}) for row in rows)


async def named(connection: Connection, empresa_id: int, codigos: Sequence[str]) -> dict[str, Produto]:
    """Return those of these codes that the company has."""
    rows = await connection.execute(_NAMED, {"b_empresa": empresa_id, "b_codigos": list(codigos)})
    return {row.codigo: Produto(**{name: getattr(row, name) for name in COLUNAS}) for row in rows}


_KEPT: Final = sa.text(f"""
SELECT e.versoes, e.xml, e.consultas, e.cancelada,
    coalesce(extract(epoch FROM c.parado_ate - now()), 0) AS parada
FROM empresa p LEFT JOIN empresa_comercio c ON c.empresa_id = p.id
LEFT JOIN LATERAL (
    SELECT array_agg(v.bytes) FILTER (WHERE v.bytes IS NOT NULL) AS versoes, max(d.conteudo) AS xml,
        coalesce(bool_or(n.status = '{StatusNota.CANCELADO}'), false) AS cancelada, (
            SELECT count(*) FROM gateway_tentativas t
            WHERE t.emissao_id = ANY(array_agg(e.id)) AND t.operacao = 'find' AND t.em > now() - interval '1 hour'
                AND (t.pedido IS NOT NULL OR t.resultado = '{RAISED}')  -- else no question left us
        ) AS consultas
    FROM nfse_emissao e LEFT JOIN LATERAL unnest(e.bytes_antes || e.bytes) AS v (bytes) ON true
    LEFT JOIN nfse_processada n ON n.emissao_id = e.id
    LEFT JOIN nfse_documento d ON d.emissao_id = e.id AND d.formato = 'xml'
    WHERE e.chave_natural = :chave AND e.prestador_id = p.id
) AS e ON true
WHERE p.cnpj = :cnpj
""")  # noqa: S608 - our own constants
_STOP: Final = sa.text("""
UPDATE empresa_comercio c SET parado_ate = now() + make_interval(secs => :seconds) FROM empresa e
WHERE e.id = c.empresa_id AND e.cnpj = :cnpj
""")


class KeptGoods:
    """What is kept of documents that their authority does not keep (``gateway.port.KeptDocuments``)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, cnpj: str, chave: str) -> Kept:
        """Return what is kept under a key of a company."""
        async with self._database.alone() as connection:
            row = (await connection.execute(_KEPT, {"cnpj": cnpj, "chave": chave})).one_or_none()
        if row is None:
            return Kept()
        versions = dict.fromkeys(bytes(each) for each in row.versoes or ())
        xml = None if row.xml is None else bytes(row.xml)
        return Kept(tuple(versions), xml, bool(row.cancelada), int(row.consultas or 0), max(float(row.parada), 0.0))

    async def stop(self, cnpj: str, seconds: float) -> None:
        """Have nothing of a company called for so long."""
        async with self._database.transaction() as connection:
            await connection.execute(_STOP, {"cnpj": cnpj, "seconds": seconds})


async def _changed(connection: Connection, empresa_id: int) -> None:
    told = {"versao": empresa.c.versao + 1, "atualizado_em": sa.func.now()}
    await connection.execute(empresa.update().where(empresa.c.id == empresa_id).values(told))
