"""Keeps authorised notes and their documents; once written they stay as they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.api import hooks
from persistence.db.connection import Connection
from persistence.fiscal.issued import SUBSTITUTA
from persistence.people.channels import canal_of, counts
from persistence.tables import nfse_documento, nfse_emissao, nfse_processada, session_snapshot
from state_machine.cancellation.machine import StatusNota
from state_machine.catalogue.requests import NotaListada
from state_machine.goods import nome_da_nota
from state_machine.protocol.channel import Canal
from state_machine.protocol.emission import Arquivo, Nota, StatusEmissao


def _emission(column: sa.Column[Any]) -> sa.ScalarSelect[Any]:
    return sa.select(column).where(nfse_emissao.c.id == sa.bindparam("b_emissao")).scalar_subquery()


# Statements are composed once: that costs more than running them.
_RECORD = (
    insert(nfse_processada)
    .values(
        status=StatusNota.AUTORIZADO,
        c_stat=sa.type_coerce(sa.bindparam("b_c_stat", type_=sa.Integer), sa.Integer),
        protocolo=sa.func.coalesce(sa.bindparam("b_protocolo", type_=sa.Text), _emission(nfse_emissao.c.protocolo)),
        conteudo_visto_em=sa.case((sa.bindparam("b_visto", type_=sa.Boolean), sa.func.now())),
        webhook_payload=_emission(nfse_emissao.c.webhook_payload),
    )
    .on_conflict_do_nothing(index_elements=[nfse_processada.c.emissao_id])
)
_ANOTHER = sa.select(
    sa.exists().where(
        nfse_processada.c.id_externo == sa.bindparam("b_id_externo"),
        nfse_processada.c.emissao_id != sa.bindparam("b_emissao"),
    )
)
_KEPT = (
    sa.select(
        nfse_emissao.c.id_externo,
        nfse_emissao.c.prestador_cnpj,
        nfse_emissao.c.canal,
        nfse_emissao.c.ambiente,
        nfse_documento.c.conteudo,
        nfse_documento.c.mime,
        nfse_processada.c.status.label("nota"),
        nfse_processada.c.url_pdf,
        nfse_processada.c.chave,
    )
    .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .outerjoin(
        nfse_documento,
        sa.and_(
            nfse_documento.c.emissao_id == nfse_emissao.c.id, nfse_documento.c.formato == sa.bindparam("b_formato")
        ),
    )
    .where(nfse_emissao.c.id == sa.bindparam("b_emissao"))
)
_STORE = insert(nfse_documento).on_conflict_do_nothing()
_NEWEST = (
    sa.select(
        nfse_emissao,
        nfse_processada.c.numero,
        nfse_processada.c.status.label("nota"),
        session_snapshot.c.cnpj_razao_social,
        SUBSTITUTA,
    )
    .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
    .where(session_snapshot.c.conversa == sa.bindparam("b_conversa"))
    .order_by(nfse_emissao.c.id.desc())
    .limit(sa.bindparam("b_limit", type_=sa.Integer))
)


def _given(name: str, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has the value of a parameter, where one is given."""
    parameter = sa.cast(sa.bindparam(name), sa.BigInteger if isinstance(column.type, sa.BigInteger) else sa.Text)
    return sa.or_(parameter.is_(None), column == parameter)


# Where an attempt was dispensed with, an earlier one is the invoice.
_ALL = _NEWEST.where(
    nfse_emissao.c.status != StatusEmissao.DISPENSADO,
    nfse_emissao.c.prestador_id == sa.bindparam("b_empresa"),
    _given("b_numero", sa.func.ltrim(nfse_processada.c.numero, "0")),
    _given("b_emissao", nfse_emissao.c.id),
    _given("b_documento", nfse_emissao.c.tomador_documento),
    sa.or_(sa.cast(sa.bindparam("b_emissao"), sa.BigInteger).is_not(None), sa.text(counts("nfse_emissao"))),
)
_AUTHORISED = _ALL.where(nfse_processada.c.numero.is_not(None))
_STANDING = _ALL.where(nfse_processada.c.status != StatusNota.CANCELADO)


