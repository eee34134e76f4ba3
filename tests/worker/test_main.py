"""Inside a worker: loading, trying, measuring, and words for what goes wrong."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from onnx import helper

from modeldyno.core.errors import (
    EngineFailed,
    InputUnresolved,
    ModelUnreadable,
    OutOfMemory,
    StorageFailed,
)
from modeldyno.core.models import TensorSpec
from modeldyno.core.sessions import PairPlan, Parity, SessionFacts, SessionPlan
from modeldyno.inputs.plans import InputPlan, TensorPlan
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import (
    Examined,
    Inspect,
    Inspected,
    MeasurePair,
    PairMeasured,
    SessionMeasured,
    SessionSpec,
)
from tests import onnx_models
from tests.packages import install, python_path
from tests.scripts import INPUTS, examine, fault, measure, script, target

pytestmark = pytest.mark.usefixtures("starts_processes")

SCRIPTED = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {}, "fp32")


@pytest.fixture
def worker_setup(tmp_path):
    return WorkerSetup(scratch=tmp_path, log=tmp_path / "log.txt")  # it may read what lies here


@pytest.fixture
def ask(worker_setup):
    stop = Stop()
    with launched(worker_setup) as worker:
        yield lambda command, expect: worker.request(command, expect, time.monotonic() + 60, stop)
    stop.close()


@pytest.fixture
def reference(tmp_path):
    return tmp_path / "reference.npz"


# ---------------------------------------------------------------- examine


def guess(*shape: int, note: str = "guessed; to choose: --dim n=…") -> InputPlan:
    return InputPlan((TensorPlan("x", "float32", shape),), batch_size=1, notes=(note,))


@pytest.fixture
def picky(tmp_path):
    """A model that leaves its width open and runs only with four."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    made = onnx_models.model(
        nodes,
        [onnx_models.value("x", shape=[1, "n"])],
        [onnx_models.value("y", shape=[1, 3])],
        [onnx_models.weight("w", 4, 3)],
    )
    return onnx_models.saved(made, tmp_path / "picky.onnx")


def test_the_first_guess_that_runs_is_taken_and_refused_ones_are_listed(ask, picky, reference):
    ladder = guess(1, 128), guess(1, 64), guess(1, 4), guess(1, 8)
    found = ask(examine(picky, reference, *ladder, engine="onnxruntime"), Examined)
    assert (found.rung, found.batch_size, found.notes) == (2, 1, ladder[2].notes)
    assert [text.partition(":")[0] for text in found.refused] == ["x[1, 128]", "x[1, 64]"]
    assert reference.exists()


def test_when_no_guess_runs_the_error_says_which_options_help(ask, picky, reference):
    with pytest.raises(InputUnresolved) as caught:
        ask(examine(picky, reference, guess(1, 8), guess(1, 9), engine="onnxruntime"), Examined)
    error = caught.value
    assert error.title == "The model ran with none of the input shapes that were tried"
    assert error.why.startswith("x[1, 8]: ")
    assert error.why.endswith(" (and 1 more tries)")
    assert error.fix == "guessed; to choose: --dim n=…"


def test_when_nothing_was_guessed_the_engines_error_is_reported(ask, picky, reference):
    certain = replace(guess(1, 8), notes=())
    with pytest.raises(EngineFailed) as caught:
        ask(examine(picky, reference, certain, engine="onnxruntime"), Examined)
    assert caught.value.title == "The engine could not load or run the model"
    assert "MatMul" in caught.value.why


def test_a_scripted_model_reports_its_facts(ask, tmp_path, reference):
    found = ask(examine(script(tmp_path / "m.json"), reference), Examined)
    one = TensorSpec("y", "float32", (1, 1))
    assert found == Examined(SCRIPTED, 0, 1, (), (), outputs=(one,))


# ---------------------------------------------------------------- measure


def test_exactly_the_requested_number_of_calls_is_measured(ask, tmp_path, reference):
    model = script(tmp_path / "m.json")
    ask(examine(model, reference), Examined)
    plan = SessionPlan(iterations=7, warmup_calls=3)
    session = ask(measure(model, reference, plan), SessionMeasured).session
    assert len(session.samples.wall_ns) == 7
    assert session.samples.calls_per_sample == 1
    assert session.warmup.calls == 3
    assert session.facts == SCRIPTED
    assert session.parity == Parity(0.0, 0.0, agrees=True)


def test_no_sample_is_shorter_than_the_work(ask, tmp_path, reference):
    model = script(tmp_path / "m.json", latency_us=300)
    ask(examine(model, reference), Examined)
    session = ask(measure(model, reference), SessionMeasured).session
    assert min(session.samples.wall_ns) >= 300_000
    assert session.first_call_s >= 300e-6


def test_loading_is_timed_apart_from_calling(ask, tmp_path, reference):
    model = script(tmp_path / "m.json", load_ms=150, first_us=[40_000])
    ask(examine(model, reference), Examined)
    session = ask(measure(model, reference), SessionMeasured).session
    assert session.load_s >= 0.150
    assert session.first_call_s >= 0.040
    assert max(session.samples.wall_ns) < 150e6  # loading is in no sample


def test_memory_grows_from_the_engine_to_the_model_to_the_peak(ask, tmp_path, reference):
    model = script(tmp_path / "m.json")
    ask(examine(model, reference), Examined)
    memory = ask(measure(model, reference), SessionMeasured).session.memory
    assert 0 < memory.engine_bytes <= memory.loaded_bytes <= memory.peak_bytes


