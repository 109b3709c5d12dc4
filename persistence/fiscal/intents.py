"""Stores what the user confirmed, with the exact bytes to send, under a reference that is never made twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.claims import OrderLeaseLostError
from persistence.db.connection import Connection
from persistence.fiscal import emissions
from persistence.fiscal.emissions import Tarefa
from persistence.idempotency import gateway_operations
from persistence.tables import cliente_tomador, nfse_emissao
from state_machine.documents import Conteudo
from state_machine.protocol.channel import PRIMEIRO, Ambiente, Origin
from state_machine.protocol.emission import StatusEmissao


@dataclass(frozen=True, slots=True)
class NovaEmissao:
    """What the user confirmed, ready to be stored; ``payload`` is what will be sent, byte for byte.

    ``a_preparar``: the channel makes what is sent of it, in the worker; it is JSON.
    """

    origin: Origin
    prestador_id: int
    tomador_id: int
    id_integracao: str
    conteudo: Conteudo
    payload: bytes
    correlacao: str | None
    tentativa: int = 1
    serie_rps: str | None = None
    numero_rps: int | None = None
    canal: str = PRIMEIRO
    ambiente: Ambiente | None = None  # the installation's
    a_preparar: bool = False
    chave: str | None = None  # text form of the natural key where that is not ``id_integracao``
    substitui: int | None = None  # the emission whose note it takes the place of
    perguntar: bool = False  # the authority has a note of it already, as far as we know: it is asked for, not sent


def integration_id(origin_id: str, revisao: int, tentativa: int = 1) -> str:
    """Return the reference that goes to the gateway: stable for a confirmed revision, other for another attempt.

    At most 50 characters of ``[A-Za-z0-9-]``. ``origin_id`` is unique in the database and belongs to one company.
    """
    return f"{origin_id}-r{revisao}-{tentativa}"


def _upsert_tomador() -> Any:
    new = insert(cliente_tomador)
    told = {name: sa.func.coalesce(new.excluded[name], cliente_tomador.c[name]) for name in _TOLD}
    return new.on_conflict_do_update(
        index_elements=[cliente_tomador.c.empresa_id, cliente_tomador.c.cnpj],
        set_={**told, "atualizado_em": sa.func.now()},
    ).returning(cliente_tomador.c.id)


# Statements are composed once: that costs more than running them.
_KEPT = {"id", "empresa_id", "cnpj", "criado_em", "atualizado_em"}
_TOLD = tuple(column.name for column in cliente_tomador.columns if column.name not in _KEPT)  # may be missing
_UPSERT_TOMADOR = _upsert_tomador()
# What was confirmed must survive this server: the transaction that stores it waits at least for ``on``, whatever the
# server or the account is set to; where synchronous standbys are named, that is until they have it on their disks.
_SURELY: sa.ColumnElement[str | None] = sa.literal_column(
    "CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') "
    "THEN set_config('synchronous_commit', 'on', true) END"
)
_CREATE = nfse_emissao.insert().values(proxima_acao_em=sa.func.now()).returning(nfse_emissao.c.id, _SURELY)


_PREPARED = sa.text(f"""
UPDATE nfse_emissao SET bytes = :payload, a_preparar = false,
    bytes_antes = CASE WHEN bytes IS NULL THEN bytes_antes ELSE bytes_antes || bytes END
WHERE id = :id AND epoch = :epoch AND status = '{StatusEmissao.PENDENTE}' AND a_preparar
""")  # noqa: S608 - our own constants


async def upsert_tomador(connection: Connection, empresa_id: int, values: dict[str, Any]) -> int:
    """Create or refresh the company's customer (``cnpj`` and any other column) and return its id."""
    given = {**dict.fromkeys(_TOLD), **values, "empresa_id": empresa_id}
    return int((await connection.execute(_UPSERT_TOMADOR, given)).scalar_one())


async def create(connection: Connection, nova: NovaEmissao) -> int:
    """Store the intent, due at once; the database refuses the same attempt twice, and two of a revision under way."""
    values = {
        "origem": nova.origin.tipo,
        "session_id": nova.origin.snapshot,
        "sessao_id": nova.origin.id,
        "revisao": nova.origin.revisao,
        "tentativa": nova.tentativa,
        "prestador_id": nova.prestador_id,
        "tomador_id": nova.tomador_id,
        "id_integracao": nova.id_integracao,
        **emissions.columns(nova.conteudo),
        "status": StatusEmissao.DESCONHECIDO if nova.perguntar else StatusEmissao.PENDENTE,
        "em_duvida": nova.perguntar,
        "intencao": orjson.loads(nova.payload) if nova.a_preparar else None,
        "bytes": None if nova.a_preparar else nova.payload,
        "correlacao": nova.correlacao,
        "serie_rps": nova.serie_rps,
        "numero_rps": nova.numero_rps,
        "substitui_id": nova.substitui,
        "canal": nova.canal,
        "ambiente": nova.ambiente,
        "chave_natural": nova.chave,
        "a_preparar": nova.a_preparar,
    }
    return int((await connection.execute(_CREATE, values)).one().id)


async def prepared(connection: Connection, tarefa: Tarefa, payload: bytes) -> Tarefa:
    """Make ``payload`` the bytes that are sent, also of the operation. Raises ``OrderLeaseLostError``."""
    values = {"id": tarefa.id, "epoch": tarefa.epoch, "payload": payload}
    if (await connection.execute(_PREPARED, values)).rowcount != 1:
        raise OrderLeaseLostError(tarefa.andamento.id_integracao)
    tarefa = replace(tarefa, payload=payload, a_preparar=False)
    await gateway_operations.replace_input(connection, tarefa.operation)
    return tarefa
