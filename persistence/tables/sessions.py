"""Sessions: the snapshot of each, and the journal of its transitions."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, MONEY, id_, metadata, now
from persistence.versions import literals
from state_machine.machine.states import ESPERAM_USUARIO, Estado

_WAITS_FOR_USER = sa.text(f"estado IN ({literals(ESPERAM_USUARIO)})")

session_snapshot = sa.Table(
    "session_snapshot",
    metadata,
    id_(),
    sa.Column("sessao_id", sa.Text, nullable=False, unique=True),  # ddmmaa-hhhhhhhh
    sa.Column("conversa", sa.ForeignKey("conversas.conversa"), nullable=False),
    sa.Column("telefone", sa.Text),  # E.164, "+" first; null where no number is known; older releases: digits alone
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("origem", sa.Text),  # sessao_id of the rejected session that this one repairs
    sa.Column("estado", sa.Text, nullable=False),
    sa.Column("snapshot_reason", sa.Text, nullable=False),
    sa.Column("cnpj_status", sa.Text, nullable=False),
    sa.Column("cnpj_extracted", sa.Text),  # as the user wrote it
    sa.Column("cnpj", sa.Text),  # the tomador's CNPJ or CPF, bare
    sa.Column("cnpj_razao_social", sa.Text),
    sa.Column("valor_status", sa.Text, nullable=False),
    sa.Column("valor_extracted", sa.Text),
    sa.Column("valor", MONEY),
    sa.Column("descricao_status", sa.Text, nullable=False),
    sa.Column("descricao_extracted", sa.Text),
    sa.Column("descricao", sa.Text),
    sa.Column("data_complete", sa.Boolean, nullable=False),
    sa.Column("missing_fields", JSONB, nullable=False),
    sa.Column("rascunho", JSONB, nullable=False),  # every field with its evidence; rebuilds the live session
    sa.Column("pendente", sa.Text),  # the field our last message asked for
    sa.Column("revisao", sa.Integer, nullable=False),  # what a confirm button is bound to
    sa.Column("id_integracao", sa.Text),
    sa.Column("versao", sa.Integer, nullable=False),  # optimistic lock
    sa.Column("mostrado_em", MOMENT),  # when the summary of this revision was shown
    sa.Column("resumos", sa.Integer, nullable=False),  # how many different summaries were shown
    sa.Column("igual", JSONB(none_as_null=True)),  # the invoice of the same content that the shown summary tells of
    sa.Column("expira_em", MOMENT),  # deadline while it waits for the user
    sa.Column("expired_at", MOMENT),
    sa.Column("empresa_versao", sa.Integer),  # of the company, that ``revisao`` would be issued with
    sa.Column("canal", sa.Text),  # channel/environment where ``revisao`` would be issued
    now("created_at"),
    now("updated_at"),
    sa.Index("uq_session_snapshot_active", "conversa", unique=True, postgresql_where=_WAITS_FOR_USER),
    sa.Index("ix_session_snapshot_conversa", "conversa", sa.text("id DESC")),
    sa.Index("ix_session_snapshot_empresa", "empresa_id", sa.text("id DESC")),
    sa.Index("ix_session_snapshot_estado", "estado", sa.text("id DESC")),
    sa.Index("ix_session_snapshot_cnpj", "cnpj", sa.text("id DESC"), postgresql_where=sa.text("cnpj IS NOT NULL")),
    sa.Index("ix_session_snapshot_origem", "origem", postgresql_where=sa.text("origem IS NOT NULL")),
    # Refused for a reason that its user cannot mend.
    sa.Index(
        "ix_session_snapshot_recusa_nossa",
        "updated_at",
        postgresql_where=sa.text(f"estado = '{Estado.REJEITADO}' AND pendente IS NULL"),
    ),
    sa.Index("ix_session_snapshot_deadline", "expira_em", postgresql_where=_WAITS_FOR_USER),
)

transicoes = sa.Table(
    "transicoes",
    metadata,
    id_(),
    sa.Column("sessao_id", sa.Text, nullable=False),
    sa.Column("de", sa.Text, nullable=False),
    sa.Column("para", sa.Text, nullable=False),
    sa.Column("evento", sa.Text, nullable=False),
    sa.Column("snapshot_reason", sa.Text, nullable=False),
    sa.Column("revisao", sa.Integer, nullable=False),
    sa.Column("detalhe", JSONB),  # what was read, from where, and the draft where it changed
    sa.Column("correlacao", sa.Text),
    now("em"),
    sa.Index("ix_transicoes_sessao", "sessao_id", "id"),
)
