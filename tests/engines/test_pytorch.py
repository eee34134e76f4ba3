"""PyTorch as an engine: what it loads, what it reports, what it refuses."""

# PyTorch's types are skipped (pyproject.toml), so they are unknown here.
# mypy: disable-error-code="misc, name-defined"

import os
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch

import modeldyno
from modeldyno.core.errors import BadValue, EngineUnavailable
from modeldyno.core.models import Architecture
from modeldyno.core.sessions import SessionPlan, Target
from modeldyno.engines import catalog
from modeldyno.engines.protocol import Resumes, TimesDevice
from modeldyno.engines.torch_loading import require_safe_version
from modeldyno.engines.torch_profiling import operands_of
from modeldyno.inputs.plans import InputPlan, TensorPlan
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import OpenSide, SessionSpec, SideReady
from tests.contracts.engine_contract import EngineContract

pytestmark = [
    pytest.mark.engine("pytorch"),
    # TorchScript is deprecated, but its files are still in wide use.
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]


LINEAR = Architecture("torch.nn:Linear", {"in_features": 4, "out_features": 3})
INPUTS = {"input": np.ones((2, 4), np.float32)}


@pytest.fixture
def engine():
    threads = torch.get_num_threads()
    yield catalog.load("torch")
    torch.set_num_threads(threads)


@pytest.fixture
def weights(tmp_path):
    torch.save(torch.nn.Linear(4, 3).state_dict(), tmp_path / "w.pth")
    return tmp_path / "w.pth"


def target(path, model_format="torch-checkpoint", architecture=LINEAR, **settings):
    if model_format != "torch-checkpoint":
        architecture = None
    return Target("pytorch", str(path), format=model_format, architecture=architecture, **settings)


def conv(tmp_path):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    batch = torch.export.Dim("batch")
    exported = torch.export.export(module, (torch.ones(2, 3, 8, 8),), dynamic_shapes=({0: batch},))
    torch.export.save(exported, tmp_path / "conv.pt2")
    return tmp_path / "conv.pt2", module


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        return {"y": self.layer(x)}


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    path = tmp_path_factory.mktemp("named") / "net.pt2"
    sizes = ({0: torch.export.Dim("batch")},)
    exported = torch.export.export(Named().eval(), (torch.ones(2, 4),), dynamic_shapes=sizes)
    torch.export.save(exported, path)
    return path


class TestContract(EngineContract):
    engine = catalog.load("pytorch")

    @pytest.fixture
    def target(self, named):
        return target(named, "torch-export")


# ---------------------------------------------------------------- loading and calling


def test_the_three_formats_compute_the_same(engine, tmp_path, weights):
    module = torch.nn.Linear(4, 3)
    module.load_state_dict(torch.load(weights, weights_only=True))
    torch.jit.script(module).save(tmp_path / "m.pt")
    torch.export.save(torch.export.export(module, (torch.ones(2, 4),)), tmp_path / "m.pt2")
    expected = module(torch.ones(2, 4)).detach().numpy()
    for path, kind in (
        (weights, "torch-checkpoint"),
        (tmp_path / "m.pt", "torchscript"),
        (tmp_path / "m.pt2", "torch-export"),
    ):
        with engine.open(target(path, kind)) as session:
            (output,) = session.run(INPUTS).values()
            np.testing.assert_allclose(output, expected, rtol=1e-6)


@pytest.mark.parametrize("contract", ["hot", "api", "e2e"])
def test_every_contract_can_be_called_again_and_again(contract, engine, weights):
    with engine.open(target(weights)) as session:
        call = session.bind(INPUTS, contract)
        for _ in range(3):
            call()


def test_inputs_with_other_names_are_passed_in_their_order(engine, weights):
    with engine.open(target(weights)) as session:
        assert session.run({"anything": INPUTS["input"]})["output"].shape == (2, 3)


def test_numbers_reach_torchscript_as_numbers(engine, tmp_path):
    class Scale(torch.nn.Module):
        def forward(self, x: torch.Tensor, times: int, shift: float) -> torch.Tensor:
            return x * times + shift

    torch.jit.script(Scale()).save(tmp_path / "m.pt")
    given = {"x": np.ones(2, np.float32), "times": np.array(3), "shift": np.array(0.5)}
    with engine.open(target(tmp_path / "m.pt", "torchscript")) as session:
        assert session.run(given)["output"].tolist() == [3.5, 3.5]


