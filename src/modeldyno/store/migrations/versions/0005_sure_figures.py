"""Figures say how sure they are, and cells why they failed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_WITH_FIGURES = (
    "runs", "benchmarks", "comparisons", "optimizations", "profiles", "cell_outcomes",
)  # fmt: skip
_SURENESS = (
    ("floor_low_s", sa.Float(53)),
    ("floor_high_s", sa.Float(53)),
    ("typical_low_s", sa.Float(53)),
    ("typical_high_s", sa.Float(53)),
    ("throughput_low_per_s", sa.Float(53)),
    ("throughput_high_per_s", sa.Float(53)),
    ("interval_level", sa.Float(53)),
    ("sessions", sa.Integer()),
    ("samples", sa.Integer()),
    ("noise_reasons", sa.Text()),
    ("peak_memory_bytes", sa.BigInteger().with_variant(sa.Integer(), "sqlite")),
)


def upgrade() -> None:
    for table in _WITH_FIGURES:
        for name, kind in _SURENESS:
            op.add_column(table, sa.Column(name, kind, nullable=True))
    op.add_column("cell_outcomes", sa.Column("error", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("cell_outcomes", "error")
    for table in _WITH_FIGURES:
        for name, _ in reversed(_SURENESS):
            op.drop_column(table, name)
