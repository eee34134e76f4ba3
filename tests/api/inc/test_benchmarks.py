"""``benchmark/…`` on a real server; events as a real client hears them."""

import contextlib
import os
import shlex
import time
from pathlib import Path

import pytest

from modeldyno.core.datasets import NewDataset
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.optimizations import NewOptimization, Pin, Trial
from modeldyno.core.runs import RunOf
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.store.configs import read_config
from tests.api.inc.events import PATIENCE_S
from tests.onnx_models import embedding, linear, saved
from tests.scripts import fault
from tests.terminal import modeldyno

QUICK = {"iterations": 5, "warmup_iterations": 1, "batch_size": 1, "cores_per_instance": 1}
DETAILS = (
    *("project_id", "id", "name", "model", "dataset", "mode", "result", "batch_size"),
    *("warmup_iterations", "iterations", "number_of_instance", "cores_per_instance"),
    *("config_path", "log_path", "execution_command", "status", "created_at", "last_run_at"),
    *("duration", "note"),
)


@pytest.fixture
def project(served):
    return served.project()


def add(served, project, model=None, **said):
    asked = {"project_id": project, "name": "b", "dataset_id": -1, "number_of_instance": 1}
    asked |= {"model_id": model or served.model(project)} | said
    answer = served.post("/api/benchmark/add", asked)
    assert answer.status == 200, answer.text
    return answer.json["benchmark_id"]


def execute(served, number, request_id="r"):
    return served.post("/api/benchmark/execute", {"request_id": request_id, "benchmark_id": number})


def details(served, number):
    answer = served.post("/api/benchmark", {"id": number})
    assert answer.status == 200, answer.text
    return answer.json


def test_a_benchmark_is_added_run_and_told_to_its_end(served, project, ears):
    number = add(served, project, **QUICK)
    before = details(served, number)
    assert tuple(before) == DETAILS
    assert (before["status"], before["result"], before["execution_command"]) == (None, None, "None")
    answer = execute(served, number, "abc")
    assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
    status, started = ears.until("benchmark_start", request_id="abc")
    assert status == "success"
    assert tuple(started) == ("message", "request_id", "config_path", "output_path")
    status, told = ears.until("benchmark_finish", request_id="abc")
    assert status == "success"
    assert tuple(told) == ("request_id", *DETAILS)
    assert told["status"] == "success"
    assert told["result"]["performance"] > 0
    assert told["result"]["statistics"]["latency_ms"]["typical"]["value"] > 0
    assert (told["config_path"], told["log_path"]) == (
        started["config_path"],
        started["output_path"],
    )
    assert details(served, number) == {key: told[key] for key in DETAILS}


def wait_until_running(served, number):
    job = served.server.benchmarks.details(number).latest.job_id
    served.until(job, lambda found: found["state"] != "queued")
    return job


def test_what_was_sent_and_what_was_not(served, project):
    told = details(served, add(served, project))
    cores = min(4, len(allowed_cpus()))
    shown = {key: told[key] for key in ("batch_size", "iterations", "warmup_iterations", "mode")}
    assert shown == {
        "batch_size": 100,
        "iterations": -1,
        "warmup_iterations": 10,
        "mode": "performance",
    }
    assert told["cores_per_instance"] == cores
    told = details(served, add(served, project, batch_size="32", iterations=7, **{"name": "x"}))
    assert (told["batch_size"], told["iterations"], told["name"]) == (32, 7, "x")


@pytest.mark.parametrize("sent", [None, 0, 0.5])
def test_defect_11_there_is_at_least_one_instance(served, project, sent):
    said = {"number_of_instance": sent}
    told = details(served, add(served, project, cores_per_instance=len(allowed_cpus()), **said))
    assert told["number_of_instance"] == 1
    if sent is not None:
        answer = served.post("/api/benchmark/edit", {"id": told["id"]} | said)
        assert answer.json == {"id": told["id"], "number_of_instance": 1}


