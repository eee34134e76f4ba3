"""Requests that change something, in a fixed order, and what clients are sent meanwhile.

The frozen workspace's queue is paused, so jobs wait and nothing is measured. What a request
creates, later requests edit, start and delete; their numbers follow from the order.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import socketio

from modeldyno.client.io import make_ordered_client
from tests.api.live import Live
from tests.processes import until
from tests.recording.surfaces import FROZEN_AT, Surface, stable

HEADERS = (
    *("location", "etag", "idempotency-replayed", "retry-after", "content-disposition"),
    *("allow", "www-authenticate", "set-cookie"),
)
RUN_ID = re.compile(r"\b(20\d\d)(\d\d)(\d\d)-(\d\d)(\d\d)\d\d-[0-9a-f]{6}\b")
PLACEHOLDERS = {
    r"(?<![\w-])[\w-]{43}(?![\w-])": "CODE",  # of a sign-in
    r"modeldyno-\d+=": "modeldyno-PORT=",  # a cookie
}
# Kinds of runs of which clients of /api are told, by their names in events.
ANNOUNCED = ("benchmark", "profile", "optimization")
PATIENCE_S = 60.0  # for an event, on a machine that others use too
LAST_TERMINAL_RUN = "20261118-001922-2da947"  # in a folder, and not in the frozen database
BINARY = "application/octet-stream"
# Operations that write and are not recorded.
NOT_RECORDED = {
    "POST /api/v1/demo": "what it creates depends on the engines that are installed",
    "POST /api/v1/system/doctor": "it measures this machine",
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


# ---------------------------------------------------------------- listening


class Listeners:
    """A client of each namespace."""

    def __init__(self, server: Live, numbered: Any, default: Any) -> None:
        self._records = server.server.records
        self._numbered = numbered
        self._default = default
        self._last = self._records.events.last_number()

    def until_now(self) -> list[Any]:
        """Events of ``/v1`` up to the newest that is stored, and of progress between them."""
        last = self._records.events.last_number()
        frames = []
        while self._last < last:
            name, message = self._numbered.receive(timeout=PATIENCE_S)
            frames.append([name, message])
            self._last = message["number"] or self._last
        return frames

    def next(self, count: int) -> list[Any]:
        """So many events of the default namespace."""
        return [self._default.receive(timeout=PATIENCE_S) for _ in range(count)]


@contextmanager
def listening(server: Live) -> Iterator[Listeners]:
    """Clients that connect once the server has read the folders of runs: the last thing it writes
    by itself."""
    path = f"/api/v1/runs/{LAST_TERMINAL_RUN}"
    until(lambda: request(server, "GET", path).status == 200, "the run of the terminal")
    numbered = make_ordered_client(socketio)(reconnection=False, handle_sigint=False)
    default = socketio.SimpleClient(reconnection=False, handle_sigint=False)
    auth = {"token": server.token}
    try:
        numbered.connect(server.url, auth=auth, namespace="/v1", wait_timeout=PATIENCE_S)
        default.connect(server.url, auth=auth, wait_timeout=PATIENCE_S)
        assert numbered.call("subscribe", {"project_id": None}, timeout=PATIENCE_S)["ok"]
        yield Listeners(server, numbered, default)
    finally:
        numbered.disconnect()
        default.disconnect()


# ---------------------------------------------------------------- sending


class Texts:
    """Makes texts comparable: runs that are new are numbered in the order they appear."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._runs: dict[str, str] = {}

    def comparable(self, text: str) -> str:
        for pattern, placeholder in PLACEHOLDERS.items():
            text = re.sub(pattern, placeholder, text)
        return RUN_ID.sub(self._run_name, stable(text, self.workspace))

    def _run_name(self, match: re.Match[str]) -> str:
        year, month, day, hour, minute = match.groups()
        if f"{year}-{month}-{day} {hour}:{minute}" < FROZEN_AT:
            return match[0]
        return self._runs.setdefault(match[0], f"RUN-{len(self._runs) + 1}")