def test_nested_outputs_have_names(engine, tmp_path):
    class Many(torch.nn.Module):
        def forward(self, x):
            return {"logits": x, "states": (x + 1, x.bfloat16())}

    torch.export.save(torch.export.export(Many(), (torch.ones(2),)), tmp_path / "m.pt2")
    with engine.open(target(tmp_path / "m.pt2", "torch-export")) as session:
        outputs = session.run({"x": np.ones(2, np.float32)})
    assert list(outputs) == ["logits", "states.0", "states.1"]
    assert outputs["states.1"].dtype == np.float32


def test_a_model_with_state_gives_the_same_outputs_however_often_it_ran(engine, tmp_path):
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x + self.calls

    torch.jit.script(Counts()).save(tmp_path / "m.pt")
    given = {"x": np.zeros(1, np.float32)}
    with engine.open(target(tmp_path / "m.pt", "torchscript")) as session:
        call = session.bind(given, "api")
        assert [call().item() for _ in range(3)] == [1, 2, 3]
        assert session.run(given)["output"].tolist() == [1]
        assert "keeps state from call to call" in session.facts.notes


# ---------------------------------------------------------------- facts


def test_facts_are_read_back(engine, weights):
    with engine.open(target(weights, threads=1)) as session:
        session.bind(INPUTS, "api")
        facts = session.facts
    assert (facts.engine, facts.engine_version) == ("pytorch", torch.__version__)
    assert (facts.device, facts.threads, facts.parameters) == ("cpu", 1, 15)
    assert facts.input_dtypes == {"input": "float32"}
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(
    ("requested", "effective"),
    [(None, "fp32"), ("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp16")],
)
def test_precision_is_observed_on_the_operators(requested, effective, engine, tmp_path):
    path, _ = conv(tmp_path)
    given = {"input": np.ones((1, 3, 8, 8), np.float32)}
    facts, _ = engine.examine(target(path, "torch-export", precision=requested), given)
    assert facts.precision == effective


def test_a_half_precision_model_is_reported_as_half(engine, tmp_path):
    torch.save(torch.nn.Linear(4, 3).bfloat16().state_dict(), tmp_path / "w.pth")
    (tmp_path / "halves.py").write_text(
        "import torch\ndef build(): return torch.nn.Linear(4, 3).bfloat16()\n"
        "class Wide(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.inner = build()\n"
        "    def forward(self, x): return self.inner(x.bfloat16())\n"
    )
    torch.save({f"inner.{k}": v for k, v in torch.load(tmp_path / "w.pth").items()}, tmp_path / "w")
    architecture = Architecture("halves:Wide", folder=str(tmp_path))
    facts, _ = engine.examine(
        target(tmp_path / "w", architecture=architecture), {"x": INPUTS["input"]}
    )
    assert facts.precision == "bf16"


def test_precision_of_torchscript_is_observed_too(engine, tmp_path, weights):
    torch.jit.script(torch.nn.Linear(4, 3)).save(tmp_path / "m.pt")
    for requested, effective in ((None, "fp32"), ("bf16", "bf16")):
        facts, _ = engine.examine(
            target(tmp_path / "m.pt", "torchscript", precision=requested), INPUTS
        )
        assert facts.precision == effective
        assert facts.nodes_by_provider["cpu"] >= 1


def test_channels_last_reaches_weights_and_inputs_and_is_noted(engine, tmp_path):
    path, module = conv(tmp_path)
    given = {"input": np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)}
    with engine.open(target(path, "torch-export", options={"channels_last": True})) as session:
        output = session.run(given)["output"]
        assert "channels_last" in session.facts.notes
    expected = module(torch.tensor(given["input"])).detach().numpy()
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_a_session_takes_its_threads_back(engine, weights):
    with engine.open(target(weights, threads=1)) as session:
        torch.set_num_threads(2)
        assert isinstance(session, Resumes)
        session.reapply_settings()
        assert torch.get_num_threads() == 1


@pytest.mark.skipif(len(allowed_cpus()) < 2, reason="needs two CPUs")
def test_the_pool_moves_with_the_cpus_of_the_next_session(tmp_path):
    """It outlives sessions, and the next session may get other cores."""
    first, second = allowed_cpus()[:2]
    path, _ = conv(tmp_path)
    setup = WorkerSetup(tmp_path / "scratch", tmp_path / "log", 2, readable=(tmp_path,))
    inputs = InputPlan((TensorPlan("input", "float32", (64, 3, 8, 8)),), 64)
    plan = SessionPlan(iterations=2, warmup_calls=1)
    with closing(Stop()) as stop, launched(setup) as worker:
        for cpu in (first, second):
            side = SessionSpec(target(path, "torch-export", threads=2, cpus=(cpu,)), inputs, "api")
            worker.request(OpenSide(side, plan, 0), SideReady, time.monotonic() + 60, stop)
            tasks = [int(task.name) for task in Path(f"/proc/{worker.pid}/task").iterdir()]
            assert len(tasks) > 1
        assert {tuple(os.sched_getaffinity(task)) for task in tasks} == {(second,)}


