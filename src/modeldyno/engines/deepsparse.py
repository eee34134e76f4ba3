"""DeepSparse 1.8, of which there will be no newer one; lives in a Python of its own.

What it cannot run itself, it gives to an ONNX Runtime that it brings along, and says so nowhere
but in a fraction: that is read back and shown.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines import spinning
from modeldyno.engines.protocol import Capabilities, Tensors

ITSELF, FALLBACK = "DeepSparse", "ONNX Runtime inside DeepSparse"
MOSTLY = 0.95  # of the operators: below it, the number is rather that of the other engine


class DeepSparse:
    name = "deepsparse"
    capabilities = Capabilities(formats=("onnx",))

    def version(self) -> str:
        import deepsparse

        return str(deepsparse.__version__)

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[DeepSparseSession]:
        yield self._load(target, target.shapes)

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        session = self._load(target, {name: array.shape for name, array in inputs.items()})
        outputs = session.run(inputs)
        return session.examined(_nodes(target.model)), outputs

    def _load(self, target: Target, shapes: dict[str, tuple[int, ...]]) -> DeepSparseSession:
        import deepsparse

        if target.precision not in (None, "fp32"):
            raise BadValue(
                f"DeepSparse cannot change the precision to {target.precision!r}",
                why="an ONNX file fixes its precision",
                fix="Give a model that was converted to that precision",
            )
        spinning.refuse("DeepSparse", target)
        threads_before = _threads()
        try:
            with _with_sizes(target.model, shapes) as model:
                raw = deepsparse.compile_model(
                    model, batch_size=_batch(shapes), num_cores=target.threads, num_streams=1
                )
        except Exception as error:
            raise EngineFailed(
                "DeepSparse could not compile the model",
                why=str(error).strip()[:600],
                fix="Check its operators with `modeldyno inspect`, or use another engine",
            ) from error
        return DeepSparseSession(raw, 1 + _threads() - threads_before)


class DeepSparseSession:
    def __init__(self, raw: Any, threads: int) -> None:
        self.raw = raw
        self._threads = threads

    @property
    def facts(self) -> SessionFacts:
        import deepsparse

        return SessionFacts(
            engine="deepsparse",
            engine_version=str(deepsparse.__version__),
            device="cpu",
            providers=(ITSELF,) if self._fraction >= 1 else (ITSELF, FALLBACK),
            threads=self._threads,
            spinning=None,
            input_dtypes={},
            notes=(self._supported(),),
        )

    @property
    def _fraction(self) -> float:
        """Of the operators, those that it runs itself."""
        return float(self.raw.fraction_of_supported_ops)

    def _supported(self) -> str:
        fraction = self._fraction
        told = f"DeepSparse runs {fraction:.0%} of the operators itself"
        if fraction >= 1:
            return told
        rest = f"{told}, {FALLBACK.replace(' inside DeepSparse', '')} inside it the others"
        return rest if fraction >= MOSTLY else f"{rest}: read this number as that of an old one"

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """It allocates its outputs with every call: ``hot`` only leaves out the checks."""
        import numpy as np

        run = self.raw.run
        fed = self._in_order(inputs)
        if contract == "api":
            return lambda: run(fed)
        if contract == "hot":
            return lambda: run(fed, val_inp=False)
        return lambda: [np.array(out) for out in run([np.array(value) for value in fed])]

    def run(self, inputs: Tensors) -> Tensors:
        outputs = self.raw.run(self._in_order(inputs))
        return dict(zip(self.raw.output_names, outputs, strict=True))

    def _in_order(self, inputs: Tensors) -> list[Any]:
        import numpy as np

        return [np.ascontiguousarray(inputs[name]) for name in self.raw.input_names]

    def examined(self, nodes: int) -> SessionFacts:
        """The facts with who runs how many nodes; in which precision, nobody tells."""
        own = round(self._fraction * nodes)
        shares = {ITSELF: own, FALLBACK: nodes - own}
        return replace(
            self.facts, nodes_by_provider={who: count for who, count in shares.items() if count}
        )


@contextlib.contextmanager
def _with_sizes(model: str, shapes: dict[str, tuple[int, ...]]) -> Iterator[str]:
    """The model, or for a while a copy with the sizes that it leaves open.

    DeepSparse sets the first size of each input by itself; others it would write into the file.
    """
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [one.name for one in graph.input if one.name not in weights]
    if not shapes or all(
        _fixed(one)[1:] == tuple(shapes[one.name][1:]) for one in graph.input if one.name in inputs
    ):
        yield model
        return
    copy = onnx.load(model)
    for one in copy.graph.input:
        if one.name in inputs:
            del one.type.tensor_type.shape.dim[:]
            for size in shapes[one.name]:
                one.type.tensor_type.shape.dim.add().dim_value = int(size)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(copy, file.name)
        yield file.name


def _fixed(declared: Any) -> tuple[int, ...]:
    """Its sizes; 0 for those that are open."""
    return tuple(int(size.dim_value) for size in declared.type.tensor_type.shape.dim)


def _batch(shapes: dict[str, tuple[int, ...]]) -> int | None:
    """What all inputs begin with; None: they differ, or nobody knows."""
    first = {shape[0] if shape else None for shape in shapes.values()}
    return first.pop() if len(first) == 1 else None


def _nodes(model: str) -> int:
    import onnx

    return len(onnx.load(model, load_external_data=False).graph.node)


def _threads() -> int:
    """Threads of this process, counted by the system where it tells."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return 0
