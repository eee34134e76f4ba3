"""``modeldyno ls`` and ``modeldyno show``: what was measured, once more."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from modeldyno.cli.ls import LEGEND
from modeldyno.core.codec import encode
from modeldyno.core.optimization_settings import TuningSettings
from modeldyno.core.results import FEWEST_SESSIONS
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec, OptimizationSpec
from modeldyno.store.runs import RunFolders
from tests import onnx_models, schemas
from tests.scripts import fault, script
from tests.terminal import modeldyno

# A process that begins a run, keeps what it is told to and is gone without a word.
BEGIN = """
import sys
from pathlib import Path
from modeldyno.core.kinds import spec_from
from modeldyno.store.runs import RunFolders
import json
print(RunFolders(Path(sys.argv[1])).create(spec_from(json.loads(sys.argv[2]))).id)
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory, starts_processes):
    """A workspace with a benchmark, a comparison and a benchmark that failed, in this order."""
    folder = tmp_path_factory.mktemp("measured")
    model = onnx_models.saved(onnx_models.linear(), folder / "m.onnx")
    bad = script(folder / "bad.json", faults=[fault("raise")])
    workspace = ("--workspace", folder / "workspace")
    ended = [
        modeldyno("bench", model, "--batch", "1,4", "--iterations", 20, *workspace),
        modeldyno("compare", model, model, "--quick", *workspace),
        modeldyno("bench", bad, "--iterations", 20, *workspace),
    ]
    assert [one.code for one in ended] == [0, 0, 1]
    return folder, ended


@pytest.fixture
def ask(measured):
    return lambda *words: modeldyno(*words, "--workspace", measured[0] / "workspace")


def ids(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "workspace/runs").iterdir())


def test_runs_are_listed_newest_first_with_their_numbers(ask, measured):
    _, (benched, *_) = measured
    ended = ask("ls")
    legend = f"{LEGEND}\n" if "±" in ended.out else ""
    assert (ended.code, ended.err) == (0, legend)
    head, *rows = ended.out.splitlines()
    assert head.split() == ["run", "when", "kind", "model", "state", "result"]
    assert [row.split()[0] for row in rows] == ["#3", "#2", "#1"]
    failed, compared, both = (" ".join(row.split()[1:]) for row in rows)
    assert "benchmark bad.json failed The script says this call fails" in failed
    assert "comparison m.onnx against m.onnx done " in compared
    assert "benchmark m.onnx done " in both
    assert both.endswith((", lowest of 2 cells", ", lowest usable of 2 cells"))
    table = benched.out.replace("\N{NARROW NO-BREAK SPACE}", "")  # between thousands
    cells = [row.split() for row in table.splitlines()[1:]]
    lowest = min(cells, key=lambda cell: ("unusable" in cell, float(cell[2])))
    shown, interval, unit = re.findall(r"([0-9.]+)( ±[0-9.]+)? (ns|µs|ms),", both)[0]
    (sessions,) = re.findall(r"(\d+)×", " ".join(lowest))
    assert bool(interval) == (int(sessions) >= FEWEST_SESSIONS)
    in_table = benched.out.split()[2].removesuffix("/batch")
    apart = {"ns": 0.001, "µs": 1.0, "ms": 1000.0}
    # An uncertain value is rounded here; the table keeps a column's digits alike.
    assert float(shown) * apart[unit] == pytest.approx(float(lowest[2]) * apart[in_table], rel=0.06)


def test_the_list_is_what_its_schema_promises(ask, measured):
    ended = ask("ls", "--json", "-n", 2)
    schemas.check("runs", ended.document)
    failed, compared = ended.document["runs"]
    assert [failed["run_id"], compared["run_id"]] == ids(measured[0])[::-1][:2]
    assert [failed["number"], compared["number"]] == [3, 2]
    assert (failed["latency_ms"], compared["ratio"]["value"] > 0) == (None, True)
    assert compared["models"] == [str(measured[0] / "m.onnx")]


@pytest.mark.parametrize("number", [0, 1])
def test_a_result_is_shown_as_the_command_did(ask, measured, number):
    folder, ended = measured
    before = ended[number]
    again = ask("show", ids(folder)[number])
    assert (again.code, again.out) == (0, before.out)
    assert again.err
    assert before.err.endswith(again.err)  # before it there was the plan


def test_the_newest_is_shown_unless_another_is_named(ask, measured):
    assert "The script says this call fails" in ask("show").err


@pytest.mark.parametrize("word", ["1", "#1"])
def test_the_number_is_enough(ask, measured, word):
    shown = ask("show", word, "--json").document
    assert shown["run_id"] == ids(measured[0])[0]


def test_a_number_that_no_run_has_is_not_found(ask):
    ended = ask("show", "7")
    assert (ended.code, ended.out) == (4, "")
    assert "There is no run #7 in this workspace" in ended.err
    assert "The nearest are #1, #2, #3" in ended.err


