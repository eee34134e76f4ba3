"""TensorFlow: the contract of every engine, settings of a process, and no silent changes.

TensorFlow is imported once here, with one thread; tests of other settings use workers.
"""

import importlib.metadata
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

import modeldyno
from modeldyno.core.errors import BadValue, EngineFailed, EngineUnavailable
from modeldyno.core.node_work import work_of
from modeldyno.core.sessions import SessionPlan
from modeldyno.engines import catalog, tf_process
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.engines.outputs import compare
from modeldyno.engines.tensorflow import TensorFlow
from modeldyno.engines.tf_profiling import TensorFlowProfiled, node_events
from modeldyno.inputs.plans import InputPlan, TensorPlan
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import OpenSide, SessionSpec, SideReady
from tests import schemas, tf_files
from tests.contracts.engine_contract import EngineContract
from tests.scripts import target

# Every worker imports TensorFlow, which takes a while on a busy machine.
pytestmark = [pytest.mark.engine("tensorflow"), pytest.mark.timeout(400)]
ENGINE = TensorFlow()
CACHE = Path(__file__).parents[2] / ".cache/models"
MODELS = CACHE / "tensorflow"  # scripts/export_keras.py
X = {"x": np.random.default_rng(0).standard_normal((2, 4), dtype=np.float32)}


def of(name, **other):
    path = MODELS / name
    kind = {".pb": "tf-graph", ".keras": "keras"}.get(path.suffix, "saved-model")
    path = path / "saved_model.pb" if path.is_dir() else path
    return target(path, "tensorflow", format=kind, **other)


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))


class TestContract(EngineContract):
    engine = TensorFlow()

    @pytest.fixture(params=["net.pb", "net", "net.keras"])
    def target(self, request):
        return of(request.param)


def test_all_three_files_compute_the_same():
    outputs = []
    for name in ("net.pb", "net", "net.keras"):
        with ENGINE.open(of(name)) as session:
            outputs.append(session.run(X))
    assert compare(outputs[0], outputs[1]).max_rel_error < 1e-6
    assert compare(outputs[0], outputs[2]).max_rel_error < 1e-6
    assert outputs[0]["y"].any()


@pytest.mark.parametrize("as_map", [False, True])
def test_a_keras_model_of_many_outputs_names_each_after_its_layer(tmp_path, as_map):
    """In alphabetical order, the tenth comes before the second."""
    tf_process.apply_settings(of("net.pb"))  # before Keras does, with more threads
    import keras

    x = keras.Input((1,), name="x")
    tensors = [keras.layers.Rescaling(float(n), name=f"times{n}")(x) for n in range(11)]
    as_dict = {f"output_{10 - n}": tensor for n, tensor in enumerate(tensors)}
    keras.Model(x, as_dict if as_map else tensors).save(tmp_path / "many.keras")
    with ENGINE.open(target(tmp_path / "many.keras", "tensorflow", format="keras")) as session:
        outputs = session.run({"x": np.ones((1, 1), np.float32)})
    assert {name: array.item() for name, array in outputs.items()} == {
        f"times{n}": n for n in range(11)
    }


def test_a_saved_model_under_another_name_finds_its_weights(tmp_path):
    (tmp_path / "mine.pb").write_bytes((MODELS / "net/saved_model.pb").read_bytes())
    (tmp_path / "variables").symlink_to(MODELS / "net/variables")
    with (
        ENGINE.open(target(tmp_path / "mine.pb", "tensorflow", format="saved-model")) as renamed,
        ENGINE.open(of("net")) as session,
    ):
        assert compare(session.run(X), renamed.run(X)).max_abs_error == 0


