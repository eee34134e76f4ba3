"""LiteRT's compiled model and its profiler, which its Python package contains but does not expose.

They are called through the C library beside the package. Only functions of its public headers are
used, and opaque handles are passed through. With a library that behaves otherwise than expected
here, profiling is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.errors import EngineFailed

OPERATOR, XNNPACK_OPERATOR = 1 << 1, 1 << 3  # kinds of events
DELEGATES = ("DELEGATE", "TfLiteXNNPackDelegate")  # enclose the events that XNNPACK reports itself
_LIBRARY = "libLiteRt.so"
_CPU = 1
_READ, _WRITE = 0, 1  # why a buffer is locked
_HIGHEST_RANK = 8
_TYPE_BYTES = 256  # more than the size of a tensor's type
_SUBGRAPH = _SIGNATURE = c_size_t(0)  # the model itself


class Layout(ctypes.Structure):
    """The sizes of a tensor."""

    _fields_ = (
        ("rank", ctypes.c_uint32),  # seven bits; the eighth: it has strides
        ("dims", ctypes.c_int32 * _HIGHEST_RANK),
        ("strides", ctypes.c_uint32 * _HIGHEST_RANK),
    )


class EventStruct(ctypes.Structure):
    """An event of the profiler, in microseconds."""

    _fields_ = (
        ("tag", c_char_p),
        ("kind", c_int),
        ("start_us", ctypes.c_uint64),
        ("took_us", ctypes.c_uint64),
        ("memory", c_size_t * 6),
        ("number", ctypes.c_uint64),  # of the operator
        ("graph", ctypes.c_uint64),
        ("source", c_int),
    )


_FREE = ctypes.CFUNCTYPE(None, c_void_p)
_NOTHING_TO_FREE = _FREE(lambda _: None)


@dataclass(frozen=True)
class RecordedEvent:
    name: str
    kind: int
    took_us: int
    number: int
    graph: int = 0  # 0 is the model; others belong to its operators
    start_us: int = 0  # 0 for XNNPACK's, which does not report it


class CompiledModel:
    """A model under the profiler, with buffers for its inputs and outputs."""

    def __init__(
        self, path: str, threads: int, uses_xnnpack: bool, shapes: Sequence[tuple[int, ...]]
    ) -> None:
        """``shapes`` of its inputs, in their order. Raises EngineFailed."""
        self._library = _load_library()
        self._option_texts: list[Any] = []  # kept alive: the library has pointers to them
        self._destroyers: list[Callable[[], object]] = []
        try:
            self._environment = self._create_handle("Environment", 0, None)
            self._model = self._create_handle(
                "Model", self._environment, path.encode(), variant="FromFile"
            )
            self._options = self._create_handle("Options")
            self._set_options(threads, uses_xnnpack)
            self._compiled = self._create_handle(
                "CompiledModel", self._environment, self._model, self._options
            )
            self._profiler = self._get_handle("CompiledModelGetProfiler", self._compiled)
            self._graph = self._get_handle("GetModelSubgraph", self._model, _SUBGRAPH)
            self._inputs = self._create_buffers("Input", shapes)
            self._outputs = self._create_buffers("Output", None)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self._destroyers:
            self._destroyers.pop()()

    # ------------------------------------------------------------ calls

    def caller(self) -> Callable[[], None]:
        """The function to call: it reads and writes the buffers."""
        run = self._find_function("RunCompiledModel")
        arguments = (
            self._compiled,
            _SIGNATURE,
            *(c_size_t(len(self._inputs)), _to_handle_array(self._inputs)),
            *(c_size_t(len(self._outputs)), _to_handle_array(self._outputs)),
        )

        def call() -> None:
            if status := run(*arguments):
                raise _cannot_run_error(
                    f"LiteRtRunCompiledModel returned {status}, as it does if the size of an "
                    "output is known only after a call"
                )

        return call

    def write(self, number: int, array: Any) -> None:
        """Set an input to an array of its size."""
        buffer = self._inputs[number]
        if self._packed_size(buffer) != array.nbytes:
            raise EngineFailed(f"input {number} has another size than LiteRT's buffer")
        address = self._get_handle("LockTensorBuffer", buffer, then=(c_int(_WRITE),))
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
        self._call_library("UnlockTensorBuffer", buffer)

    def read(self, number: int) -> bytes:
        """The content of an output."""
        buffer = self._outputs[number]
        address = self._get_handle("LockTensorBuffer", buffer, then=(c_int(_READ),))
        content = ctypes.string_at(address, self._packed_size(buffer))
        self._call_library("UnlockTensorBuffer", buffer)
        return content

    @property
    def output_count(self) -> int:
        return len(self._outputs)

    # ------------------------------------------------------------ the profiler

    def start(self) -> None:
        self._call_library("StartProfiler", self._profiler)

    def stop(self) -> None:
        self._call_library("StopProfiler", self._profiler)

    def take(self) -> list[RecordedEvent]:
        """The events recorded since the last time."""
        count = c_int()
        self._call_library("GetNumProfilerEvents", self._profiler, byref(count))
        if count.value <= 0:
            return []
        structs = (EventStruct * count.value)()
        self._call_library("GetProfilerEvents", self._profiler, count, structs)
        events = [
            RecordedEvent(
                (event.tag or b"").decode("utf-8", "replace"),
                *(event.kind, event.took_us, event.number, event.graph, event.start_us),
            )
            for event in structs
        ]
        self._call_library("ResetProfiler", self._profiler)
        return events

    def operator_name(self, number: int, graph: int = 0) -> str:
        """The name in the graph: the first name of the operator's first output. Empty if it has no
        output, as one that assigns a variable."""
        subgraph = self._get_handle("GetModelSubgraph", self._model, c_size_t(graph))
        operator = self._get_handle("GetSubgraphOp", subgraph, c_size_t(number))
        outputs = c_size_t()
        self._call_library("GetNumOpOutputs", operator, byref(outputs))
        if not outputs.value:
            return ""
        tensor = self._get_handle("GetOpOutput", operator, c_size_t(0))
        name = c_char_p()
        self._call_library("GetTensorName", tensor, byref(name))
        return (name.value or b"").decode("utf-8", "replace").split(";")[0]

    def window(self, number: int, pooling: str) -> tuple[int, ...]:
        """The window of a pooling; ``pooling`` is the library's name for its kind: MaxPool2d."""
        operator = self._get_handle("GetSubgraphOp", self._graph, c_size_t(number))
        sides = []
        for side in ("Height", "Width"):
            size = ctypes.c_int32()
            self._call_library(f"Get{pooling}Filter{side}Option", operator, byref(size))
            sides.append(size.value)
        return tuple(sides)

    # ------------------------------------------------------------ inside

    def _set_options(self, threads: int, uses_xnnpack: bool) -> None:
        self._call_library("SetOptionsHardwareAccelerators", self._options, c_int(_CPU))
        mode = "xnnpack" if uses_xnnpack else "builtin"
        texts = {
            b"runtime_options_string": "enable_profiling = true\n",
            b"xnnpack": f'num_threads = {threads}\nkernel_mode = "{mode}"\n',
        }
        for name, text in texts.items():
            buffer = ctypes.create_string_buffer(text.encode())
            self._option_texts.append(buffer)
            options = c_void_p()
            self._call_library(
                "CreateOpaqueOptions", name, buffer, _NOTHING_TO_FREE, byref(options)
            )
            self._call_library("AddOpaqueOptions", self._options, options)

    def _create_buffers(
        self, side: str, shapes: Sequence[tuple[int, ...]] | None
    ) -> list[c_void_p]:
        """``side``: Input or Output."""
        count = c_size_t()
        self._call_library(f"GetNumSubgraph{side}s", self._graph, byref(count))
        if shapes is not None:
            self._resize(shapes)
        buffers = []
        for number, layout in enumerate(list(self._read_layouts(side, count.value))):
            tensor = self._get_handle(f"GetSubgraph{side}", self._graph, c_size_t(number))
            kind = ctypes.create_string_buffer(_TYPE_BYTES)
            self._call_library("GetRankedTensorType", tensor, kind)
            ctypes.memmove(ctypes.addressof(kind) + 4, byref(layout), ctypes.sizeof(layout))
            requirements = self._get_handle(
                f"GetCompiledModel{side}BufferRequirements",
                *(self._compiled, _SIGNATURE, c_size_t(number)),
            )
            buffer = self._get_handle(
                "CreateManagedTensorBufferFromRequirements", self._environment, kind, requirements
            )
            self._destroyers.append(self._destroyer("TensorBuffer", buffer))
            buffers.append(buffer)
        return buffers

    def _resize(self, shapes: Sequence[tuple[int, ...]]) -> None:
        layouts = list(self._read_layouts("Input", len(shapes)))
        for number, (shape, layout) in enumerate(zip(shapes, layouts, strict=True)):
            if shape != tuple(layout.dims[: layout.rank & 127]):
                dims = (c_int * len(shape))(*shape)
                self._call_library(
                    "CompiledModelResizeInputTensor",
                    *(self._compiled, _SIGNATURE, c_size_t(number), dims, c_size_t(len(shape))),
                )

    def _read_layouts(self, side: str, count: int) -> Iterator[Layout]:
        if side == "Output":
            layouts = (Layout * count)()
            self._call_library(
                "GetCompiledModelOutputTensorLayouts",
                *(self._compiled, _SIGNATURE, c_size_t(count), layouts, c_bool(True)),
            )
            yield from layouts
            return
        for number in range(count):
            layout = Layout()
            self._call_library(
                "GetCompiledModelInputTensorLayout",
                *(self._compiled, _SIGNATURE, c_size_t(number), byref(layout)),
            )
            yield layout

    def _packed_size(self, buffer: c_void_p) -> int:
        size = c_size_t()
        self._call_library("GetTensorBufferPackedSize", buffer, byref(size))
        return size.value

    def _create_handle(self, kind: str, *arguments: object, variant: str = "") -> c_void_p:
        handle = self._get_handle(f"Create{kind}{variant}", *arguments)
        self._destroyers.append(self._destroyer(kind, handle))
        return handle

    def _destroyer(self, kind: str, handle: c_void_p) -> Callable[[], object]:
        destroy = self._find_function(f"Destroy{kind}")
        return lambda: destroy(handle)

    def _get_handle(self, name: str, *arguments: object, then: tuple[object, ...] = ()) -> c_void_p:
        """The handle that a function returns through a pointer."""
        handle = c_void_p()
        self._call_library(name, *arguments, byref(handle), *then)
        return handle

    def _call_library(self, name: str, *arguments: object) -> None:
        status = self._find_function(name)(*arguments)
        if status:
            raise _cannot_run_error(f"LiteRt{name} returned {status}")

    def _find_function(self, name: str) -> Any:
        try:
            return getattr(self._library, f"LiteRt{name}")
        except AttributeError as error:
            raise _no_profiler_error(f"its library has no LiteRt{name}") from error


def _to_handle_array(handles: Sequence[c_void_p]) -> Any:
    return (c_void_p * len(handles))(*(handle.value for handle in handles))


def _load_library() -> ctypes.CDLL:
    import ai_edge_litert

    path = Path(ai_edge_litert.__file__).parent / _LIBRARY
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise _no_profiler_error(f"{_LIBRARY} cannot be loaded") from error


def _cannot_run_error(problem: str) -> EngineFailed:
    return EngineFailed(
        "LiteRT's profiler cannot run this model",
        why=problem,
        fix="Measure it with `modeldyno bench`, or profile it in OpenVINO: --engine openvino",
    )


def _no_profiler_error(why: str) -> EngineFailed:
    return EngineFailed(
        "This version of LiteRT has no profiler that we can use",
        why=why,
        fix="Use ai-edge-litert 2.3, or profile the model in another engine",
    )