def test_defect_11_more_cores_than_there_are_is_said_and_run_on_what_there_is(
    served, project, ears
):
    number = add(served, project, **QUICK | {"cores_per_instance": 500, "number_of_instance": 4})
    execute(served, number)
    status, told = ears.until("benchmark_finish", id=number)
    assert (status, told["cores_per_instance"], told["number_of_instance"]) == ("success", 500, 4)
    answer = served.post(
        f"benchmarks/{number}/runs"
    )  # our own API does what it is told, or says no
    assert (answer.status, answer.json["code"]) == (400, "BAD_VALUE")
    cores = len(allowed_cpus())
    note = f"ran as {cores} cores × 1, which this machine has; asked 500 × 4"
    assert told["note"].startswith(note)
    (listed,) = served.post("/api/benchmark/list", {"project_id": project}).json["benchmarks"]
    assert listed["note"] == note


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"name": None}, "Could not find required parameter."),
        ({"model_id": None}, "Could not find required parameter."),
        ({"dataset_id": None}, "Could not find required parameter."),
        ({"batch_size": "many"}, "Could not parse value"),
        ({"batch_size": 0}, "Could not parse value"),
        ({"batch_size": [1, 2]}, "Could not parse value"),
        ({"iterations": 0}, "Could not parse value"),
        ({"iterations": -2}, "Could not parse value"),
        ({"warmup_iterations": 1.5}, "Could not parse value"),
        ({"cores_per_instance": True}, "Could not parse value"),
        ({"cores_per_instance": 10**6}, "Could not parse value"),
        ({"number_of_instance": -1}, "Could not parse value"),
        ({"mode": "both"}, "Could not parse value"),
    ],
)
def test_what_does_not_fit_is_refused_in_words_and_nothing_is_added(served, project, wrong, text):
    model = served.model(project)
    said = {"project_id": project, "name": "b", "model_id": model, "dataset_id": -1} | wrong
    answer = served.post("/api/benchmark/add", said)
    assert (answer.status, answer.text[: len(text)]) == (400, text)
    assert served.post("/api/benchmark/list", {"project_id": project}).json == {"benchmarks": []}


def test_what_is_not_there_is_404(served, project):
    model = served.model(project)
    said = {"project_id": 10**6, "name": "b", "model_id": model, "dataset_id": -1}
    assert served.post("/api/benchmark/add", said).status == 404
    said |= {"project_id": project, "model_id": 10**6}
    assert served.post("/api/benchmark/add", said).status == 404
    assert served.post("/api/benchmark", {"id": 10**6}).status == 404
    for name in ("config.yaml", "output.log"):
        assert served.get(f"/api/benchmark/{name}?id=1000000").status == 404


def test_an_edit_echoes_what_changed_and_keeps_the_rest(served, project, ears):
    number = add(served, project, **QUICK)
    said = {"id": str(number), "mode": "accuracy", "batch_size": 64, "cores_per_instance": 7}
    answer = served.post("/api/benchmark/edit", said | {"number_of_instance": 4})
    assert [*answer.json.items()] == [
        ("id", number),
        ("batch_size", 64),
        ("mode", "accuracy"),
        ("cores_per_instance", 7),
        ("number_of_instance", 4),
    ]
    told = details(served, number)
    assert (told["mode"], told["batch_size"], told["iterations"]) == ("accuracy", 64, 5)
    served.post("/api/benchmark/edit", {"id": number, "mode": "performance"})
    execute(served, number)
    assert ears.until("benchmark_finish", id=number)[0] == "success"
    answer = served.post("/api/benchmark/edit", {"id": number, "batch_size": 1})
    text = "Can not modify benchmark  that has been run."
    assert (answer.status, answer.text[: len(text)]) == (400, text)


def test_accuracy_ends_with_an_error_that_says_when_it_comes(served, project, ears):
    number = add(served, project, mode="accuracy", **QUICK)
    assert execute(served, number, "acc").status == 200
    assert ears.until("benchmark_start", request_id="acc")[0] == "success"
    status, told = ears.until("benchmark_finish", request_id="acc")
    assert (status, told["error_code"], told["id"]) == ("error", "NOT_YET", number)
    assert "later version" in told["message"]
    assert details(served, number)["status"] == "error"


def test_a_request_needs_its_id(served, project, ears):
    number = add(served, project, **QUICK)
    for said in ({}, {"request_id": ""}, {"request_id": None}):
        answer = served.post("/api/benchmark/execute", said | {"benchmark_id": number})
        assert (answer.status, answer.text) == (400, "Missing request id.")
    assert served.post("/api/benchmark/execute", {"request_id": "x"}).status == 400
    # Any key with "id" in it was taken for the thing's own.
    answer = served.get(f"/api/benchmark/execute?request_id=q&id={number}")
    assert answer.status == 200
    assert ears.until("benchmark_finish", request_id="q")[0] == "success"


