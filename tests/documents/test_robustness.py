"""Whatever is sent to ``/api``, there is one clear sentence, and everything goes on working."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modeldyno.api.access import READING
from tests.api.v1.server import Answer, serving
from tests.documents.hearing import ears
from tests.documents.inc_bench_table import EXECUTE_CALL, OPERATIONS
from tests.onnx_models import linear, saved

PARAMETERS = sorted({name for one in OPERATIONS.values() for name, _ in one.parameters})

NO_TYPE_FOR_ANYTHING = ([1, [2]], {"a": {"b": 1}}, True, 10**30, 1e300)
STRANGE: tuple[Any, ...] = (
    *NO_TYPE_FOR_ANYTHING, [], {}, 0, -1, 1.5, 2**53, "", "x", " 1", "\uff11", "1e3", "\x00",
    "../../etc/passwd", "/proc/self/environ", "x" * 5000, "\udcff", None,
)  # fmt: skip
# These start a process when they are asked for something sensible.
HEAVY = ("project/create", "model/boundary_nodes", "examples/add", "benchmark/execute",
         "profiling/execute", "optimization/execute")  # fmt: skip


class Room:
    """A server with one of each thing, and how to ask for it rightly."""

    def __init__(self, served, root):
        self.served = served
        self.model = saved(linear(), root / "net.onnx")
        (root / "pictures").mkdir()
        asked = {"path": str(self.model), "input_nodes": "x", "output_nodes": "y"}
        asked |= {"domain": "Image Recognition", "shape": "4"}
        self.ids = self.ask("project/create", {"name": "First", "model": asked}).json
        for noun in ("benchmark", "profiling", "optimization"):
            answer = self.ask(f"{noun}/add", self.right(f"{noun}/add"))
            assert answer.status == 200, answer.text
            self.ids |= answer.json

    def ask(self, path: str, body: Any, method: str = "POST") -> Answer:
        said = {"content_type": "application/json"} if isinstance(body, bytes) else {}
        answer: Answer = self.served.ask(method, f"/api/{path}", body, **said)
        return answer

    def query(self, path: str, body: dict[str, Any], method: str = "GET") -> Answer:
        asked = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in body.items()
        }
        said = urlencode(asked, errors="replace")
        answer: Answer = self.served.ask(method, f"/api/{path}?{said}")
        return answer

    def right(self, path: str) -> dict[str, Any]:
        """A body that is right, of the table's example."""
        body = dict(OPERATIONS[path].body or {})
        noun = path.partition("/")[0]
        here = self.ids | {"model_path": str(self.model), "path": str(self.model)}
        here |= {"dataset_path": "pictures", "cores_per_instance": 1, "num_threads": 1}
        here |= {"id": self.ids.get(f"{noun}_id", 1), "iterations": 5, "precision_id": 3}
        here["number_of_instance"] = 1
        body |= {name: value for name, value in here.items() if name in body}
        if path == "project/create":
            body["model"] = body["model"] | {"path": str(self.model)}
        if path.endswith("/delete"):
            body["name"] = "Another name"  # so that nothing goes that others ask about
        if path == "model/graph":
            body["path"] = str(self.model)
        return body


@pytest.fixture(scope="module")
def room(tmp_path_factory, starts_processes):
    folder = tmp_path_factory.mktemp("robust")
    root = folder / "root"
    root.mkdir()
    with serving(folder / "workspace", models_roots=(root,)) as served:
        yield Room(served, root)


def is_clear(path: str, answer: Answer) -> bool:
    """An answer, or one sentence in plain text that is no stack of ours."""
    if answer.status == 200:
        return True
    if (path, answer.status) == ("project", 500):
        return answer.text == "list index out of range"
    return (
        answer.status in (400, 403, 404)
        and answer.headers["content-type"].startswith("text/plain")
        and 5 < len(answer.text) < 600
        and "\n" not in answer.text.strip()
        and not any(
            word in answer.text for word in ("Traceback", "Error:", "Exception", "object at")
        )
    )


def unclear(room, path: str, body: Any, method: str = "POST") -> list[str]:
    answer = room.ask(path, body, method)
    if is_clear(path, answer):
        return []
    return [f"{method} {path} {str(body)[:200]}: {answer.status} {answer.text[:200]}"]


