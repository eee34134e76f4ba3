"""Cells in rounds of fresh processes: what is measured, when it stops, what it says."""

import json
from dataclasses import replace

import numpy as np
import pytest
from onnx import helper, numpy_helper

from modeldyno.core.documents.benchmarks import BenchmarkDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.errors import BadValue, InputUnresolved
from modeldyno.core.jobs import Cells, JobMessage, Progress, Started, Unit
from modeldyno.core.requests.measuring import BenchmarkRequest, ModelFile
from modeldyno.core.results import FEWEST_SESSIONS, Failure
from modeldyno.core.sentences import unranked_sentence
from modeldyno.core.specs import DEFAULT, QUICK, BenchmarkSpec
from modeldyno.jobs.rounds import planned_units
from modeldyno.present.tables import benchmark_rows
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.settings import Settings
from modeldyno.workbench import open_history, open_workbench
from tests import onnx_models
from tests.scripts import fault, script

pytestmark = pytest.mark.usefixtures("starts_processes")

# Three processes of two short sessions each, and time enough for all of them.
SHORT = replace(DEFAULT, name="custom", sessions_per_process=2, session_s=0.02, min_sessions=6)


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


def spec(model, budget=SHORT, batch=(1,), cores=(1,), engine=(), **settings) -> BenchmarkSpec:
    request = BenchmarkRequest(batch_sizes=batch, cores=cores, engines=engine, **settings)
    made = make_benchmark_spec(request, model)
    return made if request.iterations else replace(made, budget=budget)


def units_of(room, result):
    return list(room.runs.units(result.run_id))


def test_a_benchmark_measures_sessions_in_several_fresh_processes(room, tmp_path):
    """Wide enough widths are met as soon as every process had its turn."""
    budget = replace(SHORT, floor_half_width=10.0, typical_half_width=10.0)
    result = room.service.run(spec(script(tmp_path / "m.json", latency_us=200), budget=budget))
    (cell,) = result.cells
    found = cell.measurement
    assert [(unit.cell, unit.process) for unit in units_of(room, result)] == [
        (0, process) for process in (0, 0, 1, 1, 2, 2)
    ]
    assert (cell.status, cell.error, cell.notes) == ("done", None, ())
    assert (found.sessions, found.processes, found.stop_reason) == (6, 3, "precise")
    assert found.latency.min_s >= 200e-6
    assert found.latency.floor.low <= found.latency.floor.value <= found.latency.floor.high
    assert found.latency.typical.value >= found.latency.floor.value
    assert found.throughput_per_s <= 1 / 200e-6
    assert found.parity.agrees


def test_cells_take_turns_in_every_round(room, tmp_path):
    budget = replace(
        SHORT,
        sessions_per_process=1,
        min_sessions=3,
        floor_half_width=10.0,
        typical_half_width=10.0,
    )
    result = room.service.run(spec(script(tmp_path / "m.json"), batch=(1, 2), budget=budget))
    units = units_of(room, result)[:6]  # a winner's fresh sessions may follow
    assert [unit.process for unit in units] == [0, 0, 1, 1, 2, 2]
    assert [unit.round for unit in units] == [0, 0, 1, 1, 2, 2]
    cells = [unit.cell for unit in units]
    assert [sorted(cells[start : start + 2]) for start in (0, 2, 4)] == [[0, 1]] * 3


def test_a_budget_that_is_over_ends_the_last_process(room, tmp_path):
    budget = replace(QUICK, seconds=1.0)
    result = room.service.run(spec(script(tmp_path / "m.json"), budget=budget))
    found = result.cells[0].measurement
    assert (found.stop_reason, found.processes) == ("budget", 1)


def test_exact_iterations_are_exact(room, tmp_path):
    result = room.service.run(spec(script(tmp_path / "m.json"), iterations=12, warmup=4))
    (unit,) = units_of(room, result)
    found = result.cells[0].measurement
    assert len(unit.measured.samples.wall_ns) == 12
    assert (found.samples, found.sessions, found.warmup_calls) == (12, 1, 4)
    assert (found.stop_reason, found.calls_per_sample) == ("fixed", 1)


def test_one_iteration_is_enough_for_a_number(room, tmp_path):
    result = room.service.run(spec(script(tmp_path / "m.json"), iterations=1, warmup=0))
    found = result.cells[0].measurement
    assert (found.samples, found.latency.stdev_s) == (1, None)
    assert (found.noise, found.reasons[0].partition(" too")[0]) == ("unusable", "1 sample is")
    told = json.loads(result.to_json())["cells"][0]["latency_ms"]
    assert told["stdev"] is None
    for level in ("typical", "floor"):
        assert [told[level][end] for end in ("low", "high", "level")] == [None] * 3
    assert result.to_csv()


