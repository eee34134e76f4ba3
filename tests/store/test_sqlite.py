"""The contract of the store, kept by a SQLite file."""

import pytest

from tests.contracts.store_contract import StoreContract


class TestSqlite(StoreContract):
    @pytest.fixture
    def database(self, sqlite):
        return sqlite