@dataclass
class Recorder:
    """Sends requests; keeps the answer to each, and the frames it caused."""

    server: Live
    texts: Texts
    listeners: Listeners
    answers: list[Surface] = field(default_factory=list)
    frames: list[Surface] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)  # methods and paths

    def send(
        self, name: str, method: str, path: str, body: Any = None, others: int = 0, **headers: str
    ) -> Answer:
        """``others``: how many frames the default namespace sends that are not about a run."""
        assert name not in dict(self.answers), name
        answer = request(self.server, method, path, body, **headers)
        self.sent.append((method, path.partition("?")[0]))
        exchange = exchange_text(method, path, body, headers, answer)
        self.answers.append((name, self.texts.comparable(exchange)))
        numbered = self.listeners.until_now()
        default = self.listeners.next(_announced(numbered) + others)
        lines = [frame_text("/v1", *frame) for frame in numbered]
        if any(message["kind"].endswith(".deleted") for _, message in numbered):
            default = [(event, _without_race(message)) for event, message in default]
        lines += [frame_text("/", *frame) for frame in default]
        if lines:
            self.frames.append((name, self.texts.comparable("\n".join(lines))))
        return answer

    def v1(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        return self.send(f"v1-{name}", method, f"/api/v1/{path}", body, 0, **headers)

    def inc(self, name: str, operation: str, others: int = 0, /, **body: Any) -> Answer:
        return self.send(f"inc-{name}", "POST", f"/api/{operation}", body, others)


def _announced(frames: list[Any]) -> int:
    """How many frames the default namespace sends about these."""
    changes = [message["data"] for _, message in frames if message["kind"] == "run.changed"]
    return sum(change["state"] != "queued" and change["kind"] in ANNOUNCED for change in changes)


def frame_text(namespace: str, event: str, message: Any) -> str:
    return f"{namespace} {event} {json.dumps(message, indent=1, ensure_ascii=False)}"


def _without_race(message: Any) -> Any:
    """The reason why a deleted run ended depends on whether its row is still there when the
    announcer looks."""
    data = message["data"]
    if data.get("error_code") in ("CANCELLED", "NOT_FOUND"):
        data = data | {"message": "cancelled or deleted", "error_code": "CANCELLED or NOT_FOUND"}
    return message | {"data": data}


def request(server: Live, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """``body`` is sent as JSON unless it is bytes; ``if_match="x"`` becomes ``If-Match: x``."""
    sent = {name.replace("_", "-").title(): value for name, value in headers.items()}
    sent["Authorization"] = f"Bearer {server.token}"
    if body is not None:
        kind = BINARY if isinstance(body, bytes) else "application/json"
        sent.setdefault("Content-Type", kind)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    message = urllib.request.Request(server.url + path, data, sent, method=method)
    try:
        with urllib.request.urlopen(message, timeout=PATIENCE_S) as reply:
            return _answer(reply.status, reply)
    except urllib.error.HTTPError as reply:
        with reply:
            return _answer(reply.code, reply)


def _answer(status: int, reply: Any) -> Answer:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return Answer(status, headers, reply.read().decode())


def exchange_text(
    method: str, path: str, body: Any, headers: dict[str, str], answer: Answer
) -> str:
    lines = [f"{method} {path}", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None:
        lines.append(repr(body) if isinstance(body, bytes) else json.dumps(body))
    kind = answer.headers.get("content-type", "")
    lines.append(f"--- {answer.status} {kind}".rstrip())
    lines += [f"{name}: {answer.headers[name]}" for name in HEADERS if name in answer.headers]
    text = answer.text
    if text and "json" in kind:
        shown = answer.json
        if "/queue/" in path:
            shown["cores"] = [*shown["cores"][0]]  # others may measure on this machine
        text = json.dumps(shown, indent=1, ensure_ascii=False)
    return "\n".join([*lines, text])


# ---------------------------------------------------------------- the requests


def record(server: Live, workspace: Path, listeners: Listeners) -> Recorder:
    to = Recorder(server, Texts(workspace), listeners)
    _projects(to)
    _models(to)
    _datasets(to)
    _benchmarks(to)
    _comparisons(to)
    _profiles(to)
    _optimizations(to)
    _notes(to)
    _jobs(to)
    _session(to)
    _reference_projects(to)
    _reference_datasets(to)
    _reference_benchmarks(to)
    _reference_profilings(to)
    _reference_optimizations(to)
    _reference_others(to)
    _deletions(to)
    to.answers.append(("operations-not-recorded", "\n".join(_left_out(to))))
    return to


def _left_out(to: Recorder) -> Iterator[str]:
    """Writing operations of the OpenAPI document to which nothing was sent."""
    paths = request(to.server, "GET", "/api/v1/openapi.json").json["paths"]
    for path, operations in paths.items():
        pattern = re.compile(re.sub(r"{\w+}", "[^/]+", path))
        for method in (name.upper() for name in operations if name not in ("get", "parameters")):
            if not any(m == method and pattern.fullmatch(p) for m, p in to.sent):
                reason = NOT_RECORDED.get(f"{method} {path}", "no reason")
                yield f"{method} {path}: {reason}"


def _projects(to: Recorder) -> None:
    body = {"name": "New"}
    to.v1("project-created", "POST", "projects", body, idempotency_key="one")
    to.v1("project-created-again", "POST", "projects", body, idempotency_key="one")
    to.v1("project-other-under-the-key", "POST", "projects", {"name": "X"}, idempotency_key="one")
    draft = to.v1("project-draft", "POST", "projects", {"name": "Draft", "is_draft": True}).json
    to.v1("project-draft-named", "PATCH", f"projects/{draft['id']}", {"name": "No draft"})
    to.v1("project-without-a-name", "POST", "projects", {})
    to.v1("project-unknown-field", "POST", "projects", {"name": "New", "colour": "red"})
    to.v1("project-not-json", "POST", "projects", b"{", content_type="application/json")
    to.v1("project-renamed", "PATCH", "projects/3", {"name": "Still empty"})
    to.v1("project-unknown", "PATCH", "projects/999", {"name": "New"})
    to.v1("baseline-set", "PATCH", "projects/2", {"baseline_benchmark_id": 4, "accept_noisy": True})
    to.v1("baseline-not-done", "PATCH", "projects/2", {"baseline_benchmark_id": 10})
    other = {"baseline_benchmark_id": 1, "accept_noisy": True}
    to.v1("baseline-of-another-project", "PATCH", "projects/2", other)
    to.v1("baseline-noisy", "PATCH", "projects/1", {"baseline_benchmark_id": 1})
    to.v1("baseline-removed", "PATCH", "projects/2", {"baseline_benchmark_id": None})


def _models(to: Recorder) -> None:
    script = json.dumps({"modeldyno": "scripted/1", "latency_us": 70}).encode()
    sent = to.v1("model-sent", "POST", "projects/3/models?name=new.json", script).json
    to.v1("model-not-readable", "POST", "projects/3/models?name=new.onnx", b"no model")
    to.v1("model-with-a-folder", "POST", "projects/3/models?name=a%2Fnew.json", script)
    to.v1("model-for-no-project", "POST", "projects/999/models?name=new.json", script)
    path = str(to.texts.workspace.parent / "models" / "steady.json")
    to.v1("model-imported", "POST", "projects/3/models/import", {"path": path, "name": "Copy"})
    to.v1("model-import-outside", "POST", "projects/3/models/import", {"path": "/etc/passwd"})
    to.v1("model-unknown-example", "POST", "projects/3/models/example", {"example": "no-such"})
    to.v1("model-renamed", "PATCH", f"models/{sent['id']}", {"name": "Renamed"})
    to.v1("model-unknown", "PATCH", "models/999", {"name": "Renamed"})
    to.v1("model-weights-not-wanted", "PUT", f"models/{sent['id']}/files/w.bin", b"0")
    to.v1("model-inspected", "POST", f"models/{sent['id']}/inspect")
    to.v1("model-trust-withdrawn", "DELETE", "models/8/trust")
    to.v1("model-trusted", "PUT", "models/8/trust", {"reason": "I wrote it"})
    to.v1("model-trust-not-needed", "PUT", "models/3/trust", {})
    to.v1("model-tried-with-an-unknown-engine", "POST", "models/3/try", {"engine": "no-such"})
    to.v1("model-not-convertible", "POST", "models/3/conversions", {"to": "onnx"})
    to.v1("conversion-unknown", "POST", "conversions/999/cancel")
    to.v1("model-in-use", "DELETE", "models/3")


def _datasets(to: Recorder) -> None:
    body = {"project_id": 2, "name": "More noise", "kind": "dummy_v2"}
    parameters = {"input_shape": [4], "label_shape": [1]}
    made = to.v1("dataset-created", "POST", "datasets", body | {"parameters": parameters}).json
    to.v1("dataset-for-no-project", "POST", "datasets", body | {"project_id": 999})
    to.v1("dataset-without-a-kind", "POST", "datasets", {"project_id": 2, "name": "X"})
    to.v1("dataset-deleted", "DELETE", f"datasets/{made['id']}")
    to.v1("dataset-in-use", "DELETE", "datasets/1")
    to.v1("dataset-unknown", "DELETE", "datasets/999")


LIMIT = {"memory_limit_bytes": 1 << 30}  # the usual limit is a share of the machine's memory


def _benchmarks(to: Recorder) -> None:
    body: dict[str, Any] = {"project_id": 2, "model_id": 3, "iterations": 5, **LIMIT}
    draft = {"name": "New", "batch_sizes": [1, 2], "start": False}
    made = to.v1("benchmark-created", "POST", "benchmarks", body | draft).json["id"]
    to.v1("benchmark-started-at-once", "POST", "benchmarks", body, idempotency_key="b")
    to.v1("benchmark-started-at-once-again", "POST", "benchmarks", body, idempotency_key="b")
    to.v1("benchmark-planned", "POST", "benchmarks/plan", {"model_id": 3, "budget": 1.0, **LIMIT})
    to.v1("benchmark-of-no-model", "POST", "benchmarks", body | {"model_id": 999})
    to.v1("benchmark-model-elsewhere", "POST", "benchmarks", body | {"model_id": 1})
    to.v1("benchmark-no-such-engine", "POST", "benchmarks", body | {"engines": ["none"]})
    to.v1("benchmark-bad-batch", "POST", "benchmarks", body | {"batch_sizes": [0]})
    to.v1("benchmark-edited", "PATCH", f"benchmarks/{made}", {"batch_sizes": [4], "warmup": 1})
    to.v1("benchmark-renamed", "PATCH", f"benchmarks/{made}", {"name": "Renamed"})
    to.v1("benchmark-renamed-after-its-run", "PATCH", "benchmarks/4", {"name": "Slower, renamed"})
    to.v1("benchmark-edited-after-its-run", "PATCH", "benchmarks/4", {"iterations": 7})
    to.v1("benchmark-started", "POST", f"benchmarks/{made}/runs")
    to.v1("benchmark-started-twice", "POST", f"benchmarks/{made}/runs")
    to.v1("benchmark-rerun", "POST", "benchmarks/8/rerun")
    to.v1("benchmark-rerun-of-a-draft", "POST", "benchmarks/10/rerun")
    to.v1("benchmark-rerun-unknown", "POST", "benchmarks/999/rerun")
    to.v1("benchmark-not-deleted-while-it-waits", "DELETE", f"benchmarks/{made}")


def _comparisons(to: Recorder) -> None:
    body: dict[str, Any] = {"project_id": 2, "pairs": 4, **LIMIT}
    body |= {"a": {"model_id": 3}, "b": {"model_id": 4}}
    made = to.v1("comparison-created", "POST", "comparisons", body | {"start": False}).json["id"]
    to.v1("comparison-started-at-once", "POST", "comparisons", body | {"name": "Sides"})
    to.v1("comparison-of-one-side", "POST", "comparisons", {"project_id": 2, "a": {"model_id": 3}})
    to.v1("comparison-of-no-model", "POST", "comparisons", body | {"b": {"model_id": 999}})
    side = {"model_id": 3, "batch_size": 2}
    to.v1("comparison-edited", "PATCH", f"comparisons/{made}", {"b": side, "margin": 0.1})
    to.v1("comparison-renamed", "PATCH", f"comparisons/{made}", {"name": "Renamed"})
    to.v1("comparison-edited-after-its-run", "PATCH", "comparisons/2", {"margin": 0.1})
    to.v1("comparison-started", "POST", f"comparisons/{made}/runs")
    to.v1("comparison-rerun", "POST", "comparisons/2/rerun")
    to.v1("comparison-deleted", "DELETE", "comparisons/3")
    to.v1("comparison-unknown", "DELETE", "comparisons/999")


def _profiles(to: Recorder) -> None:
    body: dict[str, Any] = {"project_id": 2, "model_id": 3, "repeats": 2, **LIMIT}
    made = to.v1("profile-created", "POST", "profiles", body | {"start": False}).json["id"]
    to.v1("profile-started-at-once", "POST", "profiles", body | {"name": "Profile"})
    to.v1("profile-of-no-model", "POST", "profiles", body | {"model_id": 999})
    to.v1("profile-edited", "PATCH", f"profiles/{made}", {"repeats": 3, "name": "Renamed"})
    to.v1("profile-edited-after-its-run", "PATCH", "profiles/3", {"repeats": 3})
    to.v1("profile-started", "POST", f"profiles/{made}/runs")
    to.v1("profile-deleted", "DELETE", "profiles/5")
    to.v1("profile-unknown", "DELETE", "profiles/999")


def _optimizations(to: Recorder) -> None:
    body = {"project_id": 2, "model_id": 3, "name": "New", "dataset_id": 1}
    made = to.v1("optimization-created", "POST", "optimizations", body).json["id"]
    to.v1("optimization-bad-precision", "POST", "optimizations", body | {"precision": "int4"})
    settings = {"settings": {"max_trials": 3}, "precision": "bf16"}
    to.v1("optimization-edited", "PATCH", f"optimizations/{made}", settings)
    to.v1("optimization-edited-after-its-run", "PATCH", "optimizations/1", settings)
    job = to.v1("optimization-started", "POST", f"optimizations/{made}/runs").json["id"]
    to.v1("optimization-cancelled", "POST", f"jobs/{job}/cancel")
    to.v1("pin-set", "PUT", "optimizations/1/pins/performance", {"benchmark_id": 4})
    to.v1("pin-of-another-mode", "PUT", "optimizations/1/pins/accuracy", {"benchmark_id": 4})
    to.v1("pin-of-another-model", "PUT", "optimizations/1/pins/performance", {"benchmark_id": 3})
    to.v1("pin-unknown-kind", "PUT", "optimizations/1/pins/beauty", {"benchmark_id": 4})
    to.v1("pin-removed", "DELETE", "optimizations/1/pins/performance")
    to.v1("optimization-deleted", "DELETE", "optimizations/2")
    to.v1("optimization-unknown", "DELETE", "optimizations/999")


def _notes(to: Recorder) -> None:
    body = {"text": "A *new* note."}
    subjects = ("project", "model", "dataset", "benchmark", "comparison", "optimization", "profile")
    for kind in subjects:
        to.v1(f"note-of-{kind}", "PUT", f"{kind}s/1/note", body, if_match="*")
    to.v1("note-without-a-version", "PUT", "projects/2/note", body)
    to.v1("note-of-an-old-version", "PUT", "projects/2/note", body, if_match='"7"')
    to.v1("note-of-this-version", "PUT", "projects/2/note", body, if_match='"1"')
    to.v1("note-of-nothing", "PUT", "projects/999/note", body, if_match="*")


def _jobs(to: Recorder) -> None:
    """Job 17 waits, 16 was interrupted, 15 cancelled, 1 is done."""
    to.v1("queue-paused", "POST", "queue/pause")
    to.v1("job-resumed", "POST", "jobs/16/resume")
    to.v1("job-resumed-when-done", "POST", "jobs/1/resume")
    to.v1("job-moved-to-the-front", "POST", "jobs/16/next")
    to.v1("job-moved", "PUT", "jobs/17/place", {"place": 3})
    to.v1("job-moved-nowhere", "PUT", "jobs/17/place", {"place": 0})
    to.v1("job-moved-when-done", "PUT", "jobs/1/place", {"place": 1})
    to.v1("job-cancelled", "POST", "jobs/16/cancel")
    to.v1("job-cancelled-twice", "POST", "jobs/16/cancel")
    to.v1("job-unknown", "POST", "jobs/999/cancel")
    run_id = "20261118-001834-2e03c8"  # of benchmark 8
    to.v1("run-deleted", "DELETE", f"runs/{run_id}")
    to.v1("run-deleted-twice", "DELETE", f"runs/{run_id}")


def _session(to: Recorder) -> None:
    to.v1("session-ended-with-a-token", "DELETE", "session")
    to.v1("session-code", "POST", "session/codes")


def _reference_projects(to: Recorder) -> None:
    path = str(to.texts.workspace.parent / "models" / "steady.json")
    model = {"path": path, "domain": "Image Recognition", "shape": "4"}
    to.inc("project-created", "project/create", name="Reference", model=model)
    to.inc("project-of-no-file", "project/create", name="X", model={"path": f"{path}.no"})
    to.inc("project-noted", "project/note", id=2, notes="Written by a stock client.")
    to.inc("project-noted-without-text", "project/note", id=2)
    to.inc("project-deleted-by-another-name", "project/delete", id=3, name="Another")
    to.inc("project-without-an-id", "project/delete", name="Another")


def _reference_datasets(to: Recorder) -> None:
    form: dict[str, Any] = {"project_id": 2, "name": "Form", "dataset_path": "", "transform": []}
    form |= {"dataloader": {"name": "dummy_v2", "params": {"input_shape": "[4]"}}}
    form |= {"metric": "topk", "metric_param": 1}
    made = to.inc("dataset-added", "dataset/add", **form).json["dataset_id"]
    to.inc("dataset-incomplete", "dataset/add", project_id=2, name="Form")
    to.inc("dataset-deleted-by-another-name", "dataset/delete", id=made, name="Another")
    to.inc("dataset-deleted", "dataset/delete", id=made, name="Form")


def _reference_benchmarks(to: Recorder) -> None:
    form = {"project_id": 2, "model_id": 3, "name": "Form", "dataset_id": 1, "batch_size": 1}
    cores = {"cores_per_instance": 1, "number_of_instance": 1, "iterations": 5}
    made = to.inc("benchmark-added", "benchmark/add", **form, **cores).json["benchmark_id"]
    to.inc("benchmark-incomplete", "benchmark/add", project_id=2, name="Form")
    to.inc("benchmark-edited", "benchmark/edit", id=made, batch_size=2, mode="accuracy")
    to.inc("benchmark-edited-after-its-run", "benchmark/edit", id=4, batch_size=2)
    execute = {"request_id": "request", "benchmark_id": made}
    to.inc("benchmark-executed", "benchmark/execute", **execute)
    to.inc("benchmark-executed-twice", "benchmark/execute", **execute)
    to.inc("benchmark-executed-without-a-request", "benchmark/execute", benchmark_id=made)
    to.inc("benchmark-deleted-by-another-name", "benchmark/delete", id=made, name="Another")
    to.inc("benchmark-deleted", "benchmark/delete", id=made, name="Form")
    to.inc("benchmark-deleted-twice", "benchmark/delete", id=made, name="Form")


def _reference_profilings(to: Recorder) -> None:
    form = {"project_id": 2, "model_id": 3, "name": "Form", "dataset_id": 1, "num_threads": 1}
    made = to.inc("profiling-added", "profiling/add", **form).json["profiling_id"]
    to.inc("profiling-without-threads", "profiling/add", **form | {"num_threads": None})
    to.inc("profiling-edited", "profiling/edit", id=made, num_threads=2)
    to.inc("profiling-edited-after-its-run", "profiling/edit", id=3, num_threads=2)
    to.inc("profiling-executed", "profiling/execute", request_id="request", profiling_id=made)
    to.inc("profiling-deleted", "profiling/delete", id=made, name="Form")


def _reference_optimizations(to: Recorder) -> None:
    form = {"project_id": 2, "name": "Form", "dataset_id": 1}
    form |= {"precision_id": 3, "optimization_type_id": 1}
    made = to.inc("optimization-added", "optimization/add", **form).json["optimization_id"]
    to.inc("optimization-of-no-type", "optimization/add", **form | {"optimization_type_id": 9})
    tuning = {"strategy": "bayesian", "exit_policy": {"max_trials": 3}}
    to.inc("optimization-edited", "optimization/edit", id=made, tuning_details=tuning)
    to.inc("optimization-edited-after-its-run", "optimization/edit", id=1, precision_id=2)
    pin = {"optimization_id": 1, "benchmark_id": 4}
    to.inc("accuracy-pinned", "optimization/pin_accuracy_benchmark", **pin)
    to.inc("performance-pinned", "optimization/pin_performance_benchmark", **pin)
    execute = {"request_id": "request", "optimization_id": made}
    to.inc("optimization-executed", "optimization/execute", **execute)
    to.inc("optimization-deleted", "optimization/delete", id=made, name="Form")


def _reference_others(to: Recorder) -> None:
    path = str(to.texts.workspace.parent / "models" / "steady.json")
    look = {"request_id": "request", "model_path": path}
    to.inc("boundary-nodes", "model/boundary_nodes", 2, **look)
    look["model_path"] = f"{path}.no"
    to.inc("boundary-nodes-of-no-file", "model/boundary_nodes", 2, **look)
    unknown = {"request_id": "request", "name": "X", "domain": "x", "framework": "x", "model": "x"}
    to.inc("example-unknown", "examples/add", **unknown)
    to.inc("diagnosis-of-an-optimization", "diagnosis/generate_optimization", optimization_id=1)
    to.inc("workload-without-a-path", "benchmark", id="w", input_model={"precision": "fp32"})
    to.inc("workload", "benchmark", id="w", input_model={"path": path, "precision": "fp32"})
    to.inc("operation-unknown", "benchmark/polish", id=1)


def _deletions(to: Recorder) -> None:
    to.v1("model-deleted", "DELETE", "models/6?cascade=true")
    to.v1("dataset-deleted-with-its-users", "DELETE", "datasets/1?cascade=true")
    to.v1("benchmark-deleted", "DELETE", "benchmarks/3")
    to.v1("project-not-empty", "DELETE", "projects/1")
    to.v1("project-deleted", "DELETE", "projects/1?cascade=true")
    to.v1("project-deleted-twice", "DELETE", "projects/1?cascade=true")
    to.inc("project-deleted", "project/delete", id=2, name="Vision")
    (newest,) = request(to.server, "GET", "/api/v1/projects?limit=1").json["items"]
    to.inc("workload-deleted", "project/delete", id=newest["id"], name=newest["name"])
    to.v1("queue-resumed", "POST", "queue/resume")