def replaced(body: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    head, _, rest = name.partition(".")
    if not rest:
        return body | {head: value}
    inside = body.get(head)
    return body | {head: replaced(inside if isinstance(inside, dict) else {}, rest, value)}


def without(body: dict[str, Any], name: str) -> dict[str, Any]:
    head, _, rest = name.partition(".")
    left = {key: value for key, value in body.items() if key != head}
    return left | {head: without(body.get(head, {}), rest)} if rest else left


@pytest.mark.parametrize("path", sorted(OPERATIONS))
def test_strange_values_are_answered_in_a_sentence(room, path):
    found = []
    values = NO_TYPE_FOR_ANYTHING if path in HEAVY else STRANGE
    for name, _ in OPERATIONS[path].parameters:
        for value in values:
            found += unclear(room, path, replaced(room.right(path), name, value))
    broken: tuple[Any, ...] = ([], "x", 1, None, True, b"{", b"", b"\xff", b'{"id":NaN}')
    for body in broken:
        found += unclear(room, path, body) if path not in HEAVY or body else []
    assert found == []


@pytest.mark.parametrize("path", sorted(OPERATIONS))
def test_a_missing_parameter_is_named_or_has_a_default(room, path):
    """``benchmark/add`` has defaults for what its document calls required (contracts §7)."""
    if path in HEAVY and path != "project/create":
        names = [name for name, is_required in OPERATIONS[path].parameters if is_required]
    else:
        names = [name for name, _ in OPERATIONS[path].parameters]
    for name in names:
        for method in ("POST",) if path in HEAVY else ("GET", "POST"):
            answer = room.ask(path, without(room.right(path), name), method)
            assert is_clear(path, answer), f"{path} without {name}: {answer.status} {answer.text}"


@pytest.mark.parametrize("path", sorted(OPERATIONS))
def test_unknown_numbers_are_not_found(room, path):
    body = room.right(path)
    names = [name for name, _ in OPERATIONS[path].parameters if name.endswith("id")]
    for name in names:
        if name in ("request_id", "precision_id", "optimization_type_id"):
            continue
        for value in (987654, "987654"):
            answer = room.ask(path, body | {name: value})
            assert is_clear(path, answer), answer.text
            if answer.status == 200:
                # A list of nothing, or nothing deleted: what clients of the original know.
                assert path.endswith(("/delete", "/list")), answer.text
                assert all(not value for value in answer.json.values()), answer.text


@pytest.mark.parametrize("path", sorted(set(OPERATIONS) & READING))
def test_reading_is_the_same_by_get_and_post_in_body_and_query(room, path):
    body = room.right(path)
    if path in ("model/graph/highlight_pattern", "get_possible_values"):
        body = {name: value for name, value in body.items() if isinstance(value, str)}
    answers = [
        room.ask(path, body, "GET"),
        room.ask(path, body, "POST"),
        room.query(path, body, "GET"),
        room.query(path, body, "POST"),
    ]
    assert {answer.status for answer in answers} in ({200}, {400}, {404})
    assert len({answer.body for answer in answers}) == 1


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside),
    max_leaves=6,
)


@settings(
    max_examples=300,
    derandomize=True,  # the same ones each time
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    path=st.sampled_from(sorted(OPERATIONS)),
    said=st.dictionaries(st.sampled_from(PARAMETERS) | st.text(max_size=8), JSON_VALUES),
    method=st.sampled_from(["GET", "POST"]),
    keeps=st.booleans(),
)
def test_random_bodies_are_answered_in_a_sentence(room, path, said, method, keeps):
    body = {name: value for name, value in said.items() if "." not in name}
    for name in (name for name in said if "." in name):
        body = replaced(body, name, said[name])
    if keeps and path not in HEAVY:
        body = room.right(path) | body
    assert unclear(room, path, body, method) == []


def test_the_call_of_1_9_answers_strange_values_in_a_sentence(room):
    assert EXECUTE_CALL.body
    found = []
    for value in STRANGE:
        for name in ("input_model", "input_model.path"):
            body = replaced({"id": "w", "input_model": {"precision": "fp32"}}, name, value)
            found += unclear(room, "benchmark", body)
    for name in ("id", "workspace_path", "optimized_model", "optimized_model.path",
                 "input_model.precision", "input_model.mods"):  # fmt: skip
        for value in NO_TYPE_FOR_ANYTHING:
            body = {"id": "w", "input_model": {"precision": "fp32", "path": str(room.model)}}
            if (answer := room.ask("benchmark", replaced(body, name, value))).status != 200:
                found += [] if is_clear("benchmark", answer) else [answer.text]
    assert found == []


def test_afterwards_everything_still_works(room):
    """Last in this file on purpose: what came before must have broken nothing."""
    with ears(room.served.url, room.served.token) as heard:
        asked = {"path": str(room.model), "input_nodes": "x", "output_nodes": "y", "shape": "4"}
        asked["domain"] = "Image Recognition"
        made = room.ask("project/create", {"name": "After", "model": asked}).json
        said = {name: made[name] for name in ("project_id", "model_id", "dataset_id")}
        said |= {"name": "b", "cores_per_instance": 1, "number_of_instance": 1, "iterations": 5}
        number = room.ask("benchmark/add", said).json["benchmark_id"]
        request_id = f"after {os.getpid()}"
        asked = {"request_id": request_id, "benchmark_id": number}
        assert room.ask("benchmark/execute", asked).status == 200

        def is_ours(name, payload):
            return name == "benchmark_finish" and payload["data"]["request_id"] == request_id

        *_, (_, finish) = heard.until(is_ours)
    assert (finish["status"], finish["data"]["status"]) == ("success", "success")
    assert finish["data"]["result"]["performance"] > 0
