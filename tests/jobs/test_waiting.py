"""A run that has to wait for cores."""

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from modeldyno.core.errors import Cancelled
from modeldyno.core.jobs import Progress
from modeldyno.core.specs import QUICK, BenchmarkSpec, CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.jobs.leases import Leases
from modeldyno.jobs.local import LocalJobs
from modeldyno.services.runs import RunService
from modeldyno.store.runs import RunFolders
from modeldyno.worker.launch import Stop

WAIT_S = 5.0  # no shorter than the time limit, which a loaded machine must be able to keep
CORES = ((0,),)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"modeldyno": "scripted/1", "latency_us": 200}))
    return ModelSpec(str(path))


@pytest.fixture
def jobs(tmp_path, starts_processes):
    return LocalJobs(Leases(tmp_path / "cores", CORES), folders=RunFolders(tmp_path / "runs"))


class Holder:
    """Has the only core until told otherwise."""

    def __init__(self, folder):
        self.release = threading.Event()
        self._taken = threading.Event()
        self._leases = Leases(folder, CORES)
        self._thread = threading.Thread(target=self._hold)
        self._thread.start()
        self._taken.wait()

    def _hold(self):
        with self._leases.take(1, Stop(), lambda why: None):
            self._taken.set()
            self.release.wait()

    def join(self):
        self.release.set()
        self._thread.join()


@pytest.fixture
def holder(tmp_path):
    holder = Holder(tmp_path / "cores")
    yield holder
    holder.join()


def benchmark(model):
    budget = replace(QUICK, seconds=0.5)
    return BenchmarkSpec(model, (CellSpec(),), budget=budget, timeout_s=WAIT_S)


def comparison(model):
    side = SideSpec("m", model, CellSpec())
    return ComparisonSpec(side, side, pairs=2, processes=1, timeout_s=WAIT_S)


def run(tmp_path, jobs, spec, listen=None) -> Any:
    return RunService(RunFolders(tmp_path / "runs"), jobs).run(spec, listen)


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.parametrize("spec", [benchmark, comparison])
def test_waiting_counts_against_neither_budget_nor_time_limit(tmp_path, model, jobs, holder, spec):
    waits = []

    def listen(message):
        if isinstance(message, Progress) and message.doing.startswith("waiting"):
            waits.append(message.doing)
            threading.Timer(WAIT_S, holder.release.set).start()

    result = run(tmp_path, jobs, spec(model), listen)
    assert len(waits) == 1
    assert "used by modeldyno pid" in waits[0]
    assert not result.interrupted
    assert [cell.status for cell in getattr(result, "cells", ())] in ([], ["done"])


@pytest.mark.alone
def test_a_run_that_waits_can_be_cancelled(tmp_path, model, jobs, holder):
    store = RunFolders(tmp_path / "runs")
    ends = []

    def listen(run_id, message):
        if isinstance(message, Progress) and message.doing.startswith("waiting"):
            ends.append(time.monotonic())
            jobs.cancel(run_id)

    folder = store.create(benchmark(model))
    jobs.submit(folder.id, benchmark(model), listen)
    jobs.wait(folder.id)
    assert time.monotonic() - ends[0] < 2


def test_a_comparison_cancelled_while_it_waits_has_nothing_to_say(tmp_path, model, jobs, holder):
    seen = []

    def listen(message):
        if isinstance(message, Progress) and message.doing.startswith("waiting"):
            seen.append(message)
            for run_id in list(jobs._jobs):
                jobs.cancel(run_id)

    with pytest.raises(Cancelled):
        run(tmp_path, jobs, comparison(model), listen)
    assert seen


def test_a_failed_cell_gives_its_core_back(tmp_path, jobs):
    path = tmp_path / "crash.json"
    faults = [{"call": 30, "do": "segfault"}]
    script = {"modeldyno": "scripted/1", "latency_us": 200, "faults": faults}
    path.write_text(json.dumps(script))
    result = run(tmp_path, jobs, benchmark(ModelSpec(str(path))))
    assert result.cells[0].status == "failed"
    assert Leases(tmp_path / "cores", CORES).in_use() == {}


def test_a_cell_without_a_meter_says_why_it_has_no_energy(tmp_path, model, jobs):
    measurement = run(tmp_path, jobs, benchmark(model)).cells[0].measurement
    if measurement.energy_j_per_item is None:
        assert measurement.energy_note
    else:
        assert measurement.energy_j_per_item > 0
