"""Waiting for cores that others use is told, whatever else is not."""

import contextlib
import threading

import pytest

from modeldyno.cli.progress import LongWaits
from modeldyno.core.jobs import Progress
from modeldyno.jobs.leases import Leases
from modeldyno.measure.cpus import allowed_cpus
from tests.scripts import script
from tests.terminal import running

WAITING = Progress(0, 0, "waiting for core 0, used by modeldyno pid 1")


def test_a_wait_that_lasts_is_told():
    told: list[str] = []
    is_told = threading.Event()

    def tell(text: str) -> None:
        told.append(text)
        is_told.set()

    waits = LongWaits(0.0, tell)
    waits.hear(WAITING)
    assert is_told.wait(10)
    assert told == [WAITING.doing]


def test_a_wait_of_a_moment_is_not_told():
    told: list[str] = []
    waits = LongWaits(3600.0, told.append)
    waits.hear(WAITING)
    waits.hear(Progress(1, 2, "pairs"))
    waits.hear(WAITING)
    waits.close()
    assert told == []


@pytest.mark.usefixtures("starts_processes")
def test_a_quiet_command_says_that_it_waits_and_its_result_how_long(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_CORES_FOLDER", str(tmp_path / "cores"))
    words = ("--iterations", 5, "--quiet", "--json", "--workspace", tmp_path / "workspace")
    every_core = Leases(tmp_path / "cores").take_now(len(allowed_cpus()))
    with contextlib.ExitStack() as held:
        assert held.enter_context(every_core) is not None
        with running("bench", script(tmp_path / "m.json"), *words) as bench:
            said = bench.error_line()
            held.close()
            ended = bench.end()
    assert said.startswith("waiting for core")
    assert ended.code == 0
    (cell,) = ended.document["cells"]
    assert cell["notes"][0].startswith("waited ")
