"""ONNX Runtime."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core import precisions
from modeldyno.core.errors import EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines import onnx_optimized, onnx_providers
from modeldyno.engines.onnx_optimized import OptimizedGraph
from modeldyno.engines.onnx_profiling import KERNEL, OnnxProfiled
from modeldyno.engines.onnx_providers import OnnxDevice
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.session_checks import cannot_load, join_by_frequency, require_own_precision
from modeldyno.engines.threads import count_threads

SPINNING = "session.intra_op.allow_spinning"
_OPTIMIZED_WEIGHTS = "session.optimized_model_external_initializers_file_name"
# Kernels whose operand types tell the precision of a model's arithmetic.
_COMPUTE = ("Conv", "MatMul", "Gemm", "Attention", "LSTM", "GRU", "RNN", "Einsum")
# Those that multiply integers, though they may list no integer: packed weights are left out.
_INTEGER = ("QLinear", "QGemm", "QAttention", "MatMulInteger", "ConvInteger", "DynamicQuantize")
_PRECISIONS = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16", "double": "fp64"}


class OnnxRuntime:
    name = "onnxruntime"
    capabilities = Capabilities(formats=("onnx",), devices=onnx_providers.DEVICES)

    def version(self) -> str:
        import onnxruntime

        return str(onnxruntime.__version__)

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[OnnxSession]:
        yield self._load(target, _make_session_options(target))

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        """Run once under ONNX Runtime's own profiler, which reports each kernel's operand types."""
        session = self._load(target, _make_session_options(target, profile="examine"))
        try:
            outputs = session.run(inputs)
        finally:
            trace = Path(session.raw.end_profiling())
        events = json.loads(trace.read_text())
        trace.unlink()
        kernels = _kernels_of(events)
        optimized = self._optimized(target) if onnx_optimized.is_needed(kernels) else None
        return session.examined(kernels, optimized), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: OnnxSession) -> Iterator[OnnxProfiled]:
        """Another session: this profiler starts with a session and cannot be paused."""
        is_cpu = target.device.partition(":")[0] == "cpu"

        def open_bare(model: bytes, is_profiled: bool) -> OnnxSession:
            options = _make_session_options(target, profile="bare" if is_profiled else "")
            return self._load(target, options, model)

        profiled = OnnxProfiled(
            self._load(target, _make_session_options(target, profile="profile")),
            open_bare if is_cpu else None,
            lambda: self._optimized(target),
        )
        with contextlib.closing(profiled):
            yield profiled

    def _optimized(self, target: Target) -> OptimizedGraph | None:
        """The graph that it runs; None if it cannot write it: nodes may be compiled for a device.

        Opens the model once more: only for models whose profile leaves a question open.
        """
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            path = Path(folder) / "optimized.onnx"
            options = _make_session_options(target)
            options.optimized_model_filepath = str(path)
            options.add_session_config_entry(_OPTIMIZED_WEIGHTS, "weights")  # a file beside it
            try:
                self._load(target, options)
                return onnx_optimized.read(path.read_bytes())
            except (EngineFailed, OSError, ValueError):
                return None

    def _load(self, target: Target, options: Any, model: bytes | None = None) -> OnnxSession:
        import onnxruntime

        device = onnx_providers.find_device(target.device, onnxruntime.get_available_providers())
        threads_before = count_threads()
        try:
            raw = onnxruntime.InferenceSession(
                model or target.model, options, providers=device.provider_chain()
            )
        except Exception as error:
            # EngineFailed, because other input shapes would not help.
            raise cannot_load("ONNX Runtime", error) from error
        onnx_providers.require_provider(device, raw.get_providers())
        return OnnxSession(raw, device, 1 + count_threads() - threads_before)


def _make_session_options(target: Target, profile: str = "") -> Any:
    """``profile``: how the file of its profiler begins; empty: no profiler."""
    import onnxruntime

    require_own_precision(target, "ONNX Runtime", "an ONNX")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = target.threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = str(Path.cwd() / profile)
    if target.spinning is not None:
        options.add_session_config_entry(SPINNING, "1" if target.spinning else "0")
    return options


class OnnxSession:
    def __init__(self, raw: Any, device: OnnxDevice, threads: int) -> None:
        self.raw = raw
        self._device = device
        self._threads = threads

    @property
    def facts(self) -> SessionFacts:
        import onnxruntime

        options = self.raw.get_session_options()
        return SessionFacts(
            engine="onnxruntime",
            engine_version=str(onnxruntime.__version__),
            device=self._device.name,
            providers=tuple(self.raw.get_providers()),
            threads=self._threads,
            spinning=_has_spinning(options) if self._threads > 1 else None,
            input_dtypes={i.name: _dtype_name(i.type) for i in self.raw.get_inputs()},
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        run = self.raw.run
        if contract == "api":
            return lambda: run(None, inputs)
        if contract == "e2e":
            return self._bind_end_to_end(inputs)
        return self._bind_hot(inputs)

    def _bind_end_to_end(self, inputs: Tensors) -> Callable[[], object]:
        """Inputs and outputs copied: the cost for a caller who converts on every call."""
        import numpy as np

        run = self.raw.run
        named_arrays = list(inputs.items())

        def call() -> object:
            outputs = run(None, {name: np.array(array) for name, array in named_arrays})
            return [np.array(output) for output in outputs]

        return call

    def _bind_hot(self, inputs: Tensors) -> Callable[[], object]:
        """Inputs bound and outputs preallocated once, on the device: the engine's floor."""
        binding = self.raw.io_binding()
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, self._copy_to_device(array))
        for output, array in zip(self.raw.get_outputs(), self.raw.run(None, inputs), strict=True):
            binding.bind_ortvalue_output(output.name, self._copy_to_device(array))
        run, wait = self.raw.run_with_iobinding, binding.synchronize_outputs
        if self._device.memory == "cpu":
            return lambda: run(binding)

        def call() -> None:
            run(binding)
            wait()

        return call

    def _copy_to_device(self, array: Any) -> Any:
        import onnxruntime

        return onnxruntime.OrtValue.ortvalue_from_numpy(
            array, self._device.memory, self._device.index
        )

    def run(self, inputs: Tensors) -> Tensors:
        names = [output.name for output in self.raw.get_outputs()]
        return dict(zip(names, self.raw.run(names, inputs), strict=True))

    def examined(
        self, kernels: list[dict[str, Any]], optimized: OptimizedGraph | None
    ) -> SessionFacts:
        """The facts plus precision and placement, from the kernels that ran."""
        # A node inside a loop runs a kernel in each iteration.
        nodes = {(kernel["name"], kernel.get("node_index")): kernel for kernel in kernels}
        providers = Counter(kernel.get("provider", "") for kernel in nodes.values())
        return replace(
            self.facts,
            precision=_effective_precision(kernels, optimized),
            nodes_by_provider=dict(providers),
            kernels=len(kernels),
            layout=_effective_layout({str(kernel.get("op_name", "")) for kernel in kernels}),
        )


