"""The documents themselves: each operation they describe, called as they say, answers as they say.

They are no part of this repository. Where they are not at hand, this says so and compares nothing;
``test_table.py`` holds the server to our own table everywhere.
"""

import pytest

from tests.api.node import needs_node
from tests.documents import execute_call_document, inc_bench_document
from tests.documents.checks import answer_is_like, events_are_like, events_of
from tests.documents.documented import absence, document
from tests.documents.inc_bench_table import DOCUMENTED, EXECUTE_CALL
from tests.documents.settled import NOT_YET

# The walk is made for the first test that looks at it.
pytestmark = pytest.mark.timeout(600)

BENCH = document(inc_bench_document.NAME)
CALL = document(execute_call_document.NAME)
READ = inc_bench_document.read(BENCH.read_text()) if BENCH else []

needs_bench = pytest.mark.skipif(BENCH is None, reason=absence(inc_bench_document.NAME))
needs_call = pytest.mark.skipif(CALL is None, reason=absence(execute_call_document.NAME))

WITH_EVENTS = [one for one in READ if one.events and one.path != "optimization/execute"]
# Answers that are the same on every server.
LISTED = ("dict/domains", "dict/domain_flavours", "dict/optimization_types", "dict/precisions",
          "dict/optimization_types/precision", "examples/list")  # fmt: skip


def is_older(one):
    """The second copy of the examples' section; decision 3 settles that the first one goes."""
    return bool(one.events) and one.events[-1].name == "example_finish"


def name_of(one):
    return f"{one.path}, older" if is_older(one) else one.path


@needs_bench
def test_the_document_is_read_whole():
    assert BENCH is not None
    assert len(READ) == BENCH.read_text().count("**Path**")
    assert len({one.path for one in READ}) == len(READ) - 2  # one section is there twice
    assert {one.method for one in READ} == {"GET", "POST"}
    assert all(one.answer for one in READ)
    assert sum(len(one.events) for one in READ) == BENCH.read_text().count('```json\n[\n    "')
    # Whoever needs parameters shows how they are sent.
    assert all(one.body or one.query for one in READ if one.parameters)


@needs_bench
def test_our_table_says_the_same_as_the_document():
    ours = {one.path: one for one in DOCUMENTED}
    assert set(ours) == {one.path for one in READ}
    for one in reversed(READ):
        mine = ours[one.path]
        assert mine.method == one.method
        if not is_older(one):
            assert (mine.path, dict(mine.parameters)) == (one.path, dict(one.parameters))


@needs_bench
@pytest.mark.parametrize("documented", READ, ids=name_of)
def test_it_answers_as_documented(walked, documented):
    answer_is_like(documented, walked[0].told[name_of(documented)])


@needs_bench
@pytest.mark.parametrize("documented", READ, ids=name_of)
def test_it_was_asked_as_documented(walked, documented):
    """No key more than the example has, and none less: only values were replaced."""
    told = walked[0].told[name_of(documented)]
    assert keys(told.body) == keys(documented.body or ({"path": 1} if documented.query else None))


def keys(body):
    if isinstance(body, dict):
        return {name: keys(value) for name, value in body.items()}
    return None


@needs_bench
@pytest.mark.parametrize("documented", WITH_EVENTS, ids=name_of)
def test_it_pushes_what_is_documented(walked, documented):
    go, _ = walked
    heard, expected = events_of(go.told[name_of(documented)]), documented.events
    if is_older(documented):  # it says nothing of steps
        newer = next(one for one in READ if one.path == documented.path)
        expected = tuple(one for one in newer.events if one.name != "download_progress")
        heard = [one for one in heard if one[0] != "download_progress"]
    events_are_like(expected, heard)


@needs_bench
@pytest.mark.parametrize(
    "documented", [one for one in WITH_EVENTS if not is_older(one)], ids=name_of
)
def test_events_have_the_documented_words(walked, documented):
    heard = events_of(walked[0].told[documented.path])
    for said, (_, payload) in zip(documented.events, heard, strict=True):
        for name in ("message", "progress"):
            assert payload["data"].get(name) == said.data.get(name)


@needs_bench
@pytest.mark.parametrize("documented", [one for one in READ if name_of(one) in LISTED], ids=name_of)
def test_every_documented_row_is_there(walked, documented):
    rows, ours = (rows_of(one) for one in (documented.answer, walked[0].told[documented.path].json))
    assert [row for row in rows if row not in ours] == []


def rows_of(answer):
    """A list, or an object that holds one."""
    return next(iter(answer.values())) if isinstance(answer, dict) else answer


@needs_bench
def test_an_optimization_begins_as_documented_and_ends_honestly(walked):
    (documented,) = (one for one in READ if one.path == "optimization/execute")
    start, (name, finish) = events_of(walked[0].told["optimization/execute"])
    events_are_like(documented.events[:1], [start])
    assert name == documented.events[-1].name
    assert finish["status"] == "failure", NOT_YET
    assert {"message", "request_id", "id", "project_id"} <= set(finish["data"])


@needs_call
def test_the_call_of_1_9_pushes_what_is_documented(walked):
    assert CALL is not None
    documented = execute_call_document.read(CALL.read_text())
    assert dict(documented.parameters) == dict(EXECUTE_CALL.parameters)
    told = walked[0].told["1.9"]
    assert (told.answer.status, told.json) == (200, {"exit_code": 102, "message": "processing"})
    assert keys(told.body) == keys(documented.body)
    events_are_like(documented.events, events_of(told))
    progress = [payload["data"]["progress"] for name, payload in told.events[1:]]
    assert progress == [one.data["progress"] for one in documented.events[1:]]


@needs_node
@needs_bench
def test_node_hears_the_same_as_python(walked):
    go, node = walked
    assert len(node) >= sum(len(one.events) for one in WITH_EVENTS)
    assert node == go.ears.heard
