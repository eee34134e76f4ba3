"""Keras files are read without Keras, and only Keras's own layers are let through."""

import pytest

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import InputSpec, TensorSpec
from modeldyno.formats import catalog
from tests import tf_files as tf

INPUT = tf.layer("InputLayer", "picture", batch_shape=[None, 8, 8, 3])


def saved(tmp_path, *layers):
    return tf.keras_file(tmp_path / "net.keras", tf.sequential(INPUT, *layers))


def test_inputs_layers_and_weights_are_read(tmp_path):
    facts = catalog.read(saved(tmp_path, tf.layer("Flatten", "flat"), tf.layer("Dense", "out")))
    assert (facts.format, facts.framework, facts.producer) == (
        "keras",
        "tensorflow",
        "Keras 3.15.1",
    )
    assert facts.inputs == (InputSpec("picture", "float32", (None, 8, 8, 3)),)
    assert facts.outputs == (TensorSpec("out", "float32", None),)
    assert facts.nodes_by_op == {"Flatten": 1, "Dense": 1}
    assert facts.weights_by_dtype == {"float32": 6}  # those of the optimizer do not count


def test_its_graph_is_one_of_layers(tmp_path):
    graph = catalog.read_graph(
        saved(tmp_path, tf.layer("Flatten", "flat"), tf.layer("Dense", "out"))
    )
    assert [(one.op_type, one.inputs, one.outputs) for one in graph.nodes] == [
        ("Flatten", ("picture",), ("flat",)),
        ("Dense", ("flat",), ("out",)),
    ]


def test_a_graph_of_branches_follows_its_calls(tmp_path):
    def call(*names):
        given = [
            {
                "class_name": "__keras_tensor__",
                "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [name, 0, 0]},
            }
            for name in names
        ]
        return {"inbound_nodes": [{"args": [given], "kwargs": {}}]}

    layers = [
        tf.layer("InputLayer", "a", batch_shape=[None, 4]) | {"inbound_nodes": []},
        tf.layer("Dense", "left") | call("a"),
        tf.layer("Dense", "right") | call("a"),
        tf.layer("Add", "both") | call("left", "right"),
    ]
    config = {
        "name": "net",
        "layers": layers,
        "input_layers": [["a", 0, 0]],
        "output_layers": [["both", 0, 0]],
    }
    path = tf.keras_file(
        tmp_path / "net.keras",
        {"module": "keras.src.models.functional", "class_name": "Functional", "config": config},
    )
    graph = catalog.read_graph(path)
    assert graph.nodes[2].inputs == ("left", "right")
    assert (graph.inputs, graph.outputs) == (("a",), ("both",))
    assert {one.name: one.shape for one in graph.tensors}["left"] == (None, 4)


EVIL = {
    "a Lambda": tf.layer("Lambda", "evil", function={"class_name": "__lambda__", "config": {}}),
    "Python's own": tf.layer("function", "evil", module="builtins"),
    "another package": tf.layer("system", "evil", module="os"),
    "a downloader": tf.layer("get_file", "evil", module="keras.utils"),
    "a class of its own": tf.layer("Mine", "evil") | {"registered_name": "mine>Mine"},
    "a file of words": tf.layer("StringLookup", "evil", vocabulary="/etc/passwd"),
    "deep inside": tf.layer("Dense", "d", activation={"class_name": "x", "module": "subprocess"}),
    "a value of a module": {"class_name": "__slice__", "module": "os", "config": {}},
    "what was a value once": {"class_name": "slice", "module": "os", "config": {}},
    "a SavedModel": tf.layer("TFSMLayer", "evil", filepath="/tmp/other"),
}


@pytest.mark.parametrize("layer", EVIL.values(), ids=EVIL.keys())
def test_a_model_that_would_run_foreign_code_is_refused(tmp_path, layer):
    path = saved(tmp_path, layer)
    for look in (catalog.read, catalog.read_graph):
        with pytest.raises(UnsafeFormat, match="more than Keras's own layers") as caught:
            look(path)
        assert "model.export" in caught.value.fix


@pytest.mark.parametrize("name", ["__slice__", "__bytes__", "__ellipsis__", "__numpy__"])
def test_plain_values_of_a_call_are_no_classes(tmp_path, name):
    """``x[:, 0]`` is written with a slice."""
    value = {"class_name": name, "config": {"start": None, "stop": None, "step": None}}
    layer = tf.layer("GetItem", "part", module="keras.src.ops.numpy")
    layer["inbound_nodes"] = [{"args": [[value]], "kwargs": {}}]
    assert catalog.read(saved(tmp_path, layer)).nodes_by_op == {"GetItem": 1}


def test_a_damaged_file_is_refused(tmp_path):
    config = tf.sequential(INPUT, tf.layer("Dense", "out"))
    with pytest.raises(ModelUnreadable, match="is damaged"):
        catalog.read(tf.keras_file(tmp_path / "a.keras", config, b"no HDF5"))
    with pytest.raises(ModelUnreadable, match="is damaged"):
        catalog.read(tf.keras_file(tmp_path / "b.keras", []))
    cut = saved(tmp_path).read_bytes()[:-30]
    (tmp_path / "c.keras").write_bytes(cut)
    with pytest.raises(ModelUnreadable):
        catalog.read(tmp_path / "c.keras")


def test_an_unbuilt_model_is_refused_with_advice(tmp_path):
    path = tf.keras_file(tmp_path / "net.keras", tf.sequential(tf.layer("Dense", "out")))
    with pytest.raises(ModelUnreadable, match="does not declare its inputs"):
        catalog.read(path)
