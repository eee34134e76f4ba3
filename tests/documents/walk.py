"""Use the whole API once, as its document says, on a real server with a real ONNX model.

Bodies are the document's own examples where it is at hand, else those of our table; numbers, names
and paths of things that there are take the place of the examples'. Nothing else is added to them.
What was answered and pushed is kept for the tests to look at: one walk is enough for all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.ids import ModelId, OptimizationId
from modeldyno.core.models import NewModel
from modeldyno.core.optimizations import Trial
from modeldyno.core.runs import RunOf
from tests.api.v1.server import Answer, Served
from tests.documents.documented import Documented
from tests.documents.hearing import Ears, Heard

CORES = len(os.sched_getaffinity(0))
DEFERRED = 102


@dataclass(frozen=True)
class Told:
    """What came of one call."""

    asked: Documented
    body: Any
    answer: Answer
    events: Sequence[Heard] = ()

    @property
    def json(self) -> Any:
        return self.answer.json if self.answer.status == 200 else None


@dataclass
class Walk:
    """``examples`` by path; of those that are documented twice, the first."""

    served: Served
    ears: Ears
    examples: Mapping[str, Documented]
    told: dict[str, Told] = field(default_factory=dict)

    def ask(self, path: str, said: Mapping[str, Any] | None = None, name: str = "") -> Any:
        """``said`` replaces values of the example, by dotted names. Answers what was answered."""
        asked = self.examples[path]
        return self.call(asked, put(asked.body, said or {}), name or path)

    def call(self, asked: Documented, body: Any, name: str) -> Any:
        address, sent = f"/api/{asked.path}", body
        if body is not None and asked.query:
            address, sent = f"{address}?{urlencode(body)}", None
        answer = self.served.ask(asked.method, address, sent)
        events: Sequence[Heard] = ()
        if answer.status == 200 and asked.events:
            last = _last(asked)
            events = self.ears.until(lambda heard, _: heard == last)
        self.told[name] = Told(asked, body, answer, events)
        try:
            return json.loads(answer.body) if answer.status == 200 else {}
        except ValueError:
            return {}


def _last(asked: Documented) -> str:
    """The older copy of the examples' section ends with another event (decision 3)."""
    return asked.events[-1].name.replace("example_finish", "create_example_project_finish")


def put(body: Any, said: Mapping[str, Any]) -> Any:
    """The example with some values replaced; only those that it has."""
    found = json.loads(json.dumps(body))
    for name, value in said.items():
        *parents, last = name.split(".")
        inside = found
        for parent in parents:
            inside = inside[parent]
        assert last in inside, f"the example has no {name}: {body}"
        inside[last] = value
    return found


def walk(
    go: Walk, model: Path, smaller: Path, pictures: Path, older: Documented, older_call: Documented
) -> None:
    """``older``: the second documented way to add an example; ``older_call``: that of 1.9."""
    _dictionaries(go)
    _looking(go, model)
    project = _project(go, model)
    dataset = _datasets(go, project["project_id"], project["dataset_id"], pictures)
    ids = {"project_id": project["project_id"], "dataset_id": project["dataset_id"]}
    ids["model_id"] = project["model_id"]
    benchmark = _benchmarks(go, ids, dataset)
    _profilings(go, ids, dataset)
    _optimizations(go, ids, dataset)
    _rest(go, ids, model)
    _examples(go, older)
    _older_call(go, older_call, model, smaller)
    _deleting(go, ids, benchmark)


def _dictionaries(go: Walk) -> None:
    for path, example in go.examples.items():
        if path.startswith("dict/") or path in ("examples/list", "list_model_zoo", "system_info"):
            go.call(example, example.body, path)
    for path in ("get_default_path", "get_possible_values", "dataset/predefined", "jobs/queue"):
        go.ask(path)


def _looking(go: Walk, model: Path) -> None:
    go.ask("model/boundary_nodes", {"model_path": str(model)})
    graph = go.examples["model/graph"]
    go.call(Documented(graph.path, graph.method, query="path="), {"path": str(model)}, graph.path)
    files = go.examples["filesystem"]
    asked = {"path": str(model.parent), "filter": "models"}
    go.call(Documented(files.path, files.method, query="path="), asked, files.path)


def _project(go: Walk, model: Path) -> dict[str, int]:
    said = {"model.path": str(model), "model.input_nodes": "x", "model.output_nodes": "y"}
    go.ask("project/create", {"name": "Without a shape"} | said)
    asked = go.examples["project/create"]
    body = put(asked.body, said)
    body["model"]["shape"] = "4"  # documented, and not in the example
    made = go.call(asked, body, "project/create with a shape")
    found: dict[str, int] = {"project_id": 0, "model_id": 0, "dataset_id": 0} | made
    go.ask("project/note", {"id": found["project_id"]})
    go.ask("project", {"id": found["project_id"]})
    go.ask("project/list")
    go.ask("model/list", {"project_id": found["project_id"]})
    return found


def _datasets(go: Walk, project_id: int, dummy: int, pictures: Path) -> int:
    said = {"project_id": project_id, "dataset_path": str(pictures)}
    added = go.ask("dataset/add", said).get("dataset_id", 0)
    go.ask("dataset", {"id": dummy})
    go.ask("dataset", {"id": added}, "dataset that was added")
    go.ask("dataset/list", {"project_id": project_id})
    gone = go.ask("dataset/add", said | {"name": "Of no use"}, "dataset/add, to delete")
    go.ask("dataset/delete", {"id": gone.get("dataset_id", 0), "name": "Of no use"})
    assert isinstance(added, int)
    return added


