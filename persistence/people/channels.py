"""Keeps by which channel each company issues each kind of document."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.tables import conversas, empresa, empresa_canal, nfse_emissao, session_snapshot, usuario
from state_machine.protocol.channel import PRIMEIRO, Ambiente, Canal, TipoDocumento

# Statements are composed once: that costs more than running them.
_C = empresa_canal.c
_CHOSEN = sa.select(_C.canal, _C.ambiente).where(
    _C.empresa_id == sa.bindparam("b_empresa"), _C.tipo == sa.bindparam("b_tipo")
)
_OF_CONVERSATION = (
    sa.select(_C.canal, _C.ambiente)
    .select_from(conversas)
    .join(usuario, usuario.c.id == conversas.c.usuario_id)
    .outerjoin(empresa_canal, sa.and_(_C.empresa_id == usuario.c.empresa_id, _C.tipo == TipoDocumento.SERVICO.value))
    .where(conversas.c.conversa == sa.bindparam("b_conversa"))
)
_ISSUED = (
    sa.select(nfse_emissao.c.canal, nfse_emissao.c.ambiente)
    .join(session_snapshot, session_snapshot.c.id == nfse_emissao.c.session_id)
    .where(session_snapshot.c.sessao_id == sa.bindparam("b_sessao"), nfse_emissao.c.ambiente.is_not(None))
    .order_by(nfse_emissao.c.id.desc())
    .limit(1)
)
_NAMED = sa.select(empresa).where(empresa.c.cnpj == sa.bindparam("b_cnpj"))


def canal_of(nome: str | None, ambiente: str | None) -> Canal:
    """Return the choice that a row holds; without a name it is the one channel that older releases knew.

    Raises ``ValueError`` for an unknown environment. Whether the channel is known, ``gateway.registry`` says.
    """
    chosen = Ambiente(ambiente) if ambiente is not None else None
    return Canal(nome, chosen) if nome is not None else Canal(ambiente=chosen)


def written(canal: Canal) -> str:
    """Return a choice as ``name/environment``."""
    return f"{canal.nome}/{canal.ambiente or ''}"


def of_channel(e: str) -> str:
    """Return the SQL of an emission's channel as ``written``; ``e`` names its row."""
    return f"(coalesce({e}.canal, '{PRIMEIRO}') || '/' || coalesce({e}.ambiente, ''))"


def counts(e: str, empresa: str | None = None) -> str:
    """Return the SQL of whether an emission counts: practice does not, once its company issues in earnest.

    ``e`` names the emission's row, ``empresa`` the company where the statement has it by itself. A company issues in
    earnest where a channel of any kind says so, or where one says nothing and there is a real note. A row without an
    environment is of either. ("producao" is the greater of both words.)
    """
    of = empresa or f"{e}.prestador_id"
    return f"""({e}.ambiente IS NULL OR {e}.ambiente = coalesce(
        (SELECT max(agora.ambiente) FROM empresa_canal agora WHERE agora.empresa_id = {of}
            AND (agora.ambiente = '{Ambiente.PRODUCAO}' OR agora.tipo = '{TipoDocumento.SERVICO}' AND NOT EXISTS (
                SELECT FROM empresa_canal outra WHERE outra.empresa_id = {of} AND outra.ambiente IS NULL))),
        (SELECT max(feita.ambiente) FROM soma_mensal feita WHERE feita.prestador_id = {of}),
        {e}.ambiente))"""  # noqa: S608 - our own words


def column(e: str) -> str:
    """Return the SQL of a company's channel for services as ``name/environment``; ``e`` names the company's row."""
    return f"""(SELECT ec.canal || '/' || coalesce(ec.ambiente, '') FROM empresa_canal ec
        WHERE ec.empresa_id = {e}.id AND ec.tipo = '{TipoDocumento.SERVICO}')"""  # noqa: S608 - our own constant


def read(stored: str | None) -> Canal:
    """Return what ``column`` told as a choice."""
    nome, _, ambiente = stored.partition("/") if stored else (None, "", "")
    return canal_of(nome, ambiente or None)


async def chosen(connection: Connection, empresa_id: int, tipo: TipoDocumento = TipoDocumento.SERVICO) -> Canal:
    """Return the company's channel for a kind of document."""
    row = (await connection.execute(_CHOSEN, {"b_empresa": empresa_id, "b_tipo": tipo})).one_or_none()
    return canal_of(row.canal, row.ambiente) if row else Canal()


async def environment_of(connection: Connection, conversa: str) -> Canal | None:
    """Return the channel of services of the company that a conversation's person is of; ``None``: of none."""
    row = (await connection.execute(_OF_CONVERSATION, {"b_conversa": conversa})).one_or_none()
    return None if row is None else canal_of(row.canal, row.ambiente)


async def issued_in(connection: Connection, sessao_id: str) -> Canal | None:
    """Return the channel and environment of a session's newest emission; ``None``: it has none, or none that says."""
    row = (await connection.execute(_ISSUED, {"b_sessao": sessao_id})).one_or_none()
    return None if row is None else canal_of(row.canal, row.ambiente)


async def choose(connection: Connection, empresa_id: int, canal: Canal, tipo: TipoDocumento) -> None:
    """Set the channel of what the company issues from now on; emissions keep theirs.

    Another one than before gives the company a new version: summaries that were shown are shown again.
    """
    before = (await connection.execute(_CHOSEN, {"b_empresa": empresa_id, "b_tipo": tipo})).one_or_none()
    values: dict[str, Any] = {"canal": canal.nome, "ambiente": canal.ambiente}
    row = insert(empresa_canal).values(empresa_id=empresa_id, tipo=tipo, **values)
    changed = {**values, "atualizado_em": sa.func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=[_C.empresa_id, _C.tipo], set_=changed))
    known_before = (before.canal, before.ambiente) if before else (Canal().nome, None)
    if known_before != (canal.nome, canal.ambiente):
        told = {"versao": empresa.c.versao + 1, "atualizado_em": sa.func.now()}
        await connection.execute(empresa.update().where(empresa.c.id == empresa_id).values(told))


async def company(connection: Connection, cnpj: str) -> Any:
    """Return the company's row, or ``None``."""
    return (await connection.execute(_NAMED, {"b_cnpj": cnpj})).one_or_none()
