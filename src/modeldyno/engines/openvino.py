"""OpenVINO: its own IR, and files of ONNX, LiteRT and TensorFlow.

A model with dynamic sizes is compiled for the sizes of its inputs, as its makers advise; they come
with the target or with the first call. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core import precisions
from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.node_work import Operand, Operands
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines import openvino_devices
from modeldyno.engines.conversions import ConversionSource
from modeldyno.engines.openvino_profiling import CompiledNode, OpenVinoProfiled
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.session_checks import (
    cannot_load,
    join_by_frequency,
    require_input,
    shapes_of,
    with_shapes_of,
)
from modeldyno.engines.tf_loading import DEFAULT_SIGNATURE, saved_model_folder
from modeldyno.engines.threads import require_default_spinning

# Layers whose precision is that of the model's arithmetic.
_COMPUTE = (
    *("Convolution", "Deconvolution", "FullyConnected", "MatMul"),
    *("RNNCell", "RNNSeq", "ScaledDotProductAttention"),
)
_PRECISIONS = {
    **{"f32": "fp32", "bf16": "bf16", "f16": "fp16", "f64": "fp64"},
    **{f"{sign}{bits}": f"int{bits}" for sign in "iu" for bits in (2, 3, 4, 6, 8)},
    **{"nf4": "nf4", "f4e2m1": "fp4", "f8e4m3": "fp8", "f8e5m2": "fp8"},
}
# OpenVINO's frontend of each format.
_FRONTENDS = {"onnx": "onnx", "litert": "tflite", "tf-graph": "tf", "saved-model": "tf"}
_FUSED = "Subgraph"  # of several layers, products among them
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

        # It detects the CPUs only once: do so now, before this process is pinned to some of them.
        _make_core().get_property("CPU", "FULL_DEVICE_NAME")
        return str(openvino.__version__).partition("-")[0]

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[OpenVinoSession]:
        yield OpenVinoSession(target, self.version())

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(with_shapes_of(inputs, target)) as session:
            outputs = session.run(inputs)
            return session.examined(), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: OpenVinoSession) -> Iterator[OpenVinoProfiled]:
        """Another session: node timing is switched on when a model is compiled."""
        yield OpenVinoProfiled(OpenVinoSession(target, self.version(), {"PERF_COUNT": True}))


@functools.cache
def _make_core() -> Any:
    import openvino

    return openvino.Core()


# ---------------------------------------------------------------- a session


class OpenVinoSession:
    def __init__(
        self, target: Target, version: str, extra: Mapping[str, Any] | None = None
    ) -> None:
        require_default_spinning("OpenVINO", target)
        if target.options:
            raise BadValue(f"OpenVINO has no option {next(iter(target.options))!r}")
        if target.signature not in ("", DEFAULT_SIGNATURE):
            raise BadValue(
                f"OpenVINO cannot use the signature {target.signature!r}",
                why=f"it reads {DEFAULT_SIGNATURE!r} only, or, if the model has no such signature, "
                "all signatures as a single model",
                fix="Use --engine tensorflow, or save the model with this signature alone",
            )
        self._target = target
        self._version = version
        self._device = openvino_devices.find_device(
            target.device, lambda: _make_core().available_devices
        )
        self._hint = openvino_devices.precision_hint(target.precision)
        self._settings = {
            **openvino_devices.settings(self._device, target.threads, self._hint, target.streams),
            **(extra or {}),
        }
        self._is_dynamic = False
        self._names_in_file: set[str] = set()  # of nodes
        self._products: set[str] = set()  # names of matrix products
        self._shapes: Shapes = target.shapes
        self._compiled = self._compile()

    @property
    def facts(self) -> SessionFacts:
        ports = self._compiled.inputs
        return SessionFacts(
            engine="openvino",
            engine_version=self._version,
            device=self._device.name,
            providers=tuple(self._compiled.get_property("EXECUTION_DEVICES")),
            threads=self._read_threads(),
            spinning=None,
            input_dtypes=dict(zip(self._input_names(), map(_dtype_name, ports), strict=True)),
            notes=self._make_notes(),
            streams=self._streams,
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        arrays = self._arrays_by_position(inputs)
        if self._streams > 1:
            return _bind_streams(self._compiled, arrays, contract, self._streams)
        return _bind_request(self._compiled, arrays, contract)

    def run(self, inputs: Tensors) -> Tensors:
        import numpy as np

        arrays = self._arrays_by_position(inputs)
        # A new request: a model that keeps state starts afresh.
        outputs = self._compiled.create_infer_request().infer(arrays)
        names = self._input_names_of_ports(self._compiled.outputs, self._target.outputs)
        return {name: np.array(outputs[place]) for place, name in enumerate(names)}

    def examined(self) -> SessionFacts:
        """The facts plus precision and placement, from the compiled graph."""
        facts = self.facts
        nodes = self._compiled.get_runtime_model().get_ordered_ops()
        executed = sum(_read_runtime_info(node, "layerType") not in _PASSIVE for node in nodes)
        return replace(
            facts,
            precision=_effective_precision(nodes, self._products),
            nodes_by_provider={"+".join(facts.providers): executed},
            layout=_effective_layout(
                _read_runtime_info(n, "outputLayouts") for n in nodes if _is_convolution(n)
            ),
        )

    def profiling(self) -> list[Any]:
        """OpenVINO's node times: means over all calls since the model was compiled."""
        return list(self._compiled.create_infer_request().get_profiling_info())

    def compiled_nodes(self) -> dict[str, CompiledNode]:
        """The nodes of the compiled graph, by the names that the profiler uses."""
        nodes: dict[str, CompiledNode] = {}
        counts: Counter[str] = Counter()
        for node in self._compiled.get_runtime_model().get_ordered_ops():
            compiled_name, kind = (
                str(node.get_friendly_name()),
                _read_runtime_info(node, "layerType"),
            )
            parts = _original_names(node)
            parts_in_file = tuple(part for part in parts if part in self._names_in_file)
            is_in_file = compiled_name in self._names_in_file
            name = compiled_name if is_in_file else next(iter(parts_in_file), "")
            if not name:
                counts[kind] += 1
                name = f"{kind} #{counts[kind]}"
            nodes[compiled_name] = CompiledNode(name, _read_operands(node), parts_in_file)
        return nodes

    # ------------------------------------------------------------ inside

    def _compile(self) -> Any:
        """Raises EngineFailed if the model cannot be loaded whatever its inputs."""
        try:
            model = _read_model(Path(self._target.model), self._target.format)
        except Exception as error:  # each frontend raises exceptions of its own
            raise _cannot_load_error(error) from error
        # Generated names contain a counter and differ each time a model is read.
        self._names_in_file = {
            str(op.get_friendly_name())
            for op in model.get_ordered_ops()
            if op.get_friendly_name() != op.get_name()
        }
        self._products = {
            str(op.get_friendly_name())
            for op in model.get_ordered_ops()
            if op.get_type_name() == "MatMul"
        }
        self._is_dynamic = any(port.partial_shape.is_dynamic for port in model.inputs)
        if self._is_dynamic and self._shapes:
            _fix_sizes(model, self._shapes, self._positions_by_name(model.inputs))
        try:
            compiled = _make_core().compile_model(model, self._device.openvino_name, self._settings)
        except RuntimeError as error:
            if self._is_dynamic and self._shapes:  # other sizes may work
                raise
            raise _cannot_load_error(error) from error
        effective_hint = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        openvino_devices.require_hint(self._hint, effective_hint)
        self._streams = int(compiled.get_property("NUM_STREAMS"))
        openvino_devices.require_streams(self._target.streams, self._streams, self._target.threads)
        return compiled

    def _arrays_by_position(self, inputs: Tensors) -> dict[int, Any]:
        """Compiles the model for their sizes if necessary. Their types must be the model's own:
        OpenVINO would silently convert others."""
        shapes = shapes_of(inputs)
        if self._is_dynamic and shapes != self._shapes:
            self._shapes = shapes
            self._compiled = self._compile()
        places = self._positions_by_name(self._compiled.inputs)
        arrays = {}
        dtypes = {name: _dtype_name(self._compiled.inputs[place]) for name, place in places.items()}
        for name, array in inputs.items():
            require_input(name, array, dtypes)
            arrays[places[name]] = array
        return arrays

    def _input_names(self) -> list[str]:
        return self._input_names_of_ports(self._compiled.inputs, self._target.inputs)

    def _input_names_of_ports(self, ports: Any, declared: Sequence[str]) -> list[str]:
        """Names for callers. OpenVINO ignores those of a LiteRT file, but keeps the order; for
        TensorFlow's operators it uses the name of an output, ``x:0``."""
        if self._target.format == "litert" and len(declared) == len(ports):
            return list(declared)
        return [_port_name(port, declared) for port in ports]

    def _positions_by_name(self, ports: Any) -> dict[str, int]:
        """The position of each input, by all of its names."""
        names = self._input_names_of_ports(ports, self._target.inputs)
        places = {name: place for place, name in enumerate(names)}
        for place, port in enumerate(ports):
            for name in (*port.get_names(), port.get_node().get_friendly_name()):
                places.setdefault(name, place)
        return places

    def _read_threads(self) -> int | None:
        if self._device.kind != "cpu":
            return None
        return int(self._compiled.get_property("INFERENCE_NUM_THREADS"))

    def _make_notes(self) -> tuple[str, ...]:
        dynamic = [
            _port_name(port) for port in self._compiled.inputs if port.partial_shape.is_dynamic
        ]
        if not (dynamic and self._shapes):
            return ()
        return (f"compiled for any size of {', '.join(dynamic)}: it cannot be fixed to one size",)


