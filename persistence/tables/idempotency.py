"""Idempotency: what was asked under which key, who is at it, and how it ended."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, id_, metadata, now

idempotency_records = sa.Table(
    "idempotency_records",
    metadata,
    id_(),
    sa.Column("idempotency_key", sa.String(255), nullable=False, unique=True),
    sa.Column("process_instance_id", sa.String(64), nullable=False, index=True),  # sessao_id, request id, API client
    sa.Column("activity_id", sa.String(255), nullable=False),  # the step in it: "emitir", "POST /api/v1/clientes"
    sa.Column("operation_name", sa.String(100), nullable=False),
    sa.Column("input_hash", sa.String(64), nullable=False),  # SHA-256, hex
    sa.Column("status", sa.String(7), nullable=False),
    sa.Column("result_data", JSONB),  # what to answer again: ids and states, never a secret
    sa.Column("error_message", sa.Text),
    sa.Column("retry_count", sa.Integer, nullable=False, server_default="0"),  # new attempts after a certain failure
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="1"),  # fence against late verdicts
    sa.Column("lease_until", MOMENT),  # of a PENDING record; past: nobody knows how it ended
    now("created_at"),
    now("updated_at"),
    sa.Column("expires_at", MOMENT, nullable=False),
    sa.CheckConstraint("status IN ('PENDING', 'SUCCESS', 'FAILED')", name="status"),
    sa.CheckConstraint("(status = 'PENDING') = (lease_until IS NOT NULL)", name="lease"),
    sa.CheckConstraint("idempotency_key <> ''", name="key"),
    sa.Index("ix_idempotency_records_created_at", "created_at"),
    sa.Index("ix_idempotency_records_expires_at", "expires_at"),
)
