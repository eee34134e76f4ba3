"""``modeldyno bench``, typed into a real terminal or a pipe."""

import csv
import json
import re
import subprocess
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from modeldyno import python_api
from modeldyno.cli.bench import show
from modeldyno.engines.catalog import BUILT_IN
from modeldyno.store.runs import RunFolders
from tests import onnx_models, schemas
from tests.packages import python_path
from tests.scripts import script
from tests.terminal import command, modeldyno, on_a_terminal

ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def model(tmp_path):
    return script(tmp_path / "m.json")


@pytest.fixture
def bench(tmp_path, starts_processes):
    return lambda *words, **said: modeldyno(
        "bench", *words, "--workspace", tmp_path / "workspace", **said
    )


# ---------------------------------------------------------------- the whole path


def test_a_model_and_nothing_else_gives_a_table_and_says_where_it_is_kept(bench, tmp_path):
    ended = bench(script(tmp_path / "m.json", latency_us=150), "--budget", "0.5")
    head, row = ended.out.splitlines()
    assert ended.code == 0
    # With four sessions there is an interval, and a column for it.
    columns = head.replace(" this run ", " ").split()
    assert columns[:5] == ["cores", "batch", "ms/batch", "floor", "ms/item"]
    assert row.split()[:2] == ["1", "1"]
    assert float(row.split()[2]) >= 0.150
    (run,) = (tmp_path / "workspace" / "runs").iterdir()
    assert re.search("^m\\.json ", ended.err, re.MULTILINE)  # after what a slow machine says
    assert ended.err.endswith(f"Kept as run #1 ({run.name}); see it again: modeldyno show 1\n")


@pytest.fixture(scope="module")
def measured(tmp_path_factory, starts_processes):
    """A real model in two cells."""
    folder = tmp_path_factory.mktemp("measured")
    model = onnx_models.saved(onnx_models.linear(), folder / "m.onnx")
    ended = modeldyno(
        *("bench", model, "--batch", "1,4", "--json", "--engine", "ort"),
        *("--iterations", 20, "--warmup", 3, "--workspace", folder / "workspace"),
        *("--raw", folder / "raw.csv", "--csv", folder / "table.csv"),
    )
    return folder, ended


def test_the_document_is_what_the_schema_promises(measured):
    _, ended = measured
    assert (ended.code, ended.err) == (0, "")
    schemas.check("benchmark", ended.document)


def test_the_document_has_every_field_that_scripts_rely_on(measured):
    folder, ended = measured
    document = ended.document
    assert document["schema"] == "modeldyno.benchmark/2"
    assert set(document["model"]) >= {
        *("path", "format", "framework", "sha256", "size_bytes", "parameters"),
        *("inputs", "outputs"),
    }
    assert document["model"]["path"] == str(folder / "m.onnx")
    for cell in document["cells"]:
        assert set(cell) >= {
            *("engine", "device", "effective", "precision", "batch_size"),
            *("cores", "instances", "status", "error", "notes", "latency_ms", "throughput_per_s"),
            *("cpu_ms", "load_ms", "first_inference_ms", "peak_memory_bytes"),
            *("energy_j_per_item", "samples", "sessions", "warmup_calls", "calls_per_sample"),
            *("overhead_share", "call_contract", "stop_reason", "contention", "noise", "parity"),
        }
        assert set(cell["effective"]) >= {"engine_version", "providers"}
        assert set(cell["latency_ms"]) >= {
            *("floor", "typical", "mean", "stdev", "min", "p90", "p95", "p99"),
        }


def test_exact_calls_are_exact(measured):
    _, ended = measured
    assert [
        (c["batch_size"], c["samples"], c["sessions"], c["warmup_calls"], c["calls_per_sample"])
        for c in ended.document["cells"]
    ] == [(1, 20, 1, 3, 1), (4, 20, 1, 3, 1)]


def test_percentiles_that_twenty_samples_cannot_tell_are_null(measured):
    _, ended = measured
    for cell in ended.document["cells"]:
        latency = cell["latency_ms"]
        assert (latency["p95"]["value"], latency["p99"]["value"]) == (None, None)
        assert latency["p99"]["needs"] > 20
        typical = latency["typical"]
        assert typical["low"] <= typical["value"] <= typical["high"]


