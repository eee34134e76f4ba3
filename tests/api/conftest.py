from tests.store.conftest import new_postgresql, postgresql_server

__all__ = ["new_postgresql", "postgresql_server"]  # fixtures
