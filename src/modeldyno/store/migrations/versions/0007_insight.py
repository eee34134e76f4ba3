"""Cells say as what they really ran, and rows of profiles what work they did."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_WORK = ("flop", "moved_bytes")


def upgrade() -> None:
    op.add_column("cell_outcomes", sa.Column("effective", sa.JSON(), nullable=True))
    for name in _WORK:
        op.add_column("profile_rows", sa.Column(name, sa.Float(53), nullable=True))


def downgrade() -> None:
    for name in reversed(_WORK):
        op.drop_column("profile_rows", name)
    op.drop_column("cell_outcomes", "effective")