def test_an_old_saved_model_computes_the_same_as_its_onnx_file():
    """The newer loader fails on it: '_UserObject' object has no attribute 'add_slot'."""
    folder = CACHE / "basic-pitch"
    sound = np.random.default_rng(0).standard_normal((1, 43844, 1), dtype=np.float32)
    saved_model = target(folder / "saved_model.pb", "tensorflow", format="saved-model")
    facts, outputs = ENGINE.examine(saved_model, {"input_2": sound})
    with OnnxRuntime().open(target(folder / "nmp.onnx", "onnxruntime")) as session:
        (name,) = session.facts.input_dtypes
        expected = session.run({name: sound})
    assert facts.precision == "fp32"
    assert sorted(outputs) == ["contour", "note", "onset"]
    errors = [
        min(abs(output - other).max() for other in expected.values() if other.shape == output.shape)
        for output in outputs.values()
    ]
    assert max(errors) < 1e-4


TWICE = {"shifted": [[2, 3]], "doubled": [[2, 2]]}


@pytest.mark.parametrize(
    ("signature", "given", "expected"),
    [("serving_default", ("x", 4), {"y": [[18, 22, 26]]}), ("shift", ("z", 2), TWICE)],
)
def test_a_saved_model_is_called_by_the_signature_that_was_chosen(
    signature, given, expected, tmp_path
):
    (path := tmp_path / "saved_model.pb").write_bytes(tf_files.two_ways())
    requested = target(path, "tensorflow", format="saved-model", signature=signature)
    with ENGINE.open(requested) as session:
        outputs = session.run({given[0]: np.ones((1, given[1]), np.float32)})
    assert {name: array.tolist() for name, array in outputs.items()} == expected


def test_weights_in_several_files_and_a_signature_go_through_the_terminals_path():
    """As TensorFlow itself wrote it: the smaller variable is in a file of its own."""
    shards = sorted(path.name for path in (MODELS / "two/variables").glob("*.data*"))
    assert shards == [f"variables.data-0000{n}-of-00002" for n in (0, 1)]
    two = MODELS / "two"
    result = modeldyno.compare(two, f"{two}@signature=shift", pairs=2)
    sides = (result.a, result.b)
    inputs = [(side.model.signature, list(side.facts.input_dtypes)) for side in sides]
    assert inputs == [("serving_default", ["x"]), ("shift", ["z"])]
    assert len(result.a.model.external) == 3
    document = json.loads(result.to_json())
    schemas.check("comparison", document)
    assert document["b"]["model"]["signature"] == "shift"


# ---------------------------------------------------------------- nothing silent


def test_a_process_has_one_number_of_threads():
    with ENGINE.open(of("net.pb")) as session:
        assert session.facts.threads == 1
    with (
        pytest.raises(EngineFailed, match="keeps its first settings") as caught,
        ENGINE.open(of("net.pb", threads=2)),
    ):
        pass
    assert caught.value.why == (
        "this one started with 1 thread with oneDNN, not 2 threads with oneDNN"
    )


@pytest.mark.skipif(len(allowed_cpus()) < 2, reason="needs two CPUs")
def test_the_pool_moves_with_the_cpus_of_the_next_session(tmp_path):
    """It outlives sessions, and a sandboxed worker can pin no thread but the calling one."""
    first, *others = allowed_cpus()
    setup = WorkerSetup(tmp_path / "scratch", tmp_path / "log", readable=(MODELS,))
    inputs = InputPlan((TensorPlan("x", "float32", (2, 4)),), 2)
    stop, plan = Stop(), SessionPlan(iterations=2, warmup_calls=1)
    with launched(setup) as worker:
        for cpus in ((first,), tuple(others)):
            side = SessionSpec(of("net.pb", cpus=cpus), inputs, "api")
            worker.request(OpenSide(side, plan, 0), SideReady, time.monotonic() + 60, stop)
            tasks = [int(task.name) for task in Path(f"/proc/{worker.pid}/task").iterdir()]
            assert len(tasks) > 1
            assert {tuple(os.sched_getaffinity(task)) for task in tasks} == {cpus}
    stop.close()


def test_each_number_of_threads_gets_a_process_of_its_own():
    """The pool of a process keeps its first size."""
    result = modeldyno.bench(MODELS / "small.pb", cores=[1, 2], quick=True)
    assert [cell.error for cell in result.cells] == [None, None]
    assert [cell.facts.threads for cell in result.cells if cell.facts] == [1, 2]


