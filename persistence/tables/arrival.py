"""Arrival: what came in, and in which lane it waits."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, id_, metadata, now

# A person's own words: what waits and what is read, each in an index of its own; who names both finds both.
MENSAGENS_ABERTAS = "tipo = 'mensagem' AND estado = 0"
MENSAGENS_LIDAS = "tipo = 'mensagem' AND estado <> 0"
MENSAGENS = "tipo = 'mensagem' AND (estado = 0 OR estado <> 0)"

inbox = sa.Table(
    "inbox",
    metadata,
    id_(),  # also the order within a lane
    sa.Column("chave", sa.Text, nullable=False, unique=True),  # wamid, webhook digest, outcome key: the dedupe
    sa.Column("lane", sa.Text, nullable=False),
    sa.Column("tipo", sa.Text, nullable=False),
    sa.Column("payload", JSONB, nullable=False),
    sa.Column("estado", sa.SmallInteger, nullable=False, server_default="0"),  # 0 open, 1 done, 2 quarantined
    sa.Column("tentativas", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("correlacao", sa.Text, nullable=False),
    sa.Column("interpretacao", JSONB),  # the model's reading, so that a retried turn replays it
    sa.Column("erro", sa.Text),
    now("recebido_em"),
    sa.Column("feito_em", MOMENT),
    sa.Index("ix_inbox_lane_open", "lane", "id", postgresql_where=sa.text("estado = 0")),
    # A person's own words, once they are read: until then the index above has them, and an arrival enters one less.
    sa.Index("ix_inbox_mensagens", "lane", "id", postgresql_where=sa.text(MENSAGENS_LIDAS)),
    sa.Index("ix_inbox_quarantined", "id", postgresql_where=sa.text("estado = 2")),
)

lanes = sa.Table(
    "lanes",
    metadata,
    sa.Column("lane", sa.Text, primary_key=True),
    sa.Column("ready_at", MOMENT),  # null: nothing waits; kept while leased, so that a dead owner's lane is found again
    sa.Column("pending_since", MOMENT),  # oldest arrival since the last claim: bounds the debounce
    sa.Column("backoff_until", MOMENT),
    sa.Column("lease_until", MOMENT),
    sa.Column("owner", sa.Text),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),  # fence against late commits
    sa.Index("ix_lanes_ready", "ready_at", postgresql_where=sa.text("ready_at IS NOT NULL")),
    postgresql_with={"fillfactor": "50"},
)
