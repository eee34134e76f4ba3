"""Real databases."""

from tests.databases import (  # noqa: F401 - fixtures
    empty_sqlite,
    new_postgresql,
    postgresql,
    postgresql_server,
    shared_postgresql,
)
