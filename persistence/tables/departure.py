"""Departure: messages on their way to people."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, id_, metadata, now


class StatusSaida(StrEnum):
    """How far a message has come, in the order in which it may: a tick that comes late or out of order changes nothing.

    A failure may follow "sent", not "delivered".
    """

    PENDENTE = "pendente"
    ENVIANDO = "enviando"  # claimed; found so after a crash it may have left
    INCERTO = "incerto"  # the answer was lost, or an earlier copy may have left
    ENVIADO = "enviado"
    FALHOU = "falhou"
    ENTREGUE = "entregue"
    LIDO = "lido"


TALVEZ_SAIU = frozenset({StatusSaida.ENVIANDO, StatusSaida.INCERTO})  # a tick may tell its wamid

outbox = sa.Table(
    "outbox",
    metadata,
    id_(),  # goes out as biz_opaque_callback_data
    sa.Column("conversa", sa.ForeignKey("conversas.conversa"), nullable=False),
    sa.Column("sessao_id", sa.Text),
    sa.Column("chave", sa.Text, unique=True),  # null for ordinary answers; set where a message must exist once
    sa.Column("mensagem", JSONB, nullable=False),
    sa.Column("resumo_de", sa.Integer),  # the revision whose summary or readings this message shows
    sa.Column("bloqueia", sa.Boolean, nullable=False, server_default="true"),  # false: later ones may overtake it
    sa.Column("resposta_a", sa.Text),  # wamid that we answer: read mark and typing
    sa.Column("status", sa.Text, nullable=False, server_default=StatusSaida.PENDENTE.value),
    sa.Column("wamid", sa.Text, unique=True),
    sa.Column("tentativas", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("run_at", MOMENT, server_default=sa.func.now()),  # null: nothing to do
    sa.Column("lease_until", MOMENT),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("erro_codigo", sa.Integer),
    sa.Column("erro", sa.Text),
    sa.Column("correlacao", sa.Text),
    now("criado_em"),
    sa.Column("enviado_em", MOMENT),
    sa.Index("ix_outbox_resumo", "sessao_id", "resumo_de", postgresql_where=sa.text("resumo_de IS NOT NULL")),
    sa.Index(
        "ix_outbox_aside", "conversa", "criado_em", postgresql_where=sa.text("sessao_id IS NULL AND chave IS NULL")
    ),
    # Not on status: a column of any index, changed, costs an entry in every index. Whatever failed has an error.
    sa.Index("ix_outbox_failed", "criado_em", postgresql_where=sa.text("erro IS NOT NULL")),
    sa.Index("ix_outbox_conversa", "conversa", "id"),
    sa.Index("ix_outbox_due", "run_at", postgresql_where=sa.text("run_at IS NOT NULL")),
    sa.Index("ix_outbox_conversa_open", "conversa", "id", postgresql_where=sa.text("run_at IS NOT NULL")),
    postgresql_with={"fillfactor": "60"},  # room for what becomes of a message: it is changed five times
)
