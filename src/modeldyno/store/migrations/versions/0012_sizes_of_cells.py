"""Cells have sizes of open dimensions, which they can differ in."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("cells", sa.Column("dims", sa.Text()))


def downgrade() -> None:
    op.drop_column("cells", "dims")
