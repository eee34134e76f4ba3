"""Answers are given again only while the database says the same."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from modeldyno.api import cached_answers
from modeldyno.api.cached_answers import Answers
from modeldyno.store.database import FILE, open_database
from modeldyno.store.records.all import open_all_records


class Counting:
    """An application that says how often it was asked."""

    def __init__(self, status=200, size=0):
        self.asked = 0
        self._status = status
        self._size = size

    async def __call__(self, scope, receive, send):
        self.asked += 1
        body = f"{self.asked}".encode() + b" " * self._size
        await send({"type": "http.response.start", "status": self._status, "headers": []})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def database(tmp_path):
    found = open_database(tmp_path)
    yield found
    found.close()


def ask(app, path="/api/v1/projects", query=b"", method="GET"):
    said = []

    async def send(message):
        said.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": query}
    asyncio.run(app(scope, None, send))
    return said[-1]["body"].strip()


def test_the_same_question_is_answered_again_without_asking(database):
    app = Answers(Counting(), database)
    assert [ask(app), ask(app), ask(app)] == [b"1"] * 3


def test_another_query_is_another_question(database):
    app = Answers(Counting(), database)
    assert [ask(app), ask(app, query=b"limit=3"), ask(app)] == [b"1", b"2", b"1"]


def test_after_a_change_everything_is_asked_anew(database):
    app = Answers(Counting(), database)
    ask(app)
    open_all_records(database).projects.add("x")
    assert [ask(app), ask(app)] == [b"2", b"2"]


def test_a_change_by_another_process_counts_as_well(database, tmp_path):
    app = Answers(Counting(), database)
    ask(app)
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("INSERT INTO events (kind, payload, created_at) VALUES ('x', '{}', '')")
    other.close()
    assert ask(app) == b"2"


def test_a_change_while_the_answer_is_made_leaves_it_old(database):
    counting = Counting()

    async def changing(scope, receive, send):
        open_all_records(database).projects.add("x")
        await counting(scope, receive, send)

    app = Answers(changing, database)
    assert [ask(app), ask(app)] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("path", "method"),
    [("/api/v1/jobs", "GET"), ("/api/v1/projects", "POST"), ("/api/v1/projects", "DELETE")],
)
def test_what_does_not_come_from_the_database_alone_is_always_asked(database, path, method):
    app = Answers(Counting(), database)
    assert [ask(app, path, method=method), ask(app, path, method=method)] == [b"1", b"2"]


@pytest.mark.parametrize("app", [Counting(status=404), Counting(size=cached_answers.LARGEST)])
def test_refusals_and_long_answers_are_not_kept(database, app):
    asked = Answers(app, database)
    assert [ask(asked), ask(asked)] == [b"1", b"2"]


def test_the_oldest_give_way(database, monkeypatch):
    monkeypatch.setattr(cached_answers, "MOST_BYTES", 4 << 10)
    app = Answers(Counting(), database)
    for number in range(9):
        ask(app, query=f"limit={number}".encode())
    assert ask(app, query=b"limit=8") == b"9"
    assert ask(app, query=b"limit=0") == b"10"