def record_note(connection: Connection, emissao_id: int, nota: Nota, *, conteudo_visto: bool) -> None:
    """Store the authorised note once, with the webhook that announced it, at the end of the transaction; tell of it.

    ``conteudo_visto``: its text, competence and code were compared with what was confirmed; else audits do it.
    """
    values = {
        "b_emissao": emissao_id,
        "emissao_id": emissao_id,
        "id_externo": nota.id_externo,
        "numero": nota.numero,
        "chave": nota.chave,
        "b_protocolo": nota.protocolo,
        "b_c_stat": nota.c_stat,
        "url_xml": nota.url_xml,
        "url_pdf": nota.url_pdf,
        "data_emissao": nota.data_emissao,
        "b_visto": conteudo_visto,
    }
    connection.later(_RECORD, values)
    hooks.tell_note(connection, "nota.autorizada", emissao_id)


async def belongs_to_another(connection: Connection, emissao_id: int, id_externo: str) -> bool:
    """Tell whether the gateway's id already names another invoice's note: a gateway that reuses ids is lying."""
    values = {"b_emissao": emissao_id, "b_id_externo": id_externo}
    return bool((await connection.execute(_ANOTHER, values)).scalar_one())


@dataclass(frozen=True, slots=True)
class Guardado:
    """What we hold of a note's PDF or XML: itself, or under which id the gateway has it, as far as we know."""

    prestador: str
    id_externo: str | None
    documento: Arquivo | None
    canal: Canal
    cancelada: bool
    endereco: str | None  # where the authority shows it
    chave: str | None = None


async def document(connection: Connection, emissao_id: int, formato: str) -> Guardado:
    """Return a stored PDF or XML, or where to fetch it. Raises ``RowCountError`` for an emission that is not ours."""
    row = (await connection.execute(_KEPT, {"b_emissao": emissao_id, "b_formato": formato})).one()
    documento = Arquivo(row.conteudo, row.mime) if row.conteudo is not None else None
    cancelada = row.nota == StatusNota.CANCELADO
    canal = canal_of(row.canal, row.ambiente)
    return Guardado(row.prestador_cnpj, row.id_externo, documento, canal, cancelada, row.url_pdf, row.chave)


def store_document(connection: Connection, emissao_id: int, formato: str, documento: Arquivo) -> None:
    """Keep a PDF or XML for good, at the end of the transaction; the first one stays."""
    values = {
        "emissao_id": emissao_id,
        "formato": formato,
        "mime": documento.mime,
        "sha256": hashlib.sha256(documento.conteudo).hexdigest(),
        "conteudo": documento.conteudo,
    }
    connection.later(_STORE, values)


async def external_ids(connection: Connection, empresa_id: int, canal: Canal, which: str) -> list[str]:
    """Return what the authority of a channel calls the notes of a number, one in each series, or the one of a key."""
    e, n = nfse_emissao.c, nfse_processada.c
    of_it = sa.or_(n.chave == which, sa.func.ltrim(n.numero, "0") == which.lstrip("0"))
    mine = e.prestador_id == empresa_id, e.canal == canal.nome, e.ambiente == canal.ambiente, of_it
    found = sa.select(n.id_externo).join(nfse_emissao, e.id == n.emissao_id).where(*mine)
    return list((await connection.execute(found)).scalars())


async def of_conversation(connection: Connection, conversa: str, limit: int = 20) -> list[Any]:
    """List a conversation's emissions with their notes, newest first."""
    return list(await connection.execute(_NEWEST, {"b_conversa": conversa, "b_limit": limit}))


@dataclass(frozen=True, slots=True)
class Quais:
    """Which invoices to list: of a number, an emission, a client; authorised ones; those of them that stand."""

    numero: str | None = None
    emissao_id: int | None = None
    documento: str | None = None
    autorizadas: bool = True
    valem: bool = False


async def listed(connection: Connection, conversa: str, empresa_id: int, limit: int, quais: Quais) -> list[NotaListada]:
    """List what this company issued in a conversation, newest first."""
    statement = _STANDING if quais.valem else _AUTHORISED if quais.autorizadas else _ALL
    values = {
        "b_conversa": conversa,
        "b_empresa": empresa_id,
        "b_limit": limit,
        "b_numero": quais.numero,
        "b_emissao": quais.emissao_id,
        "b_documento": quais.documento,
    }
    return [
        NotaListada(
            emissao_id=row.id,
            numero=row.numero,
            status=StatusEmissao(row.status),
            valor=row.valor_servico,
            documento=row.tomador_documento,
            nome=row.cnpj_razao_social,
            descricao=row.descricao_servico,
            em=row.criado_em,
            cancelada=row.nota == StatusNota.CANCELADO,
            sessao=row.sessao_id,
            competencia=row.competencia,
            substituta=row.substituta,
            tipo=nome_da_nota(row.canal),
        )
        for row in await connection.execute(statement, values)
    ]
