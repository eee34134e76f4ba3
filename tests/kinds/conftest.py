from tests.databases import new_postgresql, postgresql_server  # noqa: F401 - fixtures
