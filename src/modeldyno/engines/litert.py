"""LiteRT, formerly TensorFlow Lite: .tflite files in its interpreter.

XNNPACK, which has the fast kernels, takes the operators that it supports; LiteRT runs the others
itself. Facts report which ran what. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from modeldyno.core import precisions
from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.models import TensorNames, names_of, serving_signature
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines.litert_profiling import FileOperator, LiteRtProfiled, file_operators
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.session_checks import (
    cannot_load,
    join_by_frequency,
    require_input,
    require_own_precision,
    shapes_of,
    with_shapes_of,
)
from modeldyno.engines.threads import count_threads, require_default_spinning

XNNPACK, OWN = "XNNPACK", "LiteRT"
_DELEGATE = "DELEGATE"  # the name of an operator that stands for all that a delegate took
# Operators whose operand types tell the precision of a model's arithmetic.
_COMPUTE = ("CONV", "FULLY_CONNECTED", "BATCH_MATMUL", "LSTM", "RNN", "SVDF")
_INTEGER = {"int8": "int8", "uint8": "int8", "int4": "int4", "int16": "int16"}
_FLOAT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
# One number in, the same one out unless negative: a call shows the cost outside the operators.
# As tests/litert_files.py writes it; a worker has no package that writes such files.
EMPTY_MODEL = b64decode(
    "GAAAAFRGTDMAAA4AGAAUABAADAAIAAQADgAAABQAAAAgAAAAMAAAAAwBAAADAAAAAQAAAAgAAAAEAAQABAAAAA8AAAB3"
    "cml0dGVuIGJ5IGhhbmQAAQAAABQAAAAAAA4AGAAUABAADAAEAAgADgAAABQAAABEAAAATAAAAFAAAABUAAAAAQAAABAA"
    "AAAAAAoAEAAMAAgABAAKAAAADAAAABAAAAAAAAAAAQAAAAEAAAABAAAAAAAAAAQAAABtYWluAAAAAAEAAAABAAAAAQAA"
    "AAAAAAACAAAAOAAAAAQAAADc////EAAAAAAAAAAAAAAADAAAAAEAAAB5AAAAAQAAAAEAAAAMABQAEAAPAAgABAAMAAAA"
    "EAAAAAAAAAAAAAAADAAAAAEAAAB4AAAAAQAAAAEAAAABAAAAEAAAAAwADAALAAAAAAAEAAwAAAATAAAAAAAAEw=="
)


class LiteRt:
    name = "litert"
    capabilities = Capabilities(formats=("litert",))

    def version(self) -> str:
        import importlib.metadata

        import ai_edge_litert.interpreter  # noqa: F401  # imported now, before loading is timed

        return importlib.metadata.version("ai-edge-litert")

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[LiteRtSession]:
        with contextlib.closing(LiteRtSession(target, self.version())) as session:
            yield session

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(with_shapes_of(inputs, target)) as session:
            outputs = session.run(inputs)
            return session.examined(), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: LiteRtSession) -> Iterator[LiteRtProfiled]:
        """Another session: the interpreter has no profiler. The compiled model of the same library
        has one, which must be switched on when the model is loaded."""
        profiled = LiteRtProfiled(
            target,
            uses_xnnpack(target),
            session,
            lambda inputs: self._file_operators(target, inputs),
        )
        with contextlib.closing(profiled):
            yield profiled

    def _file_operators(self, target: Target, inputs: Tensors) -> dict[int, FileOperator]:
        """From a session without XNNPACK, which would hide the sizes inside the part it took. Empty
        if LiteRT alone cannot run the model."""
        without_xnnpack = replace(with_shapes_of(inputs, target), options={"xnnpack": False})
        try:
            with self.open(without_xnnpack) as session:
                session.run(inputs)
                return session.file_operators()
        except (EngineFailed, RuntimeError, ValueError):
            return {}


def uses_xnnpack(target: Target) -> bool:
    """As set with ``--option xnnpack=…``; on by default, as in LiteRT itself."""
    for name, setting in target.options.items():
        if name != "xnnpack":
            raise BadValue(
                f"LiteRT has no option {name!r}", fix="Use xnnpack=true or xnnpack=false"
            )
        if not isinstance(setting, bool):
            raise BadValue(f"xnnpack is true or false, not {setting!r}")
    return bool(target.options.get("xnnpack", True))


# ---------------------------------------------------------------- a session


@dataclass(frozen=True)
class LiteRtPort:
    """An input or output: its name for callers, and its number in the interpreter."""

    name: str
    tensor: int
    dtype: str
    shape: tuple[int, ...]


class LiteRtSession:
    def __init__(self, target: Target, version: str) -> None:
        _require_supported(target)
        self._target = target
        self._version = version
        self._uses_xnnpack = uses_xnnpack(target)
        self._shapes: Mapping[str, tuple[int, ...]] = target.shapes
        self._interpreter: Any = None
        self._load()

    @property
    def facts(self) -> SessionFacts:
        return SessionFacts(
            engine="litert",
            engine_version=self._version,
            device="cpu",
            providers=(XNNPACK, OWN) if self._count_delegates() else (OWN,),
            threads=self._threads,
            spinning=None,
            input_dtypes={port.name: port.dtype for port in self.inputs},
            notes=self._make_notes(),
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        arrays = self._arrays_by_tensor(inputs)
        return self._bind(arrays, contract, self._interpreter.invoke)

    def bare(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """The same call of a model that computes nothing."""
        empty = _make_interpreter(self._target, self._uses_xnnpack, EMPTY_MODEL)
        empty.allocate_tensors()
        return self._bind(self._arrays_by_tensor(inputs), contract, empty.invoke)

    def _bind(
        self, arrays: dict[int, Any], contract: CallContract, invoke: Callable[[], object]
    ) -> Callable[[], object]:
        import numpy as np

        set_tensor, get_tensor = self._interpreter.set_tensor, self._interpreter.get_tensor
        outputs = [port.tensor for port in self.outputs]
        self._set_inputs(arrays)
        if contract == "hot":  # outputs stay in the interpreter's memory
            return lambda: invoke()
        numbered_arrays = list(arrays.items())

        def call() -> object:
            for tensor, array in numbered_arrays:
                set_tensor(tensor, array)
            invoke()
            return [get_tensor(tensor) for tensor in outputs]

        if contract == "api":
            return call

        def end_to_end() -> object:
            for tensor, array in numbered_arrays:
                set_tensor(tensor, np.array(array))
            invoke()
            return [np.array(get_tensor(tensor)) for tensor in outputs]

        return end_to_end

    def run(self, inputs: Tensors) -> Tensors:
        arrays = self._arrays_by_tensor(inputs)
        self._interpreter.reset_all_variables()  # a model that keeps state starts afresh
        self._set_inputs(arrays)
        self._interpreter.invoke()
        return {port.name: self._interpreter.get_tensor(port.tensor) for port in self.outputs}

    def examined(self) -> SessionFacts:
        """The facts plus precision and placement, from the interpreter's list of operators."""
        own, delegates = self._list_operators()
        delegated = delegated_operators(own, delegates)
        counts = {XNNPACK: len(delegated), OWN: len(own) - len(delegated)}
        return replace(
            self.facts,
            precision=_effective_precision(own),
            nodes_by_provider={name: count for name, count in counts.items() if count},
            # The only layout that its image operators support, and XNNPACK's.
            layout="NHWC" if any("CONV" in operator["op_name"] for operator in own) else None,
        )

    def file_operators(self) -> dict[int, FileOperator]:
        """The operators of the file, with the sizes of the last call."""
        own, delegates = self._list_operators()
        return file_operators([*own, *delegates], self._interpreter.get_tensor_details())

    def xnnpack_parts(self) -> list[list[int]]:
        """Numbers of the operators that XNNPACK took: a list for each part of the model."""
        own, delegates = self._list_operators()
        return [sorted(delegated_operators(own, [delegate])) for delegate in delegates]

    def close(self) -> None:
        """Ends its threads, too."""
        self._interpreter = None

    # ------------------------------------------------------------ inside

    def _load(self) -> None:
        threads_before = count_threads()
        self._interpreter = None  # freed before the next one is created
        self._interpreter = _make_interpreter(self._target, self._uses_xnnpack)
        self.inputs, self.outputs = _read_ports(self._interpreter)
        is_resized = self._resize()
        try:
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            if is_resized:
                raise  # other sizes may work
            raise cannot_load("LiteRT", error) from error
        self.inputs, self.outputs = _read_ports(self._interpreter)
        self._threads = self._threads_started(threads_before)

    def _resize(self) -> bool:
        """Whether there was anything to resize."""
        resized = [
            (port.tensor, self._shapes[port.name])
            for port in self.inputs
            if self._shapes.get(port.name, port.shape) != port.shape
        ]
        for tensor, shape in resized:
            self._interpreter.resize_tensor_input(tensor, shape, strict=True)
        return bool(resized)

    def _arrays_by_tensor(self, inputs: Tensors) -> dict[int, Any]:
        """Resizes the model to their sizes if necessary. Their types must be the model's own."""
        shapes = shapes_of(inputs)
        if any(shapes.get(port.name, port.shape) != port.shape for port in self.inputs):
            self._shapes = shapes
            self._load()  # again: XNNPACK does not support every change of sizes
        ports = {port.name: port for port in self.inputs}
        dtypes = {port.name: port.dtype for port in self.inputs}
        arrays = {}
        for name, array in inputs.items():
            require_input(name, array, dtypes)
            arrays[ports[name].tensor] = array
        return arrays

    def _set_inputs(self, arrays: dict[int, Any]) -> None:
        for tensor, array in arrays.items():
            self._interpreter.set_tensor(tensor, array)

    def _threads_started(self, threads_before: int) -> int | None:
        """XNNPACK starts its threads when it takes the model; LiteRT's own kernels start theirs in
        the first call, so their number is not yet known."""
        started = count_threads() - threads_before
        is_known = self._target.threads == 1 or self._count_delegates() > 0
        return 1 + max(0, started) if is_known else None

    def _list_operators(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The operators of the file, and those that stand for delegates."""
        operators = list(self._interpreter._get_ops_details())
        own = [operator for operator in operators if operator["op_name"] != _DELEGATE]
        return own, [operator for operator in operators if operator["op_name"] == _DELEGATE]

    def _count_delegates(self) -> int:
        raw = self._interpreter._interpreter
        return sum(raw.NodeName(number) == _DELEGATE for number in range(raw.NumNodes()))

    def _make_notes(self) -> tuple[str, ...]:
        if self._uses_xnnpack and not self._count_delegates():
            return ("XNNPACK took none of the operators: LiteRT's own kernels run them all",)
        return ()


def _require_supported(target: Target) -> None:
    if target.device != "cpu":
        raise BadValue(f"LiteRT cannot use device {target.device!r} here", fix="Use --device cpu")
    require_own_precision(target, "LiteRT", "a LiteRT")
    require_default_spinning("LiteRT", target)


def _make_interpreter(target: Target, uses_xnnpack: bool, content: bytes | None = None) -> Any:
    """For the target's model, or for the one with that content."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = (
        OpResolverType.BUILTIN if uses_xnnpack
        else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )  # fmt: skip
    try:
        return Interpreter(
            None if content else target.model,
            model_content=content,
            num_threads=target.threads,
            experimental_op_resolver_type=resolver,
        )
    except (RuntimeError, ValueError) as error:
        raise cannot_load("LiteRT", error) from error