def test_defect_03_an_unknown_id_is_answered_and_nothing_is_told(served, project, ears):
    answer = execute(served, 10**6, "nobody")
    assert (answer.status, answer.text.startswith("There is no benchmark 1000000")) == (404, True)
    number = add(served, project, **QUICK)
    execute(served, number, "somebody")
    ears.until("benchmark_finish", request_id="somebody")
    assert ears.names() == ["benchmark_start", "benchmark_finish"]


def test_defect_02_executing_twice_is_one_job_and_the_queue_goes_on(served, project, ears):
    slow = served.model(project, latency_us=20_000)
    number = add(served, project, slow, **QUICK | {"iterations": 60})
    assert execute(served, number, "one").status == 200
    for _ in range(3):  # waiting, or running by now
        answer = execute(served, number, "two")
        assert (answer.status, answer.text[:33]) == (400, "This benchmark is already running")
    after = add(served, project, slow, **QUICK)
    execute(served, after, "three")
    ears.until("benchmark_finish", request_id="three")
    finishes = [told["data"]["request_id"] for name, told in ears.heard if "finish" in name]
    assert finishes == ["one", "three"]


def test_defect_01_deleting_a_running_benchmark_ends_it_once_and_others_go_on(
    served, project, ears
):
    number = add(served, project, served.model(project, latency_us=20_000), batch_size=1)
    execute(served, number, "deleted")
    ears.until("benchmark_start", request_id="deleted")
    answer = served.post("/api/benchmark/delete", {"id": number, "name": "b"})
    assert (answer.status, answer.json) == (200, {"id": number})
    assert served.post("/api/benchmark", {"id": number}).status == 404
    after = add(served, project, **QUICK)
    execute(served, after, "after")
    status, _ = ears.until("benchmark_finish", request_id="after")
    assert status == "success"
    finishes = [
        (told["status"], told["data"]["id"]) for name, told in ears.heard if "finish" in name
    ]
    assert finishes == [("error", number), ("success", after)]


def test_s_11_deleting_what_waits_takes_it_out_of_the_queue_and_tells_its_end(
    served, project, ears
):
    first = add(served, project, served.model(project, latency_us=20_000), batch_size=1)
    second = add(served, project, **QUICK)
    execute(served, first, "first")
    execute(served, second, "second")
    assert served.post("/api/benchmark/delete", {"id": second, "name": "b"}).json == {"id": second}
    status, told = ears.until("benchmark_finish", request_id="second")
    assert (status, told["id"], told["project_id"]) == ("error", second, project)
    assert served.post("/api/benchmark/delete", {"id": first, "name": "b"}).json == {"id": first}
    ears.until("benchmark_finish", request_id="first")
    assert served.get("jobs?state=queued").json["items"] == []


def test_a_delete_that_does_not_match_changes_nothing(served, project):
    number = add(served, project)
    for said in ({"id": number, "name": "c"}, {"id": 10**6, "name": "b"}):
        answer = served.post("/api/benchmark/delete", said)
        assert (answer.status, answer.json) == (200, {"id": None})
    for said in ({"id": number}, {"name": "b"}, {}):
        assert served.post("/api/benchmark/delete", said).status == 400
    assert details(served, number)["id"] == number


def test_defect_10_a_delete_with_another_name_unpins_nothing(served, project):
    records = served.server.records
    model = served.model(project)
    number = add(served, project, model)
    optimization = records.optimizations.add(
        NewOptimization(
            project_id=project, model_id=model, name="o", type="quantization", precision="int8"
        )
    )
    run = records.runs.add(RunOf("optimization", optimization.id), {}, state="done")
    now = optimization.created_at
    records.optimizations.add_trial(
        Trial(run_id=run.id, number=0, status="done", created_at=now, model_id=model)
    )
    records.pins.put(Pin(optimization.id, "performance", number))
    served.post("/api/benchmark/delete", {"id": number, "name": "another"})
    assert records.pins.read_of_optimizations([optimization.id])
    # The control: with its own name it goes, and so does the pin.
    assert served.post("/api/benchmark/delete", {"id": number, "name": "b"}).json["id"] == number
    assert not records.pins.read_of_optimizations([optimization.id])


