"""Jobs know the request that asked for them, models where their users say that they begin."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("request_id", sa.Text(), nullable=True))
    op.add_column("models", sa.Column("boundary", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("models", "boundary")
    op.drop_column("jobs", "request_id")