def _read_ports(interpreter: Any) -> tuple[tuple[LiteRtPort, ...], tuple[LiteRtPort, ...]]:
    """Inputs and outputs in the order of the graph, by the names that a signature gives them."""
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    signature = serving_signature(
        _read_signatures(interpreter), [details["index"] for details in inputs]
    )
    return (
        _name_ports(inputs, signature.inputs if signature else {}),
        _name_ports(outputs, signature.outputs if signature else {}),
    )


def _name_ports(
    tensors: list[dict[str, Any]], signature_names: Mapping[str, int]
) -> tuple[LiteRtPort, ...]:
    import numpy as np

    numbers = [int(tensor["index"]) for tensor in tensors]
    names = names_of(numbers, signature_names, [str(tensor["name"]) for tensor in tensors])
    return tuple(
        LiteRtPort(name, number, str(np.dtype(tensor["dtype"])), tuple(map(int, tensor["shape"])))
        for name, number, tensor in zip(names, numbers, tensors, strict=True)
    )


def _read_signatures(interpreter: Any) -> list[TensorNames]:
    """Those of the first graph, which is the one that is invoked."""
    raw = interpreter._interpreter
    return [
        TensorNames(key, ports["inputs"], ports["outputs"])
        for key, ports in (interpreter._get_full_signature_list() or {}).items()
        if raw.GetSubgraphIndexFromSignature(key) == 0
    ]