def test_s_02_a_failure_is_told_with_its_reason(served, project, ears):
    broken = served.model(project, faults=[fault("raise", call=2)])
    number = add(served, project, broken, **QUICK)
    execute(served, number, "broken")
    status, told = ears.until("benchmark_finish", request_id="broken")
    assert (status, told["error_code"]) == ("error", "ENGINE_FAILED")
    assert "ailure" not in told["message"][:8]
    assert told["message"]
    after = details(served, number)
    assert (after["status"], after["note"]) == ("error", told["message"])
    (listed,) = served.post("/api/benchmark/list", {"project_id": project}).json["benchmarks"]
    assert listed["note"] == told["message"]


def test_defect_14_a_run_can_be_cancelled_and_why_can_be_read_afterwards(served, project, ears):
    number = add(served, project, served.model(project, load_ms=600_000), **QUICK)
    execute(served, number, "stopped")
    served.post(f"jobs/{wait_until_running(served, number)}/cancel")
    _, told = ears.until("benchmark_finish", request_id="stopped")
    assert told["message"]
    assert details(served, number)["note"] == told["message"]


@pytest.mark.slow
def test_defect_14_every_run_is_kept_and_a_failed_one_hides_no_result(served, project, ears):
    model = served.model(project)
    number = add(served, project, model, **QUICK)
    for request in ("one", "two"):
        execute(served, number, request)
        assert ears.until("benchmark_finish", request_id=request)[0] == "success"
    good = details(served, number)["result"]
    assert len(served.get(f"benchmarks/{number}/runs").json["items"]) == 2
    path = Path(served.server.records.models.get(model).path)
    path.write_text(path.read_text() + " ")  # another content than the one that was vouched for
    execute(served, number, "three")
    assert ears.until("benchmark_finish", request_id="three")[0] == "error"
    told = details(served, number)
    assert (told["status"], told["result"]) == ("error", good)


def test_defect_12_a_result_has_percentiles_memory_and_how_sure_it_is(served, project, ears):
    number = add(served, project, **QUICK | {"iterations": 300})
    execute(served, number, "figures")
    _, told = ears.until("benchmark_finish", request_id="figures")
    figures = told["result"]["statistics"]
    assert figures["samples"] == 300
    p90 = figures["latency_ms"]["p90"]
    assert p90["value"] > 0
    assert p90["low"] <= p90["value"] <= p90["high"]
    assert figures["noise"] in ("quiet", "noisy", "contended", "unusable")
    assert {"peak_memory_bytes", "energy_j_per_item", "warmup_calls"} <= figures.keys()
    assert told["result"]["performance"] == round(figures["throughput_per_s"]["value"], 3)


def test_s_01_a_list_has_all_and_asks_the_same_of_the_database_however_many(served, project):
    model = served.model(project)

    def asked():
        with served.counting() as statements:
            found = served.post("/api/benchmark/list", {"project_id": project}).json["benchmarks"]
        return len(found), len([s for s in statements if s.lstrip().startswith("SELECT")])

    numbers = [add(served, project, model)]
    one = asked()
    numbers += [add(served, project, model) for _ in range(24)]
    many = asked()
    assert (one[0], many[0]) == (1, 25)
    assert one[1] == many[1]
    found = served.get(f"/api/benchmark/list?project_id={project}").json["benchmarks"]
    assert [one["id"] for one in found] == numbers
    assert tuple(found[0]) == DETAILS


def test_config_and_log_are_there_once_it_ran(served, project, ears):
    number = add(served, project, **QUICK)
    for name, text in (("config.yaml", "config file"), ("output.log", "output log")):
        answer = served.get(f"/api/benchmark/{name}?id={number}")
        assert (answer.status, answer.text) == (404, f"Unable to find {text}")
    execute(served, number, "files")
    _, told = ears.until("benchmark_finish", request_id="files")
    answer = served.get(f"/api/benchmark/config.yaml?id={number}")
    assert answer.headers["content-type"].startswith("text/vnd.yaml")
    assert answer.text == Path(told["config_path"]).read_text()
    assert "`evaluation:`" in answer.text.partition("model:")[0]  # how it differs, as a comment
    assert read_config(Path(told["config_path"]))["instances"] == 1
    answer = served.get(f"/api/benchmark/output.log?id={number}&autorefresh=3")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["refresh"] == "3"
    assert served.get(f"/api/benchmark/output.log?id={number}").headers["refresh"] is None


