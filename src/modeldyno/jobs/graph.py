"""Read a model's graph in a worker."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from modeldyno.core.codec import Mismatch
from modeldyno.core.errors import ModelChanged, OutOfMemory, TimedOut, WorkerCrashed, WorkerGarbled
from modeldyno.core.graphs import NOT_IN_TIME, Graph
from modeldyno.core.specs import GraphSpec
from modeldyno.graphs.rows import from_rows
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import launched
from modeldyno.worker.messages import GraphRead, ReadGraph

_CRASHED = "shapes are those in the file: inferring more ended the process that tried"


def run_graph(spec: GraphSpec, context: Context) -> Graph:
    """Shape inference is native code, and a strange file may crash it, or keep it busy for ever:
    then the graph is read once more without."""
    begin = time.monotonic()
    try:
        return read(spec, context, begin + spec.timeout_s / 2, infer_shapes=True)
    except (WorkerCrashed, OutOfMemory, TimedOut) as error:
        note = NOT_IN_TIME if isinstance(error, TimedOut) else _CRASHED
        graph = read(spec, context, begin + spec.timeout_s, infer_shapes=False)
        return replace(graph, notes=(*graph.notes, note))


def read(spec: GraphSpec, context: Context, deadline_s: float, infer_shapes: bool) -> Graph:
    """Without looking for shapes it runs no native code."""
    with launched(context.worker_setup(spec, inspecting=True)) as worker:
        command = ReadGraph(context.local(spec.model).path, infer_shapes, spec.model.signature)
        read = worker.request(command, GraphRead, deadline_s, context.stop)
    graph = _require_graph(read)
    if spec.model.sha256 not in (None, graph.sha256):
        raise ModelChanged(
            f"{Path(spec.model.path).name} changed while it was being read",
            fix="Make sure that nothing rewrites it, and try again",
        )
    return graph


def _require_graph(read: GraphRead) -> Graph:
    try:
        return from_rows(read.rows)
    except Mismatch as error:
        raise WorkerGarbled(
            "The worker sent something that is not a graph",
            why=str(error),
            fix="The model wrote into our pipe: do not trust it",
        ) from error