def test_raw_samples_are_written_one_to_a_line(measured):
    folder, ended = measured
    lines = list(csv.DictReader((folder / "raw.csv").read_text().splitlines()))
    assert [(line["cell"], line["sample"]) for line in lines if line["cell"] == "0"] == [
        ("0", str(number)) for number in range(20)
    ]
    assert len(lines) == 40
    runs = RunFolders(folder / "workspace" / "runs")
    sessions: list[Any] = [unit.measured for unit in runs.units(ended.document["run_id"])]
    kept = [ns for session in sessions for ns in session.samples.wall_ns]
    assert sorted(int(line["wall_ns"]) for line in lines) == sorted(kept)


def test_the_table_as_csv_has_the_numbers_of_the_document(measured):
    folder, ended = measured
    rows = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    assert [(row["batch_size"], float(row["latency_ms_typical"])) for row in rows] == [
        (str(cell["batch_size"]), cell["latency_ms"]["typical"]["value"])
        for cell in ended.document["cells"]
    ]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    "words",
    [
        ("--dim", "batch=3", "sequence=5"),
        ("--dim", "batch=3", "--dim", "sequence=5"),
        ("--dim", "batch=3,sequence=5"),
    ],
)
def test_sizes_can_be_said_in_one_breath(words, bench, tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    ended = bench(model, *words, "--iterations", 5, "--json")
    (cell,) = ended.document["cells"]
    assert (ended.code, cell["batch_size"], cell["notes"]) == (0, 3, [])


def test_several_models_share_one_document(bench, tmp_path):
    models = [script(tmp_path / f"{name}.json") for name in ("one", "two")]
    raw = tmp_path / "raw.csv"
    ended = bench(*models, "--iterations", 5, "--json", "--raw", raw)
    document = ended.document
    schemas.check("benchmark", document)
    assert ended.code == 0
    assert [cell["model"] for cell in document["cells"]] == [str(model) for model in models]
    assert [model["path"] for model in document["models"]] == [str(model) for model in models]
    assert len(document["runs"]) == 2
    assert len((tmp_path / "raw-2.csv").read_text().splitlines()) == 1 + 5


@pytest.mark.parametrize("contract", ["hot", "e2e"])
def test_other_contracts_are_measured_and_named(contract, bench, tmp_path):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    ended = bench(model, "--contract", contract, "--iterations", 5, "--json")
    (cell,) = ended.document["cells"]
    assert (ended.code, cell["call_contract"], cell["status"]) == (0, contract, "done")


def test_real_inputs_are_taken_from_a_file(bench, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 4), dtype=np.float32))
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    ended = bench(model, "--data", tmp_path / "x.npz", "--iterations", 5, "--json")
    (cell,) = ended.document["cells"]
    assert (ended.code, cell["notes"]) == (0, ["x.npz: the first 1 of 2 items"])


def test_strict_makes_a_noisy_number_an_exit_code(bench, tmp_path):
    uneven = script(tmp_path / "uneven.json", latency_us=[100, 160])
    words = (uneven, "--iterations", 40, "--json")
    lenient, strict = bench(*words), bench(*words, "--strict")
    assert (lenient.code, strict.code) == (0, 7)
    assert strict.document["cells"][0]["noise"] != "quiet"


@pytest.mark.usefixtures("starts_processes")
def test_the_workspace_may_be_said_by_the_environment(model, tmp_path):
    workspace = tmp_path / "elsewhere"
    ended = modeldyno("bench", model, "--iterations", 5, MODELDYNO_WORKSPACE=str(workspace))
    assert ended.code == 0
    assert len(list((workspace / "runs").iterdir())) == 1


# ---------------------------------------------------------------- pipes and terminals


def test_a_pipe_gets_no_colours_and_no_progress(bench, model):
    ended = bench(model, "--budget", "0.5")
    assert ESCAPE not in ended.out + ended.err
    assert "\r" not in ended.out + ended.err
    assert "left" not in ended.err


