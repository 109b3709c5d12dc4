"""Keeps authorised notes and their documents; once written they stay as they are."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import nfse_documento, nfse_emissao, nfse_processada, session_snapshot
from state_machine.emission import Documento, StatusEmissao
from state_machine.pedidos import NotaListada

if TYPE_CHECKING:
    from persistence.connection import Connection
    from state_machine.emission import Nota


async def record_note(connection: Connection, emissao_id: int, nota: Nota) -> None:
    """Store the authorised note once, with the webhook that announced it, if one did."""
    corpo = sa.select(nfse_emissao.c.webhook_payload).where(nfse_emissao.c.id == emissao_id).scalar_subquery()
    await connection.execute(
        insert(nfse_processada)
        .values(
            emissao_id=emissao_id,
            id_externo=nota.id_externo,
            numero=nota.numero,
            chave=nota.chave,
            protocolo=nota.protocolo,
            status="autorizado",
            c_stat=nota.c_stat,
            url_xml=nota.url_xml,
            url_pdf=nota.url_pdf,
            data_emissao=nota.data_emissao,
            webhook_payload=corpo,
        )
        .on_conflict_do_nothing(index_elements=[nfse_processada.c.emissao_id])
    )


async def belongs_to_another(connection: Connection, emissao_id: int, id_externo: str) -> bool:
    """Tell whether the gateway's id already names another invoice's note: a gateway that reuses ids is lying."""
    statement = sa.select(
        sa.exists().where(nfse_processada.c.id_externo == id_externo, nfse_processada.c.emissao_id != emissao_id)
    )
    return bool((await connection.execute(statement)).scalar_one())


async def document(connection: Connection, emissao_id: int, formato: str) -> Documento | None:
    """Return a stored PDF or XML."""
    statement = sa.select(nfse_documento.c.conteudo, nfse_documento.c.mime).where(
        nfse_documento.c.emissao_id == emissao_id, nfse_documento.c.formato == formato
    )
    row = (await connection.execute(statement)).one_or_none()
    return Documento(row.conteudo, row.mime) if row else None


async def store_document(connection: Connection, emissao_id: int, formato: str, documento: Documento) -> None:
    """Keep a PDF or XML for good; the first one stays."""
    await connection.execute(
        insert(nfse_documento)
        .values(
            emissao_id=emissao_id,
            formato=formato,
            mime=documento.mime,
            sha256=hashlib.sha256(documento.conteudo).hexdigest(),
            conteudo=documento.conteudo,
        )
        .on_conflict_do_nothing()
    )


async def external_id(connection: Connection, emissao_id: int) -> str | None:
    """Return the gateway's own id of the note, as far as we know it."""
    found: str | None = await connection.scalar(
        sa.select(nfse_emissao.c.id_externo).where(nfse_emissao.c.id == emissao_id)
    )
    return found


async def of_conversation(connection: Connection, conversa: str, limit: int = 20) -> list[Any]:
    """List a conversation's emissions with their notes, newest first."""
    statement = (
        sa.select(nfse_emissao, nfse_processada.c.numero, nfse_processada.c.status.label("nota"))
        .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
        .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
        .where(session_snapshot.c.conversa == conversa)
        .order_by(nfse_emissao.c.id.desc())
        .limit(limit)
    )
    return list(await connection.execute(statement))


async def listed(
    connection: Connection, conversa: str, limit: int, *, numero: str | None = None, autorizadas: bool = True
) -> list[NotaListada]:
    """List a conversation's newest invoices as people speak of them; with ``numero`` only those of that number."""
    statement = (
        sa.select(nfse_emissao, nfse_processada.c.numero, session_snapshot.c.cnpj_razao_social)
        .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
        .outerjoin(nfse_processada, nfse_processada.c.emissao_id == nfse_emissao.c.id)
        .where(
            session_snapshot.c.conversa == conversa,
            nfse_emissao.c.status != StatusEmissao.DISPENSADO,  # an earlier attempt is the invoice
        )
        .order_by(nfse_emissao.c.id.desc())
        .limit(limit)
    )
    if numero is not None:
        statement = statement.where(sa.func.ltrim(nfse_processada.c.numero, "0") == numero)
    if autorizadas:
        statement = statement.where(nfse_processada.c.numero.is_not(None))
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
        )
        for row in await connection.execute(statement)
    ]