def _bind_request(
    compiled: Any, arrays: dict[int, Any], contract: CallContract
) -> Callable[[], object]:
    import numpy as np
    import openvino

    if contract == "api":
        return lambda: compiled(arrays)
    infer = (request := compiled.create_infer_request()).infer
    if contract == "e2e":

        def call() -> object:
            outputs = infer({place: np.array(array) for place, array in arrays.items()})
            return [np.array(output) for output in outputs.values()]

        return call
    # Inputs are bound once, outputs stay in OpenVINO's memory: the engine's floor.
    for place, array in arrays.items():
        request.set_input_tensor(place, openvino.Tensor(array, shared_memory=True))
    return lambda: infer(share_outputs=True)


def _bind_streams(
    compiled: Any, arrays: dict[int, Any], contract: CallContract, streams: int
) -> Callable[[], object]:
    """A round: one request per stream, started together; it ends with the last of them."""
    import numpy as np
    import openvino

    requests = [compiled.create_infer_request() for _ in range(streams)]
    if contract == "hot":
        for request in requests:
            for place, array in arrays.items():  # copied: each request of a server has its own
                request.set_input_tensor(place, openvino.Tensor(np.array(array)))

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
            request.start_async({p: np.array(a) if is_copied else a for p, a in arrays.items()})
        outputs = []
        for request in requests:
            request.wait()
            outputs.append([np.array(tensor.data) for tensor in request.output_tensors])
        return outputs

    return call


