"""The contract of the store, kept by a real PostgreSQL server."""

import pytest

from tests.contracts.store_contract import StoreContract


class TestPostgresql(StoreContract):
    @pytest.fixture
    def database(self, postgresql):
        return postgresql
