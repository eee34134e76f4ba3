"""OpenVINO: its own IR, and files of ONNX, LiteRT and TensorFlow.

A model with open sizes is compiled for those of its inputs, as its makers advise; the sizes come
with the target, or with the first call. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.core.work import Operand, Operands
from modeldyno.engines import openvino_devices, spinning
from modeldyno.engines.openvino_profiling import Described, OpenVinoProfiled
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.tf_loading import USUAL, saved_model_folder

# Layers whose precision is the one in which a model is computed.
_COMPUTE = (
    "Convolution",
    "Deconvolution",
    "FullyConnected",
    "MatMul",
    "RNNCell",
    "RNNSeq",
    "ScaledDotProductAttention",
)
_PRECISIONS = {
    **{"f32": "fp32", "bf16": "bf16", "f16": "fp16", "f64": "fp64"},
    **{"i8": "int8", "u8": "int8"},
}
# Formats, and who reads them.
_READERS = {"onnx": "onnx", "litert": "tflite", "tf-graph": "tf", "saved-model": "tf"}
_PASSIVE = ("Const", "Input", "Output")
Shapes = Mapping[str, tuple[int, ...]]


class OpenVino:
    name = "openvino"
    capabilities = Capabilities(
        formats=("onnx", "openvino-ir", "litert", "tf-graph", "saved-model"),
        devices=openvino_devices.DEVICES,
    )

    def version(self) -> str:
        import openvino

        # It looks once which CPUs there are: now, before this process is confined to some.
        _core().get_property("CPU", "FULL_DEVICE_NAME")
        return str(openvino.__version__).partition("-")[0]

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[OpenVinoSession]:
        yield OpenVinoSession(target, self.version())

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(_planned(target, inputs)) as session:
            outputs = session.run(inputs)
            return session.examined(), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: OpenVinoSession) -> Iterator[OpenVinoProfiled]:
        """Another session: whether nodes are timed is settled when a model is compiled."""
        yield OpenVinoProfiled(OpenVinoSession(target, self.version(), {"PERF_COUNT": True}))


@functools.cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def _planned(target: Target, inputs: Tensors) -> Target:
    return replace(target, shapes={name: tuple(value.shape) for name, value in inputs.items()})


# ---------------------------------------------------------------- a session


class OpenVinoSession:
    def __init__(
        self, target: Target, version: str, extra: Mapping[str, Any] | None = None
    ) -> None:
        spinning.refuse("OpenVINO", target)
        if target.options:
            raise BadValue(f"OpenVINO has no option {next(iter(target.options))!r}")
        if target.signature not in ("", USUAL):
            raise BadValue(
                f"OpenVINO cannot take the signature {target.signature!r}",
                why=f"of several it reads {USUAL!r} alone, and where there is none of this name, "
                "all of them as one model",
                fix="Use --engine tensorflow, or save the model with this signature alone",
            )
        self._target = target
        self._version = version
        self._placed = openvino_devices.placement(target.device, lambda: _core().available_devices)
        self._hint = openvino_devices.hint(target.precision)
        self._settings = {
            **openvino_devices.settings(self._placed, target.threads, self._hint, target.streams),
            **(extra or {}),
        }
        self._is_open = False
        self._own_names: set[str] = set()  # of nodes, as the model's file calls them
        self._shapes: Shapes = target.shapes
        self._compiled = self._compile()

    @property
    def facts(self) -> SessionFacts:
        ports = self._compiled.inputs
        return SessionFacts(
            engine="openvino",
            engine_version=self._version,
            device=self._placed.device,
            providers=tuple(self._compiled.get_property("EXECUTION_DEVICES")),
            threads=self._threads(),
            spinning=None,
            input_dtypes=dict(zip(self._input_names(), map(_dtype, ports), strict=True)),
            notes=self._notes(),
            streams=self._streams,
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        given = self._given(inputs)
        if self._streams > 1:
            return _bound_streams(self._compiled, given, contract, self._streams)
        return _bound(self._compiled, given, contract)

    def run(self, inputs: Tensors) -> Tensors:
        import numpy as np

        given = self._given(inputs)
        # A request of its own: a model that keeps state begins anew.
        outputs = self._compiled.create_infer_request().infer(given)
        names = self._called(self._compiled.outputs, self._target.outputs)
        return {name: np.array(outputs[place]) for place, name in enumerate(names)}

    def examined(self) -> SessionFacts:
        """The facts with precision and placement, as the compiled graph tells them."""
        facts = self.facts
        nodes = self._compiled.get_runtime_model().get_ordered_ops()
        layers = [(_told(node, "layerType"), _told(node, "primitiveType")) for node in nodes]
        runs = sum(kind not in _PASSIVE for kind, _ in layers)
        return replace(
            facts,
            precision=_precision(layers),
            nodes_by_provider={"+".join(facts.providers): runs},
            layout=_layout(_told(n, "outputLayouts") for n in nodes if _is_convolution(n)),
        )

    def profiling(self) -> list[Any]:
        """What its nodes took, in the mean of all calls since it was compiled."""
        return list(self._compiled.create_infer_request().get_profiling_info())

    def described(self) -> dict[str, Described]:
        """Nodes that were compiled, by the names that its profiler calls them by."""
        found: dict[str, Described] = {}
        counts: Counter[str] = Counter()
        for node in self._compiled.get_runtime_model().get_ordered_ops():
            told, kind = str(node.get_friendly_name()), _told(node, "layerType")
            parts = tuple(filter(None, _told(node, "originalLayersNames").split(",")))
            own = tuple(part for part in parts if part in self._own_names)
            name = told if told in self._own_names else next(iter(own), "")
            if not name:
                counts[kind] += 1
                name = f"{kind} #{counts[kind]}"
            found[told] = Described(name, _operands(node), own)
        return found

    # ------------------------------------------------------------ inside

    def _compile(self) -> Any:
        """Raises EngineFailed where the model cannot be had at all: other inputs would not help."""
        try:
            model = _read(Path(self._target.model), self._target.format)
        except Exception as error:  # its readers have exceptions of their own
            raise _cannot_load(error) from error
        # The others are made of a counter, and are new ones each time that a model is read.
        self._own_names = {
            str(op.get_friendly_name())
            for op in model.get_ordered_ops()
            if op.get_friendly_name() != op.get_name()
        }
        self._is_open = any(port.partial_shape.is_dynamic for port in model.inputs)
        if self._is_open and self._shapes:
            _settle_sizes(model, self._shapes, self._places(model.inputs))
        try:
            compiled = _core().compile_model(model, self._placed.name, self._settings)
        except RuntimeError as error:
            if self._is_open and self._shapes:  # with others it may go
                raise
            raise _cannot_load(error) from error
        taken = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        openvino_devices.check_hint(self._hint, taken)
        self._streams = int(compiled.get_property("NUM_STREAMS"))
        openvino_devices.check_streams(self._target.streams, self._streams, self._target.threads)
        return compiled

    def _given(self, inputs: Tensors) -> dict[int, Any]:
        """By place, and the model compiled for their sizes. Their types must be the model's own:
        OpenVINO would convert others in silence."""
        shapes = {name: tuple(value.shape) for name, value in inputs.items()}
        if self._is_open and shapes != self._shapes:
            self._shapes = shapes
            self._compiled = self._compile()
        places = self._places(self._compiled.inputs)
        given = {}
        for name, value in inputs.items():
            if name not in places:
                raise ValueError(f"the model has no input {name!r}, but {', '.join(places)}")
            wanted = _dtype(self._compiled.inputs[places[name]])
            if str(value.dtype) != wanted:
                raise ValueError(f"input {name!r} is {wanted}, and {value.dtype} was given")
            given[places[name]] = value
        return given

    def _input_names(self) -> list[str]:
        return self._called(self._compiled.inputs, self._target.inputs)

    def _called(self, ports: Any, said: Sequence[str]) -> list[str]:
        """OpenVINO does not read the names that a LiteRT file has for callers, but keeps the
        order; of TensorFlow's operators it names an output, ``x:0``."""
        if self._target.format == "litert" and len(said) == len(ports):
            return list(said)
        return [_name(port, said) for port in ports]

    def _places(self, ports: Any) -> dict[str, int]:
        """Each name of an input, and where it stands among them."""
        found = {name: place for place, name in enumerate(self._called(ports, self._target.inputs))}
        for place, port in enumerate(ports):
            for name in (*port.get_names(), port.get_node().get_friendly_name()):
                found.setdefault(name, place)
        return found

    def _threads(self) -> int | None:
        if self._placed.kind != "cpu":
            return None
        return int(self._compiled.get_property("INFERENCE_NUM_THREADS"))

    def _notes(self) -> tuple[str, ...]:
        free = [_name(port) for port in self._compiled.inputs if port.partial_shape.is_dynamic]
        if not (free and self._shapes):
            return ()
        return (f"compiled for any size of {', '.join(free)}, since one size does not go through",)


