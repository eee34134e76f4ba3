"""Two measured benchmarks against each other, over real HTTP and through real workers."""

import json

import pytest

from modeldyno.core.documents.benchmarks import JudgementDocument
from tests.api.v1.shapes import fits, problem

QUICK = {"iterations": None, "warmup": None, "budget": "quick"}


@pytest.fixture(scope="module")
def slow_and_quick(served):
    """A project with two benchmarks whose models differ threefold; and a third, of one session."""
    project = served.project("Judged")
    models = [served.model(project, latency_us=us) for us in (3000, 1000)]
    made = [served.benchmark(project, model, batch_sizes=[1, 2], **QUICK) for model in models]
    made.append(served.benchmark(project, models[0]))
    for one in made:
        assert served.ended(one["latest_run"]["job_id"])["state"] == "done"
    for one, latency_s in zip(made[:2], (0.003, 0.001), strict=True):
        rewrite(served, one["latest_run"]["id"], latency_s)
    return project, models, [one["id"] for one in made]


def rewrite(served, run_id, latency_s, noise="quiet", reasons=("Calm.",)):
    """The numbers of a quiet machine, whatever this one does: known to ±1 % over 8 sessions."""
    path = served.workspace / "runs" / run_id / "result.json"
    result = json.loads(path.read_text())
    sure = {"level": 0.95, "n": 8, "units": "sessions"}
    sure |= {"value": latency_s, "low": latency_s * 0.99, "high": latency_s * 1.01}
    for cell in result["cells"]:
        cell["measurement"]["latency"] |= {"floor": sure, "typical": sure}
        cell["measurement"] |= {"noise": noise, "reasons": list(reasons)}
    path.write_text(json.dumps(result))


def judged(served, a, b):
    return fits(served.get(f"judgements?a={a}&b={b}"), JudgementDocument)


def test_a_clear_difference_is_told_cell_by_cell_with_its_interval(served, slow_and_quick):
    _, _, (slow, quick, _) = slow_and_quick
    told = judged(served, slow, quick)
    pairs = [(cell["a"]["number"], cell["b"]["number"]) for cell in told["cells"]]
    assert pairs == [(0, 0), (1, 1)]
    for cell in told["cells"]:
        assert (cell["verdict"], cell["faster"], cell["basis"]) == ("faster", "b", "separate runs")
        assert 0.31 < cell["ratio"]["low"] < cell["ratio"]["value"] < cell["ratio"]["high"] < 0.36
        assert cell["speedup"]["value"] == pytest.approx(3)
        assert cell["sentence"].startswith("B is 3.00× faster than A (2.9")
    assert told["sentence"] == "Of 2 cells: B is faster in 2."
    back = judged(served, f"{quick}:0", f"{slow}:0")
    assert (back["cells"][0]["verdict"], back["cells"][0]["faster"]) == ("slower", "a")


def test_an_unusable_number_is_never_called_faster(served, slow_and_quick):
    _, _, (slow, quick, _) = slow_and_quick
    run = served.get(f"benchmarks/{quick}").json["latest_run"]["id"]
    rewrite(served, run, 0.001, noise="unusable", reasons=["It moved."])
    cell = judged(served, slow, quick)["cells"][0]
    rewrite(served, run, 0.001)
    assert (cell["verdict"], cell["faster"]) == ("inconclusive", None)
    assert cell["why"] == "the number of B is unusable: It moved."
    assert cell["sentence"].startswith("Not judged: B is unusable (B takes 0.3")


def test_a_verdict_on_two_precisions_names_both(served, slow_and_quick):
    _, _, (slow, quick, _) = slow_and_quick
    runs = [served.get(f"benchmarks/{one}").json["latest_run"]["id"] for one in (slow, quick)]
    paths = [served.workspace / "runs" / run / "result.json" for run in runs]
    before = [path.read_text() for path in paths]
    for path, precision in zip(paths, ("fp32", "int4 weights, int8 activations"), strict=True):
        result = json.loads(path.read_text())
        for cell in result["cells"]:
            cell["facts"]["precision"] = precision
        path.write_text(json.dumps(result))
    cell = judged(served, slow, quick)["cells"][0]
    for path, text in zip(paths, before, strict=True):
        path.write_text(text)
    assert cell["verdict"] == "faster"
    words = "A computes in fp32, B with int4 weights, int8 activations; "
    assert cell["why"].startswith(words)