def test_outputs_that_differ_from_the_reference_are_reported(ask, tmp_path, reference):
    ask(examine(script(tmp_path / "m.json", output=2.0), reference), Examined)
    session = ask(measure(script(tmp_path / "m.json", output=1.0), reference), SessionMeasured)
    assert session.session.parity == Parity(1.0, 0.5, agrees=False)


def test_a_pair_brings_samples_of_both_sides(ask, tmp_path):
    def side(name: str, output: float) -> SessionSpec:
        return SessionSpec(target(script(tmp_path / name, output=output)), INPUTS, "api")

    plan = PairPlan(min_time_s=0.02, min_samples=20, warmup_limit_s=0.02)
    pair = ask(MeasurePair(side("a.json", 1.0), side("b.json", 1.25), plan, 3), PairMeasured).pair
    assert min(len(pair.a.samples.wall_ns), len(pair.b.samples.wall_ns)) >= 20
    assert (pair.a.facts, pair.b.facts) == (SCRIPTED, SCRIPTED)
    assert pair.parity == Parity(0.25, 0.25, agrees=False)


# ---------------------------------------------------------------- what goes wrong


def test_an_engines_exception_becomes_a_failure_with_details_in_the_log(
    ask, worker_setup, tmp_path, reference
):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    wrong = InputPlan((TensorPlan("x", "float64", (1, 4)),), batch_size=1)
    with pytest.raises(EngineFailed) as caught:
        ask(examine(model, reference, wrong, engine="onnxruntime"), Examined)
    assert "Unexpected input data type" in caught.value.why
    log = ""
    while "Traceback" not in log:  # what a worker prints arrives in the log a little later
        log = worker_setup.log.read_text()


def test_a_worker_continues_after_a_failure(ask, tmp_path, reference):
    model = script(tmp_path / "m.json", faults=[fault("raise", session=1)])
    ask(examine(model, reference), Examined)
    with pytest.raises(EngineFailed, match="The script says this call fails"):
        ask(measure(model, reference), SessionMeasured)
    assert ask(measure(model, reference), SessionMeasured).session.facts == SCRIPTED


def test_a_file_that_is_no_model_is_refused_in_the_worker(ask, tmp_path):
    (tmp_path / "m.onnx").write_text("hello")
    with pytest.raises(ModelUnreadable, match=r"m\.onnx is a text file"):
        ask(Inspect(str(tmp_path / "m.onnx")), Inspected)


def test_an_engine_that_needs_too_much_memory_fails_as_out_of_memory(
    worker_setup, tmp_path, reference
):
    model = script(tmp_path / "m.json", faults=[fault("out-of-memory", call=-1)])
    limited = replace(worker_setup, memory_limit_bytes=1 << 30)
    with launched(limited) as worker, pytest.raises(OutOfMemory) as caught:
        worker.request(examine(model, reference), Examined, time.monotonic() + 60, Stop())
    assert (caught.value.why, caught.value.fix) == (
        "a Python allocation failed",
        "Use a smaller batch, or raise --memory-limit",
    )


def test_a_reference_that_does_not_fit_on_the_disk_is_no_fault_of_the_engine(ask, tmp_path):
    full = tmp_path / "full.npz"
    full.symlink_to("/dev/full")
    with pytest.raises(StorageFailed, match="No space left on device"):
        ask(examine(script(tmp_path / "m.json"), full), Examined)


LIMITED = """
import json, os, resource
from modeldyno.worker.sandbox import limit_address_space
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
if os.getuid() == 0:
    os.setuid(65534)  # who may not raise limits, as most users
limit_address_space(4 << 30)
kinds = resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA
print(json.dumps([resource.getrlimit(kind) for kind in kinds]))
"""


def test_limits_that_are_tighter_than_ours_stay():
    ended = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, check=True)
    assert json.loads(ended.stdout) == [[0, 0], [1 << 20] * 2, [2 << 30] * 2]


# ---------------------------------------------------------------- foreign engines

ODD_ENGINE = """
from contextlib import contextmanager
from modeldyno.core.sessions import SessionFacts
from modeldyno.engines.catalog import Entry
from modeldyno.engines.protocol import Capabilities

ENTRY = Entry("odd", "odd_engine:Odd", None, "built in", ("cpu",), ("scripted",))


class Odd:
    name = "odd"
    capabilities = Capabilities(formats=("scripted",))

    def version(self):
        return "1"

    @contextmanager
    def open(self, target):
        yield self

    def examine(self, target, inputs):
        return SessionFacts("odd", "1", "cpu", (), 1, None, {}, notes=(object(),)), {}
"""


def test_facts_that_no_message_can_carry_are_the_engines_fault(
    monkeypatch, worker_setup, tmp_path, reference
):
    """A third party's engine may answer anything."""
    site = install(tmp_path / "site", "odd_engine", ODD_ENGINE, "odd = odd_engine:ENTRY")
    monkeypatch.setenv("PYTHONPATH", python_path(site))
    command = examine(script(tmp_path / "m.json"), reference, engine="odd")
    with launched(worker_setup) as worker, pytest.raises(EngineFailed, match="not JSON"):
        worker.request(command, Examined, time.monotonic() + 60, Stop())
