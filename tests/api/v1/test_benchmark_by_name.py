"""``GET /api/v1/benchmark/{model_name}``: what it measures, and how it waits."""

from __future__ import annotations

import http.client
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper

from modeldyno.core.sessions import Energy
from modeldyno.measure import energy
from modeldyno.settings import Settings
from modeldyno.workbench import open_records
from tests import onnx_models as made
from tests.api.v1.by_name import DOCUMENTED, ask, folders, measured, refused
from tests.api.v1.server import PATIENCE_S, Answer, serving
from tests.scripts import fault, script

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("served")
    exported = folders(workspace)
    made.saved(made.linear(), exported / "linear.onnx")
    made.saved(made.linear(batch=1), exported / "fixed.onnx")
    made.saved(made.embedding(), exported / "embedding.onnx")
    script(exported / "quick.json", latency_us=100)
    script(exported / "endless.json", load_ms=600_000)
    script(exported / "crash.json", faults=[fault("segfault", call=3)])
    with serving(workspace) as found:
        yield found


@pytest.fixture(scope="module")
def schemas(served):
    return served.get("/api/v1/openapi.json").json


def as_told(schemas, found, status=200):
    """What OpenAPI tells of the answer holds."""
    told = schemas["paths"]["/api/v1/benchmark/{model_name}"]["get"]["responses"][str(status)]
    schema = told["content"]["application/json"]["schema"] | {"components": schemas["components"]}
    Draft202012Validator(schema).validate(found)


class Clockwork:
    has_meter = True

    def __init__(self, device: str) -> None:
        assert device == "cpu"

    def start(self) -> tuple[int, ...]:
        return (time.perf_counter_ns(),)

    def stop(self, before: tuple[int, ...], calls: float) -> Energy:
        return Energy((time.perf_counter_ns() - before[0]) / 1e9, "a clock", calls)


def job_of(served, found):
    return served.get(f"jobs/{found['job_id']}").json


@pytest.fixture(scope="module")
def usual(served):
    """What many of these tests look at."""
    return measured(served, "linear.onnx", iterations=100, warmup=10)


@pytest.fixture(scope="module")
def batches(served):
    return measured(served, "linear.onnx", batch_size=8, iterations=50, cores=2, warmup=3)


# ---------------------------------------------------------------- what comes back


def test_a_model_is_measured_by_its_name_with_every_documented_field(usual, schemas):
    found = usual
    assert {key: type(found[key]) for key in DOCUMENTED} == DOCUMENTED
    as_told(schemas, found)
    told = {key: found[key] for key in ("framework", "input_shape", "providers", "parameters")}
    assert told == {
        "framework": "ONNX Runtime",
        "input_shape": [1, 4],
        "providers": ["CPUExecutionProvider"],
        "parameters": 15,
    }
    assert found["model_path"] == "models/exported/linear.onnx"
    assert (found["iterations"], found["warmup"], found["samples"]) == (100, 10, 100)
    assert (found["engine"], found["precision"], found["device"]) == ("onnxruntime", "fp32", "cpu")
    assert 0 < found["min_ms"] <= found["p50_ms"] <= found["max_ms"]
    assert found["noise"] in ("quiet", "noisy", "contended", "unusable")
    assert found["peak_memory_bytes"] >= 0
    assert found["memory_bytes"]["peak"] >= found["memory_bytes"]["engine"]
    assert (found["energy_j_per_item"] is None) <= bool(found["energy_note"])


def test_endpoint_defect_20_throughput_counts_samples_and_what_was_asked_for_is_honoured(batches):
    """Theirs counted calls, and knew no batches."""
    assert (batches["batch_size"], batches["cores"]) == (8, 2)
    assert (batches["warmup"], batches["iterations"]) == (3, 50)
    expected = 8 * 1000 / batches["avg_inference_time_ms"]
    # The mean is told to the nanosecond.
    assert batches["throughput_samples_per_sec"] == pytest.approx(expected, rel=1e-3)


def test_a_fixed_batch_runs_at_its_own_and_says_so(served):
    found = measured(served, "fixed.onnx", batch_size=8)
    assert (found["batch_size"], found["input_shape"]) == (1, [1, 4])
    assert "batch" in found["note"]


def test_percentiles_that_so_few_iterations_cannot_tell_are_null(served):
    one = measured(served, "quick.json", iterations=1)
    assert [one[key] for key in ("p50_ms", "p95_ms", "p99_ms")] == [None] * 3
    assert "p50 needs 6 iterations" in one["percentiles_note"]
    assert one["percentiles_note"].endswith("there were 1")
    assert (one["iterations"], one["std_ms"]) == (1, None)