def test_a_part_of_the_id_is_enough(ask, measured):
    run_id = ids(measured[0])[0]
    shown = ask("show", run_id[-6:], "--json").document
    schemas.check("benchmark", shown)
    assert shown["run_id"] == run_id


def test_a_part_that_several_runs_have_is_not(ask, measured):
    ended = ask("show", ids(measured[0])[0][:8], "--json")
    assert (ended.code, ended.error_code) == (4, "RUN_NOT_FOUND")
    assert "3 runs have" in ended.err


def test_a_run_that_is_not_there_is_not_found(ask):
    ended = ask("show", "20200101-000000-abcdef")
    assert (ended.code, ended.out) == (4, "")
    assert "`modeldyno ls` lists all runs" in ended.err


def test_documents_and_tables_come_back(ask, measured, tmp_path):
    folder, _ = measured
    first, second, _ = ids(folder)
    schemas.check("comparison", ask("show", second, "--json").document)
    assert ask("show", first, "--csv", tmp_path / "t.csv").code == 0
    assert [line.split(",")[5] for line in (tmp_path / "t.csv").read_text().splitlines()] == [
        "batch_size",
        "1",
        "4",
    ]


@pytest.mark.usefixtures("starts_processes")
def test_an_empty_workspace_says_what_to_do(tmp_path):
    ended = modeldyno("ls", "--workspace", tmp_path / "none")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines()[0] == f"Nothing has been measured yet in {tmp_path / 'none'}"
    assert not (tmp_path / "none").exists()
    assert modeldyno("show", "--workspace", tmp_path / "none").code == 4


# ---------------------------------------------------------------- without a result


def begun(workspace, model, *cells):
    """A run whose process is gone."""
    spec = encode(BenchmarkSpec(ModelSpec(str(model)), cells or (CellSpec(),)))
    words = [sys.executable, "-c", BEGIN, workspace / "runs", json.dumps(spec)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.usefixtures("starts_processes")
def test_an_interrupted_run_says_how_far_it_came_and_how_to_go_on(tmp_path):
    workspace = tmp_path / "workspace"
    run_id = begun(workspace, tmp_path / "m.json", CellSpec(), CellSpec(batch_size=8))
    line = json.dumps({"cell": 1}) + "\n"
    (workspace / "runs" / run_id / "units.jsonl").write_text(line * 2 + line[:4])
    ended = modeldyno("show", "--workspace", workspace)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "benchmark of m.json: interrupted, 2 sessions kept",
        "  1 core · batch 1: 0 sessions",
        "  1 core · batch 8: 2 sessions",
    ]
    assert ended.err == "next: modeldyno bench --resume 1\n"
    shown = modeldyno("show", "--json", "--workspace", workspace).document
    schemas.check("runs", shown)
    assert [(run["state"], run["units"]) for run in shown["runs"]] == [("interrupted", 2)]
    assert modeldyno("show", "--csv", "t.csv", "--workspace", workspace).code == 2


@pytest.mark.usefixtures("starts_processes")
def test_what_cannot_be_resumed_is_called_by_its_name(tmp_path):
    spec = OptimizationSpec(ModelSpec("m.onnx"), "quantization", "int8", TuningSettings())
    folder = RunFolders(tmp_path / "runs").create(spec)
    (folder.path / "state.json").write_text('{"state": "interrupted", "failure": null}')
    ended = modeldyno("show", folder.id, "--workspace", tmp_path)
    assert ended.err == "This optimization cannot be resumed: run it again\n"


@pytest.mark.usefixtures("starts_processes")
def test_a_run_under_way_is_called_running(tmp_path):
    folder = RunFolders(tmp_path / "runs").create(BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(),)))
    ended = modeldyno("show", folder.id, "--workspace", tmp_path)
    assert ended.out == "benchmark of m.onnx: running, 0 sessions kept\n"
    assert ended.err == "It is being measured right now\n"


@pytest.mark.usefixtures("starts_processes")
def test_a_run_of_another_version_is_named_and_hides_no_other(tmp_path):
    runs = RunFolders(tmp_path / "runs")
    spec = BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(),))
    good, strange = runs.create(spec), runs.create(spec)
    (strange.path / "spec.json").write_text('{"kind": "dance"}')
    (tmp_path / "runs" / "notes").mkdir()
    ended = modeldyno("ls", "--workspace", tmp_path)
    assert ended.code == 0
    assert [row.split()[0] for row in ended.out.splitlines()[1:]] == ["#1"]
    listed = modeldyno("ls", "--json", "--workspace", tmp_path).document
    assert [run["run_id"] for run in listed["runs"]] == [good.id]
    assert strange.id in ended.err
    listed = modeldyno("ls", "--json", "--workspace", tmp_path).document
    assert listed["unreadable"] == [strange.id]
    refused = modeldyno("show", strange.id, "--json", "--workspace", tmp_path)
    assert (refused.code, refused.error_code) == (2, "BAD_VALUE")