def test_per_call_timing_keeps_every_call_apart(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=5)
    result = room.service.run(spec(model, per_call=True, budget=replace(QUICK, seconds=0.1)))
    assert result.cells[0].measurement.calls_per_sample == 1


def test_short_calls_share_a_sample(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=5)
    result = room.service.run(spec(model, budget=replace(QUICK, seconds=0.1)))
    assert result.cells[0].measurement.calls_per_sample > 1


def test_throughput_counts_items(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=400)
    result = room.service.run(spec(model, batch=(1, 8), iterations=30))
    one, eight = (cell.measurement.throughput_per_s for cell in result.cells)
    assert one <= 1 / 400e-6
    assert one < eight <= 8 / 400e-6


def test_loading_and_the_first_call_are_measured_separately(room, tmp_path):
    model = script(tmp_path / "m.json", load_ms=100, first_us=[30_000])
    result = room.service.run(spec(model, iterations=10))
    found = result.cells[0].measurement
    assert found.load_s >= 0.1
    assert found.first_inference_s >= 0.03
    assert found.latency.min_s < 0.03


# ---------------------------------------------------------------- real models


def test_a_real_model_reports_its_engine_and_precision(room, tmp_path):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    result = room.service.run(spec(model, batch=(1, 4), iterations=20))
    for cell, batch in zip(result.cells, (1, 4), strict=True):
        assert (cell.status, cell.batch_size) == ("done", batch)
        assert (cell.facts.engine, cell.facts.precision) == ("onnxruntime", "fp32")
        assert cell.facts.providers == ("CPUExecutionProvider",)
        assert cell.facts.input_dtypes == {"x": "float32"}
        assert cell.facts.threads == 1
    assert result.model.parameters == 15


def test_a_fixed_batch_is_kept_and_noted(room, tmp_path):
    model = onnx_models.saved(onnx_models.linear(batch=2), tmp_path / "m.onnx")
    result = room.service.run(spec(model, batch=(8,), iterations=5))
    (cell,) = result.cells
    assert (cell.status, cell.batch_size) == ("done", 2)
    assert cell.notes == ("the model's batch is fixed at 2; asked 8",)


def test_a_batch_that_a_reshape_inside_fixes_is_said_before_it_is_measured(room, tmp_path):
    shape = numpy_helper.from_array(np.array([1, 4], "int64"), "shape")
    ends = [
        onnx_models.value(name, shape=shape) for name, shape in (("x", ("n", 4)), ("y", (1, 4)))
    ]
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    model = onnx_models.saved(
        onnx_models.model([node], ends[:1], ends[1:], [shape]), tmp_path / "m.onnx"
    )
    heard: list[JobMessage] = []
    asked = spec(model, engine=("onnxruntime",), batch=(1, 8), iterations=5)
    result = room.service.run(asked, heard.append)
    assert [cell.batch_size for cell in result.cells] == [1]
    notice = (
        "a batch of 8 did not run, so the batch is 1; "
        "to choose: export the model with an open batch dimension"
    )
    said: list[object] = []
    for message in heard:
        match message:
            case Cells(cells=cells):
                said.append(len(cells))
            case Progress(notice=text) if text:
                said.append(text)
            case Unit():
                said.append(Unit)
    assert said == [2, notice, 1, Unit]