def _bound(compiled: Any, given: dict[int, Any], contract: CallContract) -> Callable[[], object]:
    import numpy as np
    import openvino

    if contract == "api":
        return lambda: compiled(given)
    infer = (request := compiled.create_infer_request()).infer
    if contract == "e2e":

        def call() -> object:
            outputs = infer({place: np.array(value) for place, value in given.items()})
            return [np.array(output) for output in outputs.values()]

        return call
    # Inputs lie where it finds them, outputs stay where it puts them: the engine's floor.
    for place, value in given.items():
        request.set_input_tensor(place, openvino.Tensor(value, shared_memory=True))
    return lambda: infer(share_outputs=True)


def _bound_streams(
    compiled: Any, given: dict[int, Any], contract: CallContract, streams: int
) -> Callable[[], object]:
    """A round: one request in every stream, started together; it ends with the last of them."""
    import numpy as np
    import openvino

    requests = [compiled.create_infer_request() for _ in range(streams)]
    if contract == "hot":
        for request in requests:
            for place, value in given.items():  # each has its own, as requests of a server have
                request.set_input_tensor(place, openvino.Tensor(np.array(value)))

        def hot() -> object:
            for request in requests:
                request.start_async()
            for request in requests:
                request.wait()
            return None

        return hot

    def call() -> object:
        for request in requests:
            is_copied = contract == "e2e"
            request.start_async({p: np.array(v) if is_copied else v for p, v in given.items()})
        outputs = []
        for request in requests:
            request.wait()
            made = [tensor.data for tensor in request.output_tensors]
            outputs.append([np.array(one) for one in made])
        return outputs

    return call


