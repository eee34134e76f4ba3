"""``import modeldyno``: the terminal's commands as functions, with results to work with."""

import csv
import io
import json
from dataclasses import FrozenInstanceError

import pytest

import modeldyno
from modeldyno.core.errors import BadValue, ModelNotFound
from tests import onnx_models, schemas
from tests.scripts import fault, script
from tests.terminal import modeldyno as terminal

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))
    return tmp_path / "workspace"


@pytest.fixture
def model(tmp_path):
    return onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")


# ---------------------------------------------------------------- bench


def test_measuring_a_model_gives_a_result_with_numbers(model, workspace):
    result = modeldyno.bench(model, batch=[1, 2], iterations=10)
    found = [(cell.batch_size, cell.measurement) for cell in result.cells]
    assert [(batch, it.samples) for batch, it in found if it] == [(1, 10), (2, 10)]
    assert [path.name for path in (workspace / "runs").iterdir()] == [result.run_id]


def test_a_result_cannot_be_changed(model):
    result = modeldyno.bench(model, iterations=5)
    with pytest.raises(FrozenInstanceError):
        result.run_id = "mine"  # type: ignore[misc,assignment]


def test_a_result_can_be_written_as_json_csv_and_html(model, tmp_path):
    result = modeldyno.bench(model, iterations=5)
    document = json.loads(result.to_json(tmp_path / "result.json"))
    schemas.check("benchmark", document)
    assert json.loads((tmp_path / "result.json").read_text()) == document
    (row,) = csv.DictReader(io.StringIO(result.to_csv(tmp_path / "result.csv")))
    assert (row["model"], row["samples"]) == (str(model), "5")
    assert (tmp_path / "result.csv").read_text() == result.to_csv()
    html = result._repr_html_()
    assert html.startswith("<table><caption>m.onnx</caption>")


def shown(run_id, workspace):
    """What the terminal shows of it, without the spaces that fill its lines."""
    ended = terminal("show", run_id, "--workspace", workspace)
    return "\n".join(line.rstrip() for line in ended.out.splitlines())


def test_printing_a_result_shows_what_the_terminal_shows(model, workspace):
    result = modeldyno.bench(model, batch=[1, 2], iterations=5)
    assert str(result) == shown(result.run_id, workspace)
    assert repr(result) == f"<BenchmarkResult {result.run_id}: m.onnx, 2 cells>"


def test_printing_a_result_says_what_failed(tmp_path):
    result = modeldyno.bench(script(tmp_path / "m.json", faults=[fault("raise")]), iterations=5)
    assert str(result).splitlines()[-1] == "1 core · batch 1: The script says this call fails"


def test_names_in_html_are_only_text(tmp_path):
    evil = script(tmp_path / "<script>alert(1)<.json")
    html = modeldyno.bench(evil, iterations=5)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_failed_cell_is_a_line_of_the_csv_too(tmp_path):
    result = modeldyno.bench(script(tmp_path / "m.json", faults=[fault("raise")]), iterations=5)
    (row,) = csv.DictReader(io.StringIO(result.to_csv()))
    assert (row["status"], row["error"]) == ("failed", "The script says this call fails")
    assert row["latency_ms_typical"] == ""


def test_progress_can_be_listened_to(model):
    heard = []
    modeldyno.bench(model, iterations=5, listen=lambda message: heard.append(message.kind))
    # A wait for cores that another run has leased would be told as well.
    told = [kind for kind in heard if kind != "progress"]
    assert told == ["started", "cells", "unit", "finished"]
    assert "progress" in heard


def test_the_workspace_may_be_said(model, workspace, tmp_path):
    modeldyno.bench(model, iterations=5, workspace=tmp_path / "elsewhere")
    assert len(list((tmp_path / "elsewhere" / "runs").iterdir())) == 1
    assert not workspace.exists()


def test_what_is_wrong_is_raised(model):
    with pytest.raises(BadValue, match="batch must be at least 1"):
        modeldyno.bench(model, batch=0)
    with pytest.raises(BadValue, match="No value for batch"):
        modeldyno.bench(model, batch=[])
    with pytest.raises(ModelNotFound):
        modeldyno.bench(model.with_name("other.onnx"))


