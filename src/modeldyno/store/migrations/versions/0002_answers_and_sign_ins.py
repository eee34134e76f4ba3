"""Answers that are given again, and browsers that stay signed in."""

import sqlalchemy as sa
from alembic import op

from modeldyno.store.columns import Key, Moment

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "answers",
        sa.Column("route", Key, nullable=False),
        sa.Column("key", Key, nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("route", "key", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_created_at"), "answers", ["created_at"])
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("under", sa.String(length=64), nullable=False),
        sa.Column("csrf", sa.Text(), nullable=False),
        sa.Column("until_s", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ins")),
    )


def downgrade() -> None:
    op.drop_table("sign_ins")
    op.drop_table("answers")
