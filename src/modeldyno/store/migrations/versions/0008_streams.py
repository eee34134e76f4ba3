"""Cells may have several streams: requests that one call makes at the same time."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_TABLES = ("cells", "cell_outcomes")


def upgrade() -> None:
    for table in _TABLES:
        streams: sa.Column[int] = sa.Column(
            "streams", sa.Integer(), nullable=False, server_default=sa.text("1")
        )
        op.add_column(table, streams)


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_column(table, "streams")