def test_two_numbers_of_threads_can_be_compared():
    model = MODELS / "small.pb"
    result = modeldyno.compare(f"{model}@cores=1", f"{model}@cores=2", pairs=2)
    assert (result.a.facts.threads, result.b.facts.threads) == (1, 2)
    assert result.parity is not None
    assert result.parity.agrees


def test_onednn_is_reported_and_can_be_switched_off():
    facts, _ = ENGINE.examine(of("small.pb"), pictures())
    assert facts.providers == ("oneDNN", "Eigen")
    assert facts.nodes_by_provider["oneDNN"] >= 1
    options = {"onednn": False}
    (cell,) = modeldyno.bench(MODELS / "small.pb", options=options, quick=True).cells
    assert cell.facts is not None
    assert (cell.facts.providers, list(cell.facts.nodes_by_provider)) == (("Eigen",), ["Eigen"])


def test_bf16_is_had_or_refused_and_never_swapped():
    try:
        facts, _ = ENGINE.examine(of("small.pb", precision="bf16"), pictures())
        outcome = str(facts.precision)
    except EngineFailed as refusal:  # some processors without AVX-512 support it, slowly
        outcome = f"refused: {refusal}"
    assert "bf16" in outcome
    has_bf16 = "avx512_bf16" in Path("/proc/cpuinfo").read_text()
    assert not (has_bf16 and outcome.startswith("refused"))
    assert ENGINE.examine(of("small.pb"), pictures())[0].precision == "fp32"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"precision": "fp16"}, "cannot compute in 'fp16'"),
        ({"device": "cuda"}, "cannot use device 'cuda'"),
        ({"options": {"xla": True}}, "no option 'xla'"),
        ({"options": {"onednn": "perhaps"}}, "onednn is on or off"),
        ({"options": {"outputs": "nothing"}}, "The graph has no tensor 'nothing'"),
    ],
)
def test_unsupported_settings_are_refused(settings, words):
    with pytest.raises(BadValue, match=words), ENGINE.open(of("net.pb", **settings)):
        pass


def test_inputs_of_another_type_are_refused():
    with ENGINE.open(of("net.pb")) as session, pytest.raises(ValueError, match="is float32"):
        session.run({"x": X["x"].astype("float64")})


def test_a_frozen_graph_can_begin_and_end_anywhere(tmp_path):
    (path := tmp_path / "net.pb").write_bytes(tf_files.linear())
    requested = target(path, "tensorflow", format="tf-graph", options={"outputs": "product, y"})
    with ENGINE.open(requested) as session:
        outputs = session.run({"x": np.ones((1, 3), np.float32)})
        inside = session.run({"product": np.ones((1, 2), np.float32), "x": np.ones((1, 3), "f4")})
    assert outputs["product"].tolist() == [[6, 9]]
    assert outputs["y"].tolist() == [[7, 11]]
    assert inside["y"].tolist() == [[2, 3]]


def test_inputs_and_outputs_declared_by_the_user_are_measured(tmp_path):
    (path := tmp_path / "net.pb").write_bytes(tf_files.linear())
    result = modeldyno.bench(
        path, inputs=["product=float32[batch,2]"], options={"outputs": "y"}, quick=True
    )
    assert result.cells[0].error is None
    assert list(result.cells[0].input_shapes) == ["product"]


def test_a_file_that_it_cannot_load_says_so(tmp_path):
    content = tf_files.graph_def(tf_files.placeholder("x", 1), tf_files.node("y", "NoSuchOp", "x"))
    (path := tmp_path / "net.pb").write_bytes(content)
    with (
        pytest.raises(EngineFailed, match="could not load") as caught,
        ENGINE.open(target(path, "tensorflow", format="tf-graph")),
    ):
        pass
    assert "NoSuchOp" in caught.value.why


def test_without_its_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.metadata.Distribution, "discover", lambda **_: ())
    with pytest.raises(EngineUnavailable) as caught:
        catalog.require_usable("tf")
    assert "pip install 'modeldyno[tensorflow]'" in caught.value.fix


# ---------------------------------------------------------------- profiling


