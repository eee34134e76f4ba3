"""LiteRT's compiled model and its profiler, which its Python package has and does not show.

The library beside the package speaks C. Only functions of its public headers are called, and what
has no size in C is handed through without a look inside. A library that answers otherwise than
these lines expect is refused: then there is no profiler.
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
DELEGATES = ("DELEGATE", "TfLiteXNNPackDelegate")  # stand around what XNNPACK tells by itself
_LIBRARY = "libLiteRt.so"
_CPU = 1
_READ, _WRITE = 0, 1  # why a buffer is locked
_HIGHEST_RANK = 8
_TYPE_BYTES = 256  # more than a tensor's type takes
_SUBGRAPH = _SIGNATURE = c_size_t(0)  # the model itself


class Layout(ctypes.Structure):
    """The sizes of a tensor."""

    _fields_ = (
        ("rank", ctypes.c_uint32),  # seven bits; the eighth: it has strides
        ("dims", ctypes.c_int32 * _HIGHEST_RANK),
        ("strides", ctypes.c_uint32 * _HIGHEST_RANK),
    )


class Event(ctypes.Structure):
    """What the profiler recorded, in microseconds."""

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
class Recorded:
    name: str
    kind: int
    took_us: int
    number: int
    graph: int = 0  # 0 is the model; others belong to its operators
    start_us: int = 0  # XNNPACK does not tell it


class CompiledModel:
    """A model under the profiler, with buffers for its inputs and outputs."""

    def __init__(
        self, path: str, threads: int, takes_xnnpack: bool, shapes: Sequence[tuple[int, ...]]
    ) -> None:
        """``shapes`` of its inputs, in their order. Raises EngineFailed."""
        self._library = _loaded()
        self._kept: list[Any] = []  # what the library has pointers to
        self._destroyers: list[Callable[[], object]] = []
        try:
            self._environment = self._made("Environment", 0, None)
            self._model = self._made("Model", self._environment, path.encode(), how="FromFile")
            self._options = self._made("Options")
            self._set_options(threads, takes_xnnpack)
            self._compiled = self._made(
                "CompiledModel", self._environment, self._model, self._options
            )
            self._profiler = self._got("CompiledModelGetProfiler", self._compiled)
            self._graph = self._got("GetModelSubgraph", self._model, _SUBGRAPH)
            self._inputs = self._buffers("Input", shapes)
            self._outputs = self._buffers("Output", None)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self._destroyers:
            self._destroyers.pop()()

    # ------------------------------------------------------------ calls

    def caller(self) -> Callable[[], None]:
        """A call with what lies in the buffers."""
        run = self._function("RunCompiledModel")
        arguments = (
            self._compiled,
            _SIGNATURE,
            *(c_size_t(len(self._inputs)), _array(self._inputs)),
            *(c_size_t(len(self._outputs)), _array(self._outputs)),
        )

        def call() -> None:
            if status := run(*arguments):
                raise _cannot_run(f"LiteRtRunCompiledModel answered {status}")

        return call

    def write(self, number: int, value: Any) -> None:
        """An array, as large as the input is."""
        buffer = self._inputs[number]
        if self._packed(buffer) != value.nbytes:
            raise EngineFailed(f"input {number} has another size than LiteRT's buffer")
        place = self._got("LockTensorBuffer", buffer, then=(c_int(_WRITE),))
        ctypes.memmove(place, value.ctypes.data, value.nbytes)
        self._ask("UnlockTensorBuffer", buffer)

    def read(self, number: int) -> bytes:
        buffer = self._outputs[number]
        place = self._got("LockTensorBuffer", buffer, then=(c_int(_READ),))
        data = ctypes.string_at(place, self._packed(buffer))
        self._ask("UnlockTensorBuffer", buffer)
        return data

    @property
    def output_count(self) -> int:
        return len(self._outputs)

    # ------------------------------------------------------------ the profiler

    def start(self) -> None:
        self._ask("StartProfiler", self._profiler)

    def stop(self) -> None:
        self._ask("StopProfiler", self._profiler)

    def take(self) -> list[Recorded]:
        """All that was recorded since it was taken before."""
        count = c_int()
        self._ask("GetNumProfilerEvents", self._profiler, byref(count))
        if count.value <= 0:
            return []
        events = (Event * count.value)()
        self._ask("GetProfilerEvents", self._profiler, count, events)
        found = [
            Recorded(
                (one.tag or b"").decode("utf-8", "replace"),
                *(one.kind, one.took_us, one.number, one.graph, one.start_us),
            )
            for one in events
        ]
        self._ask("ResetProfiler", self._profiler)
        return found

    def operator_name(self, number: int, graph: int = 0) -> str:
        """As of the graph: the first name of the first tensor that it makes."""
        holder = self._got("GetModelSubgraph", self._model, c_size_t(graph))
        operator = self._got("GetSubgraphOp", holder, c_size_t(number))
        tensor = self._got("GetOpOutput", operator, c_size_t(0))
        name = c_char_p()
        self._ask("GetTensorName", tensor, byref(name))
        return (name.value or b"").decode("utf-8", "replace").split(";")[0]

    def window(self, number: int, pooling: str) -> tuple[int, ...]:
        """Of an operator that the library calls ``pooling``: MaxPool2d."""
        operator = self._got("GetSubgraphOp", self._graph, c_size_t(number))
        sides = []
        for side in ("Height", "Width"):
            size = ctypes.c_int32()
            self._ask(f"Get{pooling}Filter{side}Option", operator, byref(size))
            sides.append(size.value)
        return tuple(sides)

    # ------------------------------------------------------------ inside

    def _set_options(self, threads: int, takes_xnnpack: bool) -> None:
        self._ask("SetOptionsHardwareAccelerators", self._options, c_int(_CPU))
        mode = "xnnpack" if takes_xnnpack else "builtin"
        said = {
            b"runtime_options_string": "enable_profiling = true\n",
            b"xnnpack": f'num_threads = {threads}\nkernel_mode = "{mode}"\n',
        }
        for name, text in said.items():
            held = ctypes.create_string_buffer(text.encode())
            self._kept.append(held)
            one = c_void_p()
            self._ask("CreateOpaqueOptions", name, held, _NOTHING_TO_FREE, byref(one))
            self._ask("AddOpaqueOptions", self._options, one)

    def _buffers(self, way: str, shapes: Sequence[tuple[int, ...]] | None) -> list[c_void_p]:
        count = c_size_t()
        self._ask(f"GetNumSubgraph{way}s", self._graph, byref(count))
        if shapes is not None:
            self._resize(shapes)
        layouts = list(self._layouts(way, count.value))
        found = []
        for number, layout in enumerate(layouts):
            tensor = self._got(f"GetSubgraph{way}", self._graph, c_size_t(number))
            kind = ctypes.create_string_buffer(_TYPE_BYTES)
            self._ask("GetRankedTensorType", tensor, kind)
            ctypes.memmove(ctypes.addressof(kind) + 4, byref(layout), ctypes.sizeof(layout))
            needs = self._got(
                f"GetCompiledModel{way}BufferRequirements",
                *(self._compiled, _SIGNATURE, c_size_t(number)),
            )
            buffer = self._got(
                "CreateManagedTensorBufferFromRequirements", self._environment, kind, needs
            )
            self._destroyers.append(self._destroyer("TensorBuffer", buffer))
            found.append(buffer)
        return found

    def _resize(self, shapes: Sequence[tuple[int, ...]]) -> None:
        now = list(self._layouts("Input", len(shapes)))
        for number, (shape, layout) in enumerate(zip(shapes, now, strict=True)):
            if shape != tuple(layout.dims[: layout.rank & 127]):
                dims = (c_int * len(shape))(*shape)
                self._ask(
                    "CompiledModelResizeInputTensor",
                    *(self._compiled, _SIGNATURE, c_size_t(number), dims, c_size_t(len(shape))),
                )

    def _layouts(self, way: str, count: int) -> Iterator[Layout]:
        if way == "Output":
            several = (Layout * count)()
            self._ask(
                "GetCompiledModelOutputTensorLayouts",
                *(self._compiled, _SIGNATURE, c_size_t(count), several, c_bool(True)),
            )
            yield from several
            return
        for number in range(count):
            layout = Layout()
            self._ask(
                "GetCompiledModelInputTensorLayout",
                *(self._compiled, _SIGNATURE, c_size_t(number), byref(layout)),
            )
            yield layout

    def _packed(self, buffer: c_void_p) -> int:
        size = c_size_t()
        self._ask("GetTensorBufferPackedSize", buffer, byref(size))
        return size.value

    def _made(self, what: str, *arguments: object, how: str = "") -> c_void_p:
        one = self._got(f"Create{what}{how}", *arguments)
        self._destroyers.append(self._destroyer(what, one))
        return one

    def _destroyer(self, what: str, one: c_void_p) -> Callable[[], object]:
        destroy = self._function(f"Destroy{what}")
        return lambda: destroy(one)

    def _got(self, name: str, *arguments: object, then: tuple[object, ...] = ()) -> c_void_p:
        """What a function hands out through a pointer."""
        found = c_void_p()
        self._ask(name, *arguments, byref(found), *then)
        return found

    def _ask(self, name: str, *arguments: object) -> None:
        status = self._function(name)(*arguments)
        if status:
            raise _cannot_run(f"LiteRt{name} answered {status}")

    def _function(self, name: str) -> Any:
        try:
            return getattr(self._library, f"LiteRt{name}")
        except AttributeError as error:
            raise _no_profiler(f"its library has no LiteRt{name}") from error


def _array(handles: Sequence[c_void_p]) -> Any:
    return (c_void_p * len(handles))(*(handle.value for handle in handles))


def _loaded() -> ctypes.CDLL:
    import ai_edge_litert

    path = Path(ai_edge_litert.__file__).parent / _LIBRARY
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise _no_profiler(f"{_LIBRARY} cannot be loaded") from error


def _cannot_run(what: str) -> EngineFailed:
    return EngineFailed(
        "LiteRT's profiler cannot run this model",
        why=f"{what}; one cause are outputs whose size LiteRT learns in a call only",
        fix="Measure it with `modeldyno bench`, or profile it in another engine",
    )


def _no_profiler(why: str) -> EngineFailed:
    return EngineFailed(
        "This version of LiteRT has no profiler that we can use",
        why=why,
        fix="Use ai-edge-litert 2.3, or profile the model in another engine",
    )