def test_the_engine_is_named_once_and_notes_stand_below_it(bench, tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    ended = bench(model, "--batch", "1,4", "--iterations", 5)
    lines = ended.err.splitlines()
    (engine,) = (n for n, line in enumerate(lines) if line.startswith("onnxruntime "))
    notes = lines[engine + 1 : lines.index("", engine)]
    assert notes
    assert all(line.startswith("  note: ") for line in notes)
    assert len(set(notes)) == len(notes)


def test_the_plan_counts_the_two_phases_of_a_decoder(bench, tmp_path):
    model = onnx_models.saved(onnx_models.decoder(), tmp_path / "m.onnx")
    ended = bench(model, "--dim", "context=8", "--iterations", 5)
    plan, why = ended.err.splitlines()[:2]
    assert plan == "m.onnx: 2 cells (2 sizes) on 1 core, 5 calls each"
    assert why == (
        "a decoder with a cache: measured as prefill of 8 tokens and as one step after 8 tokens; "
        "to choose: --dim context=…"
    )


def test_a_batch_that_the_model_does_not_take_is_an_error_after_what_could_be_measured(
    bench, tmp_path
):
    model = onnx_models.saved(onnx_models.linear(batch=1), tmp_path / "m.onnx")
    ended = bench(model, "--batch", "1,8", "--iterations", 5, "--quiet")
    assert ended.code == 2
    assert len(ended.out.splitlines()) == 2  # the table with batch 1
    assert ended.err.splitlines() == [
        "error[BAD_VALUE]: m.onnx was not measured with a batch of 8",
        "  why: the model's batch is fixed at 1; asked 8",
        "  help: Leave --batch out, or export the model with an open batch dimension",
    ]


def test_a_batch_that_the_model_does_not_take_is_said_before_it_is_measured(bench, tmp_path):
    model = onnx_models.saved(onnx_models.linear(batch=1), tmp_path / "m.onnx")
    ended = bench(model, "--batch", "4,8", "--cores", "1", "--iterations", 5)
    table = next(n for n, line in enumerate(ended.err.splitlines()) if line.startswith("m.onnx "))
    assert ended.err.splitlines()[:table] == [
        f"the model's batch is fixed at 1; asked {size}; "
        "to choose: export the model with an open batch dimension"
        for size in (4, 8)
    ]
    assert ended.code == 2


@pytest.mark.usefixtures("starts_processes")
def test_a_note_that_is_not_about_every_cell_names_those_it_is_about(model, tmp_path, capsys):
    result = python_api.bench(model, batch=[1, 2], iterations=5, workspace=tmp_path / "workspace")
    first, second = result.cells
    noted = replace(first, notes=("of one", "of both")), replace(second, notes=("of both",))
    show(replace(result, cells=noted), "#1", quiet=False)
    notes = [line for line in capsys.readouterr().err.splitlines() if "note:" in line]
    assert notes == ["  note: of one (1 core · batch 1)", "  note: of both"]


def test_quiet_leaves_only_the_table(bench, model):
    ended = bench(model, "--budget", "0.5", "--quiet")
    assert ended.err == ""
    assert len(ended.out.splitlines()) == 2


@pytest.mark.usefixtures("starts_processes")
def test_a_terminal_sees_progress_with_an_estimate(model, tmp_path):
    words = ("bench", model, "--budget", "1.5", "--workspace", tmp_path / "workspace")
    code, shown = on_a_terminal(*words)
    assert code == 0
    assert "1 core · batch 1" in shown
    assert "s left" in shown
    assert COLOUR.search(shown)


@pytest.mark.usefixtures("starts_processes")
def test_no_color_means_none(model, tmp_path):
    words = ("bench", model, "--budget", "0.5", "--workspace", tmp_path / "workspace")
    code, shown = on_a_terminal(*words, NO_COLOR="1")
    coloured = [part for part in COLOUR.findall(shown) if re.search(r"[\[;][349]\d", part)]
    assert (code, coloured) == (0, [])


@pytest.mark.usefixtures("starts_processes")
def test_json_on_a_terminal_is_still_one_document(model, tmp_path):
    words = ("bench", model, "--iterations", 5, "--json", "--quiet", "--workspace", tmp_path / "w")
    code, shown = on_a_terminal(*words)
    assert (code, json.loads(shown)["schema"]) == (0, "modeldyno.benchmark/2")


@pytest.mark.usefixtures("starts_processes")
def test_a_reader_that_leaves_early_sees_no_traceback(model, tmp_path):
    words = command("bench", model, "--iterations", 5, "--json", "--workspace", tmp_path / "w")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert err == b""


# ---------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    "words",
    [
        ("--batch", "0"),
        ("--batch", "-1"),
        ("--batch", "abc"),
        ("--batch", ","),
        ("--cores", "0"),
        ("--cores", "abc"),
        ("--cores", "100000"),
        ("--budget", "0"),
        ("--budget", "-1"),
        ("--budget", "abc"),
        ("--budget", "inf"),
        ("--iterations", "0"),
        ("--iterations", "-1"),
        ("--iterations", "abc"),
        ("--warmup", "-1"),
        ("--timeout", "0"),
        ("--timeout", "nan"),
        ("--memory-limit", "0"),
        ("--memory-limit", "lots"),
        ("--seed", "-1"),
        ("--dim", "batch"),
        ("--dim", "batch=x"),
        ("--dim", "batch=0"),
        ("--value", "x=loud"),
        ("--spin", "maybe"),
        ("--contract", "warm"),
        ("--engine", "tensorrt"),
        ("--quick", "--thorough"),
        ("--quick", "--budget", "3"),
        ("--raw", "/no/such/folder/raw.csv"),
        ("--csv", "/no/such/folder/table.csv"),
        ("--no-such-option",),
    ],
    ids=" ".join,
)
def test_a_bad_value_is_wrong_usage_and_starts_nothing(words, typed, model, tmp_path):
    ended = typed("bench", model, *words, "--workspace", tmp_path / "workspace")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / "workspace").exists()