def test_a_profile_names_nodes_and_their_providers(tmp_path):
    result = modeldyno.profile(MODELS / "small.pb", repeats=2)
    by_op = {row.op_type: row for row in result.rows}
    assert any("Conv2D" in op for op in by_op)
    assert any("conv" in row.node for row in result.rows)
    assert {row.provider for row in result.rows} == {"oneDNN", "Eigen"}


class RecordingSession:
    """A session, and the metadata of its runs."""

    def __init__(self, session):
        self.session, self.runs = session, []

    def __getattr__(self, name):
        return getattr(self.session, name)

    def metadata(self):
        self.runs.append(self.session.metadata())
        return self.runs[-1]


@pytest.mark.parametrize("name", ["net.keras", "net"])
def test_nodes_and_the_way_to_them_make_up_a_run(name):
    """Most nodes of such a model only read a variable; most time is spent between kernels."""
    with ENGINE.open(of(name)) as session:
        profiled = TensorFlowProfiled(recording := RecordingSession(session))
        call = profiled.bind(X, "hot")
        with profiled.recording():
            call()
        trace = profiled.trace([True])
        profiled.bare("hot")()
    events = sorted(node_events(recording.runs[0]), key=lambda event: event.start_ns)
    span_ns = events[-1].start_ns + events[-1].duration_ns - events[0].start_ns
    assert sum(node.self_ns for node in trace.nodes) == span_ns
    kernels_ns = sum(
        node.op_end_rel_nanos - node.op_start_rel_nanos
        for device in recording.runs[0].step_stats.dev_stats
        for node in device.node_stats
    )
    assert kernels_ns < span_ns  # the control: kernels alone do not make up the run


def profiled_work(requested, inputs):
    with ENGINE.open(requested) as session, ENGINE.profiled(requested, session) as profiled:
        call = profiled.bind(inputs, "hot")
        with profiled.recording():
            call()
        nodes = profiled.trace([True]).nodes
    return {node.op_type: work_of(node.op_type, node.operands) for node in nodes}


def test_a_profile_knows_the_work_of_each_node():
    two = {"picture": np.concatenate([pictures()["picture"]] * 2)}
    work = profiled_work(of("small.pb"), two)
    elements = 2 * 14 * 14 * 8
    assert work["Conv2D"].flop == 2 * elements * (3 * 3 * 3)
    assert work["Conv2D"].bytes == 4 * (2 * 16 * 16 * 3 + 3 * 3 * 3 * 8 + elements)
    assert work["Relu"].flop == work["Mean"].flop == elements
    assert work["MatMul"].flop == 2 * 2 * 8 * 10
    assert work["Softmax"].flop == 5 * 2 * 10


def test_filters_and_windows_of_all_kinds_are_counted(tmp_path):
    tf = tf_process.import_tensorflow()
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, (None, 8, 8, 3), name="x")
        filtered = tf.nn.depthwise_conv2d(x, tf.ones((3, 3, 3, 2)), [1, 1, 1, 1], "SAME")
        pooled = tf.nn.max_pool2d(filtered, 2, 2, "SAME")
        larger = tf.nn.conv2d_transpose(pooled, tf.ones((2, 2, 5, 6)), (2, 8, 8, 5), 2)
        tf.linalg.svd(larger, compute_uv=False, name="y")
    (path := tmp_path / "kinds.pb").write_bytes(graph.as_graph_def().SerializeToString())
    requested = target(path, "tensorflow", format="tf-graph")
    work = profiled_work(requested, {"x": np.ones((2, 8, 8, 3), np.float32)})
    assert work["DepthwiseConv2dNative"].flop == 2 * (2 * 8 * 8 * 6) * 9
    assert work["MaxPool"].flop == (2 * 4 * 4 * 6) * 4
    assert work["Conv2DBackpropInput"].flop == 2 * (2 * 4 * 4 * 6) * (5 * 2 * 2)
    assert work["Svd"].flop is None  # never 0


def pictures():
    return {"picture": np.random.default_rng(0).standard_normal((1, 16, 16, 3), dtype=np.float32)}