def test_a_cpu_has_no_clock_of_its_own(engine, weights):
    with engine.open(target(weights)) as session:
        assert isinstance(session, TimesDevice)
        assert session.device_times_s(INPUTS, 3) == ()


# ---------------------------------------------------------------- refusals


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_gpu_that_is_not_there_is_refused_with_the_reason(device, engine, weights):
    with pytest.raises(EngineUnavailable) as refused, engine.open(target(weights, device=device)):
        pass
    assert "CUDA" in refused.value.why or "GPU" in refused.value.why


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is an Apple GPU")
def test_an_apple_gpu_that_is_not_there_is_refused(engine, weights):
    with pytest.raises(EngineUnavailable), engine.open(target(weights, device="mps")):
        pass


@pytest.mark.parametrize(
    "settings",
    [
        {"device": "tpu"},
        {"device": "cuda:x"},
        {"precision": "int8"},
        {"spinning": True},
        {"options": {"speed": 1}},
        {"options": {"channels_last": "yes"}},
        {"options": {"compile": "quickly"}},
        {"architecture": None},
        {"architecture": Architecture("torch.nn:Nothing")},
        {"architecture": Architecture("no_such_package:build")},
        {"architecture": Architecture("torch.nn:Linear")},
        {"architecture": Architecture("torch.nn:Linear", {"in_features": 5, "out_features": 3})},
        {"architecture": Architecture("torch.nn:Identity")},
        {"architecture": Architecture("builtins:dict")},
        {"architecture": Architecture("torch:__version__")},
    ],
    ids=str,
)
def test_unsupported_settings_are_refused_with_a_reason(settings, engine, weights):
    with pytest.raises(BadValue) as refused, engine.open(target(weights, **settings)):
        pass
    assert refused.value.title


def test_an_architecture_that_lacks_another_package_names_that_package(engine, weights, tmp_path):
    (tmp_path / "lacking.py").write_text("import no_such_vision\ndef build(): ...\n")
    lacking = Architecture("lacking:build", folder=str(tmp_path))
    with (
        pytest.raises(BadValue, match="lacking:build cannot be imported") as refused,
        engine.open(target(weights, architecture=lacking)),
    ):
        pass
    assert "it needs the module 'no_such_vision'" in refused.value.why


def test_weights_that_do_not_fit_name_the_keys(engine, tmp_path):
    torch.save({"module.weight": torch.ones(3, 4)}, tmp_path / "w.pth")
    with pytest.raises(BadValue) as refused, engine.open(target(tmp_path / "w.pth")):
        pass
    assert "missing from the file: weight, bias" in refused.value.why
    assert "DataParallel" in refused.value.fix


def test_weights_inside_a_training_checkpoint_are_found(engine, tmp_path):
    state = torch.nn.Linear(4, 3).state_dict()
    torch.save({"epoch": 3, "state_dict": state}, tmp_path / "w.pth")
    with engine.open(target(tmp_path / "w.pth")) as session:
        assert session.run(INPUTS)["output"].shape == (2, 3)


def test_torchscript_cannot_be_compiled(engine, tmp_path):
    torch.jit.script(torch.nn.Linear(4, 3)).save(tmp_path / "m.pt")
    requested = target(tmp_path / "m.pt", "torchscript", options={"compile": True})
    with pytest.raises(BadValue, match="TorchScript"), engine.open(requested):
        pass


@pytest.mark.parametrize("version", ["1.13.1", "2.5.1", "2.9.1+cu128"])
def test_old_versions_are_refused(version):
    with pytest.raises(EngineUnavailable, match=version.replace("+", r"\+")):
        require_safe_version(version)
    require_safe_version("2.10.0")
    require_safe_version("2.13.0+cpu")


# ---------------------------------------------------------------- the whole path


def facts_of(cell):
    assert cell.facts is not None
    return cell.facts


def agrees(cell):
    return cell.measurement.parity.agrees


def test_an_export_is_measured_from_file_to_number(tmp_path):
    path, _ = conv(tmp_path)
    result = modeldyno.bench(path, batch=[1, 4], quick=True, workspace=tmp_path / "room")
    assert [cell.status for cell in result.cells] == ["done", "done"]
    assert [cell.batch_size for cell in result.cells] == [1, 4]
    assert {facts_of(cell).precision for cell in result.cells} == {"fp32"}
    assert all(agrees(cell) for cell in result.cells)
    assert any("can hold code" in note for note in result.cells[0].notes)