# ---------------------------------------------------------------- a model


def _read_model(path: Path, model_format: str) -> Any:
    """By the frontend of its format, whatever the file's name; IR keeps its weights beside it."""
    if model_format == "openvino-ir":
        weights = path.with_suffix(".bin")
        return (
            _make_core().read_model(path, weights)
            if weights.exists()
            else _make_core().read_model(path)
        )
    from openvino.frontend import FrontEndManager

    frontend = FrontEndManager().load_by_framework(_FRONTENDS[model_format or "onnx"])
    if model_format == "saved-model":
        with saved_model_folder(path) as folder:
            return frontend.convert(frontend.load(str(folder)))
    return frontend.convert(frontend.load(str(path)))


def _fix_sizes(model: Any, shapes: Shapes, places: Mapping[str, int]) -> None:
    """If the graph allows it; otherwise sizes stay dynamic, and a note says so."""
    fixed = {places[name]: list(shape) for name, shape in shapes.items() if name in places}
    dynamic = {place: port.partial_shape for place, port in enumerate(model.inputs)}
    try:
        model.reshape(fixed)
    except RuntimeError:
        model.reshape(dynamic)


def _port_name(port: Any, declared: Sequence[str] = ()) -> str:
    """The name that the file declares for callers, if the port has it. A port without a name goes
    by that of its node."""
    names = sorted(port.get_names()) or [str(port.get_node().get_friendly_name())]
    matches = [alias for n in names for alias in (n, n.removesuffix(":0")) if alias in declared]
    return str((matches or names)[0])