def test_energy_is_metered_by_calls_that_are_not_timed(served, monkeypatch):
    """With a meter that counts nanoseconds: a joule is a second."""
    monkeypatch.setattr(energy, "EnergyGauge", Clockwork)
    found = measured(served, "quick.json", iterations=5)
    assert (found["iterations"], found["energy_note"]) == (5, "a clock")
    assert found["energy_j_per_item"] >= 100e-6  # a call takes so long, and is alone in its batch


def test_it_is_kept_as_any_other_benchmark(served, usual):
    kept = served.get(f"benchmarks/{usual['benchmark_id']}").json
    project = served.get(f"projects/{kept['project_id']}").json
    assert (project["name"], kept["state"]) == ("By name", "done")
    assert kept["name"] == "linear.onnx · ONNX Runtime"
    assert kept["settings"]["iterations"] == 100
    assert usual["run_id"] in served.server.history.list_ids()  # so `modeldyno ls` lists it
    assert [p["name"] for p in served.get("projects").json["items"]].count("By name") == 1


def test_the_same_file_is_one_model_however_often_it_is_asked_for(served, usual, batches):
    numbers = (usual["benchmark_id"], batches["benchmark_id"])
    models = [served.get(f"benchmarks/{number}").json["model_id"] for number in numbers]
    assert models[0] == models[1]


# ---------------------------------------------------------------- several devices


def test_a_list_of_devices_in_any_case_gives_a_result_for_each(served, schemas):
    answer = ask(served, "linear.onnx", device="CPU,cuda,Mps,cpu", iterations=8)
    assert answer.status == 200
    found = answer.json
    as_told(schemas, found)
    assert [(one["device"], one["status"]) for one in found["results"]] == [
        ("cpu", "success"),
        ("cuda", "error"),
        ("mps", "error"),
    ]
    assert found["results"][0]["iterations"] == 8
    assert {one["code"] for one in found["results"][1:]} == {"ENGINE_UNAVAILABLE"}
    assert "cpu" in found["available_devices"]
    assert {"cuda", "mps"} <= found["unavailable_devices"].keys()


def test_a_list_without_a_device_that_can_be_used_is_an_error(served, schemas):
    answer = ask(served, "linear.onnx", device="cuda,mps")
    more = ("model_name", "model_path", "iterations", "results")
    found = refused(answer, 400, "ENGINE_UNAVAILABLE", *more)
    as_told(schemas, found, 400)
    assert [one["device"] for one in found["results"]] == ["cuda", "mps"]


@pytest.mark.parametrize("device", [",", " ,", ",".join(["cpu"] * 9)])
def test_a_list_of_devices_is_one(served, device):
    refused(ask(served, "linear.onnx", device=device.replace(" ", "%20")), 400, "BAD_VALUE")


# ---------------------------------------------------------------- defects of the older endpoint


def expect_range(served, schemas, iterations):
    found = refused(ask(served, "linear.onnx", iterations=iterations), 422, "BAD_VALUE")
    as_told(schemas, found, 422)
    assert "iterations" in found["message"]
    assert "from 1 to 100000" in found["detail"]
    assert found["available_devices"] == ["cpu"]


def test_endpoint_defect_01_negative_iterations_are_refused_with_the_range(served, schemas):
    """Theirs answered with −3 145 728 inferences a second."""
    expect_range(served, schemas, -3)


def test_endpoint_defect_02_no_iterations_are_refused_with_the_range(served, schemas):
    """Theirs divided by zero, and said so with 200."""
    expect_range(served, schemas, 0)


@pytest.mark.parametrize("iterations", [100_001, "many", "1.5", ""])
def test_other_iterations_are_refused_with_the_range(served, schemas, iterations):
    expect_range(served, schemas, iterations)


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ({"device": "warp"}, 400, "BAD_VALUE"),
        ({"device": "cuda:x"}, 400, "BAD_VALUE"),
        ({"device": "cuda"}, 400, "ENGINE_UNAVAILABLE"),
        ({"iteration": 5}, 422, "BAD_VALUE"),  # what it does not know
        ({"cores": 4096}, 400, "BAD_VALUE"),
        ({"engine": "nope"}, 400, "ENGINE_UNKNOWN"),
        ({"engine": "scripted"}, 400, "BAD_VALUE"),
        ({"warmup": -1}, 422, "BAD_VALUE"),
        ({"batch_size": 0}, 422, "BAD_VALUE"),
    ],
)
def test_endpoint_defect_19_every_error_has_the_one_shape_and_a_status_of_its_own(
    served, schemas, said, status, code
):
    """Theirs had three shapes, and told of a missing device with 200."""
    found = refused(ask(served, "linear.onnx", **said), status, code)
    as_told(schemas, found, status)
    assert "cpu" in found["available_devices"]
    assert all(found["unavailable_devices"].values())


