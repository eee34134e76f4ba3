"""Summaries tell how many streams their cell had: its items per call follow from that."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_TABLES = ("benchmarks", "comparisons", "optimizations", "profiles", "runs")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("streams", sa.Integer(), nullable=True))


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_column(table, "streams")
