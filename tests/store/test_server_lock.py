"""One server for a workspace, and one for a database."""

import os
import threading

import pytest
from sqlalchemy import text

from modeldyno.core.errors import ServerRunning
from modeldyno.server_file import RunningServer, running_server
from modeldyno.store import server_lock
from modeldyno.store.database import open_database
from modeldyno.store.server_lock import ServerLock, SoleServer


@pytest.fixture(autouse=True)
def short_patience(monkeypatch):
    monkeypatch.setattr(server_lock, "PATIENCE_S", 0.2)
    monkeypatch.setattr(server_lock, "DATABASE_PATIENCE_S", 0.2)


def test_who_comes_second_is_told_who_was_first(tmp_path):
    with ServerLock(tmp_path).held() as lock:
        assert running_server(tmp_path) is None  # it does not listen yet
        lock.announce("http://127.0.0.1:5000")
        assert running_server(tmp_path) == RunningServer(os.getpid(), "http://127.0.0.1:5000")
        with pytest.raises(ServerRunning, match="Another server") as refused:
            ServerLock(tmp_path).held().__enter__()
        assert refused.value.why == f"it is process {os.getpid()}, at http://127.0.0.1:5000"
    assert running_server(tmp_path) is None
    with ServerLock(tmp_path).held():
        pass


def test_who_only_asks_for_the_server_keeps_none_from_starting(tmp_path):
    """Asking takes the lock for a moment."""
    with ServerLock(tmp_path).held():
        pass
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            running_server(tmp_path)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(20):
            with ServerLock(tmp_path).held():
                pass
    finally:
        stop.set()
        for thread in asking:
            thread.join()


class TestOnPostgresql:
    @pytest.fixture
    def two(self, tmp_path, postgresql):
        url = postgresql.engine.url.render_as_string(hide_password=False)
        databases = [open_database(tmp_path, url) for _ in range(2)]
        yield databases
        for database in databases:
            database.close()

    def cut(self, database):
        """As a database that is restarted does."""
        with database.engine.connect() as connection:
            mine = text(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                "WHERE locktype = 'advisory' AND granted"
            )
            assert connection.execute(mine).all()

    def test_a_database_has_one_server(self, two):
        with SoleServer(two[0]).held() as first:
            with pytest.raises(ServerRunning):
                SoleServer(two[1]).held().__enter__()
            first.require_still_sole()
        with SoleServer(two[1]).held():
            pass

    def test_a_lock_that_was_lost_is_taken_again(self, two):
        with SoleServer(two[0]).held() as first:
            self.cut(two[1])
            first.require_still_sole()
            with pytest.raises(ServerRunning):
                SoleServer(two[1]).held().__enter__()

    def test_whoever_lost_the_lock_to_another_hears_of_it(self, two):
        with SoleServer(two[0]).held() as first:
            self.cut(two[1])
            with SoleServer(two[1]).held(), pytest.raises(ServerRunning):
                first.require_still_sole()
            first.require_still_sole()  # the other one has ended
