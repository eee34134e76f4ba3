"""Our own table of the API, held against a running server: it needs no document."""

import pytest

from tests.api.node import needs_node
from tests.documents.checks import answer_is_like, events_are_like, events_of
from tests.documents.inc_bench_table import DOCUMENTED, EXECUTE_CALL, OPERATIONS

# The walk is made for the first test that looks at it.
pytestmark = pytest.mark.timeout(600)

# Nothing was quantized, so there is nothing to diagnose; a profile has no such file.
NOTHING_YET = {"profiling/config.yaml", "diagnosis/histogram", "diagnosis/model_wise_params",
               "diagnosis/generate_optimization"}  # fmt: skip


def name_of(one):
    return one.path


@pytest.mark.parametrize("documented", list(OPERATIONS.values()), ids=name_of)
def test_it_answers_as_our_table_says(walked, documented):
    told = walked[0].told[documented.path]
    if documented.path in NOTHING_YET:
        assert told.answer.status in (400, 404), told.answer.text
        assert told.answer.headers["content-type"].startswith("text/plain")
    else:
        answer_is_like(documented, told)


@pytest.mark.parametrize("documented", [one for one in DOCUMENTED if one.events], ids=name_of)
def test_it_pushes_what_our_table_says(walked, documented):
    events_are_like(documented.events, events_of(walked[0].told[documented.path]))


@pytest.mark.parametrize("path", ["project/note", "benchmark/edit", "profiling/edit"])
def test_what_was_changed_is_echoed(walked, path):
    told = walked[0].told[path]
    assert told.json == told.body


def test_the_call_of_1_9_pushes_what_our_table_says(walked):
    told = walked[0].told["1.9"]
    answer_is_like(EXECUTE_CALL, told)
    events_are_like(EXECUTE_CALL.events, events_of(told))


@needs_node
def test_node_hears_the_same_as_python(walked):
    go, node = walked
    assert node == go.ears.heard


def test_every_operation_of_the_server_is_in_our_table(walked, operations_served):
    assert operations_served == set(OPERATIONS)