def test_a_comparison_of_two_formats_finds_equal_outputs(tmp_path):
    path, module = conv(tmp_path)
    torch.save(module.state_dict(), tmp_path / "conv.pth")
    (tmp_path / "nets.py").write_text(
        "import torch\n"
        "def build(): return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())\n"
    )
    (tmp_path / "conv.pth.modeldyno.toml").write_text(
        'architecture = "nets:build"\n'
        '[[inputs]]\nname = "input"\ndtype = "float32"\nshape = ["batch", 3, 8, 8]\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        result = modeldyno.compare(
            path, tmp_path / "conv.pth", quick=True, workspace=tmp_path / "r"
        )
    assert result.parity is not None
    assert result.parity.agrees
    assert result.a.model.format == "torch-export"
    assert result.b.model.format == "torch-checkpoint"


class Shares(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Conv2d(3, 4, 3)

    def forward(self, image, scale):
        return torch.softmax(self.inner(image).flatten(1) * scale, 1)


@pytest.mark.filterwarnings(
    # Raised by torch.onnx about its own code.
    "ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning",
)
@pytest.mark.parametrize("other", ["net.onnx", "net.pt"])
def test_one_net_in_two_formats_computes_the_same_in_two_engines(other, tmp_path):
    """Without further settings: scripted TorchScript has no shapes, ONNX has other names."""
    net = Shares().eval()
    example = torch.ones(2, 3, 8, 8), torch.ones(2, 1)
    sizes = ({0: torch.export.Dim("batch")}, {0: torch.export.Dim("batch")})
    program = torch.export.export(net, example, dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "net.pt2")
    if other == "net.onnx":
        torch.onnx.export(
            program,
            f=str(tmp_path / other),
            input_names=["pixels", "factor"],
            output_names=["shares"],
            external_data=False,
            verbose=False,
        )
    else:
        torch.jit.script(net).save(tmp_path / other)
    result = modeldyno.compare(
        *(tmp_path / "net.pt2", tmp_path / other), batch=3, quick=True, workspace=tmp_path / "room"
    )
    assert (result.a.batch_size, result.b.batch_size) == (3, 3)
    assert result.parity is not None
    assert result.parity.agrees
    assert result.parity.max_rel_error < 1e-5


def test_the_whole_path_needs_torch_and_numpy_alone(tmp_path):
    """A bare machine with a GPU has no onnx, typer or rich, and runs Modeldyno from its source."""
    import subprocess

    path, _ = conv(tmp_path)
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    for name in ("onnx", "onnxruntime", "typer", "rich", "click", "google"):
        (blocked / f"{name}.py").write_text("raise ImportError('blocked')\n")
    code = (
        "import modeldyno, sys\n"
        f"r = modeldyno.bench({str(path)!r}, iterations=5, workspace={str(tmp_path / 'room')!r})\n"
        "assert r.cells[0].status == 'done', r.cells[0].error\n"
    )
    source = Path(modeldyno.__file__).parents[1]
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{blocked}:{source}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr


def test_work_is_reported_for_operators_with_a_known_output():
    """The profiler reports inputs only, not outputs."""
    x, wide = torch.ones(1, 4, 8, 8), torch.ones(1, 4, 1, 1)
    with torch.profiler.profile(record_shapes=True) as profiler, torch.no_grad():
        torch.add(x, wide)
        torch.nn.functional.batch_norm(wide, torch.zeros(4), torch.ones(4))
        torch.nn.functional.interpolate(x, scale_factor=2.0)
        torch.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")
        x.repeat(2, 1, 1, 1)
        x.expand(3, 4, 8, 8)
    events = profiler.profiler.kineto_results.events()
    aten = [event for event in events if event.name().startswith("aten::")]
    operators = sorted(aten, key=lambda event: event.start_ns())
    known: dict[str, object] = {}
    for event, operands in zip(operators, operands_of(operators), strict=True):
        known.setdefault(event.name(), None if operands is None else operands.outputs[0].shape)
    assert known["aten::add"] == (1, 4, 8, 8)
    assert known["aten::native_batch_norm"] == (1, 4, 1, 1)
    unknown = ("aten::upsample_nearest2d", "aten::reflection_pad2d", "aten::repeat")
    assert [known[name] for name in unknown] == [None] * 3
    assert known["aten::expand"] is not None