def _benchmarks(go: Walk, ids: dict[str, int], other_dataset: int) -> int:
    here = {"cores_per_instance": 1}  # the example has four, which this machine may not
    edited = go.ask("benchmark/add", ids | here).get("benchmark_id", 0)
    said = {"id": edited, "dataset_id": other_dataset, "number_of_instance": CORES}
    go.ask("benchmark/edit", said | here)
    made = go.ask("benchmark/add", ids | here).get("benchmark_id", 0)
    go.ask("benchmark", {"id": made})
    go.ask("benchmark/list", {"project_id": ids["project_id"]})
    go.ask("benchmark/execute", {"benchmark_id": made})
    go.ask("benchmark/config.yaml", {"id": made})
    go.ask("benchmark/output.log", {"id": made})
    go.ask("benchmark/list", {"project_id": ids["project_id"]}, "benchmark/list afterwards")
    assert isinstance(made, int)
    return made


def _profilings(go: Walk, ids: dict[str, int], other_dataset: int) -> None:
    here = {"num_threads": 1}
    made = go.ask("profiling/add", ids | here).get("profiling_id", 0)
    go.ask("profiling", {"id": made})
    go.ask("profiling/edit", {"id": made, "dataset_id": other_dataset} | here)
    go.ask("profiling/execute", {"profiling_id": made})
    go.ask("profiling/list", {"project_id": ids["project_id"]})
    go.ask("profiling/results/csv", {"id": made})
    go.ask("profiling/output.log", {"id": made})
    go.ask("profiling/config.yaml", {"id": made})
    go.ask("profiling/delete", {"id": made, "name": go.told["profiling/add"].body["name"]})


def _optimizations(go: Walk, ids: dict[str, int], other_dataset: int) -> None:
    said = {"project_id": ids["project_id"], "dataset_id": other_dataset}
    said["precision_id"] = 3  # int8, in the dictionary; the examples have other numbers for it
    made = go.ask("optimization/add", said).get("optimization_id", 0)
    go.ask("optimization/edit", {"id": made})
    go.ask("optimization/execute", {"optimization_id": made})
    go.ask("optimization/config.yaml", {"id": made})
    go.ask("optimization/output.log", {"id": made})
    go.ask("optimization", {"id": made}, "optimization that failed")
    name = "Done"
    done = go.ask("optimization/add", said | {"name": name}, "optimization/add for pins")
    number = done.get("optimization_id", 0)
    better = dict(ids, model_id=_optimized(go.served, ids["model_id"], number) if number else 0)
    for kind in ("accuracy", "performance"):
        asked = better | {"cores_per_instance": 1, "name": f"{kind} of the better one"}
        made = go.ask("benchmark/add", asked, f"benchmark/add for {kind}").get("benchmark_id", 0)
        here = {"cores_per_instance": 1, "number_of_instance": 1, "mode": kind}
        go.ask("benchmark/edit", {"id": made, "dataset_id": ids["dataset_id"]} | here, f"as {kind}")
        go.ask(
            f"optimization/pin_{kind}_benchmark", {"optimization_id": number, "benchmark_id": made}
        )
    go.ask("optimization", {"id": number})
    go.ask("optimization/list", {"project_id": ids["project_id"]})
    go.ask("optimization/delete", {"id": number, "name": name})


def _optimized(served: Served, model_id: int, number: int) -> int:
    """No version of ours optimizes yet: a run that did, with its model, by hand."""
    records = served.server.records
    model = records.models.get(ModelId(model_id))
    names = {one.name for one in fields(NewModel)}
    same = {name: getattr(model, name) for name in names}
    made = records.models.add(NewModel(**same | {"name": "done", "origin": "optimization"}))
    run = records.runs.add(RunOf("optimization", OptimizationId(number)), {}, state="running")
    records.optimizations.add_trial(
        Trial(run_id=run.id, number=1, status="done", created_at=datetime.now(UTC),
              model_id=made.id, accuracy=0.7, typical_s=0.01, is_best=True)
    )  # fmt: skip
    records.runs.finish(run.id, SummaryDocument())
    return made.id


def _rest(go: Walk, ids: dict[str, int], model: Path) -> None:
    go.ask("model/download", {"id": ids["model_id"]})
    go.ask("model/graph/highlight_pattern", {"path": [str(model)], "op_name": "gemm"})
    both = {"project_id": ids["project_id"], "model_id": ids["model_id"]}
    for path in ("op_list", "op_details", "histogram"):
        go.ask(f"diagnosis/{path}", both)
    go.ask("diagnosis/model_wise_params")
    go.ask("diagnosis/generate_optimization", {"project_id": ids["project_id"]})


def _examples(go: Walk, older: Documented) -> None:
    """Those of the document are downloaded from elsewhere; one of the onnx wheel is at hand."""
    rows = go.told["examples/list"].json or []
    here = [row for row in rows if row["framework"] == "ONNXRT"]
    said = here[0] if here else {}
    go.ask("examples/add", said | {"name": "Of an example"})
    go.call(older, put(older.body, said | {"name": "The other way"}), "examples/add, older")


def _older_call(go: Walk, asked: Documented, model: Path, smaller: Path) -> None:
    said = {"workspace_path": str(model.parent), "input_model.path": str(model)}
    go.call(asked, put(asked.body, said | {"optimized_model.path": str(smaller)}), "1.9")


def _deleting(go: Walk, ids: dict[str, int], benchmark: int) -> None:
    for noun, number in (("benchmark", benchmark),):
        name = go.told[f"{noun}/add"].body["name"]
        go.ask(f"{noun}/delete", {"id": number, "name": name})
    name = go.told["project/create with a shape"].body["name"]
    go.ask("project/delete", {"id": ids["project_id"], "name": name})
