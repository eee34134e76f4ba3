"""A run from its spec to its result, with what it says kept on the way."""

import json
import threading

import pytest

from modeldyno.core.codec import decode
from modeldyno.core.errors import BadValue, EngineFailed, ModelUnreadable
from modeldyno.core.jobs import Cells, Failed, Finished, JobMessage, Progress, Started, Unit
from modeldyno.core.models import ModelFacts
from modeldyno.core.requests.measuring import BenchmarkRequest, PairingRequest, SideRequest
from modeldyno.core.results import BenchmarkResult, Failure
from modeldyno.services.requests import (
    make_benchmark_spec,
    make_comparison_spec,
    make_inspection_spec,
)
from modeldyno.settings import Settings
from modeldyno.store.runs import RunFolder
from modeldyno.workbench import open_workbench
from tests.scripts import fault, script

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


def spec(model, **said):
    options = {"iterations": 5} | said
    return make_benchmark_spec(BenchmarkRequest(**options), model)


def test_a_run_walks_the_whole_path_and_its_result_is_kept(room, tmp_path):
    result = room.service.run(spec(script(tmp_path / "m.json")))
    folder = room.runs.folder(result.run_id)
    kept = decode(BenchmarkResult, json.loads((folder.path / "result.json").read_text()))
    assert kept == result
    assert (folder.state(), folder.spec()) == ("done", result.spec)
    assert not folder.scratch.exists()
    assert not folder.model.exists()


def waits(message: JobMessage) -> bool:
    """For cores that another run on this machine has leased."""
    return isinstance(message, Progress) and message.doing.startswith("waiting")


def test_a_unit_can_be_found_by_whoever_hears_of_it(room, tmp_path):
    heard = []

    def listen(message):
        kept = [
            list(room.runs.units(path.name)) for path in (tmp_path / "workspace/runs").iterdir()
        ]
        if not waits(message):
            heard.append((type(message), len(kept[0])))

    room.service.run(spec(script(tmp_path / "m.json")), listen)
    assert heard == [
        (Started, 0), (Cells, 0), (Progress, 0), (Unit, 1), (Progress, 1), (Finished, 1)
    ]  # fmt: skip


def test_progress_counts_up_to_what_was_planned(room, tmp_path):
    said: list[JobMessage] = []
    room.service.run(
        spec(script(tmp_path / "m.json"), iterations=None, budget="quick"), said.append
    )
    progress = [m for m in said if isinstance(m, Progress) and not waits(m)]
    # None while it is tried, and none when the time that it takes is known.
    assert [p.units_done for p in progress] == [0, *range(len(progress) - 1)]
    assert all(p.units_done <= p.units_planned for p in progress)
    assert progress[-1].units_done == progress[-1].units_planned
    assert (progress[-1].estimate_s or 0) >= 50e-6


def test_a_failure_before_anything_was_measured_is_raised_and_told_and_leaves_no_run(
    room, tmp_path
):
    (tmp_path / "m.onnx").write_text("hello")
    said: list[JobMessage] = []
    with pytest.raises(ModelUnreadable) as caught:
        room.service.run(spec(tmp_path / "m.onnx"), said.append)
    (told,) = said
    assert isinstance(told, Failed)
    assert told.failure == Failure.of(caught.value)
    assert list((tmp_path / "workspace/runs").iterdir()) == []


def test_what_the_workers_of_a_failed_run_said_is_kept(room, tmp_path):
    good = script(tmp_path / "good.json")
    bad = script(tmp_path / "bad.json", faults=[fault("chatter", call=-1), fault("raise", call=0)])
    with pytest.raises(EngineFailed) as caught:
        room.service.run(
            make_comparison_spec(good, bad, SideRequest(), PairingRequest(budget="quick"))
        )
    (path,) = (tmp_path / "workspace/runs").iterdir()
    folder = RunFolder(path)
    assert (folder.state(), folder.failure()) == ("failed", Failure.of(caught.value))
    assert "engine says hello" in folder.log.read_text()


def test_a_run_that_is_being_measured_cannot_be_resumed(room, tmp_path):
    model = script(tmp_path / "m.json")
    refused: list[str] = []

    def listen(message):
        if isinstance(message, Unit):
            (path,) = (tmp_path / "workspace/runs").iterdir()
            with pytest.raises(BadValue) as caught:
                room.service.resume(path.name)
            refused.append(caught.value.title)

    result = room.service.run(spec(model), listen)
    assert refused == [f"Run {result.run_id} is being measured right now"]


def test_a_run_whose_every_cell_failed_has_failed(room, tmp_path):
    result = room.service.run(spec(script(tmp_path / "m.json", faults=[fault("raise")])))
    assert [cell.error.code for cell in result.cells] == [EngineFailed.code]
    assert room.runs.folder(result.run_id).state() == "failed"


def test_looking_into_a_model_leaves_no_trace(room, tmp_path):
    facts = room.service.run(make_inspection_spec(script(tmp_path / "m.json")))
    assert isinstance(facts, ModelFacts)
    assert not (tmp_path / "workspace").exists()


def test_what_a_listener_raises_ends_the_run_and_reaches_the_caller(room, tmp_path):
    def listen(message):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        room.service.run(spec(script(tmp_path / "m.json")), listen)
    assert room.service.run(spec(script(tmp_path / "m.json"))).cells[0].status == "done"


def test_runs_from_several_threads_are_done_one_after_the_other(room, tmp_path):
    model = script(tmp_path / "m.json")
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(room.service.run(spec(model))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({result.run_id for result in results}) == 3
    assert [result.cells[0].status for result in results] == ["done"] * 3
