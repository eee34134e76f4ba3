"""The queue, on each of the databases."""

import shutil

import pytest
from sqlalchemy import event

from modeldyno.settings import Settings
from modeldyno.store.database import FILE
from tests.contracts.queue_contract import QueueContract
from tests.queue_room import QueueRoom


class TestOnSqlite(QueueContract):
    @pytest.fixture
    def room(self, tmp_path, empty_sqlite, starts_processes):
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        shutil.copy(empty_sqlite, workspace / FILE)
        return QueueRoom(tmp_path, Settings(workspace))

    def hurry(self, database):
        event.listen(
            database.engine,
            "checkout",
            lambda connection, *_: connection.execute("PRAGMA busy_timeout = 50"),
        )


class TestOnPostgresql(QueueContract):
    @pytest.fixture
    def room(self, tmp_path, postgresql):
        url = postgresql.engine.url.render_as_string(hide_password=False)
        return QueueRoom(tmp_path, Settings(tmp_path / "workspace", database_url=url))

    def hurry(self, database):
        def hurry(connection, *_):
            connection.execute("SET lock_timeout = 50")
            connection.commit()

        event.listen(database.engine, "checkout", hurry)
