"""Benchmarks, over real HTTP and through real workers."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from modeldyno.core.benchmarks import NewBenchmark
from modeldyno.core.documents.benchmarks import (
    BenchmarkDetailsDocument,
    BenchmarkSummary,
    PlanDocument,
    ReproductionDocument,
)
from modeldyno.core.documents.figures import DistributionDocument
from modeldyno.core.documents.reports import RunDetailsDocument, RunSummary
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.documents.runs import JobDocument
from modeldyno.core.ids import BenchmarkId, ModelId, ProjectId
from modeldyno.core.runs import RunOf
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from tests import schemas, values
from tests.api.v1.shapes import Page, fits, problem
from tests.onnx_models import decoder, linear, saved


@pytest.fixture(scope="module")
def measured(served):
    """A benchmark of two cells that has run."""
    project = served.project("Measured")
    made = served.benchmark(project, served.model(project, "net.json"), batch_sizes=[1, 2])
    assert served.ended(made["latest_run"]["job_id"])["state"] == "done"
    return made["id"]


@pytest.fixture
def draft(served, project):
    return served.benchmark(project, start=False)["id"]


# ---------------------------------------------------------------- silent defaults


def test_a_cell_says_as_what_it_ran_and_where_that_is_not_what_was_asked(served, project):
    lies = {"precision": "bf16", "nodes_by_provider": {"script": 3, "elsewhere": 1}}
    model = served.model(project, "liar.json", layout="NHWC", **lies)
    made = served.benchmark(project, model, precisions=["fp32"], iterations=5)
    assert (made["cells"][0]["effective"], made["cells"][0]["surprises"]) == (None, [])
    assert served.ended(made["latest_run"]["job_id"])["state"] == "done"
    (cell,) = fits(served.get(f"benchmarks/{made['id']}"), BenchmarkDetailsDocument)["cells"]
    assert [one["text"] for one in cell["surprises"]] == [
        "1 of 4 nodes ran on elsewhere instead of script",
        "asked for fp32, computed in bf16",
    ]
    assert cell["effective"] == {
        "engine_version": "1",
        "other_python": None,
        "device": "cpu",
        "providers": ["script"],
        "spinning": None,
        "nodes_by_provider": {"script": 3, "elsewhere": 1},
        "precision": "bf16",
        "input_dtypes": {},
        "layout": "NHWC",
        "threads": 1,
        "fallback_share": 0.25,
        "text": "bf16 · channels last inside · 1 thread · 3 of 4 nodes on script",
    }


# ---------------------------------------------------------------- the whole path


def test_a_benchmark_is_asked_for_measured_and_shown(served, project):
    model = served.model(project, "net.json")
    asked = {"project_id": project, "model_id": model, "batch_sizes": [1, 2], "iterations": 20}
    made = served.post("benchmarks", asked)
    told = fits(made, BenchmarkDetailsDocument, 201)
    assert made.headers["Location"] == f"/api/v1/benchmarks/{told['id']}"
    assert (told["name"], told["model_name"], told["rerun_of"]) == ("net.json", "net.json", None)
    assert told["command"] == "modeldyno bench net.json --batch 1,2 --iterations 20"
    assert [cell["status"] for cell in told["cells"]] == [None, None]

    job = served.ended(told["latest_run"]["job_id"])
    assert (job["state"], job["run_id"]) == ("done", told["latest_run"]["id"])

    shown = fits(served.get(f"benchmarks/{told['id']}"), BenchmarkDetailsDocument)
    assert shown["state"] == shown["latest_run"]["state"] == "done"
    assert [(c["batch_size"], c["status"]) for c in shown["cells"]] == [(1, "done"), (2, "done")]
    assert all(cell["latency_ms"]["typical"]["value"] >= 0.05 for cell in shown["cells"])
    # the quickest, but one that the machine let nobody measure only if there is no other
    best = min(
        shown["cells"],
        key=lambda c: (c["noise"] == "unusable", c["latency_ms"]["typical"]["value"]),
    )
    for level in ("typical", "floor"):
        value = shown["summary"]["latency_ms"][level]["value"]
        assert value == best["latency_ms"][level]["value"]
    assert shown["settings"] == told["settings"]


def test_a_number_comes_with_its_interval_its_verdict_and_what_they_rest_on(served, project):
    made = served.benchmark(project, start=False, batch_sizes=[2])
    runs = served.server.records.runs
    run = runs.add(RunOf("benchmark", made["id"]), {}, state="running")
    cell = values.cell(
        typical=values.figure(4.0, 3.8, 4.2),
        throughput_per_s=values.figure(500.0, 480.0, 520.0),
        batch_size=2,
        items=2,
        sessions=8,
        samples=900,
        noise="noisy",
        noise_reasons=("One.", "Two."),
        peak_memory_bytes=1024,
    )
    cells = [cell, replace(cell, number=1, noise="unusable")]
    runs.finish(run.id, SummaryDocument.of_cell(cell), cells)
    told = fits(served.get(f"benchmarks/{made['id']}"), BenchmarkDetailsDocument)
    shown, _ = told["cells"]
    over = {"level": 0.95, "of": "sessions", "n": 8, "repeat": None, "needs": None}
    typical = {"value": 4.0, "low": 3.8, "high": 4.2}
    assert shown["latency_ms"]["typical"] == pytest.approx(typical | over)
    assert shown["items"] == 2
    rate = {"value": 500.0, "low": 480.0, "high": 520.0}
    assert shown["throughput_per_s"] == rate | over
    assert (shown["sessions"], shown["samples"], shown["interval_note"]) == (8, 900, None)
    assert (shown["noise"], shown["noise_reasons"]) == ("noisy", ["One.", "Two."])
    assert told["worst_noise"] == {"noise": "unusable", "cells": 1, "of": 2}
    assert (shown["peak_memory_bytes"], shown["error"]) == (1024, None)
    assert (told["summary"]["dims"], shown["dims"]) == (None, {})  # null: none, or several
    shared = shown.keys() & told["summary"].keys() - {"latency_ms", "dims"}
    assert told["summary"]["latency_ms"]["typical"] == shown["latency_ms"]["typical"]
    assert {name: told["summary"][name] for name in shared} == {n: shown[n] for n in shared}


def test_too_few_sessions_have_no_interval_and_say_why(served, measured):
    cell = served.get(f"benchmarks/{measured}").json["cells"][0]
    typical = cell["latency_ms"]["typical"]
    assert typical["value"] > 0
    assert typical["of"] == "samples"
    assert cell["interval_note"] == "1 session; an interval needs 4"
    summary = served.get(f"benchmarks/{measured}").json["summary"]
    assert summary["interval_note"] == cell["interval_note"]
    typical = summary["latency_ms"]["typical"]
    assert (typical["low"], typical["high"], typical["of"]) == (None, None, None)


def test_a_list_tells_what_cells_differ_in_and_the_cells_when_asked(served, project):
    made = served.benchmark(project, batch_sizes=[1, 2], start=False)
    path = f"benchmarks?project_id={project}"
    (line,) = fits(served.get(path), Page[BenchmarkSummary])["items"]
    assert line["axes"]["batch_sizes"] == [1, 2]
    assert line["cells"] is None
    (full,) = fits(served.get(f"{path}&with_cells=true"), Page[BenchmarkSummary])["items"]
    assert full["cells"] == made["cells"]
    served.ended(served.post(f"benchmarks/{made['id']}/runs").json["id"])
    (after,) = served.get(f"{path}&with_cells=true").json["items"]
    assert after["cells"] == served.get(f"benchmarks/{made['id']}").json["cells"]
    assert after["axes"]["engines"] == ["scripted"]


def test_another_run_adds_to_it_and_leaves_the_first(served, measured):
    job = fits(served.post(f"benchmarks/{measured}/runs"), JobDocument, 202)
    busy = served.post(f"benchmarks/{measured}/runs")
    assert problem(busy, 409, "WRONG_STATE")["fix"]
    # While it waits or runs, the cells show what was measured before.
    cells = served.get(f"benchmarks/{measured}").json["cells"]
    assert [cell["status"] for cell in cells] == ["done", "done"]
    served.ended(job["id"])
    runs = fits(served.get(f"benchmarks/{measured}/runs"), Page[RunSummary])["items"]
    assert [run["state"] for run in runs][:2] == ["done", "done"]
    assert runs[0]["id"] == job["run_id"]


def test_a_rerun_is_a_new_benchmark_that_knows_the_old_one(served, project):
    first = served.benchmark(project, cores=[1], seed=7)
    again = fits(served.post(f"benchmarks/{first['id']}/rerun"), BenchmarkDetailsDocument, 201)
    assert again["rerun_of"] == first["id"]
    assert again["settings"] == first["settings"]
    for made in (first, again):
        assert served.ended(made["latest_run"]["job_id"])["state"] == "done"


def test_a_cell_that_fails_says_so_and_spoils_no_other(served, project):
    model = served.model(project, faults=[{"do": "segfault", "call": 3, "batch": 2}])
    made = served.benchmark(project, model, batch_sizes=[1, 2])
    served.ended(made["latest_run"]["job_id"])
    cells = served.get(f"benchmarks/{made['id']}").json["cells"]
    assert [(c["status"], c["error"] and c["error"]["code"]) for c in cells] == [
        ("done", None),
        ("failed", "ENGINE_CRASHED"),
    ]
    assert cells[1]["error"]["code"] == "ENGINE_CRASHED"
    assert cells[1]["error"]["fix"]


# ---------------------------------------------------------------- before it runs


def test_a_plan_tells_cells_time_and_command_and_keeps_nothing(served, project):
    model = served.model(project, "it's.json")
    before = served.get(f"projects/{project}").json["counts"]
    asked = {"model_id": model, "batch_sizes": [1, 8], "budget": "quick"}
    plan = fits(served.post("benchmarks/plan", asked), PlanDocument)
    assert [cell["batch_size"] for cell in plan["cells"]] == [1, 8]
    assert (plan["about_s"], plan["cores"], plan["threads"]) == (4.0, 1, 1)
    plan = served.post("benchmarks/plan", asked | {"dims": {"batch": 4}}).json
    assert [cell["batch_size"] for cell in plan["cells"]] == [1]  # which sets the batch of both
    assert (plan["about_s"], plan["cores"], plan["threads"]) == (2.0, 1, 1)
    assert plan["command"] == (
        """modeldyno bench 'it'"'"'s.json' --batch 1,8 --dim batch=4 --quick"""
    )
    exact = served.post("benchmarks/plan", {"model_id": model, "iterations": 5}).json
    assert exact["about_s"] is None
    assert served.get(f"projects/{project}").json["counts"] == before


def test_the_two_phases_of_a_decoder_are_its_cells_before_it_is_measured_and_while_it_is(
    served, project, tmp_path
):
    body = saved(decoder(), tmp_path / "decoder.onnx").read_bytes()
    kind = "application/octet-stream"
    sent = served.post(f"projects/{project}/models?name=decoder.onnx", body, content_type=kind)
    model = sent.json["id"]
    phases = [{"prefill": 8}, {"decode": 8}]
    asked = {"engines": ["onnxruntime"], "dims": {"context": 8}, "budget": "thorough"}
    plan = fits(served.post("benchmarks/plan", {"model_id": model, **asked}), PlanDocument)
    assert [cell["dims"] for cell in plan["cells"]] == phases
    assert plan["about_s"] == 120.0
    begin = served.get(f"events?project_id={project}").json["last"]
    made = served.benchmark(project, model, iterations=None, warmup=None, **asked)
    job, run = made["latest_run"]["job_id"], made["latest_run"]["id"]
    try:
        moved = served.until(job, lambda job: (job["progress"] or {}).get("units_done", 0) > 1)
        names = [cell["name"] for cell in moved["progress"]["cells"]]
        assert moved["progress"]["notices"] == [
            "a decoder with a cache: measured as prefill of 8 tokens and as one step after 8 "
            "tokens; to choose: --dim context=…"
        ]
        benchmark = fits(served.get(f"benchmarks/{made['id']}"), BenchmarkDetailsDocument)
        details = fits(served.get(f"runs/{run}"), RunDetailsDocument)
        for document in (benchmark, details):
            assert [cell["dims"] for cell in document["cells"]] == phases
            assert [cell["name"] for cell in document["cells"]] == names
            assert [cell["status"] for cell in document["cells"]] == [None, None]
        assert len(details["units_kept"]) == 2
        events = served.get(f"events?after={begin}&project_id={project}").json["events"]
        told = [event["data"] for event in events if event["kind"] == "runnable.changed"]
        assert told == [{"kind": "benchmark", "id": made["id"]}]
    finally:
        served.post(f"jobs/{job}/cancel")
        served.ended(job)


def test_settings_come_back_as_they_were_asked_for(served, project):
    asked = {
        "engines": ["scripted"],
        "batch_sizes": [4, 1],
        "cores": [1],
        "instances": [1, 2],
        "devices": ["cpu"],
        "streams": [1],
        "precisions": ["fp32"],
        "spinning": False,
        "contract": "hot",
        "options": {},
        "sandbox": "required",
        "dims": {"batch": 4},
        "values": {"x": 0.5},
        "inputs": ["x=float32[batch,4]"],
        "signature": None,
        "budget": 1.5,
        "iterations": None,
        "warmup": 3,
        "per_call": True,
        "timeout_s": 60.0,
        "memory_limit_bytes": 1 << 30,
        "seed": 5,
    }
    made = served.benchmark(project, start=False, **asked)
    assert made["settings"] == asked
    assert (made["state"], made["latest_run"]) == ("draft", None)
    assert len(made["cells"]) == 4


def test_settings_change_before_the_first_run_and_what_is_not_sent_stays(served, draft):
    before = served.get(f"benchmarks/{draft}").json
    edited = served.patch(f"benchmarks/{draft}", {"batch_sizes": [2, 4], "budget": "quick"})
    after = fits(edited, BenchmarkDetailsDocument)
    changed = {"batch_sizes": [2, 4], "budget": "quick"}
    assert after["settings"] == before["settings"] | changed
    assert [cell["batch_size"] for cell in after["cells"]] == [2, 4]
    assert after["name"] == before["name"]


def test_after_a_run_only_the_name_changes(served, measured):
    told = fits(served.patch(f"benchmarks/{measured}", {"name": "Kept"}), BenchmarkDetailsDocument)
    assert told["name"] == "Kept"
    problem(served.patch(f"benchmarks/{measured}", {"seed": 3}), 409, "WRONG_STATE")
    assert served.get(f"benchmarks/{measured}").json["settings"]["seed"] == 0


def test_a_benchmark_goes_with_its_runs(served, project):
    made = served.benchmark(project)
    run = made["latest_run"]
    if served.get(f"jobs/{run['job_id']}").json["state"] in ("queued", "running"):
        problem(served.delete(f"benchmarks/{made['id']}"), 409, "WRONG_STATE")
    served.ended(run["job_id"])
    assert served.delete(f"benchmarks/{made['id']}").status == 204
    problem(served.get(f"benchmarks/{made['id']}"), 404, "NOT_FOUND")
    problem(served.get(f"runs/{run['id']}"), 404, "NOT_FOUND")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ({"engines": ["nonsense"]}, 400, "ENGINE_UNKNOWN"),
        ({"options": {"nonsense": 1}}, 400, "BAD_VALUE"),
        ({"cores": [4096]}, 400, "BAD_VALUE"),
        ({"inputs": ["x"]}, 400, "BAD_VALUE"),
        ({"signature": "encode"}, 400, "BAD_VALUE"),
        ({"batch_sizes": [*range(1, 51)], "instances": [*range(1, 6)]}, 400, "BAD_VALUE"),
        ({"batch_sizes": []}, 422, "BAD_VALUE"),
        ({"batch_sizes": [0]}, 422, "BAD_VALUE"),
        ({"budget": "endless"}, 422, "BAD_VALUE"),
        ({"budget": 0}, 422, "BAD_VALUE"),
        ({"iterations": 10**9}, 422, "BAD_VALUE"),
        ({"devices": ["cpu\u0001"]}, 422, "BAD_VALUE"),
        ({"nonsense": 1}, 422, "BAD_VALUE"),
        ({"data": "/etc/passwd"}, 422, "BAD_VALUE"),
        ({"model_id": 10**6}, 404, "NOT_FOUND"),
        ({"project_id": 10**6}, 404, "NOT_FOUND"),
    ],
)
def test_what_cannot_work_is_refused_and_leaves_nothing(served, draft, said, status, code):
    known = served.get(f"benchmarks/{draft}").json
    asked = {name: known[name] for name in ("project_id", "model_id")} | said
    found = served.post("benchmarks", asked)
    problem(found, status, code)
    counts = served.get(f"projects/{known['project_id']}").json["counts"]
    assert counts["benchmark"] == 1


def test_a_model_of_another_project_is_refused(served, project):
    elsewhere = served.model(served.project("Elsewhere"))
    asked = {"project_id": project, "model_id": elsewhere}
    problem(served.post("benchmarks", asked), 400, "BAD_VALUE")


def test_no_client_gets_a_model_out_of_its_sandbox(served, project):
    asked = {"project_id": project, "model_id": served.model(project), "start": False}
    problem(served.post("benchmarks", asked | {"sandbox": "off"}), 422, "BAD_VALUE")
    assert served.post("benchmarks", asked | {"sandbox": "required"}).status == 201


def test_what_the_terminal_ran_without_a_sandbox_is_repeated_inside_one(served, project):
    """The control is the repetition: the same benchmark, confined, is run."""
    model = served.server.records.models.get(ModelId(served.model(project)))
    spec = BenchmarkSpec(ModelSpec(model.path), (CellSpec(sandbox="off"),), iterations=5)
    new = NewBenchmark(project_id=ProjectId(project), model_id=model.id, name="x", spec=spec)
    open_one = served.server.records.benchmarks.add(new)
    assert served.get(f"benchmarks/{open_one.id}").json["settings"]["sandbox"] == "off"
    problem(served.post(f"benchmarks/{open_one.id}/runs"), 409, "WRONG_STATE")
    again = served.post(f"benchmarks/{open_one.id}/rerun").json
    assert again["settings"]["sandbox"] == "on"
    assert served.ended(again["latest_run"]["job_id"])["state"] == "done"


# ---------------------------------------------------------------- lists


def test_lists_are_filtered_sorted_and_paged_in_one_query(served, project):
    model = served.model(project)
    for name in ("delta", "alpha", "charlie", "bravo"):
        served.benchmark(project, model, start=False, name=name)
    first = f"benchmarks?project_id={project}&sort=name&order=ascending&limit=3"
    with served.counting() as asked:
        page = fits(served.get(first), Page[BenchmarkSummary])
    selects = [statement for statement in asked if statement.startswith("SELECT")]
    assert len(selects) == 1
    assert [row["name"] for row in page["items"]] == ["alpha", "bravo", "charlie"]
    rest = fits(served.get(f"{first}&cursor={page['next']}"), Page[BenchmarkSummary])
    assert ([row["name"] for row in rest["items"]], rest["next"]) == (["delta"], None)
    found = served.get(f"benchmarks?project_id={project}&text=RAV").json["items"]
    assert [row["name"] for row in found] == ["bravo"]
    problem(served.get("benchmarks?sort=nonsense"), 422, "BAD_VALUE")


def test_a_list_is_sorted_by_any_number_of_its_summaries(served, project):
    model = served.model(project)
    runs, sizes = served.server.records.runs, {}
    for size in (300, None, 100, 200, 100):
        made = served.benchmark(project, model, start=False)["id"]
        run = runs.add(RunOf("benchmark", made), {}, state="running")
        rate = None if size is None else values.figure(1 / size)
        summary = SummaryDocument(peak_memory_bytes=size, throughput_per_s=rate)
        runs.finish(run.id, summary)
        sizes[made] = size
    by_size = sorted((made for made in sizes if sizes[made]), key=lambda made: (sizes[made], made))
    last = [made for made in sizes if sizes[made] is None]
    for sort, order, expected in (
        ("peak_memory_bytes", "ascending", by_size + last),
        ("peak_memory_bytes", "descending", by_size[::-1] + last),
        ("throughput_per_s", "descending", by_size + last),
    ):
        path = f"benchmarks?project_id={project}&sort={sort}&order={order}&limit=2"
        found, page = [], {"next": ""}
        while page["next"] is not None:
            page = served.get(path + (f"&cursor={page['next']}" if page["next"] else "")).json
            found += [row["id"] for row in page["items"]]
        if sort == "throughput_per_s":  # equal rates: the higher number first
            assert [sizes[made] for made in found] == [sizes[made] for made in expected]
        else:
            assert found == expected


def test_details_are_two_queries_whatever_it_has(served, measured):
    served.patch(f"benchmarks/{measured}", {"name": "Asked anew"})
    with served.counting() as asked:
        served.get(f"benchmarks/{measured}")
    assert len([statement for statement in asked if statement.startswith("SELECT")]) == 2


def test_the_same_request_twice_makes_one_benchmark(served, project):
    asked = {"project_id": project, "model_id": served.model(project), "start": False}
    first = served.post("benchmarks", asked, idempotency_key=f"once-{project}")
    second = served.post("benchmarks", asked, idempotency_key=f"once-{project}")
    assert (first.status, first.body) == (second.status, second.body)
    assert served.get(f"projects/{project}").json["counts"]["benchmark"] == 1


def test_a_model_that_changed_on_the_disk_is_not_measured(served, project):
    """What was looked into, and perhaps trusted, is what runs."""
    number = served.model(project, latency_us=60)
    made = served.benchmark(project, number, start=False)
    spec = served.server.records.benchmarks.get(BenchmarkId(made["id"])).spec
    model = served.server.records.models.get(ModelId(number))
    assert spec.model == replace(spec.model, sha256=model.sha256)
    Path(model.path).write_text(Path(model.path).read_text() + "\n")
    job = served.post(f"benchmarks/{made['id']}/runs").json
    assert served.ended(job["id"])["state"] == "failed"
    failure = served.get(f"runs/{job['run_id']}").json["failure"]
    assert failure["code"] == "MODEL_CHANGED"


# ---------------------------------------------------------------- in detail


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_texts_to_reproduce_it_run_unchanged_when_pasted(served, project, tmp_path):
    sent = linear().SerializeToString()
    path = f"projects/{project}/models?name=it%27s%20a%20net.onnx"
    model = served.post(path, sent, content_type="application/octet-stream").json["id"]
    made = served.benchmark(project, model, batch_sizes=[1, 2])
    served.ended(made["latest_run"]["job_id"])
    told = fits(served.get(f"benchmarks/{made['id']}/reproduce"), ReproductionDocument)
    assert served.token not in str(told)
    (tmp_path / "again.py").write_text(told["python"])
    bin = Path(sys.executable).parent
    environ = {
        "PATH": f"{bin}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "MODELDYNO_TOKEN": served.token,
        "MODELDYNO_WORKSPACE": str(tmp_path / "elsewhere"),
    }
    for text in (told["terminal"], told["curl"], "python again.py"):
        ran = subprocess.run(
            ["bash", "-e", "-c", text], cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    again, by_curl, first = served.get(f"benchmarks?project_id={project}").json["items"]
    for one in (again, by_curl):
        shown = served.get(f"benchmarks/{one['id']}").json
        assert (shown["settings"], shown["name"]) == (made["settings"], first["name"])
        served.ended(shown["latest_run"]["job_id"])
    assert told["config"]["batch_size"] == [1, 2]


def test_the_samples_of_a_cell_are_ready_to_be_drawn(served, measured):
    run = served.get(f"benchmarks/{measured}").json["latest_run"]["id"]
    document = fits(served.get(f"runs/{run}/cells/1/samples"), DistributionDocument)
    schemas.check("distribution", document)
    assert (document["run_id"], document["cell"]) == (run, 1)
    assert (document["samples"], document["sessions"], len(document["points"])) == (20, 1, 20)
    assert not document["is_thinned"]
    bins = document["histogram"]
    assert sum(bins["counts"]) + bins["above"] == 20
    assert len(bins["edges_ms"]) == len(bins["counts"]) + 1
    known = {each["quantile"]: each["ms"] for each in document["percentiles"]}
    lowest, highest = document["min_ms"], document["max_ms"]
    for ms in known.values():  # how many samples it takes depends on how they follow
        if ms["needs"] is None:
            assert lowest <= ms["low"] <= ms["value"] <= ms["high"] <= highest
        else:
            assert (ms["value"], ms["needs"] > 20) == (None, True)
    assert known[0.99]["value"] is None
    few = served.get(f"runs/{run}/cells/1/samples?most_points=5").json
    assert (len(few["points"]), few["is_thinned"], few["samples"]) == (5, True, 20)
    problem(served.get(f"runs/{run}/cells/7/samples"), 404, "NOT_FOUND")