def test_who_may_not_ask_is_told_so_in_the_same_shape(served, schemas):
    answer = served.get("benchmark/linear.onnx", authorization="Bearer wrong")
    as_told(schemas, refused(answer, 401, "TOKEN_NEEDED"), 401)
    refused(served.post("benchmark/linear.onnx"), 405, "METHOD_REFUSED")
    host = served.get("benchmark/linear.onnx", host="evil.example")
    refused(host, 403, "HOST_REFUSED")


def test_endpoint_defect_16_a_look_at_the_head_measures_nothing_and_no_cache_keeps_an_answer(
    served,
):
    """Theirs was a GET that anything could fetch ahead, again, or from a cache."""
    before = served.get("benchmarks").json["items"][0]["id"]
    assert served.ask("HEAD", "benchmark/quick.json").status == 405
    assert served.get("benchmarks").json["items"][0]["id"] == before
    assert ask(served, "quick.json", iterations=1).headers["Cache-Control"] == "no-store"
    assert served.get("benchmarks").json["items"][0]["id"] != before  # the control


def test_endpoint_defect_17_every_iteration_is_a_sample_of_its_own(served, usual):
    """Theirs put one wall clock around all of them."""
    rows = served.get(f"runs/{usual['run_id']}/samples").text.splitlines()
    assert len(rows) == 1 + 100
    assert (usual["calls_per_sample"], usual["sessions"]) == (1, 1)


def test_endpoint_defect_09_a_symbolic_batch_is_resolved(batches):
    """Theirs: 'str' object cannot be interpreted as an integer."""
    assert batches["input_shape"] == [8, 4]


def test_endpoint_defect_10_integer_inputs_get_integers(served):
    """Theirs fed float32, always."""
    assert measured(served, "embedding.onnx")["input_dtypes"] == {"ids": "int64"}


def test_endpoint_defect_11_all_inputs_are_fed(served):
    """Theirs fed the first."""
    both = made.model(
        [
            helper.make_node("Gather", ["table", "ids"], ["rows"]),
            helper.make_node("Mul", ["rows", "scale"], ["y"]),
        ],
        [
            made.value("ids", TensorProto.INT64, ["batch", "sequence"]),
            made.value("scale", TensorProto.FLOAT, [1]),
        ],
        [made.value("y", TensorProto.FLOAT, ["batch", "sequence", 8])],
        [made.weight("table", 50, 8)],
    )
    made.saved(both, served.workspace / "models" / "quantized" / "both.onnx")
    found = measured(served, "both.onnx")
    assert found["input_dtypes"] == {"ids": "int64", "scale": "float32"}
    assert found["input_shapes"].keys() == {"ids", "scale"}
    assert found["input_shape"] == found["input_shapes"]["ids"]


def test_endpoint_defect_12_onnx_on_mps_is_an_error_and_never_the_cpu_under_another_name(served):
    found = refused(ask(served, "linear.onnx", device="mps"), 400, "ENGINE_UNAVAILABLE")
    assert "coreml" in found["message"]
    assert "mps" in found["unavailable_devices"]
    assert "mps" not in found["available_devices"]


def test_endpoint_defect_13_providers_are_those_that_ran_the_nodes(usual):
    """Theirs echoed the request."""
    assert usual["nodes_by_provider"] == {"CPUExecutionProvider": 1}
    assert usual["effective_device"] == "cpu"


def test_endpoint_defect_18_a_crash_is_told_without_a_traceback_and_the_next_call_works(
    served, schemas
):
    found = refused(ask(served, "crash.json", iterations=8), 422, "ENGINE_CRASHED")
    as_told(schemas, found, 422)
    measured(served, "quick.json", iterations=1)


# ---------------------------------------------------------------- waiting


class Waiting:
    """A request whose answer nobody has read yet."""

    def __init__(self, served, path):
        self.link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
        self.link.request("GET", path, headers={"Authorization": f"Bearer {served.token}"})

    def leave(self):
        self.link.close()


def jobs(served, *states):
    return [
        job["id"]
        for state in states
        for job in served.get(f"jobs?state={state}&limit=200").json["items"]
    ]


def until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_who_goes_away_stops_the_measurement(served):
    waiting = Waiting(served, "/api/v1/benchmark/endless.json")
    until(lambda: jobs(served, "running"))
    (job,) = jobs(served, "running")
    waiting.leave()
    assert served.ended(job)["state"] == "cancelled"


