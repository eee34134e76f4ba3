"""The benchmark of graphs measures what it says."""

import json

import pytest

from benchmarks.graph import measure, synthetic
from modeldyno.formats.onnx.graph import read_graph


def test_the_synthetic_model_has_groups_weights_and_shapes_to_infer(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(synthetic(160).SerializeToString())
    graph = read_graph(path)
    assert (len(graph.nodes), len(graph.edges)) == (160, 159)
    assert "model/encoder/layer.3/attention/self" in {group.scope for group in graph.groups}
    assert sum(tensor.kind == "initializer" for tensor in graph.tensors) == 110
    assert graph.notes == ()


@pytest.mark.slow
@pytest.mark.timing
def test_a_warm_look_costs_no_more_than_a_few_times_its_json(tmp_path):
    """A ratio within one run. Far from the usual 3 to 5, so that only another order can fail it."""
    path = tmp_path / "m.onnx"
    path.write_bytes(synthetic(4000).SerializeToString())
    found = measure(path, rounds=9)
    assert json.dumps(found)
    assert found["nodes"] == 4000
    assert found["ratio"] < 15
    assert found["warm_ms"] < found["cold_ms"]
