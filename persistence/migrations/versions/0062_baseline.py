"""The whole schema as releases up to 0062 made it step by step; a database that stands there goes on from it."""

from __future__ import annotations

import re
from pathlib import Path

from alembic import op

revision = "0062"
down_revision = None
branch_labels = depends_on = None

_SCHEMA = Path(__file__).with_suffix(".sql")
_BETWEEN = re.compile(r"(?<=;)\n+(?=CREATE |ALTER )")  # the driver runs one statement at a time


def upgrade() -> None:
    """Make all tables, indexes, functions and triggers."""
    for statement in _BETWEEN.split(_SCHEMA.read_text(encoding="utf-8")):
        op.get_bind().exec_driver_sql(statement)
