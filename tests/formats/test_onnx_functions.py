"""Functions that call functions: what they stand for is counted, never written out."""

import itertools

import pytest
from onnx import TensorProto, helper

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.onnx import model as onnx
from modeldyno.formats.onnx.file import parse
from modeldyno.formats.onnx.graph import read_graph
from modeldyno.formats.onnx.messages import MOST_WRITTEN_OUT, sort_out_functions

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]


def chain(operator, times, domain="local"):
    """``b`` is ``a`` after so many calls."""
    names = ["a", *(f"t{number}" for number in range(times - 1)), "b"]
    pairs = itertools.pairwise(names)
    return [helper.make_node(operator, [x], [y], domain=domain) for x, y in pairs]


def function(name, body):
    return helper.make_function("local", name, ["a"], ["b"], body, OPSETS)


def nested(levels, times):
    """Each level calls the one below so many times; the lowest is one node."""
    made = [function("F0", chain("Relu", 1, ""))]
    return made + [function(f"F{n}", chain(f"F{n - 1}", times)) for n in range(1, levels + 1)]


def model(functions, main):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node(main, ["x"], ["h"], domain="local")]
    nodes.append(helper.make_node("Relu", ["h"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.INT64, [2])],
        [value("y", TensorProto.INT64, None)],
    )
    return helper.make_model(graph, functions=functions, opset_imports=OPSETS)


def saved(folder, made):
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def test_calls_count_as_the_nodes_that_they_stand_for():
    assert sort_out_functions(model(nested(0, 1), "F0")).nodes_written_out == 1
    assert sort_out_functions(model(nested(2, 3), "F2")).nodes_written_out == 3 + 3 * (3 + 3 * 1)


def test_calls_in_branches_count():
    branch = helper.make_graph(chain("F0", 2), "branch", [], [])
    choice = helper.make_node("If", ["a"], ["b"], then_branch=branch, else_branch=branch)
    found = sort_out_functions(model([*nested(0, 1), function("Choose", [choice])], "Choose"))
    assert found.nodes_written_out == 1 + 2 * (2 + 2 * 1)


def test_the_largest_of_several_functions_of_one_name_counts():
    small, large = function("F", chain("Relu", 1, "")), function("F", chain("Relu", 5, ""))
    for order in ([small, large], [large, small]):
        assert sort_out_functions(model(order, "F")).nodes_written_out == 5


@pytest.mark.parametrize("levels", [12, 2000])
def test_a_small_file_of_nested_functions_is_refused_at_once(tmp_path, levels):
    path = saved(tmp_path, model(nested(levels, 9), f"F{levels}"))
    with pytest.raises(ModelUnreadable, match="calls its own functions too often") as refused:
        onnx.read(path)
    assert (
        refused.value.why
        == f"with every call written out, they are more than {MOST_WRITTEN_OUT} nodes"
    )


def test_its_graph_is_read_without_inferring_shapes(tmp_path):
    graph = read_graph(saved(tmp_path, model(nested(12, 9), "F12")))
    assert len(graph.nodes) == 2 + 1 + 12 * 9
    assert any("stand for more than" in note for note in graph.notes)


def test_as_many_as_there_may_be_are_read(tmp_path):
    path = saved(tmp_path, model(nested(4, 9), "F4"))
    assert sort_out_functions(parse(path)).nodes_written_out == 9 + 9**2 + 9**3 + 9**4 + 9**4
    assert onnx.read(path).nodes_by_op["local.F3"] == 9
    assert read_graph(path).tensor["h"].shape == (2,)


def test_functions_that_call_each_other_in_a_circle_are_not_followed(tmp_path):
    circle = [function(f"F{n}", chain(f"F{(n + 1) % 9}", 9)) for n in range(9)]
    path = saved(tmp_path, model([*circle, function("Main", chain("F4", 9))], "Main"))
    assert sort_out_functions(parse(path)).bodies == {}
    assert onnx.read(path).nodes_by_op["local.F4"] == 18