# ---------------------------------------------------------------- compare


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [script(folder / f"{us}.json", latency_us=us) for us in (200, 300)]


@pytest.fixture(scope="module")
def slower(models, tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("workspace")
    return modeldyno.compare(*models, pairs=6, quick=True, workspace=workspace)


def test_a_slower_model_fails_the_assertion_with_a_sentence(slower, models):
    with pytest.raises(AssertionError) as caught:
        slower.assert_not_slower(0.05)
    text = str(caught.value)
    assert text.startswith(f"{models[1]} is slower: B is ")
    assert text.endswith("; the limit is +5.0 %")


def test_a_wide_limit_lets_it_pass(slower):
    slower.assert_not_slower(0.9)


def test_not_knowing_is_not_passing(slower):
    limit = slower.ratio.value - 1
    with pytest.raises(AssertionError, match=r"inconclusive: .* measure longer"):
        slower.assert_not_slower(limit)


def test_printing_a_comparison_shows_what_the_terminal_shows(models, workspace):
    result = modeldyno.compare(*models, pairs=2, quick=True)
    assert str(result) == shown(result.run_id, workspace)
    assert repr(result).startswith(f"<ComparisonResult {result.run_id}: {result.verdict}, ratio ")


def test_a_comparison_can_be_written_as_json_csv_and_html(slower, models):
    document = json.loads(slower.to_json())
    schemas.check("comparison", document)
    assert document["verdict"] == slower.verdict == "slower"
    (row,) = csv.DictReader(io.StringIO(slower.to_csv()))
    assert (row["a"], row["b"], row["verdict"]) == (*map(str, models), "slower")
    assert "B is" in slower._repr_html_()


# ---------------------------------------------------------------- rank


def test_models_are_ranked_and_one_that_fails_spoils_no_other(models, tmp_path):
    broken = script(tmp_path / "broken.json", faults=[fault("raise")])
    found = modeldyno.rank(*models, broken, engine="scripted", pairs=4, quick=True)
    fast, slow, failed = found.sides
    assert (fast.place, slow.place, failed.place) == (1, 2, None)
    assert failed.failure
    assert f"{broken}: {failed.failure.title}" in str(found)
    assert str(found).startswith("place  model")
    schemas.check("ranking", document := json.loads(found.to_json()))
    assert [one["place"] for one in document["sides"]] == [1, 2, None]


def test_in_all_engines_is_in_those_that_can_run_it(model):
    found = modeldyno.rank(model, pairs=2, quick=True)
    engines = [one.label.partition("engine=")[2] for one in found.sides]
    assert {"onnxruntime", "openvino"} <= set(engines)
    assert all(one.place and one.parity for one in found.sides[1:])


# ---------------------------------------------------------------- inspect


def test_looking_into_a_model(model):
    facts = modeldyno.inspect(model)
    assert (facts.format, facts.parameters, facts.nodes_by_op) == ("onnx", 15, {"Gemm": 1})
    schemas.check("model", json.loads(facts.to_json()))
    rows = list(csv.DictReader(io.StringIO(facts.to_csv())))
    assert [(row["kind"], row["name"], row["shape"]) for row in rows] == [
        ("input", "x", "[batch, 4]"),
        ("output", "y", "[batch, 3]"),
    ]
    assert "<td>x</td>" in facts._repr_html_()


def test_looking_at_a_graph(model, workspace, tmp_path):
    graph = modeldyno.graph(model)
    assert [(node.op, node.inputs) for node in graph.nodes] == [("Gemm", ("x", "w", "b"))]
    assert repr(graph) == "<Graph 'g': 1 nodes, 4 tensors>"
    assert str(graph).splitlines()[0] == "1 node, 0 edges, 0 groups, 2 initializers"
    document = json.loads(graph.to_json(tmp_path / "graph.json"))
    schemas.check("graph", document)
    assert json.loads((tmp_path / "graph.json").read_text()) == document
    assert [path.name for path in workspace.iterdir()] == ["graphs"]


def test_only_what_is_offered_is_there():
    assert set(modeldyno.__all__) <= set(dir(modeldyno))
    with pytest.raises(AttributeError, match="no attribute 'benchmark'"):
        modeldyno.benchmark  # noqa: B018
