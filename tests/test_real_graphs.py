"""Graphs of models that other people made: nothing is lost, and shapes are known."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import onnx
import pytest

import modeldyno
from modeldyno.core.documents.described import json_value
from modeldyno.core.documents.graphs import GraphDocument
from modeldyno.formats import catalog
from tests import schemas
from tests.test_real_models import FETCHED, LIGHT, MINILM, SILERO

pytestmark = pytest.mark.slow
# Of these, shape inference knows nearly everything; the others have operators it does not know,
# or loops whose lengths are values.
WELL_SHAPED = ("minilm", "light_resnet50", "light_vgg19")


@pytest.mark.parametrize("model", [*LIGHT, *FETCHED], ids=lambda path: path.stem)
def test_every_node_of_a_real_file_is_in_its_graph(model: Path):
    facts, graph = catalog.read(model), catalog.read_graph(model)
    assert Counter(node.op for node in graph.nodes) == facts.nodes_by_op
    assert graph.sha256 == facts.sha256
    assert len(graph.inputs) == len(facts.inputs)
    assert [graph.tensor[id_].name for id_ in graph.outputs] == [t.name for t in facts.outputs]
    assert not any(tensor.kind == "missing" for tensor in graph.tensors)
    assert not any("circle" in note or "twice" in note for note in graph.notes)
    schemas.check("graph", json_value(GraphDocument.of(graph)))
    first = graph.view()
    assert sum(box.nodes for box in first.boxes) == len(graph.nodes)
    everything = graph.view([group.scope for group in graph.groups])
    assert {b.of for b in everything.boxes if b.kind == "node"} == {n.id for n in graph.nodes}


def names_of(nodes: Iterable[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """A graph cuts names of more than 256 characters."""
    return Counter(tuple(name[:200] for name in names) for names in nodes)


@pytest.mark.parametrize("model", [*LIGHT, *FETCHED], ids=lambda path: path.stem)
def test_inputs_and_outputs_of_nodes_are_those_of_the_file(model: Path):
    proto = onnx.load(model, load_external_data=False)
    graph = catalog.read_graph(model)
    top = [node for node in graph.nodes if "[" not in node.scope]
    told = names_of((n.name, *(graph.tensor[t].name if t else "" for t in n.outputs)) for n in top)
    assert told == names_of((node.name, *node.output) for node in proto.graph.node)


@pytest.mark.parametrize("name", WELL_SHAPED)
def test_shapes_of_a_real_model_are_inferred(name):
    (model,) = (path for path in (*LIGHT, *FETCHED) if path.stem == name)
    graph = catalog.read_graph(model)
    known = sum(tensor.shape is not None for tensor in graph.tensors)
    assert known / len(graph.tensors) > 0.95, graph.notes


def test_minilm_has_the_same_layers_as_onnx_and_as_a_program(tmp_path):
    found = [
        modeldyno.graph(MINILM / name, workspace=tmp_path) for name in ("minilm.onnx", "minilm.pt2")
    ]
    layers = [f"encoder/layer/{number}/attention" for number in range(6)]
    for graph in found:
        scopes = {group.scope for group in graph.groups}
        assert scopes >= {"embeddings", "embeddings/LayerNorm", *layers}
        box_count = len(graph.view().boxes)
        assert 10 < box_count <= 65
    attention = found[0].view(["encoder", "encoder/layer", "encoder/layer/0"])
    assert {b.label for b in attention.boxes if b.parent == "encoder/layer/0"} >= {
        "attention",
        "output",
    }


def test_branches_of_silero_are_groups():
    graph = catalog.read_graph(SILERO / "silero_vad.onnx")
    assert {"If_0[then_branch]", "If_0[else_branch]"} <= {body.scope for body in graph.bodies}
    sizes = {group.scope: group.nodes for group in graph.groups}
    assert sizes["If_0[then_branch]"] == sizes["If_0[else_branch]"] == 342
