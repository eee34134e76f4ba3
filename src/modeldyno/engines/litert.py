"""LiteRT, formerly TensorFlow Lite: .tflite files in its interpreter.

XNNPACK, which brings its quick kernels, takes those operators that it knows; LiteRT runs the others
itself. Who took what is told. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.core.signatures import Signature, names_of, serving
from modeldyno.engines import spinning
from modeldyno.engines.litert_nothing import NOTHING
from modeldyno.engines.litert_operands import Listed, listed
from modeldyno.engines.litert_profiling import LiteRtProfiled
from modeldyno.engines.protocol import Capabilities, Tensors

XNNPACK, OWN = "XNNPACK", "LiteRT"
_DELEGATE = "DELEGATE"  # what an operator is called that stands for all that a delegate took
# Operators whose operand types say in which precision a model is computed.
_COMPUTE = ("CONV", "FULLY_CONNECTED", "BATCH_MATMUL", "LSTM", "RNN", "SVDF")
_WHOLE = {"int8": "int8", "uint8": "int8", "int4": "int4", "int16": "int16"}
_FLOAT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


class LiteRt:
    name = "litert"
    capabilities = Capabilities(formats=("litert",))

    def version(self) -> str:
        import importlib.metadata

        import ai_edge_litert.interpreter  # noqa: F401  # loads it, before loading is timed

        return importlib.metadata.version("ai-edge-litert")

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[LiteRtSession]:
        session = LiteRtSession(target, self.version())
        try:
            yield session
        finally:
            session.close()

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(_planned(target, inputs)) as session:
            outputs = session.run(inputs)
            return session.examined(), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: LiteRtSession) -> Iterator[LiteRtProfiled]:
        """Another session: the interpreter has no profiler, the compiled model of the same library
        has one, which must be there when the model is loaded."""
        profiled = LiteRtProfiled(
            target, takes_xnnpack(target), session, lambda inputs: self._listed(target, inputs)
        )
        try:
            yield profiled
        finally:
            profiled.close()

    def _listed(self, target: Target, inputs: Tensors) -> dict[int, Listed]:
        """From a session without XNNPACK: of what XNNPACK took, sizes inside of it are those of the
        file. Nothing where LiteRT alone cannot run it."""
        own = replace(_planned(target, inputs), options={"xnnpack": False})
        try:
            with self.open(own) as session:
                session.run(inputs)
                return session.listed()
        except (EngineFailed, RuntimeError, ValueError):
            return {}


def _planned(target: Target, inputs: Tensors) -> Target:
    return replace(target, shapes={name: tuple(value.shape) for name, value in inputs.items()})


def takes_xnnpack(target: Target) -> bool:
    """As asked with ``--option xnnpack=…``; LiteRT's own default is to take it."""
    for name, value in target.options.items():
        if name != "xnnpack":
            raise BadValue(
                f"LiteRT has no option {name!r}", fix="Use xnnpack=true or xnnpack=false"
            )
        if not isinstance(value, bool):
            raise BadValue(f"xnnpack is true or false, not {value!r}")
    return bool(target.options.get("xnnpack", True))


# ---------------------------------------------------------------- a session


@dataclass(frozen=True)
class Port:
    """An input or output: its name for callers, and its number in the interpreter."""

    name: str
    tensor: int
    dtype: str
    shape: tuple[int, ...]


