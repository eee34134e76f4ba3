"""A profile: repeats that are never lost, and workers that are not believed."""

from dataclasses import replace
from typing import Any

import pytest

from modeldyno.core.errors import BadValue, Cancelled, EngineFailed, WorkerCrashed, WorkerGarbled
from modeldyno.core.jobs import Progress, Started, Unit
from modeldyno.core.profiles import MOST_NODES, NodeTime, ProfileRepeat, Trace
from modeldyno.core.requests.measuring import ProfileRequest
from modeldyno.core.sessions import SessionFacts
from modeldyno.core.specs import CellSpec
from modeldyno.jobs.profile import require_plausible
from modeldyno.services.requests import make_profile_spec
from modeldyno.settings import Settings
from modeldyno.store.history import History
from modeldyno.workbench import open_records, open_workbench
from tests.scripts import fault, script

pytestmark = pytest.mark.usefixtures("starts_processes")

NODES = [
    {"node": "conv1", "op": "Conv", "us": 600},
    {"node": "relu", "op": "Relu", "us": 50},
    {"node": "conv2", "op": "Conv", "us": 300},
]


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "workspace" / "runs")


def spec(tmp_path, repeats=2, **said):
    model = script(tmp_path / "m.json", **{"latency_us": 1000, "nodes": NODES} | said)
    return replace(make_profile_spec(ProfileRequest(repeats=repeats), model), repeat_s=0.01)


def test_nodes_and_what_is_outside_them_make_up_the_latency(room, tmp_path):
    result = room.service.run(spec(tmp_path))
    assert [(row.node, row.op_type, row.calls) for row in result.rows] == [
        ("conv1", "Conv", 1),
        ("relu", "Relu", 1),
        ("conv2", "Conv", 1),
    ]
    assert result.sum_s + result.outside_s == pytest.approx(result.latency_s)
    assert result.latency_s >= 1e-3
    assert result.repeats == 2
    assert result.model.sha256
    assert not result.interrupted
    shares = [row.total_s / result.sum_s for row in result.rows]
    assert shares == pytest.approx([600 / 950, 50 / 950, 300 / 950], rel=0.01)


def test_the_profilers_cost_is_subtracted_and_reported(room, tmp_path):
    result = room.service.run(spec(tmp_path, profiler_us=500))
    assert result.profiled_s > 1.5 * result.latency_s
    assert result.told_s > result.latency_s
    assert result.sum_s + result.outside_s == pytest.approx(result.latency_s)
    assert any("were taken out" in note for note in result.notes)


def test_a_profile_whose_nodes_are_half_of_the_latency_says_so(room, tmp_path):
    result = room.service.run(spec(tmp_path, nodes=[{"node": "a", "op": "A", "us": 500}]))
    assert result.coverage < 0.9
    assert any("outside them" in warning for warning in result.warnings)
    whole = room.service.run(spec(tmp_path, nodes=[{"node": "a", "op": "A", "us": 1000}]))
    assert not any("outside them" in warning for warning in whole.warnings)  # the control


def test_every_repeat_is_on_the_disk_before_it_is_announced(room, history, tmp_path):
    seen = []

    def listen(message):
        if isinstance(message, Unit):
            seen.append(history.units_kept(history.list_ids()[0]))
        if isinstance(message, Started) or (
            isinstance(message, Progress) and not message.doing.startswith("waiting")
        ):  # other tests may hold the cores
            seen.append(type(message).__name__)

    result = room.service.run(spec(tmp_path, repeats=3), listen)
    assert seen == ["Started", "Progress", 1, "Progress", 2, "Progress", 3, "Progress"]
    units = list(room.runs.units(result.run_id))
    assert [unit.round for unit in units] == [0, 1, 2]
    assert all(isinstance(unit.measured, ProfileRepeat) for unit in units)
    lines = "".join(room.runs.sample_csv_lines(result.run_id)).splitlines()
    assert {line.partition(",")[0] for line in lines[1:]} == {"plain", "profiled"}


def stopping_after(room, history, count):
    done = []

    def listen(message):
        if isinstance(message, Unit):
            done.append(message)
            if len(done) == count:
                room.service._jobs.cancel(history.list_ids()[0])

    return listen


def test_a_stopped_profile_keeps_its_repeats_and_resumes_from_them(room, history, tmp_path):
    asked = spec(tmp_path, repeats=4)
    stopped = room.service.run(asked, stopping_after(room, history, 2))
    assert (stopped.repeats, stopped.interrupted) == (2, True)
    assert "stopped: 2 repeats of 4" in stopped.notes
    kept = history.read(stopped.run_id)
    assert (kept.kind, kept.state, kept.kept) == ("profile", "cancelled", "2 repeats")
    whole = room.service.resume(stopped.run_id)
    assert (whole.repeats, whole.interrupted) == (4, False)
    assert history.read(stopped.run_id).state == "done"
    assert [unit.process for unit in room.runs.units(stopped.run_id)] == [0, 0, 1, 1]


def test_a_profile_that_was_stopped_before_its_first_repeat_was_cancelled(room, history, tmp_path):
    def listen(message):
        if isinstance(message, Started):
            room.service._jobs.cancel(history.list_ids()[0])

    with pytest.raises(Cancelled):
        room.service.run(spec(tmp_path), listen)


