"""What other systems keep here through the API: keys, clients, proposals, and what they had done once."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, MONEY, id_, metadata, now
from persistence.versions import literals
from state_machine.proposal.states import EstadoProposta

_KEY = 255  # characters of an idempotency key
_BY = 64  # characters of the name of who did it: the visible prefix of an API key, or a person's role
_OF_KEY = "CASE WHEN left(usuario, 11) = 'prosa_test_' THEN 'homologacao' ELSE 'producao' END"
# The id of a session of today, drawn by the database.
SESSAO: Final = sa.text(
    "to_char(now() AT TIME ZONE 'America/Sao_Paulo', 'DDMMYY') || '-' || left(gen_random_uuid()::text, 8)"
)


def _ambiente() -> sa.Column[str]:
    """The environment of the key that made the row: of the other one nothing is found, and nothing is the same."""
    return sa.Column("ambiente", sa.Text, sa.Computed(_OF_KEY, persisted=True), nullable=False)


api_chave = sa.Table(
    "api_chave",
    metadata,
    id_(),
    sa.Column("resumo", sa.Text, nullable=False, unique=True),  # SHA-256 of the key in hex; the key is kept nowhere
    sa.Column("prefixo", sa.Text, nullable=False, unique=True),  # its visible beginning, by which people name it
    sa.Column("ambiente", sa.Text, nullable=False),  # producao | homologacao: of its companies when it was made
    sa.Column("escopos", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),  # none: everything of its companies
    now("criada_em"),
    sa.Column("usada_em", MOMENT),  # to the minute
    sa.Column("revogada_em", MOMENT),
)

api_chave_empresa = sa.Table(
    "api_chave_empresa",  # the companies that a key may act for
    metadata,
    sa.Column("chave_id", sa.ForeignKey("api_chave.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True, index=True),
)

clientes = sa.Table(
    "clientes",  # of the callers' systems; ``cliente_tomador`` holds those that were invoiced
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("nome", sa.String(255), nullable=False),
    sa.Column("email", sa.String(255)),  # null: its person was erased
    sa.Column("documento", sa.String(20)),  # CNPJ or CPF, bare
    sa.Column("idempotencia_key", sa.String(_KEY)),
    sa.Column("corpo_sha256", sa.String(64)),  # of the canonical body that the key came with, in hex
    sa.Column("usuario", sa.String(_BY)),  # who made it
    _ambiente(),
    sa.Column("versao", sa.Integer, nullable=False, server_default="1"),
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("empresa_id", "ambiente", "idempotencia_key"),
    sa.Index("uq_clientes_email", "empresa_id", "ambiente", sa.text("lower(email::text)"), unique=True),
    sa.Index("ix_clientes_documento", "documento", postgresql_where=sa.text("documento IS NOT NULL")),
)

propostas = sa.Table(
    "propostas",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("cliente_id", sa.ForeignKey("clientes.id"), nullable=False, index=True),
    sa.Column("valor", MONEY, nullable=False),
    sa.Column("descricao", sa.Text),  # what is missing is asked of the approver
    sa.Column("competencia", sa.String(7)),  # AAAA-MM
    sa.Column("estado", sa.String(20), nullable=False, server_default=EstadoProposta.RASCUNHO.value),
    sa.Column("motivo", sa.Text),  # why it was refused or rejected, in words for the caller
    sa.Column("versao", sa.Integer, nullable=False, server_default="1"),  # grows with every change that callers see
    sa.Column("idempotencia_key", sa.String(_KEY)),
    sa.Column("corpo_sha256", sa.String(64)),
    sa.Column("usuario", sa.String(_BY)),  # who made it
    _ambiente(),
    sa.Column("alterada_por", sa.String(_BY)),  # who made this version of it
    sa.Column("aprovador_id", sa.ForeignKey("usuario.id", ondelete="SET NULL"), index=True),  # who is asked
    # The session that will be made of it, known before anybody looks at it: after a restore the same one is made again.
    sa.Column("sessao_prevista", sa.Text, nullable=False, unique=True, server_default=SESSAO),
    sa.Column("sessao_id", sa.Text, unique=True),  # the session that was made of it
    sa.Column("enviada_em", MOMENT),  # its place among those that wait for one person
    now("criada_em"),
    now("atualizada_em"),
    sa.UniqueConstraint("empresa_id", "ambiente", "idempotencia_key"),
    sa.CheckConstraint("valor > 0", name="valor"),
    sa.CheckConstraint(f"estado IN ({literals(EstadoProposta)})", name="estado"),
    sa.Index(
        "ix_propostas_esperam",
        "aprovador_id",
        "enviada_em",
        postgresql_where=sa.text(f"estado = '{EstadoProposta.ENVIADA}' AND sessao_id IS NULL"),
    ),
)

empresa_aprovador = sa.Table(
    "empresa_aprovador",  # who is asked about a company's proposals; no row: its first person
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("usuario_id", sa.ForeignKey("usuario.id", ondelete="CASCADE"), nullable=False, index=True),
    now("definido_em"),
)

idempotencia_operacoes = sa.Table(
    "idempotencia_operacoes",  # what was done once to something that stood already; who makes it has the key itself
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("idempotencia_key", sa.String(_KEY), nullable=False),
    sa.Column("tipo_operacao", sa.String(50), nullable=False),
    sa.Column("entidade_id", sa.BigInteger, nullable=False),
    sa.Column("resultado", JSONB, nullable=False),  # as it stood then; what is answered is what stands now
    sa.Column("corpo_sha256", sa.String(64), nullable=False),
    sa.Column("usuario", sa.String(_BY)),  # who did it
    _ambiente(),
    now("created_at"),
    sa.UniqueConstraint(
        "empresa_id", "ambiente", "idempotencia_key", "tipo_operacao", name="uq_idempotencia_operacoes_chave"
    ),
    sa.Index("ix_idempotencia_operacoes_created_at", "created_at"),
)
