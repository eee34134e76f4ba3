"""A run on a slow machine says so; one on a machine as fast as usual does not."""

import json

import pytest

from modeldyno.core.documents.cells import CellDocument
from modeldyno.present.advice import advise
from modeldyno.present.markdown import benchmark_markdown
from modeldyno.present.reports.benchmarks import benchmark_section
from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from tests.jobs.test_benchmark import spec
from tests.scripts import script

pytestmark = pytest.mark.usefixtures("starts_processes")

SLOW = "of its usual speed"


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


def measure(room, tmp_path, name="m"):
    return room.service.run(spec(script(tmp_path / f"{name}.json", latency_us=200)))


def make_up_history(room, tmp_path, factor, **host):
    """Three runs of another model, on a machine that was ``factor`` times as fast as it is now."""
    for _ in range(3):
        run_id = measure(room, tmp_path, "other").run_id
        file = room.runs.folder(run_id).path / "result.json"
        kept = json.loads(file.read_text())
        kept["host"] |= host
        for cell in kept["cells"]:
            cell["measurement"]["machine_speed"]["work_s"] /= factor
        file.write_text(json.dumps(kept))


def document_of(result):
    return CellDocument.of(0, result.cells[0])


def test_a_slow_machine_is_named_wherever_the_number_is_shown(room, tmp_path):
    make_up_history(room, tmp_path, factor=3)
    result = measure(room, tmp_path)
    document = document_of(result)
    assert 0.2 < document.machine_speed < 0.6
    assert document.noise != "quiet"
    assert SLOW in document.noise_reasons[0]
    assert SLOW in str(advise(result)[0])
    assert "as fast as usual" in advise(result)[0].help
    assert SLOW in benchmark_markdown(result)
    assert any(SLOW in limit for limit in benchmark_section(result).limits)
    assert f"{document.machine_speed}" in result.to_csv()


@pytest.mark.timing
def test_a_machine_as_fast_as_usual_is_not_mentioned(room, tmp_path):
    make_up_history(room, tmp_path, factor=1)
    result = measure(room, tmp_path)
    assert document_of(result).machine_speed == pytest.approx(1, abs=0.2)
    assert SLOW not in benchmark_markdown(result)


def test_a_first_run_knows_nothing_of_the_usual_speed(room, tmp_path):
    result = measure(room, tmp_path)
    assert result.cells[0].measurement.machine_speed.work_s > 0
    assert document_of(result).machine_speed is None


@pytest.mark.parametrize("host", [{"cpu_model": "another one"}, {"python": "3.0.0"}])
def test_another_cpu_or_python_says_nothing_about_this_one(room, tmp_path, host):
    make_up_history(room, tmp_path, factor=3, **host)
    assert document_of(measure(room, tmp_path)).machine_speed is None


def test_another_governor_is_still_the_same_machine(room, tmp_path):
    make_up_history(room, tmp_path, factor=3, governor="performance", fingerprint="0" * 16)
    assert document_of(measure(room, tmp_path)).machine_speed < 0.6