def test_no_model_at_all_is_wrong_usage(typed):
    assert typed("bench").code == 2
    assert typed("bench", "--dim", "batch=8", "seq=4").code == 2


def test_a_size_that_the_model_does_not_have_is_answered_with_those_it_has(bench, tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    ended = bench(model, "--dim", "sequenc=5")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "error[BAD_VALUE]: The model has no open dimension 'sequenc'",
        "  why: it has: batch, sequence",
        "  help: Did you mean --dim sequence=…",
    ]


def test_an_engine_that_is_not_there_is_answered_with_one_that_is(typed, model):
    ended = typed("bench", model, "--engine", "onxruntime")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "error[ENGINE_UNKNOWN]: There is no engine named 'onxruntime'",
        "  why: known engines: " + ", ".join(entry.name for entry in BUILT_IN),
        "  help: Did you mean 'onnxruntime'?",
    ]


def test_a_command_that_is_not_there_is_answered_with_one_that_is(typed):
    ended = typed("bnech", "m.onnx")
    assert ended.code == 2
    assert "Did you mean 'bench'?" in ended.err


def test_an_option_that_is_not_there_is_answered_with_one_that_is(typed, model):
    ended = typed("bench", model, "--itrations", 5)
    assert ended.code == 2
    assert "--iterations" in ended.err


def test_a_bug_of_ours_is_called_one_and_what_was_measured_is_kept(bench, model, tmp_path):
    """Provoked by a broken Python: its module ``statistics`` is needed only after measuring."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "statistics.py").write_text("1 / 0")
    ended = bench(model, "--iterations", 5, PYTHONPATH=python_path(tmp_path / "broken"))
    assert (ended.code, ended.out) == (70, "")
    assert "ZeroDivisionError" in ended.err
    assert ended.err.splitlines()[-1] == (
        "error[BUG]: this is a bug in Modeldyno, not in your model; results so far are kept"
    )
    (path,) = (tmp_path / "workspace" / "runs").iterdir()
    assert len(list(RunFolders(path.parent).units(path.name))) == 1
