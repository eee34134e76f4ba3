"""TensorFlow: frozen graphs, SavedModels and Keras models, each as a session of its graph.

Sessions, as in serving, work alike for all three: they carry the settings, and their runs can
report what each node took. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines import tf_process
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.session_checks import join_by_frequency, require_input
from modeldyno.engines.tf_loading import load
from modeldyno.engines.tf_profiling import TensorFlowProfiled, node_events
from modeldyno.engines.threads import require_default_spinning

# Operators whose type is that of the model's arithmetic; the names of oneDNN's contain these.
_COMPUTE = ("Conv", "MatMul", "Einsum", "LSTM", "GRU", "RNN")
_PRECISIONS = {1: "fp32", 2: "fp64", 14: "bf16", 19: "fp16", 11: "int8", 12: "int8"}
_ONEDNN, _OWN = "oneDNN", "Eigen"
_PASSIVE = ("Const", "NoOp", "_Arg", "_Retval", "VarHandleOp", "Placeholder")


class TensorFlow:
    name = "tensorflow"
    capabilities = Capabilities(formats=("tf-graph", "saved-model", "keras"))

    def prepare(self, target: Target) -> None:
        tf_process.import_tensorflow(tf_process.settings_for(target))

    def version(self) -> str:
        return str(tf_process.import_tensorflow().__version__)

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[TensorFlowSession]:
        with contextlib.closing(TensorFlowSession(target)) as session:
            yield session

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        with self.open(target) as session:
            outputs = session.run(inputs)
            return session.examined(inputs), outputs

    @contextlib.contextmanager
    def profiled(self, target: Target, session: TensorFlowSession) -> Iterator[TensorFlowProfiled]:
        """The same session: tracing is switched on for each run."""
        yield TensorFlowProfiled(session)


class TensorFlowSession:
    def __init__(self, target: Target) -> None:
        if target.device != "cpu":
            raise BadValue(f"TensorFlow cannot use device {target.device!r} here")
        require_default_spinning("TensorFlow", target)
        self._process = tf_process.apply_settings(target)
        self._tf = tf_process.import_tensorflow()
        config = tf_process.config(self._tf, target.threads)
        _set_precision(config, target.precision)
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
            threads=self._process.threads,
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
        return _bind_call(self._loaded.session, fetches, self._arrays_by_tensor(inputs), contract)

    def run(self, inputs: Tensors) -> Tensors:
        import numpy as np

        names, fetches = zip(*self._loaded.outputs.items(), strict=True)
        outputs = self._loaded.session.run(list(fetches), self._arrays_by_tensor(inputs))
        return {name: np.array(output) for name, output in zip(names, outputs, strict=True)}

    def traced(
        self, inputs: Tensors, contract: CallContract, *, with_graph: bool = False
    ) -> Callable[[Any], object]:
        """The same call, which writes its trace into the RunMetadata that it is given."""
        v1 = self._tf.compat.v1
        options = v1.RunOptions(
            trace_level=v1.RunOptions.SOFTWARE_TRACE, output_partition_graphs=with_graph
        )
        arrays = self._arrays_by_tensor(inputs)
        fetches = list(self._loaded.outputs.values())
        session = self._loaded.session
        if contract != "hot":
            return lambda metadata: session.run(
                fetches, arrays, options=options, run_metadata=metadata
            )
        run = session.make_callable(fetches, feed_list=list(arrays), accept_options=True)
        fed = list(arrays.values())
        return lambda metadata: run(*fed, options=options, run_metadata=metadata)

    def metadata(self) -> Any:
        return self._tf.compat.v1.RunMetadata()

    def examined(self, inputs: Tensors) -> SessionFacts:
        """The facts plus precision and placement, from a traced run."""
        metadata = self.metadata()
        self.traced(inputs, "api", with_graph=True)(metadata)
        nodes = [node for graph in metadata.partition_graphs for node in _walk_nodes(graph)]
        precision = _effective_precision(nodes)
        if self._target.precision == "bf16" and "bf16" not in (precision or ""):
            raise EngineFailed(
                "TensorFlow did not use bf16, though it was requested",
                why=f"it computes in {precision}: this processor may lack bf16, or the model has "
                "nothing that can be computed in it",
                fix="Leave out --precision bf16",
            )
        executed = Counter(
            event.key[2] for event in node_events(metadata) if event.key[1] not in _PASSIVE
        )
        return replace(
            self.facts,
            precision=precision,
            nodes_by_provider={name: executed[name] for name in (_ONEDNN, _OWN) if executed[name]},
            layout=_effective_layout(nodes),
        )

    def bare(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """The same call of a graph that takes these inputs and has as many outputs, but computes
        nothing."""
        v1 = self._tf.compat.v1
        config = tf_process.config(self._tf, self._target.threads)
        with self._tf.Graph().as_default() as graph:
            arrays = {v1.placeholder(a.dtype, a.shape).name: a for a in inputs.values()}
            fetches = [self._tf.constant((0.0,)).name for _ in self._loaded.outputs]
        return _bind_call(v1.Session(graph=graph, config=config), fetches, arrays, contract)

    def close(self) -> None:
        self._loaded.session.close()

    def _arrays_by_tensor(self, inputs: Tensors) -> dict[str, Any]:
        """Their types must be the model's own: TensorFlow would silently convert others."""
        graph = self._loaded.session.graph
        arrays = {}
        for name, array in inputs.items():
            tensor = self._loaded.inputs.get(name) or _find_any_tensor(graph, name)
            if tensor is None:
                known = ", ".join(self._loaded.inputs)
                raise ValueError(f"the model has no input {name!r}, but {known}")
            require_input(name, array, {name: graph.get_tensor_by_name(tensor).dtype.name})
            arrays[tensor] = array
        return arrays


