"""Keeps each session's ``SessionSnapshot`` and the journal of its transitions.

What is known of a message that its user edited or deleted: when it was written, and which session it went into.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import sqlalchemy as sa
from pydantic import ConfigDict, TypeAdapter, ValidationError
from sqlalchemy.dialects.postgresql import JSONB, insert

from persistence.db.connection import Connection, Row
from persistence.tables import MENSAGENS, empresa, inbox, session_snapshot, transicoes
from state_machine.invoice.choices import NotaIgual
from state_machine.invoice.draft import Rascunho
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import ESPERAM_USUARIO, Estado, Sessao, SnapshotReason
from state_machine.values.errors import ProsaError

_RASCUNHO = TypeAdapter(Rascunho)
_IGUAL = TypeAdapter(NotaIgual | None)


class UnreadableDraftError(ProsaError, ValueError):
    """A stored draft says what is no part of one: reading past it might issue less than was confirmed."""

    code = "unreadable_draft"


def strict(kind: Any) -> TypeAdapter[Any]:
    """Return what reads a list of such values, and refuses every field and word that it does not know."""
    # a list: pydantic gives its own configuration only to dataclasses inside of something
    return TypeAdapter(list[kind], config=ConfigDict(extra="forbid"))


_STORED = strict(tuple[Rascunho, NotaIgual | None])
STEP = frozenset(
    {"sessao_id", "de", "para", "evento", "snapshot_reason", "revisao", "detalhe", "correlacao"}
)  # the columns of ``transicoes`` that its writer gives


@lru_cache(8)  # a turn's journal and its snapshot hold the same draft, and every session begins with the same
def dump_rascunho(rascunho: Rascunho) -> Mapping[str, Any]:
    """Return a draft as the JSON that the snapshot and the journal hold."""
    dumped: dict[str, Any] = _RASCUNHO.dump_python(rascunho, mode="json")
    return dumped


class StaleSessionError(ProsaError):
    """The stored session is newer than the one in hand: load it again and decide again."""

    code = "stale_session"


def _columns(sessao: Sessao) -> dict[str, Any]:
    rascunho = sessao.rascunho
    return {
        "estado": sessao.estado,
        "snapshot_reason": sessao.snapshot_reason,
        **_field_columns(rascunho),
        "cnpj_razao_social": rascunho.tomador_nome,
        "data_complete": rascunho.completo,
        "missing_fields": [FIELDS[campo].stored_as for campo in rascunho.faltam],
        "rascunho": dump_rascunho(rascunho),
        "pendente": sessao.pendente,
        "revisao": sessao.revisao,
        "mostrado_em": sessao.mostrado_em,
        "resumos": sessao.resumos,
        "igual": _IGUAL.dump_python(sessao.igual, mode="json") if sessao.igual else None,
        "expira_em": sessao.expira_em,
        "expired_at": sessao.expired_at,
        "empresa_id": sessao.empresa_id,
        "empresa_versao": sessao.empresa_versao,
        "canal": sessao.canal,
        "versao": sessao.versao + 1,
    }


def _field_columns(rascunho: Rascunho) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for row in FIELDS.values():
        if row.column:
            lido = row.of(rascunho)
            columns[f"{row.column}_status"] = lido.status
            columns[f"{row.column}_extracted"] = lido.escrito
            columns[row.column] = lido.valor
    return columns


# Made once: composing a statement costs more than running it.
_INSERT = (
    insert(session_snapshot)
    .on_conflict_do_nothing()  # the active session's unique index: another turn opened one
    .returning(session_snapshot.c.id)
)
_GIVEN = sa.bindparam("_integracao", type_=sa.Text)
_UPDATE = (
    session_snapshot.update()
    .where(session_snapshot.c.sessao_id == sa.bindparam("_sessao"))
    .where(session_snapshot.c.versao == sa.bindparam("_versao"))
    .values(updated_at=sa.func.now(), id_integracao=sa.func.coalesce(_GIVEN, session_snapshot.c.id_integracao))
    .returning(session_snapshot.c.id)
)


@cache
def _record(count: int) -> Any:
    """The insertion of so many steps, numbered in their order."""
    names = [column.name for column in transicoes.columns if column.name in STEP]
    rows: list[dict[str, Any]] = [{name: sa.bindparam(f"{name}_{row}") for name in names} for row in range(count)]
    return transicoes.insert().values(rows)


async def save(
    connection: Connection, sessao: Sessao, *, telefone: str | None = None, id_integracao: str | None = None
) -> tuple[Sessao, int]:
    """Write the snapshot and return the session with its new ``versao``, and the row's id.

    Raises ``StaleSessionError`` when somebody else wrote since it was loaded, or opened another session meanwhile.
    """
    statement, columns = _saving(sessao, telefone, id_integracao)
    row_id = (await connection.execute(statement, columns)).scalar_one_or_none()
    if row_id is None:
        raise StaleSessionError(sessao.sessao_id)
    return replace(sessao, versao=sessao.versao + 1), row_id


def save_later(connection: Connection, sessao: Sessao, *, telefone: str | None = None) -> Sessao:
    """Do the same at the end of the transaction, whose end raises then, for a session whose row nothing refers to."""
    connection.later(*_saving(sessao, telefone, None), rows=1, otherwise=StaleSessionError(sessao.sessao_id))
    return replace(sessao, versao=sessao.versao + 1)


def _saving(sessao: Sessao, telefone: str | None, id_integracao: str | None) -> tuple[Any, dict[str, Any]]:
    columns = _columns(sessao)
    if sessao.versao == 0:
        names = ("sessao_id", "conversa", "origem")
        columns |= {name: getattr(sessao, name) for name in names}
        return _INSERT, columns | {"telefone": telefone, "id_integracao": id_integracao}
    return _UPDATE, columns | {"_sessao": sessao.sessao_id, "_versao": sessao.versao, "_integracao": id_integracao}


def record(connection: Connection, steps: Sequence[dict[str, Any]]) -> None:
    """Append transitions to the journal at the end of the transaction: dicts with the columns ``STEP``."""
    if steps:
        values = {f"{name}_{row}": value for row, step in enumerate(steps) for name, value in step.items()}
        connection.later(_record(len(steps)), values)


def _sessao(row: Row) -> Sessao:
    insistencias, sem = row.ultimo or (None, None)
    try:
        [(rascunho, igual)] = _STORED.validate_python([(row.rascunho, row.igual)])
    except ValidationError as error:  # without what it says: that is a person's
        raise UnreadableDraftError(f"{error.error_count()} unknown fields or words") from None
    return Sessao(
        sessao_id=row.sessao_id,
        conversa=row.conversa,
        empresa_id=row.empresa_id,
        emitente=row.razao_social,
        estado=Estado(row.estado),
        snapshot_reason=SnapshotReason(row.snapshot_reason),
        rascunho=rascunho,
        pendente=Campo(row.pendente) if row.pendente else None,
        revisao=row.revisao,
        mostrado_em=row.mostrado_em,
        resumos=row.resumos,
        igual=igual,
        expira_em=row.expira_em,
        expired_at=row.expired_at,
        origem=row.origem,
        empresa_versao=row.empresa_versao,
        canal=row.canal,
        versao=row.versao,
        insistencias=insistencias or 0,
        sem=sem,
    )


_THIS = session_snapshot.c.conversa == sa.bindparam("_conversa")
# The journal's newest step says how often the open question was asked, and what the invoice will lack.
_NEWEST_STEP = (
    sa.select(sa.func.jsonb_build_array(transicoes.c.detalhe["insistencias"], transicoes.c.detalhe["sem"], type_=JSONB))
    .where(transicoes.c.sessao_id == session_snapshot.c.sessao_id)
    .order_by(transicoes.c.id.desc())
    .limit(sa.literal_column("1"))
    .scalar_subquery()
)
_SELECT = sa.select(session_snapshot, empresa.c.razao_social, _NEWEST_STEP.label("ultimo")).join(empresa).where(_THIS)
_ACTIVE = _SELECT.where(session_snapshot.c.estado.in_(ESPERAM_USUARIO))
_ONE = _SELECT.where(session_snapshot.c.sessao_id == sa.bindparam("_sessao"))
_LATEST = _SELECT.order_by(session_snapshot.c.id.desc()).limit(1)
_REPAIRED = sa.select(sa.exists().where(session_snapshot.c.origem == sa.bindparam("_sessao")))


# What stood in each revision of a session, the newest first; a draft is a few of them.
_STOOD = sa.text("""
SELECT detalhe #>> '{rascunho,documento,valor}' AS documento, detalhe #>> '{rascunho,valor,valor}' AS valor,
    detalhe #>> '{rascunho,descricao,valor}' AS descricao