# ---------------------------------------------------------------- a model


def _read(path: Path, model_format: str) -> Any:
    """By the reader of its format, whatever the file is called; weights of IR lie beside it."""
    if model_format == "openvino-ir":
        weights = path.with_suffix(".bin")
        return _core().read_model(path, weights) if weights.exists() else _core().read_model(path)
    from openvino.frontend import FrontEndManager

    reader = FrontEndManager().load_by_framework(_READERS[model_format or "onnx"])
    if model_format == "saved-model":
        with saved_model_folder(path) as folder:
            return reader.convert(reader.load(str(folder)))
    return reader.convert(reader.load(str(path)))


def _settle_sizes(model: Any, shapes: Shapes, places: Mapping[str, int]) -> None:
    """Where the graph allows it; else sizes stay open, and a note says so."""
    wanted = {places[name]: list(shape) for name, shape in shapes.items() if name in places}
    before = {place: port.partial_shape for place, port in enumerate(model.inputs)}
    try:
        model.reshape(wanted)
    except RuntimeError:
        model.reshape(before)


def _name(port: Any, said: Sequence[str] = ()) -> str:
    """The one that the file has for callers, if it is among them. A port may have no name but its
    node's, which of an output is the one that makes it."""
    names = sorted(port.get_names()) or [str(port.get_node().get_friendly_name())]
    known = [name for own in names for name in (own, own.removesuffix(":0")) if name in said]
    return str((known or names)[0])


def _dtype(port: Any) -> str:
    """numpy's name, as of all engines."""
    kind = port.get_element_type()
    return str(kind.to_dtype()) if kind.is_static() else str(kind.get_type_name())


def _operands(node: Any) -> Operands | None:
    """None where a size is open."""
    sides = node.inputs(), node.outputs()
    if any(port.get_partial_shape().is_dynamic for side in sides for port in side):
        return None
    inputs, outputs = (
        tuple(
            Operand(
                str(port.get_element_type().get_type_name()),
                tuple(int(size) for size in port.get_partial_shape().to_shape()),
            )
            for port in side
        )
        for side in sides
    )
    return Operands(inputs, outputs) if outputs else None


def _told(node: Any, what: str) -> str:
    said = node.get_rt_info()
    return str(said[what].astype(str)) if what in said else ""


def _precision(layers: list[tuple[str, str]]) -> str | None:
    """The types in which the computing layers run: "fp32", "int8", or several joined by +.

    Their kernels say so at the end of their names (``brgemm_avx512_f32``). What the layer says of
    its own precision may be that of weights which are stored smaller than they are used.
    """
    kernels = [kernel for kind, kernel in layers if kind in _COMPUTE]
    types = [kernel.rpartition("_")[2].lower() for kernel in kernels]
    seen = Counter(_PRECISIONS.get(one, one) for one in types)
    return "+".join(name for name, _ in seen.most_common()) or None


def _is_convolution(node: Any) -> bool:
    return _told(node, "layerType") in ("Convolution", "Deconvolution", "Pooling")


def _layout(told: Iterable[str]) -> str | None:
    """oneDNN's way of writing it: abcd is NCHW, acdb NHWC, aBcd16b has channels in blocks of 16."""
    seen = Counter(
        "NCHWc" if any(c.isupper() for c in one) else "NHWC" if one.endswith("b") else "NCHW"
        for one in (text.partition(",")[0] for text in told)
        if len(one) >= len("abc")
    )
    return next((name for name, _ in seen.most_common(1)), None)


def _cannot_load(error: Exception) -> EngineFailed:
    """Its own words, without those in which of its files something was noticed."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("Exception from", "Check '"))]
    return EngineFailed(
        "OpenVINO could not load the model",
        why=" ".join(said or lines)[:600],
        fix="Check its operators with `modeldyno inspect`, or use another engine",
    )
