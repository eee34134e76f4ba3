"""What the pages show: large models, a small one, something measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.page.desk import Server, until

ACTIVE = ("queued", "running")


@dataclass(frozen=True)
class Things:
    many: int  # the project with a thousand benchmarks
    project: int
    small: int  # a model whose calls are short
    graph: str  # the address of a graph of 5 000 nodes, 200 in each group
    large_table: str  # of 10 000 rows


def furnish(server: Server, folder: Path) -> Things:
    many = server.ask("/projects?text=many")["items"][0]["id"]
    project = server.ask("/projects", {"name": "big"})["id"]

    def sent(name: str, content: bytes) -> int:
        return int(server.ask(f"/projects/{project}/models?name={name}", raw=content)["id"])

    deep, deeper, small = (
        sent(f"{nodes}.onnx", blocks(nodes, 200, folder / f"{nodes}.onnx").read_bytes())
        for nodes in (5000, 10_000, 20)
    )
    script = json.dumps({"modeldyno": "scripted/1", "latency_us": 2000}).encode()
    measured = {"project_id": project, "model_id": sent("s.json", script), "iterations": 5}
    for batch in (1, 2):
        made = server.ask("/benchmarks", measured | {"batch_sizes": [batch]})["id"]
        until(lambda made=made: server.ask(f"/benchmarks/{made}")["state"] not in ACTIVE)
    return Things(
        many=many,
        project=project,
        small=small,
        graph=f"/p/{project}/models/{deep}/graph",
        large_table=f"/p/{project}/models/{deeper}/graph?view=table",
    )


def blocks(nodes: int, of: int, file: Path) -> Path:
    """A chain of nodes, so many in each group."""
    import onnx
    from onnx import TensorProto, helper

    ops = [
        helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], f"block{i // of}/relu{i}")
        for i in range(nodes)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4])
        for name in ("t0", f"t{nodes}")
    ]
    graph = helper.make_graph(ops, "blocks", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), str(file))
    return file
