"""Two cells against each other: pairs over several processes, and a ratio of times."""

from dataclasses import replace

import pytest

from modeldyno.core.errors import Cancelled, EngineFailed, ModelChanged, TimedOut, WorkerCrashed
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import JobMessage, Progress
from modeldyno.core.requests.measuring import PairingRequest, SideRequest
from modeldyno.core.sessions import Parity
from modeldyno.core.specs import DEFAULT, QUICK
from modeldyno.jobs.local import LocalJobs
from modeldyno.services.requests import make_comparison_spec
from modeldyno.services.runs import RunService
from modeldyno.settings import Settings
from modeldyno.store.runs import RunFolders
from modeldyno.workbench import open_workbench
from tests import onnx_models
from tests.processes import living
from tests.scripts import fault, script

pytestmark = pytest.mark.usefixtures("starts_processes")

SHORT = replace(DEFAULT, session_s=0.03)


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


def spec(a, b, budget=SHORT, pairs: int | None = 6, **settings):
    pairing = PairingRequest(budget=budget.seconds, pairs=pairs, **settings)
    made = make_comparison_spec(a, b, SideRequest(), pairing)
    processes = 1 if budget.name == "quick" else made.processes
    return replace(made, pair_s=min(made.pair_s, budget.session_s), processes=processes)


def units_of(room):
    (path,) = room.runs.folder("any").path.parent.iterdir()
    return list(room.runs.units(path.name))


def test_a_slower_model_is_measured_as_about_that_much_slower(room, tmp_path):
    a, b = (script(tmp_path / f"{us}.json", latency_us=us) for us in (200, 300))
    result = room.service.run(spec(a, b))
    assert result.verdict == "slower"
    assert result.ratio.value == pytest.approx(1.5, rel=0.1)
    assert result.ratio.low <= result.ratio.value <= result.ratio.high
    assert (result.pairs, result.processes, result.statistic) == (6, 3, "wall p10")
    assert result.a.floor_s >= 200e-6
    assert result.b.floor_s >= 300e-6
    assert not result.interrupted
    assert [unit.process for unit in units_of(room)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("devices", "statistic"),
    [
        (("cpu", "cpu"), "cpu p25"),
        (("cpu", "cuda:0"), "wall p10"),
        (("gpu.0+cpu",) * 2, "wall p10"),
    ],
)
def test_a_side_on_another_device_is_compared_by_wall_time(room, tmp_path, devices, statistic):
    a, b = (
        script(tmp_path / f"{side}.json", latency_us=1500, device=device)
        for side, device in zip("ab", devices, strict=True)
    )
    result = room.service.run(spec(a, b, pairs=2))
    assert (result.a.facts.device, result.b.facts.device) == devices
    assert result.statistic == statistic


def test_the_other_way_round_it_is_faster(room, tmp_path):
    a, b = (script(tmp_path / f"{us}.json", latency_us=us) for us in (300, 200))
    assert room.service.run(spec(a, b)).verdict == "faster"


@pytest.mark.parametrize(("pairs", "processes"), [(2, 2), (4, 3)])
def test_exactly_the_requested_number_of_pairs_is_measured(room, tmp_path, pairs, processes):
    model = script(tmp_path / "m.json", latency_us=200)
    result = room.service.run(spec(model, model, pairs=pairs))
    assert (result.pairs, result.processes) == (pairs, processes)
    assert len(units_of(room)) == pairs


def test_a_slow_model_gets_an_answer_even_when_its_time_is_over(room, tmp_path):
    """One pair has no interval: a second is measured though it does not fit the budget."""
    model = script(tmp_path / "m.json", latency_us=40_000)
    budget = replace(QUICK, seconds=0.2)
    result = room.service.run(spec(model, model, budget=budget, pairs=None))
    assert (result.pairs, result.interrupted) == (2, False)


def test_progress_shows_the_ratio_that_the_result_will_have(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=200)
    heard: list[JobMessage] = []
    room.service.run(spec(model, f"{model}@batch=2", pairs=3), heard.append)
    progress = [message for message in heard if isinstance(message, Progress)]
    ratios = [p.ratio for p in progress if not p.doing.startswith("waiting")]  # for cores
    assert ratios[0] is None
    assert ratios[1:] == pytest.approx([0.5, 0.5], rel=0.1)