def test_endpoint_defect_15_many_who_wait_take_no_thread_from_the_others(served):
    """Theirs measured in the event loop: /health stalled with every other request."""
    threads = threading.active_count()
    waiting = [Waiting(served, "/api/v1/benchmark/endless.json") for _ in range(45)]
    try:
        until(lambda: len(jobs(served, "queued", "running")) == 45)
        for _ in range(5):
            assert served.get("/healthz").status == 200
            assert served.get("benchmarks").status == 200
        assert threading.active_count() < threads + 45  # the pool itself has 40
    finally:
        for one in waiting:
            one.leave()
    until(lambda: not jobs(served, "queued", "running"))


def test_a_wait_is_bounded_and_what_is_late_is_stopped(served, schemas):
    answer = ask(served, "endless.json", timeout_s=1)
    for patience_s in (5, 25, 80):
        if answer.status == 429:  # the machine is so busy that it had not even begun
            answer = ask(served, "endless.json", timeout_s=patience_s)
    as_told(schemas, refused(answer, 422, "TIMED_OUT"), 422)
    until(lambda: not jobs(served, "running"))
    blocking = Waiting(served, "/api/v1/benchmark/endless.json")
    until(lambda: jobs(served, "running"))
    found = refused(ask(served, "quick.json", timeout_s=1), 429, "TOO_BUSY")
    as_told(schemas, found, 429)
    assert jobs(served, "queued") == []
    blocking.leave()
    until(lambda: not jobs(served, "running"))


def test_two_calls_at_once_are_measured_one_after_the_other(served):
    with ThreadPoolExecutor() as pool:
        asked: list[Any] = [pool.submit(measured, served, "quick.json") for _ in range(2)]
        found = [job_of(served, one.result()) for one in asked]
    first, second = sorted(found, key=lambda job: job["id"])
    assert second["started_at"] >= first["finished_at"]


def test_what_somebody_else_cancels_is_answered(served):
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask, served, "endless.json")
        until(lambda: jobs(served, "running"))
        (job,) = jobs(served, "running")
        served.post(f"jobs/{job}/cancel")
        refused(asked.result(), 422, "CANCELLED")


@pytest.mark.slow
def test_a_server_that_stops_tells_who_waits_and_leaves_no_job_for_nobody(tmp_path):
    script(folders(tmp_path) / "endless.json", load_ms=600_000)
    with serving(tmp_path) as served:
        waiting = [Waiting(served, "/api/v1/benchmark/endless.json") for _ in range(2)]
        until(lambda: len(jobs(served, "queued")) == len(jobs(served, "running")) == 1)
    for one in waiting:
        reply = one.link.getresponse()
        answer = Answer(reply.status, reply.headers, reply.read())
        refused(answer, 503, "SERVER_STOPPING")
        one.leave()
    records = open_records(Settings(tmp_path))
    assert [job.state for job in records.jobs.page().items] == ["cancelled"] * 2
    records.close()


# ---------------------------------------------------------------- open dimensions


def test_a_guessed_dimension_says_how_the_query_chooses_it(served):
    found = measured(served, "embedding.onnx")
    guessed = "guessed 128 for sequence, which the model leaves open; to choose: dim=sequence=…"
    assert (found["input_shape"], guessed in found["note"]) == ([1, 128], True)


@pytest.mark.parametrize("said", ["dim=sequence=16", "dim=batch=1,sequence=16"])
def test_an_open_dimension_can_be_chosen(served, said):
    answer = served.get(f"benchmark/embedding.onnx?iterations=8&warmup=1&{said}")
    assert answer.status == 200, answer.text
    assert answer.json["input_shape"] == [1, 16]
    assert "guessed" not in (answer.json["note"] or "")


def test_several_dimensions_may_be_said_one_by_one(served):
    said = "iterations=8&warmup=1&dim=batch=2&dim=sequence=16"
    answer = served.get(f"benchmark/embedding.onnx?{said}")
    assert (answer.status, answer.json["input_shape"]) == (200, [2, 16]), answer.text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("sequnce=16", "Did you mean dim=sequence=…"),
        ("sequence=many", "dim=NAME=SIZE"),
        ("sequence", "dim=NAME=SIZE"),
        ("sequence=0", "dim=sequence=1 or more"),
        ("sequence=99999999999", "dim=sequence=1 or more"),
    ],
)
def test_a_dimension_that_cannot_be_is_refused_with_what_can(served, said, text):
    found = refused(ask(served, "embedding.onnx", dim=said), 400, "BAD_VALUE")
    assert text in found["fix"]
    assert "--dim" not in str(found)


def test_nothing_else_may_be_said_twice(served):
    answer = served.get("benchmark/embedding.onnx?warmup=1&warmup=2&dim=sequence=1&dim=batch=1")
    assert answer.status == 422, answer.text
