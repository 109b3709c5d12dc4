"""Schedule: which replica runs which slot."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import MOMENT, metadata, now

job_slots = sa.Table(
    "job_slots",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("slot", MOMENT, primary_key=True),  # the scheduled time, not the moment of running
    now("tomado_em"),
)