def test_guesses_are_in_the_notes(room, tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    result = room.service.run(spec(model, iterations=5))
    assert result.cells[0].notes == (
        "guessed 128 for sequence, which the model leaves open; to choose: --dim sequence=…",
    )
    said = room.service.run(spec(model, dims={"sequence": 7}, iterations=5))
    assert said.cells[0].notes == ()


def test_a_guessed_size_is_marked_in_tables_and_json_and_a_given_one_is_not(room, tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    guessed = room.service.run(spec(model, iterations=5))
    head, (row,) = benchmark_rows(guessed)
    assert row[head.index("shape")] == "~ids 1×128"
    assert "~ids 1×128" in str(guessed)  # the table, which --quiet leaves
    assert guessed.to_csv().splitlines()[1].endswith("~ids 1×128")
    (cell,) = json_value(BenchmarkDocument.of(guessed))["cells"]
    assert (cell["input_shapes"], cell["guessed"], cell["shape"]) == (
        {"ids": [1, 128]}, True, "~ids 1×128"
    )  # fmt: skip
    given = room.service.run(spec(model, dims={"sequence": 7}, iterations=5))
    assert "shape" not in benchmark_rows(given)[0]
    (cell,) = json_value(BenchmarkDocument.of(given))["cells"]
    assert (cell["guessed"], cell["shape"]) == (False, "ids 1×7")


def test_the_users_own_inputs_have_no_shape_to_guess(room, tmp_path):
    np.savez(tmp_path / "x.npz", ids=np.ones((1, 9), dtype=np.int64))
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    request = spec(ModelFile(model, data=tmp_path / "x.npz"), iterations=5)
    (cell,) = json_value(BenchmarkDocument.of(room.service.run(request)))["cells"]
    assert (cell["input_shapes"], cell["guessed"], cell["shape"]) == ({}, False, "")


def test_a_decoder_with_a_cache_is_measured_as_prefill_and_as_one_step(room, tmp_path):
    model = onnx_models.saved(onnx_models.decoder(), tmp_path / "m.onnx")
    asked = spec(model, engine=("onnxruntime",), dims={"context": (8, 32)}, iterations=5)
    result = room.service.run(asked)
    cells = json_value(BenchmarkDocument.of(result))["cells"]
    assert [(cell["status"], cell["dims"]) for cell in cells] == [
        ("done", {"prefill": 8}),
        ("done", {"decode": 8}),
        ("done", {"prefill": 32}),
        ("done", {"decode": 32}),
    ]
    assert cells[1]["input_shapes"]["past_key_values.1.value"] == [1, 2, 8, 4]
    assert cells[1]["input_shapes"]["attention_mask"] == [1, 9]
    for cell, tokens in zip(cells, (8, 1, 32, 1), strict=True):
        rate = cell["throughput_per_s"]["value"]
        assert cell["tokens_per_s"]["value"] == pytest.approx(rate * tokens)
        first, typical = cell["time_to_first_token_ms"], cell["latency_ms"]["typical"]
        assert first == (typical if tokens > 1 else None)
        assert (cell["guessed"], cell["surprises"], cell["mismatches"]) == (False, [], [])
    head, rows = benchmark_rows(result)
    names = ("prefill", "decode", "tokens/s", "first token")
    assert set(names) <= set(head)
    assert [[row[head.index(name)] for name in names[:2]] for row in rows] == [
        ["8", "–"],
        ["–", "8"],
        ["32", "–"],
        ["–", "32"],
    ]
    assert [row[head.index("first token")] == "–" for row in rows] == [False, True, False, True]
    usual = room.service.run(spec(model, engine=("onnxruntime",), iterations=5))
    assert [cell.spec.dims for cell in usual.cells] == [{"prefill": 128}, {"decode": 128}]
    note = (
        "a decoder with a cache: measured as prefill of 128 tokens and as one step after 128 "
        "tokens; to choose: --dim context=…"
    )
    assert all(cell.notes[0] == note for cell in usual.cells)


@pytest.mark.parametrize(
    ("model", "batch", "names"),
    [
        (onnx_models.decoder, (1,), ("prefill 8", "decode 8")),
        (lambda: onnx_models.linear(batch=2), (1, 8), ("1 core", "2 cores")),
    ],
    ids=["a decoder with a cache", "a fixed batch"],
)
def test_cells_are_known_once_the_model_was_read_and_a_resumed_run_goes_on_with_them(
    room, tmp_path, model, batch, names
):
    history = open_history(Settings(tmp_path / "workspace"))
    is_decoder = model is onnx_models.decoder
    asked = spec(
        onnx_models.saved(model(), tmp_path / "m.onnx"),
        engine=("onnxruntime",),
        batch=batch,
        cores=(1,) if is_decoder else (1, 2),
        dims={"context": 8} if is_decoder else {},
        budget=replace(SHORT, floor_half_width=None, typical_half_width=None, seconds=4.0),
    )
    heard: list[JobMessage] = []

    def listen(message):
        heard.append(message)
        if len([m for m in heard if isinstance(m, Unit)]) == 3:
            room.service._jobs.cancel(history.list_ids()[0])

    stopped = room.service.run(asked, listen)
    assert stopped.interrupted
    assert [type(message) for message in heard[:3]] == [Started, Cells, Progress]
    started, announced, *_ = heard
    assert isinstance(started, Started)
    assert isinstance(announced, Cells)
    assert started.units_planned == planned_units(asked, len(names))
    assert all(name in cell.name for name, cell in zip(names, announced.cells, strict=True))
    kept = history.read(stopped.run_id)
    assert kept.cell_names == tuple(cell.name for cell in announced.cells)
    assert (len(kept.sessions), sum(kept.sessions)) == (len(names), 3)
    whole = room.service.resume(stopped.run_id)
    assert [cell.spec for cell in whole.cells] == [*announced.cells]
    units = units_of(room, whole)
    counts = [len([unit for unit in units if unit.cell == n]) for n in range(len(names))]
    assert [cell.measurement.sessions for cell in whole.cells] == counts
    assert min(counts) > 1
    assert all(later >= before for later, before in zip(counts, kept.sessions, strict=True))


def test_real_inputs_are_used_as_they_are(room, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.ones((3, 4), dtype=np.float32))
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    result = room.service.run(
        spec(ModelFile(model, data=tmp_path / "x.npz"), batch=(3, 6), iterations=5)
    )
    assert [(cell.batch_size, cell.notes) for cell in result.cells] == [
        (3, ()),
        (6, ("x.npz: 3 repeated to 6 items",)),
    ]


def test_a_model_that_is_random_by_itself_is_not_called_wrong(room, tmp_path):
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["noise"]),
        helper.make_node("Add", ["x", "noise"], ["y"]),
    ]
    made = onnx_models.model(
        nodes,
        [onnx_models.value("x", shape=["batch", 4])],
        [onnx_models.value("y", shape=["batch", 4])],
    )
    result = room.service.run(spec(onnx_models.saved(made, tmp_path / "m.onnx"), iterations=5))
    (cell,) = result.cells
    assert (cell.status, cell.measurement.parity) == ("done", None)


