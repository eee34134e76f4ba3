"""Alembic's way in: ``schema.py`` hands over a connection within a transaction of its own."""

from alembic import context

from modeldyno.store.schema import VERSION_TABLE
from modeldyno.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