# ---------------------------------------------------------------- operators


def delegated_operators(
    operators: list[dict[str, Any]], delegates: list[dict[str, Any]]
) -> set[int]:
    """Numbers of the operators that the delegates compute: those between the inputs and outputs of
    a delegate's own operator. They stay in the list, but are not run."""
    producers = {int(tensor): operator for operator in operators for tensor in operator["outputs"]}
    numbers: set[int] = set()
    for delegate in delegates:
        border = set(map(int, delegate["inputs"]))
        pending = [int(tensor) for tensor in delegate["outputs"]]
        while pending:
            operator = producers.get(pending.pop())
            if operator is not None and operator["index"] not in numbers:
                numbers.add(operator["index"])
                inputs = map(int, operator["inputs"])
                pending += [tensor for tensor in inputs if tensor not in border]
    return numbers


def _effective_precision(operators: list[dict[str, Any]]) -> str | None:
    """The input types of the computing operators: "fp32", "int8", or several joined by +.

    Weights of 8 or 4 bits beside floats mean that the floats become 8 bits for each product.
    Weights that are only stored in 8 or 16 bits pass through an operator that widens them.
    """
    import numpy as np

    computed: list[str] = []
    for operator in operators:
        if any(word in operator["op_name"] for word in _COMPUTE):
            types = [str(np.dtype(kind)) for kind in operator["operand_types"]]
            names = [table[kind] for table in (_INTEGER, _FLOAT) for kind in types if kind in table]
            if "int4" in names:  # of weights only
                names = [precisions.of_operator("int4", "int8")]
            computed += names[:1]
    return join_by_frequency(computed)