FROM transicoes WHERE sessao_id = :sessao AND detalhe #>> '{rascunho,valor,status}' = 'validated'
ORDER BY id DESC LIMIT 20
""")


async def former_amount(connection: Connection, sessao: Sessao, *, named: bool) -> str | None:
    """Return the validated amount that stood before the present one, ``None`` without any.

    Unless it is ``named``, only where nothing else of the invoice was changed since.
    """
    rascunho = sessao.rascunho
    others = rascunho.validado(Campo.DOCUMENTO), rascunho.validado(Campo.DESCRICAO)
    for row in (await connection.execute(_STOOD, {"sessao": sessao.sessao_id})).all():
        if not named and (row.documento, row.descricao) != others:
            return None
        if row.valor != rascunho.validado(Campo.VALOR):
            return str(row.valor)
    return None


async def active(connection: Connection, conversa: str) -> Sessao | None:
    """Return the conversation's session that waits for the user; there is one at most."""
    return await _one(connection, _ACTIVE, {"_conversa": conversa})


async def load(connection: Connection, conversa: str, sessao_id: str) -> Sessao | None:
    """Return one session of this conversation; another conversation's session is never found."""
    return await _one(connection, _ONE, {"_conversa": conversa, "_sessao": sessao_id})


async def latest(connection: Connection, conversa: str) -> tuple[Sessao, datetime] | None:
    """Return the conversation's newest session and when it last changed."""
    row = (await connection.execute(_LATEST, {"_conversa": conversa})).one_or_none()
    return (_sessao(row), row.updated_at) if row else None