class LiteRtSession:
    def __init__(self, target: Target, version: str) -> None:
        _check(target)
        self._target = target
        self._version = version
        self._takes_xnnpack = takes_xnnpack(target)
        self._shapes: Mapping[str, tuple[int, ...]] = target.shapes
        self._interpreter: Any = None
        self._load()

    @property
    def facts(self) -> SessionFacts:
        return SessionFacts(
            engine="litert",
            engine_version=self._version,
            device="cpu",
            providers=(XNNPACK, OWN) if self._delegates() else (OWN,),
            threads=self._threads,
            spinning=None,
            input_dtypes={port.name: port.dtype for port in self.inputs},
            notes=self._notes(),
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        given = self._given(inputs)
        return self._bound(given, contract, self._interpreter.invoke)

    def bare(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """The same call, but of operators only one that does nothing."""
        empty = _interpreter(self._target, self._takes_xnnpack, NOTHING)
        empty.allocate_tensors()
        return self._bound(self._given(inputs), contract, empty.invoke)

    def _bound(
        self, given: dict[int, Any], contract: CallContract, invoke: Callable[[], object]
    ) -> Callable[[], object]:
        import numpy as np

        set_tensor, get_tensor = self._interpreter.set_tensor, self._interpreter.get_tensor
        made = [port.tensor for port in self.outputs]
        self._set(given)
        if contract == "hot":  # outputs stay where the interpreter puts them
            return lambda: invoke()
        items = list(given.items())

        def call() -> object:
            for tensor, value in items:
                set_tensor(tensor, value)
            invoke()
            return [get_tensor(tensor) for tensor in made]

        if contract == "api":
            return call

        def end_to_end() -> object:
            for tensor, value in items:
                set_tensor(tensor, np.array(value))
            invoke()
            return [np.array(get_tensor(tensor)) for tensor in made]

        return end_to_end

    def run(self, inputs: Tensors) -> Tensors:
        given = self._given(inputs)
        self._interpreter.reset_all_variables()  # a model that keeps state begins anew
        self._set(given)
        self._interpreter.invoke()
        return {port.name: self._interpreter.get_tensor(port.tensor) for port in self.outputs}

    def examined(self) -> SessionFacts:
        """The facts with precision and placement, as the interpreter's list of operators tells."""
        operators = self._operators()
        taken = _taken(operators)
        own = [one for one in operators if one["op_name"] != _DELEGATE]
        placed = {XNNPACK: len(taken), OWN: len(own) - len(taken)}
        return replace(
            self.facts,
            precision=_precision(own),
            nodes_by_provider={name: count for name, count in placed.items() if count},
            # Its operators for pictures have no other way, and neither has XNNPACK for them.
            layout="NHWC" if any("CONV" in one["op_name"] for one in own) else None,
        )

    def listed(self) -> dict[int, Listed]:
        """Its operators, with the sizes of the last call."""
        return listed(self._operators(), self._interpreter.get_tensor_details())

    def parts(self) -> list[list[int]]:
        """Numbers of the operators that XNNPACK took: one list for each time that it begins."""
        operators = self._operators()
        own = [one for one in operators if one["op_name"] != _DELEGATE]
        delegates = [one for one in operators if one["op_name"] == _DELEGATE]
        return [sorted(_taken([*own, delegate])) for delegate in delegates]

    def close(self) -> None:
        """Its threads go with it."""
        self._interpreter = None

    # ------------------------------------------------------------ inside

    def _load(self) -> None:
        before = _threads()
        self._interpreter = None  # the one before is gone before the next one comes
        self._interpreter = _interpreter(self._target, self._takes_xnnpack)
        self.inputs, self.outputs = _ports(self._interpreter)
        is_resized = self._resize()
        try:
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            if is_resized:
                raise  # with other sizes it may go
            raise _cannot_load(error) from error
        self.inputs, self.outputs = _ports(self._interpreter)
        self._threads = self._counted(before)

    def _resize(self) -> bool:
        """Whether there was anything to resize."""
        others = [
            (port.tensor, self._shapes[port.name])
            for port in self.inputs
            if self._shapes.get(port.name, port.shape) != port.shape
        ]
        for tensor, shape in others:
            self._interpreter.resize_tensor_input(tensor, shape, strict=True)
        return bool(others)

    def _given(self, inputs: Tensors) -> dict[int, Any]:
        """By number, and the model resized to their sizes. Their types must be the model's own."""
        shapes = {name: tuple(value.shape) for name, value in inputs.items()}
        if any(shapes.get(port.name, port.shape) != port.shape for port in self.inputs):
            self._shapes = shapes
            self._load()  # anew: XNNPACK cannot always follow a change of sizes
        ports = {port.name: port for port in self.inputs}
        given = {}
        for name, value in inputs.items():
            if name not in ports:
                raise ValueError(f"the model has no input {name!r}, but {', '.join(ports)}")
            if str(value.dtype) != ports[name].dtype:
                wanted = ports[name].dtype
                raise ValueError(f"input {name!r} is {wanted}, and {value.dtype} was given")
            given[ports[name].tensor] = value
        return given

    def _set(self, given: dict[int, Any]) -> None:
        for tensor, value in given.items():
            self._interpreter.set_tensor(tensor, value)

    def _counted(self, before: int) -> int | None:
        """XNNPACK starts its threads when it takes the model; LiteRT's own begin with a call, so
        that nobody can tell yet."""
        gained = _threads() - before
        is_told = self._target.threads == 1 or self._delegates() > 0
        return 1 + max(0, gained) if is_told else None

    def _operators(self) -> list[dict[str, Any]]:
        return list(self._interpreter._get_ops_details())

    def _delegates(self) -> int:
        raw = self._interpreter._interpreter
        return sum(raw.NodeName(number) == _DELEGATE for number in range(raw.NumNodes()))

    def _notes(self) -> tuple[str, ...]:
        if self._takes_xnnpack and not self._delegates():
            return ("XNNPACK took none of its operators: LiteRT's own kernels run all",)
        return ()


def _check(target: Target) -> None:
    if target.device != "cpu":
        raise BadValue(f"LiteRT cannot use device {target.device!r} here", fix="Use --device cpu")
    if target.precision not in (None, "fp32"):
        raise BadValue(
            f"LiteRT cannot change the precision to {target.precision!r}",
            why="a LiteRT file fixes its precision",
            fix="Give a model that was converted to that precision",
        )
    spinning.refuse("LiteRT", target)


def _interpreter(target: Target, takes_xnnpack: bool, content: bytes | None = None) -> Any:
    """Of the target's model, or of another one."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = (
        OpResolverType.BUILTIN if takes_xnnpack
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
        raise _cannot_load(error) from error


def _ports(interpreter: Any) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """In the order of the graph, under the names that a signature gives them."""
    taken, made = interpreter.get_input_details(), interpreter.get_output_details()
    signature = serving(_signatures(interpreter), [told["index"] for told in taken])
    return (
        _named(taken, signature.inputs if signature else {}),
        _named(made, signature.outputs if signature else {}),
    )


def _named(told: list[dict[str, Any]], said: Mapping[str, int]) -> tuple[Port, ...]:
    import numpy as np

    numbers = [int(one["index"]) for one in told]
    names = names_of(numbers, said, [str(one["name"]) for one in told])
    return tuple(
        Port(name, number, str(np.dtype(one["dtype"])), tuple(map(int, one["shape"])))
        for name, number, one in zip(names, numbers, told, strict=True)
    )


def _signatures(interpreter: Any) -> list[Signature]:
    """Of the first graph, which is the one that is invoked."""
    raw = interpreter._interpreter
    return [
        Signature(key, said["inputs"], said["outputs"])
        for key, said in (interpreter._get_full_signature_list() or {}).items()
        if raw.GetSubgraphIndexFromSignature(key) == 0
    ]


def _threads() -> int:
    """Threads of this process, counted by the system where it tells."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return 0


# ---------------------------------------------------------------- operators


def _taken(operators: list[dict[str, Any]]) -> set[int]:
    """Numbers of the operators that a delegate computes: its own operator stands for all those
    between its inputs and its outputs, which stay in the list and are not run."""
    maker = {
        int(tensor): one
        for one in operators
        if one["op_name"] != _DELEGATE
        for tensor in one["outputs"]
    }
    found: set[int] = set()
    for delegate in (one for one in operators if one["op_name"] == _DELEGATE):
        border = set(map(int, delegate["inputs"]))
        ways = [int(tensor) for tensor in delegate["outputs"]]
        while ways:
            one = maker.get(ways.pop())
            if one is not None and one["index"] not in found:
                found.add(one["index"])
                ways += [int(tensor) for tensor in one["inputs"] if int(tensor) not in border]
    return found


def _precision(operators: list[dict[str, Any]]) -> str | None:
    """The types of what the computing operators take: "fp32", "int8", or several joined by +.

    Weights of 8 bits beside floats mean that the floats become 8 bits for each product. Weights
    that are only stored in 8 or 16 bits pass through an operator that widens them.
    """
    import numpy as np

    seen: Counter[str] = Counter()
    for one in operators:
        if any(word in one["op_name"] for word in _COMPUTE):
            types = [str(np.dtype(kind)) for kind in one["operand_types"]]
            kinds = [known[kind] for known in (_WHOLE, _FLOAT) for kind in types if kind in known]
            seen.update(kinds[:1])
    return "+".join(name for name, _ in seen.most_common()) or None


def _cannot_load(error: Exception) -> EngineFailed:
    return EngineFailed(
        "LiteRT could not load the model",
        why=" ".join(str(error).split())[:600],
        fix="Check its operators with `modeldyno inspect`, or use another engine",
    )
