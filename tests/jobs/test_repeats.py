"""What earlier runs of a workspace say about a repeat."""

import json
from dataclasses import replace

import pytest

from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from tests.jobs.test_benchmark import SHORT, spec
from tests.scripts import script

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


def typical_of(result):
    return result.cells[0].measurement.latency.typical


def test_a_repeat_is_expected_from_all_earlier_runs_of_the_same_cell(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=200)
    runs = [typical_of(room.service.run(spec(model))) for _ in range(3)]
    assert [typical.repeat.runs for typical in runs] == [0, 1, 2]
    assert all(run.repeat.low <= run.low <= run.high <= run.repeat.high for run in runs)


def test_other_models_settings_and_inputs_say_nothing(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=200)
    other = script(tmp_path / "other.json", latency_us=300)
    first = spec(model)
    room.service.run(first)
    others = (spec(other), spec(model, batch=(2,)), spec(model, contract="e2e"))
    assert [typical_of(room.service.run(each)).repeat.runs for each in others] == [0, 0, 0]
    assert typical_of(room.service.run(first)).repeat.runs == 1


def test_numbers_of_another_machine_say_nothing(room, tmp_path):
    first = spec(script(tmp_path / "m.json", latency_us=200))
    file = room.runs.folder(room.service.run(first).run_id).path / "result.json"
    kept = json.loads(file.read_text())
    kept["host"]["fingerprint"] = "0" * 16
    file.write_text(json.dumps(kept))
    assert typical_of(room.service.run(first)).repeat.runs == 0


def test_an_unreadable_run_is_left_out(room, tmp_path):
    first = spec(script(tmp_path / "m.json", latency_us=200))
    run_id = room.service.run(first).run_id
    (room.runs.folder(run_id).path / "result.json").write_text("{")
    assert typical_of(room.service.run(first)).repeat.runs == 0


def test_a_quiet_run_whose_repeat_may_differ_is_noisy(room, tmp_path):
    result = room.service.run(spec(script(tmp_path / "m.json", latency_us=200)))
    measured = result.cells[0].measurement
    floor = measured.latency.floor
    is_repeat_wide = floor.repeat.half_width > 0.02 * floor.value
    assert is_repeat_wide <= (measured.noise != "quiet")


def test_too_few_sessions_expect_nothing(room, tmp_path):
    budget = replace(SHORT, sessions_per_process=1, min_sessions=2, seconds=0.01)
    result = room.service.run(spec(script(tmp_path / "m.json", latency_us=200), budget=budget))
    measured = result.cells[0].measurement
    assert measured.sessions < 4
    assert measured.latency.typical.repeat is None