def test_few_rounds_name_neither_a_best_cell_nor_a_tie(room, tmp_path):
    model = script(tmp_path / "m.json")
    budget = replace(QUICK, seconds=0.01)  # one session each
    result = room.service.run(spec(model, batch=(1, 2), budget=budget))
    assert [cell.measurement.sessions for cell in result.cells] == [1, 1]
    assert result.standings == {}
    assert unranked_sentence(result).startswith("Not ranked after 1 round: too few")


# ---------------------------------------------------------------- what goes wrong


def test_one_cell_that_fails_leaves_the_others_their_numbers(room, tmp_path):
    model = script(tmp_path / "m.json", faults=[fault("raise", batch=2)])
    result = room.service.run(spec(model, batch=(1, 2), iterations=5))
    one, two = result.cells
    assert (one.status, one.measurement.samples) == ("done", 5)
    assert (two.status, two.measurement) == ("failed", None)
    assert two.error == Failure(
        "ENGINE_FAILED",
        "The script says this call fails",
        "",
        "Remove the fault from the script",
    )


def test_a_cell_whose_loading_crashes_does_not_take_the_next_one_with_it(room, tmp_path):
    """All cells are tried in one worker; after a crash the next gets a fresh one."""
    model = script(tmp_path / "m.json", faults=[fault("segfault", call=-1, session=1)])
    result = room.service.run(spec(model, batch=(1, 2, 3), iterations=5))
    assert [cell.status for cell in result.cells] == ["done", "failed", "done"]


def test_when_every_cell_is_refused_the_reason_is_raised(room, tmp_path):
    with pytest.raises(BadValue, match="Engine 'scripted' does not read onnx models"):
        room.service.run(
            spec(
                onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx"),
                engine=("scripted",),
            )
        )


def test_an_engine_that_cannot_read_a_model_fails_beside_one_that_can(room, tmp_path):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    result = room.service.run(spec(model, engine=("scripted", "ort"), iterations=5))
    assert [(cell.spec.engine, cell.status) for cell in result.cells] == [
        ("scripted", "failed"),
        ("onnxruntime", "done"),
    ]


def test_an_input_that_cannot_be_made_is_an_error_with_a_fix(room, tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    text = onnx_models.value("x", onnx_models.STRING, [1])
    made = onnx_models.model(nodes, [text], [onnx_models.value("y", onnx_models.STRING, [1])])
    with pytest.raises(InputUnresolved, match="string inputs are not supported yet"):
        room.service.run(spec(onnx_models.saved(made, tmp_path / "m.onnx")))


def test_the_host_is_in_every_result(room, tmp_path):
    result = room.service.run(spec(script(tmp_path / "m.json"), iterations=5))
    again = room.service.run(spec(script(tmp_path / "m.json"), iterations=5))
    assert result.host == again.host
    assert len(result.host.fingerprint) == 16


def test_progress_counts_the_checks_of_a_winner_and_never_falls(room, tmp_path):
    """The rounds take more sessions than first planned, and then the winner is measured anew."""
    model = script(tmp_path / "m.json", latency_us=100)
    reports: list[JobMessage] = []
    budget = replace(SHORT, seconds=5.0, floor_half_width=1e-9, typical_half_width=1e-9)
    result = room.service.run(spec(model, batch=(1, 8), budget=budget), reports.append)
    progress = [r for r in reports if isinstance(r, Progress) and r.units_planned]
    shares = [each.units_done / each.units_planned for each in progress]
    assert shares == sorted(shares)
    winners = {standing.leader for standing in result.standings.values() if standing.has_winner}
    # On a busy machine there may be time for fewer fresh sessions, or none; test_budgets counts
    # them by a clock of its own.
    checked = [w for w in winners if any("fresh sessions after it" in n for n in notes(result, w))]
    checks = [each for each in progress if each.doing.startswith("checking ")]
    assert len(checks) >= FEWEST_SESSIONS * len(checked)
    assert shares[-1] == 1.0 or not checked


def notes(result, number):
    return [note for note in result.cells[number].notes if note.startswith("best of the sweep, so")]
