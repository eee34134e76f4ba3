"""Comparisons know which one they repeat."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0003"
down_revision = "0002"

_KEY, _INDEX = "fk_comparisons_rerun_of", "ix_comparisons_rerun_of"


def upgrade() -> None:
    with _altered_table("comparisons") as table:
        table.add_column(sa.Column("rerun_of", sa.Integer(), nullable=True))
        table.create_foreign_key(
            op.f(_KEY), "comparisons", ["rerun_of"], ["id"], ondelete="SET NULL"
        )
        table.create_index(op.f(_INDEX), ["rerun_of"])


def downgrade() -> None:
    with _altered_table("comparisons") as table:
        table.drop_index(op.f(_INDEX))
        table.drop_constraint(op.f(_KEY), type_="foreignkey")
        table.drop_column("rerun_of")


@contextmanager
def _altered_table(name: str) -> Iterator[BatchOperations]:
    """SQLite makes a new table of it, which has to be told what numbers were used already."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    used = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
    last = op.get_bind().scalar(used, {"name": name}) if is_sqlite else None
    with op.batch_alter_table(name, table_kwargs={"sqlite_autoincrement": True}) as table:
        yield table
    if last is not None:
        forget = sa.text("DELETE FROM sqlite_sequence WHERE name = :name")
        tell = sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)")
        op.get_bind().execute(forget, {"name": name})
        op.get_bind().execute(tell, {"name": name, "last": last})