def _dtype_name(port: Any) -> str:
    """numpy's name, as in all engines."""
    kind = port.get_element_type()
    return str(kind.to_dtype()) if kind.is_static() else str(kind.get_type_name())


def _read_operands(node: Any) -> Operands | None:
    """None if a size is dynamic."""
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


def _read_runtime_info(node: Any, name: str) -> str:
    details = node.get_rt_info()
    return str(details[name].astype(str)) if name in details else ""


def _effective_precision(nodes: Iterable[Any], products: set[str]) -> str | None:
    """Of the computing layers: "fp32", "int8", or several joined by +."""
    return join_by_frequency(filter(None, (_layer_precision(node, products) for node in nodes)))


def _layer_precision(node: Any, products: set[str]) -> str | None:
    """None if it does not compute.

    The type of activations is at the end of the kernel's name (``brgemm_avx512_f32``). Weights may
    be kept in a smaller one, which the kernel widens.
    """
    kind = _read_runtime_info(node, "layerType")
    suffix = _read_runtime_info(node, "primitiveType").rpartition("_")[2].lower()
    activations = _PRECISIONS.get(suffix, suffix)
    types = [str(port.get_element_type().get_type_name()) for port in node.inputs()]
    if kind == _FUSED and products.intersection(_original_names(node)):
        if "i8" in types:  # a product in there takes integers on both sides: it rounds floats first
            return "int8"
        weights = [each for each in types[1:] if "f" in each]  # and no masks
    elif kind in _COMPUTE:
        weights = types[1:2]
    else:
        return None
    smaller = (each for each in weights if 0 < _bits(each) < _bits(suffix))
    return precisions.of_operator(_PRECISIONS.get(next(smaller, "")), activations)


def _original_names(node: Any) -> list[str]:
    return list(filter(None, _read_runtime_info(node, "originalLayersNames").split(",")))


def _bits(kind: str) -> int:
    """``f32`` has 32, ``f8e4m3`` has 8."""
    digits = re.search(r"[0-9]+", kind)
    return int(digits[0]) if digits else 0


def _is_convolution(node: Any) -> bool:
    return _read_runtime_info(node, "layerType") in ("Convolution", "Deconvolution", "Pooling")


def _effective_layout(output_layouts: Iterable[str]) -> str | None:
    """oneDNN's notation: abcd is NCHW, acdb NHWC, aBcd16b has channels in blocks of 16."""
    layouts = Counter(
        "NCHWc" if any(c.isupper() for c in axes) else "NHWC" if axes.endswith("b") else "NCHW"
        for axes in (text.partition(",")[0] for text in output_layouts)
        if len(axes) >= len("abc")
    )
    return next((name for name, _ in layouts.most_common(1)), None)


def _cannot_load_error(error: Exception) -> EngineFailed:
    """OpenVINO's message, without the lines that name its source files."""
    return cannot_load("OpenVINO", error, without=("Exception from", "Check '"))


# ---------------------------------------------------------------- conversion


def convert(source: ConversionSource, place: Path) -> tuple[str, ...]:
    """ONNX to OpenVINO's own files, with every weight as it was."""
    import openvino

    model = openvino.convert_model(source.target.model)
    # By default it silently halves the weights to float16.
    openvino.save_model(model, place, compress_to_fp16=False)
    return ()