def test_two_machines_that_look_alike_get_no_verdict(served, slow_and_quick):
    _, _, (slow, quick, _) = slow_and_quick
    runs = [served.get(f"benchmarks/{one}").json["latest_run"]["id"] for one in (slow, quick)]
    paths = [served.workspace / "runs" / run / "result.json" for run in runs]
    before = [path.read_text() for path in paths]
    for path, name in zip(paths, ("lab-1", "lab-2"), strict=True):
        result = json.loads(path.read_text())
        path.write_text(json.dumps(result | {"host": result["host"] | {"machine": name}}))
    told = judged(served, slow, quick)
    for path, text in zip(paths, before, strict=True):
        path.write_text(text)
    why = "measured on different machines: lab-1 against lab-2"
    assert told["cells"][0]["sentence"] == f"Not comparable: {why}."
    assert told["cells"][0]["verdict"] == "not-comparable"
    differing = [one["name"] for one in told["environment"] if one["differs"]]
    assert differing == ["machine"]


def test_all_settings_stand_side_by_side_and_those_that_differ_are_counted(served, slow_and_quick):
    _, _, (slow, quick, _) = slow_and_quick
    told = judged(served, slow, quick)
    differing = {one["name"] for one in told["settings"] if one["differs"]}
    assert {"model", "model sha256"} <= differing
    assert told["settings_differing"] == len(differing) < len(told["settings"])
    assert "engine" not in differing
    assert told["environment_differing"] == 0
    assert {"CPU", "kernel", "governor"} <= {one["name"] for one in told["environment"]}


def test_a_benchmark_against_itself_is_no_difference(served, slow_and_quick):
    _, _, (slow, _, _) = slow_and_quick
    told = judged(served, f"{slow}:0", f"{slow}:0")
    (cell,) = told["cells"]
    assert cell["ratio"]["value"] == pytest.approx(1)
    assert (cell["faster"], cell["basis"]) == (None, "one run")
    assert told["settings_differing"] == 0


def test_one_session_cannot_be_compared_and_says_why(served, slow_and_quick):
    _, _, (slow, _, single) = slow_and_quick
    told = judged(served, slow, single)
    (cell,) = told["cells"]
    assert (cell["verdict"], cell["ratio"]) == ("not-comparable", None)
    assert "too few" in cell["why"]
    assert told["unmatched_a"] == [1]


def test_a_comparison_that_alternated_the_pair_outranks_separate_runs(served, slow_and_quick):
    project, (slow_model, quick_model), (slow, quick, _) = slow_and_quick
    asked = {"a": {"model_id": quick_model}, "b": {"model_id": slow_model}, "budget": "quick"}
    made = served.post("comparisons", asked | {"project_id": project}).json
    assert served.ended(made["latest_run"]["job_id"])["state"] == "done"
    first, second = judged(served, slow, quick)["cells"]
    assert (first["basis"], first["comparison_id"]) == ("alternation", made["id"])
    assert (second["basis"], second["pairs"]) == ("separate runs", None)
    shown = served.get(f"comparisons/{made['id']}").json["summary"]
    assert first["pairs"] > 1
    assert first["ratio"]["value"] == pytest.approx(
        1 / shown["ratio"]["value"]
    )  # they stand the other way


def test_what_is_not_there_or_not_measured_is_refused_in_words(served, slow_and_quick):
    project, _, (slow, _, _) = slow_and_quick
    draft = served.benchmark(project, start=False)["id"]
    problem(served.get(f"judgements?a={slow}&b=999999"), 404, "NOT_FOUND")
    assert problem(served.get(f"judgements?a={slow}&b={draft}"), 404, "NOT_FOUND")["fix"]
    problem(served.get(f"judgements?a={slow}:7&b={slow}"), 400, "BAD_VALUE")
    problem(served.get(f"judgements?a={slow}"), 422, "BAD_VALUE")
