"""Cancellations: who asked for one, why, and how far it has come with the authority."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, id_, metadata, now
from persistence.versions import literals
from state_machine.cancellation.machine import CONVERSANDO, VIVOS, EstadoCancelamento

_TALKING = f"estado IN ({literals(CONVERSANDO)})"
_IN_CHAT = f"{_TALKING} AND pedido_por = 'conversa'"  # a command asks nothing
_LIVE = f"estado IN ({literals(VIVOS)})"
_PENDING = EstadoCancelamento.PENDENTE

cancelamento = sa.Table(
    "cancelamento",
    metadata,
    id_(),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), nullable=False, index=True),
    sa.Column("conversa", sa.ForeignKey("conversas.conversa")),  # who asked, and who is told; null: the note's origin
    sa.Column("pedido_por", sa.Text, nullable=False),  # conversa | comando
    sa.Column("estado", sa.Text, nullable=False),
    sa.Column("codigo", sa.Text),  # cMotivo: 1 | 2 | 9
    sa.Column("motivo", sa.Text),
    sa.Column("versao", sa.Integer, nullable=False),  # what a button is bound to
    sa.Column("expira_em", MOMENT),  # deadline while it waits for the user
    sa.Column("envio", sa.Text),  # null until confirmed
    sa.Column("confirmado_em", MOMENT),
    sa.Column("protocolo", sa.Text),
    sa.Column("recusa", sa.Text),
    sa.Column("recusas", sa.Integer, nullable=False, server_default="0"),  # refusals that no table of ours knows
    sa.Column("resposta_gateway", JSONB),  # the newest JSON received, whole; older releases: our reading of it
    sa.Column("erro_mensagem", sa.Text),
    sa.Column("consultas", sa.Integer, nullable=False, server_default="0"),
    sa.Column("envios", sa.Integer, nullable=False, server_default="0"),
    sa.Column("vigente_desde", MOMENT),  # first certain "the note stands" since the last sending
    sa.Column("avisado_em", MOMENT),  # the user was told that it takes long
    sa.Column("dica_em", MOMENT),  # a webhook hinted at news since we last looked
    sa.Column("proxima_acao_em", MOMENT),  # null: nothing to do
    sa.Column("lease_until", MOMENT),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("correlacao", sa.Text),
    now("criado_em"),
    sa.Column("encerrado_em", MOMENT),
    sa.CheckConstraint(f"estado <> '{_PENDING}' OR (motivo IS NOT NULL AND codigo IS NOT NULL)", name="motivo"),
    sa.CheckConstraint(f"proxima_acao_em IS NULL OR estado = '{_PENDING}'", name="acao"),
    sa.Index("uq_cancelamento_vivo", "emissao_id", unique=True, postgresql_where=sa.text(_LIVE)),
    sa.Index("uq_cancelamento_conversando", "conversa", unique=True, postgresql_where=sa.text(_IN_CHAT)),
    sa.Index("ix_cancelamento_conversa", "conversa", sa.text("id DESC")),
    sa.Index("ix_cancelamento_deadline", "expira_em", postgresql_where=sa.text(_TALKING)),
    sa.Index("ix_cancelamento_due", "proxima_acao_em", postgresql_where=sa.text("proxima_acao_em IS NOT NULL")),
)