@pytest.mark.parametrize(
    ("do", "error"),
    [("segfault", WorkerCrashed), ("raise", EngineFailed), ("garble", WorkerGarbled)],
)
def test_a_failed_worker_fails_the_profile_and_earlier_repeats_are_kept(
    do, error, room, history, tmp_path
):
    """The second repeat's session, in the process that measures."""
    asked = spec(tmp_path, repeats=3, faults=[fault(do, call=2, session=1)])
    with pytest.raises(error):
        room.service.run(asked)
    kept = history.read(history.list_ids()[0])
    assert (kept.state, kept.sessions) == ("failed", (1,))


def test_a_batch_that_the_model_cannot_have_runs_at_its_own(room, tmp_path):
    from tests import onnx_models

    model = onnx_models.saved(onnx_models.linear(batch=2), tmp_path / "fixed.onnx")
    asked = make_profile_spec(ProfileRequest(batch_size=100, repeats=1), model)
    result = room.service.run(replace(asked, repeat_s=0.01))
    assert result.batch_size == 2
    assert any("batch" in note for note in result.notes)


def test_the_engine_has_as_many_threads_as_requested_cores(room, tmp_path):
    from tests import onnx_models

    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    asked = make_profile_spec(ProfileRequest(cores=2, repeats=1), model)
    result = room.service.run(replace(asked, repeat_s=0.01))
    assert (result.facts.threads, result.spec.cell.cores) == (2, 2)
    assert result.facts.engine == "onnxruntime"
    assert all(row.provider == "CPUExecutionProvider" for row in result.rows)


def test_a_profile_is_of_one_cell(tmp_path):
    model = script(tmp_path / "m.json")
    several: Any = (1, 2)
    with pytest.raises(BadValue, match="batch has an invalid value") as caught:
        make_profile_spec(ProfileRequest(batch_size=several), model)
    assert caught.value.why == "it takes a whole number"
    with pytest.raises(BadValue, match="repeats must be at least 1, not 0"):
        make_profile_spec(ProfileRequest(repeats=0), model)
    assert make_profile_spec(ProfileRequest(), model).cell == CellSpec(contract="hot")


def test_a_profile_of_the_terminal_appears_in_the_database_with_its_rows(room, tmp_path):
    asked = spec(tmp_path, repeats=1)
    first, second = (room.service.run(asked) for _ in range(2))
    records = open_records(Settings(tmp_path / "workspace"))
    try:
        (profile,) = records.profiles.page().items  # the same command on the same model
        assert (profile.name, profile.state, profile.spec) == ("m.json", "done", asked)
        latency = profile.summary.latency_ms
        assert latency is not None
        assert latency.typical.value == second.latency_s * 1e3
        for result in (first, second):
            rows = records.profiles.rows(result.run_id)
            assert [(row.node, row.total_s) for row in rows] == [
                (row.node, row.total_s) for row in result.rows
            ]
        agreement = records.profiles.agreement(profile.id)
        assert agreement is not None
        assert (agreement.run_id, agreement.nodes) == (second.run_id, 3)
        assert agreement.coverage == pytest.approx(second.coverage)
    finally:
        records.close()


# ---------------------------------------------------------------- a worker is not trusted


def told(*nodes, **said):
    facts = SessionFacts("scripted", "1", "cpu", (), 1, None, {})
    trace = Trace(nodes or (NodeTime("a", "A", "", 5, 1),), 1, 1, 10)
    usual: dict[str, Any] = {"plain_ns": (9,), "profiled_ns": (9,), "trace": trace}
    return ProfileRepeat(facts=facts, load_s=0.1, contract="hot", **usual | said)


def test_names_are_cleaned_of_control_characters():
    names = "\x1b[31mred\x1b[0m\n\x00two\ud800", "x" * 5000, " \t "
    found = require_plausible(told(*(NodeTime(name, name, name, 5, 1) for name in names)))
    assert [node.node for node in found.trace.nodes] == [
        "red two?",
        "x" * 199 + "…",
        "(no name)",
    ]
    assert require_plausible(told()) == told()  # the control


@pytest.mark.parametrize(
    "said",
    [
        {"plain_ns": ()},
        {"profiled_ns": (0,)},
        {"bare_ns": -1},
        {"trace": Trace((), 1, 0, 10)},
        {"trace": Trace((NodeTime("a", "A", "", -5, 1),), 1, 1, 10)},
        {"trace": Trace((NodeTime("a", "A", "", 5, 1 << 80),), 1, 1, 10)},
        {"trace": Trace((NodeTime("a", "A", "", 5, 1),), 2, 1, 10)},
        {"trace": Trace((NodeTime("a", "A", "", 5, 1),) * (MOST_NODES + 1), 1, 1, 10)},
    ],
    ids=str,
)
def test_a_profile_that_cannot_be_one_is_refused(said):
    with pytest.raises(WorkerGarbled):
        require_plausible(told(**said))


def test_a_hostile_script_makes_no_more_rows_than_allowed(room, tmp_path):
    nodes = [{"node": f"\x1b]0;{n}\x07", "op": "=cmd|x", "us": 0.01} for n in range(MOST_NODES + 9)]
    result = room.service.run(spec(tmp_path, repeats=1, nodes=nodes))
    assert len(result.rows) <= MOST_NODES
    assert all(row.node.isprintable() for row in result.rows)
    assert "'=cmd|x" in result.to_csv()
