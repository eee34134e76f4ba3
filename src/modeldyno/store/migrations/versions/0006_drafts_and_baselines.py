"""Projects may be drafts, and know the benchmark that others are held against."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    draft: sa.Column[bool] = sa.Column(
        "is_draft", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("projects", draft)
    op.add_column("projects", sa.Column("baseline_benchmark_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("projects", "baseline_benchmark_id")
    op.drop_column("projects", "is_draft")
