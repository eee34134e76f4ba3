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


def name_of(one):
    return (
        "examples/add, older"
        if one.events and one.events[-1].name == "example_finish"
        else one.path
    )


@needs_bench
def test_the_document_is_read_whole():
    assert BENCH is not None
    assert len(READ) == BENCH.read_text().count("**Path**")
    assert (
        len({one.path for one in READ}) == len(READ) - 2
    )  # a section about examples is there twice
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
        if name_of(one) == one.path:
            assert (mine.path, dict(mine.parameters)) == (one.path, dict(one.parameters))


@needs_bench
@pytest.mark.parametrize("documented", READ, ids=name_of)
def test_it_answers_as_documented(walked, documented):
    go, _ = walked
    answer_is_like(documented, go.told[name_of(documented)])


@needs_bench
@pytest.mark.parametrize("documented", READ, ids=name_of)
def test_it_was_asked_as_documented(walked, documented):
    """No key more than the example has, and none less: only values were replaced."""
    go, _ = walked
    told = go.told[name_of(documented)]
    assert keys(told.body) == keys(documented.body or ({"path": 1} if documented.query else None))


def keys(body):
    if isinstance(body, dict):
        return {name: keys(value) for name, value in body.items()}
    return None


@needs_bench
@pytest.mark.parametrize("documented", WITH_EVENTS, ids=name_of)
def test_it_pushes_what_is_documented(walked, documented):
    go, _ = walked
    name = name_of(documented)
    expected = documented.events
    if name != documented.path:  # decision 3: the sequence of the first copy, whoever asks
        expected = next(one for one in READ if one.path == documented.path).events
        asked = go.told[name].body.get("progress_steps")
        assert asked is None
        expected = tuple(one for one in expected if one.name != "download_progress")
        heard = [one for one in events_of(go.told[name]) if one[0] != "download_progress"]
    else:
        heard = events_of(go.told[name])
    events_are_like(expected, heard)


@needs_bench
@pytest.mark.parametrize("documented", WITH_EVENTS, ids=name_of)
def test_events_have_the_documented_words(walked, documented):
    go, _ = walked
    if name_of(documented) != documented.path:
        return
    for said, (_, payload) in zip(
        documented.events, events_of(go.told[documented.path]), strict=True
    ):
        for name in ("message", "progress"):
            assert payload["data"].get(name) == said.data.get(name)


@needs_bench
@pytest.mark.parametrize("documented", [one for one in READ if name_of(one) in LISTED], ids=name_of)
def test_every_documented_row_is_there(walked, documented):
    go, _ = walked
    (rows,) = (
        documented.answer.values() if isinstance(documented.answer, dict) else (documented.answer,)
    )
    told = go.told[documented.path].json
    (mine,) = told.values() if isinstance(told, dict) else (told,)
    assert [row for row in rows if row not in mine] == []


@needs_bench
@pytest.mark.parametrize("path", ["project/note", "benchmark/edit", "profiling/edit"])
def test_what_was_changed_is_echoed(walked, path):
    told = walked[0].told[path]
    assert told.json == told.body


@needs_bench
def test_an_optimization_begins_as_documented_and_ends_honestly(walked):
    (documented,) = (one for one in READ if one.path == "optimization/execute")
    heard = events_of(walked[0].told["optimization/execute"])
    start, finish = heard
    events_are_like(documented.events[:1], [start])
    assert finish[0] == documented.events[-1].name
    assert finish[1]["status"] == "failure", NOT_YET
    assert {"message", "request_id", "id", "project_id"} <= set(finish[1]["data"])


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