def _has_spinning(options: Any) -> bool:
    try:
        return bool(options.get_session_config_entry(SPINNING) != "0")
    except RuntimeError:  # never set: ONNX Runtime's own default is to spin
        return True


def _dtype_name(onnx_type: str) -> str:
    """``tensor(float)`` → ``float32``: types have the same names in all engines."""
    name = onnx_type.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)


def _kernels_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the profiler says of each kernel that ran, and its ``name``."""
    return [
        event["args"] | {"name": event["name"].removesuffix(KERNEL)}
        for event in events
        if event.get("name", "").endswith(KERNEL)
    ]


def _effective_precision(
    kernels: list[dict[str, Any]], optimized: OptimizedGraph | None
) -> str | None:
    """Of the computing kernels: "fp32", "int8", or several joined by +."""
    return join_by_frequency(
        filter(None, (_precision_of_kernel(kernel, optimized) for kernel in kernels))
    )


def _effective_layout(kernels: set[str]) -> str | None:
    """The optimiser moves channels into blocks on CPUs with wide vectors, or last for int8; the
    kernels' names show it."""
    if any(name.startswith("Nhwc") for name in kernels):
        return "NHWC"
    if not any("Conv" in name or "Pool" in name for name in kernels):
        return None
    return "NCHWc" if kernels & {"ReorderInput", "ReorderOutput"} else "NCHW"


def _precision_of_kernel(kernel: dict[str, Any], optimized: OptimizedGraph | None) -> str | None:
    op_type = str(kernel.get("op_name", ""))
    if not any(word in op_type for word in _COMPUTE):
        return None
    types = [next(iter(operand), "") for operand in kernel.get("input_type_shape", [])]
    floats = next((_PRECISIONS[kind] for kind in types if kind in _PRECISIONS), None)
    weights = optimized.weights(str(kernel.get("name")), op_type) if optimized else None
    if op_type in onnx_optimized.PACKED:
        if weights is None or floats is None:
            return precisions.of_operator("low-bit", "unknown")
        # Only the CPU's kernels do so; those of CUDA compute in the type of their input.
        is_on_cpu = kernel.get("provider") == "CPUExecutionProvider"
        is_quantised = weights.quantises_activations and is_on_cpu
        return precisions.of_operator(weights.precision, "int8" if is_quantised else floats)
    if op_type.startswith(_INTEGER) or any(kind in ("int8", "uint8") for kind in types):
        return "int8"
    if floats is None or weights is None:
        return floats
    return precisions.of_operator(weights.precision, floats)
