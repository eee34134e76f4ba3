"""DeepSparse 1.8, the last version; installed in a Python of its own.

Operators that it does not support run in an ONNX Runtime that it brings along. It reveals that only
as a fraction, which is read back and reported.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.session_checks import cannot_load, require_own_precision, shapes_of
from modeldyno.engines.threads import count_threads, require_default_spinning

ITSELF, FALLBACK = "DeepSparse", "ONNX Runtime inside DeepSparse"
MOSTLY = 0.95  # of the operators: with fewer, the figures are rather ONNX Runtime's


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
        session = self._load(target, shapes_of(inputs))
        outputs = session.run(inputs)
        return session.examined(_count_nodes(target.model)), outputs

    def _load(self, target: Target, shapes: dict[str, tuple[int, ...]]) -> DeepSparseSession:
        import deepsparse

        require_own_precision(target, "DeepSparse", "an ONNX")
        require_default_spinning("DeepSparse", target)
        threads_before = count_threads()
        try:
            with _model_with_fixed_sizes(target.model, shapes) as model:
                raw = deepsparse.compile_model(
                    model, batch_size=_batch_size(shapes), num_cores=target.threads, num_streams=1
                )
        except Exception as error:
            raise cannot_load("DeepSparse", error, verb="compile") from error
        return DeepSparseSession(raw, 1 + count_threads() - threads_before)


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
            notes=(self._support_note(),),
        )

    @property
    def _fraction(self) -> float:
        """The fraction of operators that it runs itself."""
        return float(self.raw.fraction_of_supported_ops)

    def _support_note(self) -> str:
        note = f"DeepSparse runs {self._fraction:.0%} of the operators itself"
        if self._fraction >= 1:
            return note
        note += ", an ONNX Runtime inside it runs the others"
        if self._fraction >= MOSTLY:
            return note
        return f"{note}: these figures are mostly those of an old ONNX Runtime"

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """It allocates its outputs in every call: ``hot`` only skips the checks."""
        import numpy as np

        run = self.raw.run
        arrays = self._order_inputs(inputs)
        if contract == "api":
            return lambda: run(arrays)
        if contract == "hot":
            return lambda: run(arrays, val_inp=False)
        return lambda: [np.array(out) for out in run([np.array(array) for array in arrays])]

    def run(self, inputs: Tensors) -> Tensors:
        outputs = self.raw.run(self._order_inputs(inputs))
        return dict(zip(self.raw.output_names, outputs, strict=True))

    def _order_inputs(self, inputs: Tensors) -> list[Any]:
        import numpy as np

        return [np.ascontiguousarray(inputs[name]) for name in self.raw.input_names]

    def examined(self, nodes: int) -> SessionFacts:
        """The facts plus how many nodes each provider runs; the precision is unknown."""
        own = round(self._fraction * nodes)
        shares = {ITSELF: own, FALLBACK: nodes - own}
        return replace(
            self.facts, nodes_by_provider={name: count for name, count in shares.items() if count}
        )


@contextlib.contextmanager
def _model_with_fixed_sizes(model: str, shapes: dict[str, tuple[int, ...]]) -> Iterator[str]:
    """The model, or a temporary copy in which its dynamic sizes are fixed.

    DeepSparse sets the first size of each input by itself; others it would write into the file.
    """
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = {i.name: _declared_sizes(i) for i in graph.input if i.name not in weights}
    if not shapes or all(sizes[1:] == tuple(shapes[name][1:]) for name, sizes in inputs.items()):
        yield model
        return
    copy = onnx.load(model)
    for declared in copy.graph.input:
        if declared.name in inputs:
            del declared.type.tensor_type.shape.dim[:]
            for size in shapes[declared.name]:
                declared.type.tensor_type.shape.dim.add().dim_value = int(size)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(copy, file.name)
        yield file.name


def _declared_sizes(declared: Any) -> tuple[int, ...]:
    """0 for dynamic ones."""
    return tuple(int(size.dim_value) for size in declared.type.tensor_type.shape.dim)


def _batch_size(shapes: dict[str, tuple[int, ...]]) -> int | None:
    """The first size of all inputs; None if they differ or are unknown."""
    first = {shape[0] if shape else None for shape in shapes.values()}
    return first.pop() if len(first) == 1 else None


def _count_nodes(model: str) -> int:
    import onnx

    return len(onnx.load(model, load_external_data=False).graph.node)