@pytest.mark.slow
def test_the_command_of_a_benchmark_measures_the_same_in_a_shell(served, project, ears, tmp_path):
    number = add(served, project, **QUICK | {"batch_size": 3, "iterations": 12})
    execute(served, number, "shell")
    _, told = ears.until("benchmark_finish", request_id="shell")
    words = shlex.split(told["execution_command"])
    assert words[0] == "modeldyno"
    ended = modeldyno(*words[1:], "--json", "--workspace", tmp_path)
    assert ended.code == 0, ended.err
    (cell,) = ended.document["cells"]
    ran = served.server.history.read(told["result"]["run_id"]).result.cells[0]
    same = ("engine", "device", "batch_size", "cores", "instances", "samples", "warmup_calls")
    assert {key: cell[key] for key in same} == {
        key: getattr(CellDocument.of(0, ran), key) for key in same
    }
    assert (cell["samples"], cell["warmup_calls"], cell["batch_size"]) == (12, 1, 3)


def test_a_fixed_batch_is_run_at_its_own_and_log_and_note_say_so(served, project, ears):
    fixed = served.model(project, inputs=[{"name": "x", "dtype": "float32", "shape": [2, 4]}])
    number = add(served, project, fixed, **QUICK | {"batch_size": 100})
    execute(served, number, "fixed")
    status, told = ears.until("benchmark_finish", request_id="fixed")
    assert (status, told["batch_size"]) == ("success", 100)
    note = "the model's batch is fixed at 2; asked 100"
    assert told["note"].startswith(note)
    assert note in served.get(f"/api/benchmark/output.log?id={number}").text
    (listed,) = served.post("/api/benchmark/list", {"project_id": project}).json["benchmarks"]
    assert listed["note"] == "ran at batch 2; asked 100"


def test_of_a_decoder_it_is_said_which_phase_the_result_is_of(served, project, ears):
    shapes = {
        "input_ids": ("int64", ["batch", "seq"]),
        "attention_mask": ("int64", ["batch", "total"]),
        "past_key_values.0.key": ("float32", ["batch", 2, "past", 4]),
    }
    inputs = [{"name": n, "dtype": dtype, "shape": s} for n, (dtype, s) in shapes.items()]
    number = add(served, project, served.model(project, inputs=inputs), **QUICK)
    execute(served, number, "decoder")
    status, told = ears.until("benchmark_finish", request_id="decoder")
    assert status == "success"
    (listed,) = served.post("/api/benchmark/list", {"project_id": project}).json["benchmarks"]
    cells = served.get(f"benchmarks/{number}").json["cells"]
    assert [cell["dims"] for cell in cells] == [{"prefill": 128}, {"decode": 128}]
    best = min(cells, key=lambda cell: cell["latency_ms"]["typical"]["value"])
    ((phase, context),) = best["dims"].items()
    which = f"the result is that of {phase} {context}, the quickest of 2 cells"
    assert which in listed["note"]
    assert told["note"].startswith(listed["note"])
    assert "as prefill of 128 tokens and as one step after 128 tokens" in told["note"]


def test_runs_of_other_origin_are_told_as_well(served, project, ears):
    made = served.benchmark(project)
    status, told = ears.until("benchmark_finish", id=made["id"])
    assert (status, told["request_id"]) == ("success", "")


