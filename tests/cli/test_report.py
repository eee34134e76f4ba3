"""``modeldyno report``: a result to paste, to calculate with, or for a program."""

import csv
import io
import json

import pytest

import modeldyno
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.store.runs import RunFolders
from tests import schemas
from tests.scripts import script


@pytest.fixture(scope="module")
def reported(tmp_path_factory, starts_processes):
    """Two benchmarks, then a comparison."""
    folder = tmp_path_factory.mktemp("reported")
    workspace = folder / "workspace"
    a, b = script(folder / "=a.json", latency_us=100), script(folder / "b.json", latency_us=300)
    modeldyno.bench(a, batch=[1, 2], iterations=5, workspace=workspace)
    modeldyno.bench(b, iterations=5, workspace=workspace)
    modeldyno.compare(a, b, pairs=4, workspace=workspace)
    return workspace, sorted(path.name for path in (workspace / "runs").iterdir())


@pytest.fixture
def ask(typed, reported):
    return lambda *words: typed("report", *words, "--workspace", reported[0])


def table(text):
    return [*csv.DictReader(io.StringIO(text))]


def test_markdown_of_the_newest_run_is_the_default(ask):
    ended = ask()
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("### =a.json against b.json\n")
    assert "**slower**: B is" in ended.out


def test_a_run_that_is_under_way_is_not_the_default(ask, reported):
    workspace, _ = reported
    begun = RunFolders(workspace / "runs").create(BenchmarkSpec(ModelSpec("m.json"), (CellSpec(),)))
    ended = ask()
    RunFolders(workspace / "runs").remove(begun.id)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("### =a.json against b.json\n")


def test_several_runs_of_markdown_follow_one_another(ask, reported):
    _, (first, second, third) = reported
    told = ask(first, second, third).out
    heads = [line for line in told.splitlines() if line.startswith("### ")]
    assert heads == ["### =a.json", "### b.json", "### =a.json against b.json"]


def test_several_benchmarks_become_one_table_that_runs_no_formula(ask, reported):
    _, (first, second, _) = reported
    rows = table(ask(first, second, "--format", "csv").out)
    assert [row["batch_size"] for row in rows] == ["1", "2", "1"]
    assert all(not row["model"].startswith("=") for row in rows)
    assert all(float(row["latency_ms_typical"]) > 0 for row in rows)


def test_json_is_the_document_that_bench_and_compare_print(ask, reported):
    _, (first, second, third) = reported
    both = json.loads(ask(first, second, "--format", "json").out)
    schemas.check("benchmark", both)
    assert both["runs"] == [first, second]
    schemas.check("comparison", json.loads(ask(third, "--format", "json").out))
    assert table(ask("latest", "--format", "csv").out)[0]["verdict"] == "slower"


def test_a_page_takes_runs_of_any_kind_and_names_no_folder(ask, reported, tmp_path):
    workspace, (first, second, third) = reported
    ended = ask(first, second, third, "--format", "html", "--output", tmp_path / "all.html")
    assert (ended.code, ended.out) == (0, "")
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert [page.count(f'<article id="{run}">') for run in (first, second, third)] == [1, 1, 1]
    assert "<h1>3 results</h1>" in page
    assert str(workspace.parent) not in page


def test_it_writes_a_file_when_told_to(ask, tmp_path):
    ended = ask("--output", tmp_path / "result.md")
    assert (ended.code, ended.out) == (0, "")
    assert (tmp_path / "result.md").read_text().startswith("### ")
    assert ask("--output", tmp_path / "nowhere" / "result.md").code == 1


def test_a_comparison_shares_no_table_and_a_run_without_a_result_has_none(ask, reported):
    workspace, (first, _, third) = reported
    assert ask(first, third, "--format", "csv").code == 2
    spec = BenchmarkSpec(ModelSpec("m.json"), (CellSpec(),))
    begun = RunFolders(workspace / "runs").create(spec).id
    ended = ask(begun)
    assert ended.code == 2
    assert "it is running, with 0 sessions" in ended.err
    RunFolders(workspace / "runs").remove(begun)
