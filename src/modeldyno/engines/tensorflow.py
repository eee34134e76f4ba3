"""TensorFlow: frozen graphs, SavedModels and Keras models, each as a session of its graph.

Sessions are what serving uses, for all three alike: settings are theirs, and their runs tell what
each node took. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines import spinning, tf_process
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.tf_loading import load
from modeldyno.engines.tf_profiling import TensorFlowProfiled, events

# Operators whose type is the one in which a model is computed; oneDNN's have names around these.
_COMPUTE = ("Conv", "MatMul", "Einsum", "LSTM", "GRU", "RNN")
_PRECISIONS = {1: "fp32", 2: "fp64", 14: "bf16", 19: "fp16", 11: "int8", 12: "int8"}
_ONEDNN, _OWN = "oneDNN", "Eigen"
_PASSIVE = ("Const", "NoOp", "_Arg", "_Retval", "VarHandleOp", "Placeholder")


class TensorFlow:
    name = "tensorflow"
    capabilities = Capabilities(formats=("tf-graph", "saved-model", "keras"))

    def prepare(self, target: Target) -> None:
        tf_process.imported(tf_process.wanted(target))

    def version(self) -> str:
        return str(tf_process.imported().__version__)

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[TensorFlowSession]:
        session = TensorFlowSession(target)
        try:
            yield session
        finally:
            session.close()

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(target) as session:
            outputs = session.run(inputs)
            return session.examined(inputs), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: TensorFlowSession) -> Iterator[TensorFlowProfiled]:
        """The same session: whether a run is traced is said with each."""
        yield TensorFlowProfiled(session)


class TensorFlowSession:
    def __init__(self, target: Target) -> None:
        if target.device != "cpu":
            raise BadValue(f"TensorFlow cannot use device {target.device!r} here")
        spinning.refuse("TensorFlow", target)
        self._settled = tf_process.settle(target)
        self._tf = tf_process.imported()
        config = tf_process.config(self._tf, target.threads)
        _ask_precision(config, target.precision)
        self._loaded = load(self._tf, target, config)
        self._target = target

    @property
    def facts(self) -> SessionFacts:
        graph = self._loaded.session.graph
        return SessionFacts(
            engine="tensorflow",
            engine_version=str(self._tf.__version__),
            device="cpu",
            providers=(_ONEDNN, _OWN) if tf_process.uses_onednn() else (_OWN,),
            threads=self._settled.threads,
            spinning=None,
            input_dtypes={
                name: graph.get_tensor_by_name(tensor).dtype.name
                for name, tensor in self._loaded.inputs.items()
            },
            notes=self._loaded.notes,
            at_home=(_ONEDNN, _OWN),
        )

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        fetches = list(self._loaded.outputs.values())
        return _bound(self._loaded.session, fetches, self._given(inputs), contract)

    def run(self, inputs: Tensors) -> Tensors:
        import numpy as np

        names, fetches = zip(*self._loaded.outputs.items(), strict=True)
        outputs = self._loaded.session.run(list(fetches), self._given(inputs))
        return {name: np.array(one) for name, one in zip(names, outputs, strict=True)}

    def traced(
        self, inputs: Tensors, contract: CallContract, *, with_graph: bool = False
    ) -> Callable[[Any], object]:
        """The same call, which writes into a RunMetadata what it did."""
        v1 = self._tf.compat.v1
        options = v1.RunOptions(
            trace_level=v1.RunOptions.SOFTWARE_TRACE, output_partition_graphs=with_graph
        )
        given = self._given(inputs)
        fetches = list(self._loaded.outputs.values())
        session = self._loaded.session
        if contract != "hot":
            return lambda told: session.run(fetches, given, options=options, run_metadata=told)
        ready = session.make_callable(fetches, feed_list=list(given), accept_options=True)
        values = list(given.values())
        return lambda told: ready(*values, options=options, run_metadata=told)

    def metadata(self) -> Any:
        return self._tf.compat.v1.RunMetadata()

    def examined(self, inputs: Tensors) -> SessionFacts:
        """The facts with precision and placement, as a traced run tells them."""
        told = self.metadata()
        self.traced(inputs, "api", with_graph=True)(told)
        nodes = [node for graph in told.partition_graphs for node in _every_node(graph)]
        precision = _precision(nodes)
        if self._target.precision == "bf16" and "bf16" not in (precision or ""):
            raise EngineFailed(
                "TensorFlow did not take bf16, though it was asked to",
                why=f"it computes in {precision}: this processor may lack bf16, or the model what "
                "can be computed in it",
                fix="Leave out --precision bf16",
            )
        ran = Counter(event.key[2] for event in events(told) if event.key[1] not in _PASSIVE)
        return replace(
            self.facts,
            precision=precision,
            nodes_by_provider={name: ran[name] for name in (_ONEDNN, _OWN) if ran[name]},
            layout=_layout(nodes),
        )

    def bare(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """The same call of a graph that computes nothing: it takes these inputs, and makes as many
        outputs."""
        v1 = self._tf.compat.v1
        config = tf_process.config(self._tf, self._target.threads)
        with self._tf.Graph().as_default() as graph:
            given = {v1.placeholder(one.dtype, one.shape).name: one for one in inputs.values()}
            fetches = [self._tf.constant((0.0,)).name for _ in self._loaded.outputs]
        return _bound(v1.Session(graph=graph, config=config), fetches, given, contract)

    def close(self) -> None:
        self._loaded.session.close()

    def _given(self, inputs: Tensors) -> dict[str, Any]:
        """By tensor. Their types must be the model's own: TensorFlow would convert others in
        silence."""
        graph = self._loaded.session.graph
        given = {}
        for name, value in inputs.items():
            tensor = self._loaded.inputs.get(name) or _any_tensor(graph, name)
            if tensor is None:
                known = ", ".join(self._loaded.inputs)
                raise ValueError(f"the model has no input {name!r}, but {known}")
            dtype = graph.get_tensor_by_name(tensor).dtype.name
            if str(value.dtype) != dtype:
                raise ValueError(f"input {name!r} is {dtype}, and {value.dtype} was given")
            given[tensor] = value
        return given


def _bound(
    session: Any, fetches: Sequence[str], given: dict[str, Any], contract: CallContract
) -> Callable[[], object]:
    import numpy as np

    if contract == "api":
        return lambda: session.run(fetches, given)
    if contract == "e2e":

        def call() -> object:
            copied = {name: np.array(value) for name, value in given.items()}
            return [np.array(one) for one in session.run(fetches, copied)]

        return call
    # Names are looked up once, arrays go in and out without being copied: the engine's floor.
    ready = session.make_callable(fetches, feed_list=list(given))
    values = list(given.values())
    return lambda: ready(*values)


def _ask_precision(config: Any, precision: str | None) -> None:
    """fp32 is as the graph has it; bf16 lets TensorFlow rewrite it for oneDNN."""
    if precision in (None, "fp32"):
        return
    if precision != "bf16":
        raise BadValue(
            f"TensorFlow cannot compute in {precision!r} on a CPU",
            why="it can be asked for fp32 or bf16",
            fix="Use --precision bf16, or leave it out",
        )
    config.graph_options.rewrite_options.auto_mixed_precision_onednn_bfloat16 = 1  # on


def _any_tensor(graph: Any, name: str) -> str | None:
    """Of a frozen graph, any tensor can be given instead of being computed."""
    try:
        return str(graph.get_tensor_by_name(name if ":" in name else f"{name}:0").name)
    except (KeyError, ValueError):
        return None


def _every_node(graph: Any) -> Iterator[Any]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _layout(nodes: Sequence[Any]) -> str | None:
    """That of most operators for pictures."""
    said = [
        node.attr["data_format"].s.decode()
        for node in nodes
        if "data_format" in node.attr and ("Conv" in node.op or "Pool" in node.op)
    ]
    seen = Counter(one for one in said if one in ("NHWC", "NCHW"))
    return next((name for name, _ in seen.most_common(1)), None)


def _precision(nodes: Sequence[Any]) -> str | None:
    """The types in which computing operators run, after all rewriting: "fp32", or several joined
    by +."""
    seen: Counter[str] = Counter()
    for node in nodes:
        if not any(part in node.op for part in _COMPUTE):
            continue
        if node.op.startswith(("Quantized", "_MklQuantized")):
            seen["int8"] += 1
        elif "T" in node.attr:
            kind = node.attr["T"].type
            seen[_PRECISIONS.get(kind, f"type {kind}")] += 1
    return "+".join(name for name, _ in seen.most_common()) or None