def _bind_call(
    session: Any, fetches: Sequence[str], arrays: dict[str, Any], contract: CallContract
) -> Callable[[], object]:
    import numpy as np

    if contract == "api":
        return lambda: session.run(fetches, arrays)
    if contract == "e2e":

        def call() -> object:
            copied = {name: np.array(array) for name, array in arrays.items()}
            return [np.array(output) for output in session.run(fetches, copied)]

        return call
    # Names are looked up once, arrays go in and out without being copied: the engine's floor.
    run = session.make_callable(fetches, feed_list=list(arrays))
    fed = list(arrays.values())
    return lambda: run(*fed)


def _set_precision(config: Any, precision: str | None) -> None:
    """fp32 leaves the graph as it is; bf16 lets TensorFlow rewrite it for oneDNN."""
    if precision in (None, "fp32"):
        return
    if precision != "bf16":
        raise BadValue(
            f"TensorFlow cannot compute in {precision!r} on a CPU",
            why="it supports fp32 and bf16",
            fix="Use --precision bf16, or leave it out",
        )
    config.graph_options.rewrite_options.auto_mixed_precision_onednn_bfloat16 = 1  # on


def _find_any_tensor(graph: Any, name: str) -> str | None:
    """In a frozen graph, any tensor can be fed instead of being computed."""
    try:
        return str(graph.get_tensor_by_name(name if ":" in name else f"{name}:0").name)
    except (KeyError, ValueError):
        return None


def _walk_nodes(graph: Any) -> Iterator[Any]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _effective_layout(nodes: Sequence[Any]) -> str | None:
    """The layout of most image operators."""
    layouts = Counter(
        node.attr["data_format"].s.decode()
        for node in nodes
        if "data_format" in node.attr and ("Conv" in node.op or "Pool" in node.op)
    )
    return next((name for name, _ in layouts.most_common() if name in ("NHWC", "NCHW")), None)


def _effective_precision(nodes: Sequence[Any]) -> str | None:
    """The types of computing operators, after all rewriting: "fp32", or several joined by +."""
    precisions: list[str] = []
    for node in nodes:
        if not any(part in node.op for part in _COMPUTE):
            continue
        if node.op.startswith(("Quantized", "_MklQuantized")):
            precisions.append("int8")
        elif "T" in node.attr:
            kind = node.attr["T"].type
            precisions.append(_PRECISIONS.get(kind, f"type {kind}"))
    return join_by_frequency(precisions)