@pytest.mark.skipif(len(allowed_cpus()) < 2, reason="there is one core")
def test_instances_are_pinned_to_cores_of_their_own(served, project, ears):
    number = add(
        served,
        project,
        served.model(project, latency_us=5_000),
        batch_size=1,
        cores_per_instance=1,
        number_of_instance=2,
    )
    execute(served, number, "pinned")
    ears.until("benchmark_start", request_id="pinned")
    deadline = time.monotonic() + PATIENCE_S
    while len(cores := pinned_workers()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert len(cores) == 2
    served.post("/api/benchmark/delete", {"id": number, "name": "b"})
    ears.until("benchmark_finish", request_id="pinned")


def pinned_workers():
    """The cores of this process's workers that keep to one, each once."""
    found = set()
    for child in children_of_ours():
        with contextlib.suppress(OSError):
            cores = os.sched_getaffinity(child)
            if len(cores) == 1:
                found |= cores
    return found


def children_of_ours():
    """Processes whose parent is this one."""
    children = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            after = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(after[1]) == os.getpid():
                children.append(int(folder.name))
    return children


def test_s_03_cancelling_keeps_what_was_measured(served, project, ears):
    number = add(served, project, batch_size=1)
    execute(served, number, "kept")
    job = wait_until_running(served, number)
    served.until(job, lambda found: found["progress"] and found["progress"]["units_done"] >= 4)
    served.post(f"jobs/{job}/cancel")
    status, told = ears.until("benchmark_finish", request_id="kept")
    assert (status, told["error_code"]) == ("error", "CANCELLED")
    assert "kept" in told["message"]
    shown = details(served, number)
    assert (shown["status"], shown["result"]["performance"] > 0) == ("error", True)


def test_s_10_every_benchmark_has_the_iterations_it_was_given(served, project, ears):
    for batch, iterations in ((1, 40), (64, 6)):
        said = QUICK | {"batch_size": batch, "iterations": iterations}
        number = add(served, project, **said)
        execute(served, number)
        _, told = ears.until("benchmark_finish", id=number)
        assert told["result"]["statistics"]["samples"] == iterations


def test_a_fixed_batch_onnx_model_ends_well_with_the_stock_clients_defaults(
    served, project, ears, tmp_path
):
    path = saved(linear(batch=1), tmp_path / "fixed.onnx")
    headers = {"content_type": "application/octet-stream"}
    answer = served.post(f"projects/{project}/models?name=fixed.onnx", path.read_bytes(), **headers)
    assert answer.status == 201, answer.text
    number = add(served, project, answer.json["id"], **QUICK | {"batch_size": 100})
    execute(served, number, "gui")
    status, told = ears.until("benchmark_finish", request_id="gui")
    assert (status, told["status"]) == ("success", "success")
    assert told["note"].startswith("the model's batch is fixed at 1; asked 100")


def open_model(served, project, tmp_path):
    """An ONNX model whose sequence is open."""
    body = saved(embedding(), tmp_path / "embedding.onnx").read_bytes()
    answer = served.post(
        f"projects/{project}/models?name=embedding.onnx",
        body,
        content_type="application/octet-stream",
    )
    assert answer.status == 201, answer.text
    return answer.json["id"]


def dummy(served, project, *shapes):
    new = NewDataset(
        project_id=project,
        name="dummy",
        kind="dummy_v2",
        parameters={"input_shape": [list(shape) for shape in shapes]},
    )
    return served.server.records.datasets.add(new).id


def test_the_shape_of_a_dummy_dataset_sets_what_the_model_leaves_open(
    served, project, ears, tmp_path
):
    model, fits = open_model(served, project, tmp_path), dummy(served, project, (16,))
    number = add(served, project, model, dataset_id=fits, **QUICK)
    execute(served, number)
    status, told = ears.until("benchmark_finish", id=number)
    assert (status, "guessed" in told["note"]) == ("success", False)
    run = served.server.history.read(told["result"]["run_id"]).result
    assert run.cells[0].input_shapes == {"ids": (1, 16)}


def test_another_dataset_is_another_shape(served, project, tmp_path):
    model, fits = open_model(served, project, tmp_path), dummy(served, project, (16,))
    number = add(served, project, model, dataset_id=fits, **QUICK)
    for dataset, dims in ((dummy(served, project, (24,)), {"sequence": 24}),
                          (dummy(served, project, (24, 3)), {})):  # fmt: skip
        answer = served.post("/api/benchmark/edit", {"id": number, "dataset_id": dataset})
        assert answer.status == 200, answer.text
        assert served.server.benchmarks.get(number).spec.model.dims == dims
    note = "the dataset's shape [24, 3] does not fit the model's inputs and was not used"
    assert details(served, number)["note"] == note
    (listed,) = served.post("/api/benchmark/list", {"project_id": project}).json["benchmarks"]
    assert listed["note"] == note
