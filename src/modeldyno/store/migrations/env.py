"""Alembic's way in: ``schema.py`` hands over a connection within a transaction of its own."""

from alembic import context

from modeldyno.store.schema import VERSION_TABLE
from modeldyno.store.tables import METADATA

on_applied = context.config.attributes["on_applied"]
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    render_as_batch=True,
    transactional_ddl=True,
    on_version_apply=lambda step, **_: on_applied(step.up_revision_id),
)
context.run_migrations()
