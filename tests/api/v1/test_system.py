"""The machine and its engines, over real HTTP."""

import json
import threading

from modeldyno.core.documents.hosts import SystemDocument
from modeldyno.engines.availability import availability
from tests.api.v1.shapes import fits


def test_engines_are_told_with_how_to_get_them(served):
    told = served.get("engines").json["engines"]
    assert [(e["name"], e["usable"]) for e in told] == [(e.name, e.usable) for e in availability()]
    assert all(engine["install"] for engine in told)


def test_the_system_tells_of_machine_workspace_and_queue(served):
    told = served.get("system").json
    assert told["host"]["cpus"] >= 1
    assert told["sandbox"]["level"] in ("full", "partial", "none")
    assert told["workspace"]["database"] == "sqlite"
    assert 0 < told["workspace"]["free_bytes"] <= told["workspace"]["total_bytes"]
    assert told["queue"].keys() == {"waiting", "running"}
    assert (
        told["telemetry"]
        == "none: nothing about you, your models or your numbers leaves this machine"
    )


def test_a_line_about_the_machine_and_its_health_is_typed(served):
    told = fits(served.get("system"), SystemDocument)
    machine, health = told["machine"], told["health"]
    assert machine["cpu_model"] == told["host"]["cpu_model"]
    assert 1 <= machine["cpus_allowed"] <= machine["cpus"]
    assert health["verdict"] in ("fit", "fit with care", "unfit")
    assert health["sentence"].startswith(health["verdict"])
    assert {"governor", "load"} <= {finding["name"] for finding in health["findings"]}
    assert 0 < told["workspace"]["used_bytes"] <= told["workspace"]["total_bytes"]


def test_the_doctor_examines_the_machine_and_tells_no_folder(served):
    told = served.post("system/doctor")
    assert told.status == 200
    assert told.json["schema"] == "modeldyno.doctor/2"
    disk = next(f for f in told.json["findings"] if f["name"] == "disk")
    assert "free for" in disk["value"]
    assert str(served.workspace.parent) not in json.dumps(told.json)


def test_two_examinations_do_not_disturb_each_other(served):
    busy = served.server.system._examining
    answers = []
    with busy:
        thread = threading.Thread(target=lambda: answers.append(served.post("system/doctor")))
        thread.start()
        thread.join()
    assert (answers[0].status, answers[0].json["code"]) == (409, "WRONG_STATE")