async def repaired(connection: Connection, sessao_id: str) -> bool:
    """Tell whether a later session has already taken up this one's data."""
    return bool((await connection.execute(_REPAIRED, {"_sessao": sessao_id})).scalar_one())


def deadline_key(sessao_id: Any, versao: Any) -> Any:
    """Return the inbox key of a deadline's event: one for each version, as every turn sets a new deadline."""
    return sa.literal("prazo:") + sessao_id + ":" + sa.cast(versao, sa.Text)


_OVERDUE = (
    sa.select(session_snapshot.c.sessao_id, session_snapshot.c.conversa, session_snapshot.c.versao)
    .where(session_snapshot.c.estado.in_(ESPERAM_USUARIO), session_snapshot.c.expira_em < sa.func.now())
    .where(~sa.exists().where(inbox.c.chave == deadline_key(session_snapshot.c.sessao_id, session_snapshot.c.versao)))
    .order_by(session_snapshot.c.expira_em)
    .limit(sa.bindparam("_limit", type_=sa.Integer))
)


async def overdue(connection: Connection, limit: int) -> list[tuple[str, str, int]]:
    """Return (sessao_id, conversa, versao) of sessions whose deadline has passed, by the database's clock."""
    rows = await connection.execute(_OVERDUE, {"_limit": limit})
    return [(row.sessao_id, row.conversa, row.versao) for row in rows]


async def _one(connection: Connection, statement: sa.Select[Any], values: dict[str, str]) -> Sessao | None:
    row = (await connection.execute(statement, values)).one_or_none()
    return _sessao(row) if row else None


SESSIONS = 50  # a conversation's newest; WhatsApp lets nobody edit or delete what was sent days ago


@dataclass(frozen=True, slots=True)
class Ouvida:
    """A message that came before: ``escrita_em`` by Meta's clock, ``None`` if we never saw it.

    ``sessao`` is the newest session that it told something, or in which it was the last word of a turn.
    """

    escrita_em: datetime | None = None
    sessao: Sessao | None = None


@dataclass(frozen=True, slots=True)
class Mudanca:
    """A notice that the message ``original`` was edited or deleted: its inbox row, and when, in unix seconds."""

    original: str
    row: int
    quando: int


# Statements are composed once: that costs more than running them.
_MESSAGE = sa.text("""
SELECT payload #>> '{mensagem,timestamp}' AS escrita_em FROM inbox WHERE chave = :wamid AND lane = :c
""")
_SESSION = sa.text("""
SELECT t.sessao_id FROM transicoes t
WHERE t.sessao_id IN (SELECT sessao_id FROM session_snapshot WHERE conversa = :c ORDER BY id DESC LIMIT :limite)
  AND (strpos(t.detalhe::text, :citada) > 0
       OR t.correlacao = (SELECT correlacao FROM inbox WHERE chave = :wamid AND lane = :c))
ORDER BY t.id DESC LIMIT 1
""")
_ORIGINAL = """coalesce(payload #>> '{mensagem,edit,original_message_id}',
    payload #>> '{mensagem,revoke,original_message_id}')"""
_CHANGES = sa.text(f"""
SELECT id, {_ORIGINAL} AS original, payload #>> '{{mensagem,timestamp}}' AS quando FROM inbox
WHERE lane = :c AND {MENSAGENS} AND {_ORIGINAL} = ANY(:wamids)
""")  # noqa: S608 - our own constants


async def heard(connection: Connection, conversa: str, wamid: str) -> Ouvida:
    """Return what we know of a message of this conversation."""
    values = {"c": conversa, "wamid": wamid, "citada": f'"{wamid}"', "limite": SESSIONS}
    row = (await connection.execute(_MESSAGE, values)).one_or_none()
    sessao_id = (await connection.execute(_SESSION, values)).scalar_one_or_none()
    sessao = await load(connection, conversa, sessao_id) if sessao_id else None
    seconds = _seconds(row.escrita_em) if row else 0
    return Ouvida(datetime.fromtimestamp(seconds, UTC) if seconds else None, sessao)


async def changes(connection: Connection, conversa: str, wamids: Collection[str]) -> list[Mudanca]:
    """Return every notice that one of these messages was edited or deleted; looks through the whole conversation."""
    rows = await connection.execute(_CHANGES, {"c": conversa, "wamids": list(wamids)})
    return [Mudanca(row.original, row.id, _seconds(row.quando)) for row in rows]


def _seconds(told: str | None) -> int:
    return int(told) if told and told.isascii() and told.isdigit() and len(told) <= 11 else 0  # noqa: PLR2004 - year 5138
