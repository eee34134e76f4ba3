"""``benchmark/…`` on a real server; events as a real client hears them."""

import pytest

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
    assert told["result"]["statistics"]["latency_ms"]["median"] > 0
    assert (told["config_path"], told["log_path"]) == (
        started["config_path"],
        started["output_path"],
    )
    assert details(served, number) == {key: told[key] for key in DETAILS}