def test_per_item_times_are_compared_when_batches_differ(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=200)
    result = room.service.run(spec(model, f"{model}@batch=2"))
    assert result.verdict == "faster"
    assert result.ratio.value == pytest.approx(0.5, rel=0.1)
    assert (result.a.batch_size, result.b.batch_size) == (1, 2)
    assert "batch sizes differ: the ratio is of the time per item" in result.notes


def test_outputs_of_both_sides_are_compared(room, tmp_path):
    a, b = (script(tmp_path / f"{out}.json", output=out, latency_us=200) for out in (1.0, 2.0))
    assert room.service.run(spec(a, b, pairs=2)).parity == Parity(1.0, 1.0, agrees=False)


def test_a_real_model_against_itself_names_both_sides(room, tmp_path):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    result = room.service.run(spec(model, f"{model}@batch=4", pairs=2))
    assert [side.facts.precision for side in (result.a, result.b)] == ["fp32", "fp32"]
    assert [side.label for side in (result.a, result.b)] == [str(model), f"{model}@batch=4"]
    assert result.a.model == result.b.model


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("do", "said", "error"),
    [
        ("segfault", {}, WorkerCrashed),
        ("raise", {}, EngineFailed),
        ("hang", {"timeout_s": 4.0}, TimedOut),
    ],
)
def test_a_side_that_fails_fails_the_comparison_and_leaves_nothing(room, tmp_path, do, said, error):
    good = script(tmp_path / "good.json", latency_us=200)
    bad = script(tmp_path / "bad.json", latency_us=200, faults=[fault(do, call=1)])
    with pytest.raises(error):
        room.service.run(spec(good, bad, **said))
    assert living(tmp_path) == []


def test_pairs_measured_before_a_crash_stay_on_the_disk(room, tmp_path):
    """Each pair opens two sessions in its process; the third pair's first one crashes."""
    faults = [fault("segfault", call=1, session=number) for number in (4, 5)]
    model = script(tmp_path / "m.json", latency_us=200, faults=faults)
    with pytest.raises(WorkerCrashed):
        room.service.run(spec(model, model, pairs=30))
    assert len(units_of(room)) == 2


def unconfined(asked):
    off = {
        name: replace(side, cell=replace(side.cell, sandbox="off"))
        for name, side in (("a", asked.a), ("b", asked.b))
    }
    return replace(asked, **off)


def test_a_model_that_an_engine_rewrites_is_not_compared(room, tmp_path):
    good = script(tmp_path / "good.json", latency_us=200)
    bad = script(tmp_path / "bad.json", latency_us=200, faults=[fault("rewrite", call=1)])
    before = bad.read_bytes()
    with pytest.raises(ModelChanged):
        room.service.run(unconfined(spec(good, bad, pairs=2)))
    assert bad.read_bytes() == before


def stop_after(pairs: int, tmp_path):
    """A comparison that somebody cancels once so many pairs are kept."""
    runs = RunFolders(tmp_path / "workspace" / "runs")
    jobs = LocalJobs(folders=runs)
    heard = []

    def listen(message):
        heard.append(message.kind)
        if heard.count("unit") == pairs:
            (path,) = (tmp_path / "workspace" / "runs").iterdir()
            jobs.cancel(RunId(path.name))

    model = script(tmp_path / "m.json", latency_us=200)
    return RunService(runs, jobs).run(spec(model, model, pairs=50), listen)


def test_stopping_before_there_are_two_pairs_is_only_stopping(tmp_path):
    with pytest.raises(Cancelled, match="before there was anything to compare"):
        stop_after(1, tmp_path)
    assert living(tmp_path) == []


def test_stopping_later_gives_a_verdict_on_what_there_is(tmp_path):
    result = stop_after(3, tmp_path)
    assert (result.interrupted, result.pairs) == (True, 3)
    assert result.ratio.value == pytest.approx(1.0, rel=0.1)
    assert living(tmp_path) == []
