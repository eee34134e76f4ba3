"""What a look at a model's graph costs: the first one, and every one after it.

    .venv/bin/python benchmarks/graph.py [MODEL...] [--rounds 20]

A made-up model of 4 000 nodes, and those given (MiniLM where the tests have fetched it). ``cold``
starts a worker, which reads the file and infers shapes. ``warm`` hashes the file and reads what
was kept, as a new process does; ``known`` is the same when the hash is known, as a server knows it;
``remembered`` is the same graph again in one process. The yardstick of ``known``, taken in
alternation, is to read the kept file and decode it with ``json`` alone. ``first_look`` works out
what to draw, ``document`` is the public JSON as text. Times are lower quartiles, in milliseconds.

Exits 1 when a warm look at the 4 000 nodes takes 100 ms, or ``known`` eight times the yardstick.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

from modeldyno.core.graphs import Graph
from modeldyno.services.graphs import GraphService
from modeldyno.services.requests import make_graph_spec
from modeldyno.settings import Settings
from modeldyno.store.graphs import Graphs
from modeldyno.workbench import open_workbench

NODES = 4000
LIMIT_MS = 100.0
LIMIT_RATIO = 8.0
MINILM = Path(__file__).parents[1] / ".cache" / "models" / "minilm" / "minilm.onnx"
# A block as exporters write them: who takes a weight, who has settings.
BLOCK = (
    *("LayerNormalization", "MatMul", "Add", "Clip", "Transpose", "MatMul", "Softmax", "MatMul"),
    *("LeakyRelu", "MatMul", "Add", "Mul", "Gelu", "MatMul", "Add", "Add"),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "LayerNormalization": {"axis": -1, "epsilon": 1e-5},
    "Transpose": {"perm": [0, 1, 2]},
    "Softmax": {"axis": -1},
    "LeakyRelu": {"alpha": 0.2},
}


def synthetic(count: int) -> ModelProto:
    """Transformer blocks with long names; every node takes the one before it."""
    nodes: list[NodeProto] = []
    weights: list[TensorProto] = []
    shapes = []
    for number in range(count):
        block, place = divmod(number, len(BLOCK))
        op = BLOCK[place]
        part = "attention/self" if place < 9 else "output/dense"
        scope = f"/model/encoder/layer.{block}/{part}"
        inputs = [nodes[-1].output[0] if nodes else "x"]
        if op in ("MatMul", "Add", "Mul", "LayerNormalization"):
            name = f"model.encoder.layer.{block}.{part.replace('/', '.')}.{place}.weight"
            dims = [64, 64] if op == "MatMul" else [64]
            weights.append(TensorProto(name=name, data_type=1, dims=dims))  # numbers: nobody looks
            inputs.append(name)
        output = f"{scope}/{op}_{place}_output_0"
        name = f"{scope}/{op}_{place}"
        nodes.append(helper.make_node(op, inputs, [output], name, **SETTINGS.get(op, {})))
        shapes.append(helper.make_tensor_value_info(output, 1, ["batch", "sequence", 64]))
    graph = helper.make_graph(
        nodes,
        "synthetic",
        [helper.make_tensor_value_info("x", 1, ["batch", "sequence", 64])],
        [shapes[-1]],
        weights,
        value_info=shapes[:-1:2],  # half of them: the others are to be inferred
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return (time.perf_counter() - start) * 1e3, found


def lower_quartile(values: list[float]) -> float:
    return sorted(values)[len(values) // 4]


def measure(model: Path, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        workbench = open_workbench(Settings(workspace))
        service = workbench.graphs
        spec = make_graph_spec(model)
        cold, graph = timed(lambda: service.graph(spec))
        assert isinstance(graph, Graph)
        (kept,) = (workspace / "graphs").iterdir()

        def again() -> GraphService:
            return GraphService(workbench.service, Graphs(workspace / "graphs"))

        known = replace(spec, model=replace(spec.model, sha256=graph.sha256))
        calls: dict[str, Callable[[], Any]] = {
            "warm": lambda: again().graph(spec),
            "known": lambda: again().graph(known),
            "remembered": lambda: service.graph(known),
            "plain": lambda: json.loads(kept.read_bytes().partition(b"\n")[2]),
            "first_look": lambda: replace(graph).view(),  # a copy remembers nothing
            "document": lambda: replace(graph).to_json(),
        }
        rows = [{name: timed(call)[0] for name, call in calls.items()} for _ in range(rounds)]
        assert again().graph(known) == graph
        quartiles = {name: lower_quartile([row[name] for row in rows]) for name in calls}
        return {
            "model": model.name,
            "nodes": len(graph.nodes),
            "edges": len(graph.edges),
            "groups": len(graph.groups),
            "kept_bytes": kept.stat().st_size,
            "cold_ms": round(cold, 1),
            **{f"{name}_ms": round(value, 2) for name, value in quartiles.items()},
            "ratio": round(quartiles["known"] / quartiles["plain"], 2),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", type=Path, default=[MINILM] * MINILM.exists())
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, f"synthetic-{NODES}.onnx")
        made.write_bytes(synthetic(NODES).SerializeToString())
        found = measure(made, asked.rounds)
    print(json.dumps(found))
    for model in asked.models:
        print(json.dumps(measure(model, asked.rounds)))
    sys.exit(found["warm_ms"] >= LIMIT_MS or found["ratio"] > LIMIT_RATIO)


if __name__ == "__main__":
    main()
