"""SavedModels: one file, with variables and assets beside it."""

import pytest

from modeldyno.core.errors import BadValue, ModelUnreadable, UnsafeFormat
from modeldyno.core.models import InputSpec, TensorSpec
from modeldyno.formats import catalog
from modeldyno.services.requests import model_path
from tests import tf_files as tf

DATA = "variables/variables.data-00000-of-00001"


def test_a_signature_declares_inputs_and_functions_are_inlined(tmp_path):
    folder = tf.saved_folder(tmp_path / "net", tf.calling())
    facts = catalog.read(folder / "saved_model.pb")
    assert (facts.format, facts.producer) == ("saved-model", "TensorFlow 2.21.0")
    assert facts.inputs == (InputSpec("x", "float32", (None, 3)),)
    assert facts.outputs == (TensorSpec("y", "float32", (None, 2)),)
    assert facts.nodes_by_op == {"ReadVariableOp": 1, "MatMul": 1, "AddV2": 1}
    assert (facts.parameters, facts.missing, facts.notes) == (6, (), ())
    assert [one.location for one in facts.external] == ["variables/variables.index", DATA]


def test_its_graph_leads_from_inputs_to_outputs(tmp_path):
    folder = tf.saved_folder(tmp_path / "net", tf.calling())
    graph = catalog.read_graph(folder / "saved_model.pb")
    assert [(one.name, one.inputs, one.outputs) for one in graph.nodes] == [
        ("read", ("table",), ("read",)),
        ("layer/product", ("x", "read"), ("layer/product",)),
        ("sum", ("layer/product", "layer/product"), ("y",)),
    ]
    assert (graph.inputs, graph.outputs, graph.nodes[1].scope) == (("x",), ("y",), "layer")


@pytest.fixture
def two_ways(tmp_path):
    (path := tmp_path / "saved_model.pb").write_bytes(tf.two_ways())
    return path


def test_another_signature_can_be_chosen(two_ways):
    usual, other = catalog.read(two_ways), catalog.read(two_ways, signature="shift")
    assert (usual.signature, usual.inputs[0].name, usual.nodes_by_op) == (
        "serving_default",
        "x",
        {"MatMul": 1},
    )
    assert (other.signature, other.inputs[0].name, other.nodes_by_op) == (
        "shift",
        "z",
        {"AddV2": 2},
    )
    assert [one.name for one in other.outputs] == ["doubled", "shifted"]
    assert usual.notes == (
        "uses signature 'serving_default'; it also has shift (choose with --signature)",
    )
    graph = catalog.read_graph(two_ways, signature="shift")
    assert ([one.name for one in graph.nodes], graph.inputs) == (["sum", "twice"], ("z",))


def test_all_signatures_are_listed_whichever_is_used(two_ways):
    told = catalog.read(two_ways).signatures
    assert told == catalog.read(two_ways, signature="shift").signatures
    assert [one.name for one in told] == ["serving_default", "shift"]
    assert told[1].inputs == (TensorSpec("z", "float32", (None, 2)),)
    assert [one.name for one in told[1].outputs] == ["doubled", "shifted"]


def test_a_signature_that_it_does_not_have_is_answered_with_those_it_has(two_ways, tmp_path):
    for read in (catalog.read, catalog.read_graph):
        with pytest.raises(BadValue, match="has no signature 'shifd'") as caught:
            read(two_ways, signature="shifd")
        assert caught.value.why == "it has serving_default, shift"
        assert caught.value.fix == "Did you mean shift?"
    (path := tmp_path / "net.pb").write_bytes(tf.linear())
    with pytest.raises(BadValue, match="no signatures to choose from"):
        catalog.read(path, signature="shift")


def test_the_folder_stands_for_the_file_in_it(tmp_path):
    folder = tf.saved_folder(tmp_path / "net", tf.calling())
    assert model_path(folder) == folder / "saved_model.pb"


def test_weights_that_are_not_there_are_named(tmp_path):
    path = tf.saved_folder(tmp_path / "net", tf.calling()) / "saved_model.pb"
    (tmp_path / "net" / DATA).unlink()
    assert catalog.read(path, without_weights=True).missing == (DATA,)
    with pytest.raises(ModelUnreadable, match=DATA):
        catalog.read(path)


def test_weights_may_be_split_into_several_files(tmp_path):
    path = tf.saved_folder(tmp_path / "net", tf.calling(), shards=3) / "saved_model.pb"
    assert [one.location[-14:] for one in catalog.read(path).external[1:]] == [
        "00000-of-00003",
        "00001-of-00003",
        "00002-of-00003",
    ]


def test_an_index_that_is_none_is_damaged(tmp_path):
    path = tf.saved_folder(tmp_path / "net", tf.calling()) / "saved_model.pb"
    (tmp_path / "net/variables/variables.index").write_bytes(b"something else")
    with pytest.raises(ModelUnreadable, match=r"weights of saved_model.pb are damaged"):
        catalog.read(path)


def with_asset(tmp_path, name):
    given = tf.signature({"x": tf.info("x:0", 1)}, {"y": tf.info("x:0", 1)})
    content = tf.saved_model(
        tf.graph_def(tf.placeholder("x", 1)), {"serving_default": given}, assets=(name,)
    )
    return tf.saved_folder(tmp_path / "net", content) / "saved_model.pb"


def test_assets_belong_to_it(tmp_path):
    path = with_asset(tmp_path, "words.txt")
    assert catalog.read(path, without_weights=True).missing == ("assets/words.txt",)
    (path.parent / "assets").mkdir()
    (path.parent / "assets/words.txt").write_text("one\n")
    assert catalog.read(path).external[-1].location == "assets/words.txt"


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a/../../b"])
def test_assets_outside_of_the_folder_are_refused(tmp_path, name):
    with pytest.raises(UnsafeFormat, match="outside its own folder"):
        catalog.read(with_asset(tmp_path, name))


def test_weights_that_are_links_to_elsewhere_are_refused(tmp_path):
    path = tf.saved_folder(tmp_path / "net", tf.calling()) / "saved_model.pb"
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "net" / DATA).unlink()
    (tmp_path / "net" / DATA).symlink_to(tmp_path / "secret")
    with pytest.raises(UnsafeFormat, match="outside its own folder"):
        catalog.read(path)


def test_without_a_signature_or_a_graph_for_use_there_is_nothing_to_measure(tmp_path):
    (path := tmp_path / "saved_model.pb").write_bytes(tf.saved_model(tf.linear(), {}))
    with pytest.raises(ModelUnreadable, match="no signature"):
        catalog.read(path)
    one = tf.saved_model(tf.linear(), {}, tags=("train",))
    other = tf.saved_model(tf.linear(), {}, tags=("eval",))
    path.write_bytes(one + other[2:])
    with pytest.raises(ModelUnreadable, match="no graph to be measured") as caught:
        catalog.read(path)
    assert "train, eval" in caught.value.why


def test_no_truncated_one_passes_for_a_whole(tmp_path):
    content = tf.calling()
    path = tmp_path / "saved_model.pb"
    for length in range(3, len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ModelUnreadable):
            catalog.read(path, without_weights=True)


def test_a_graph_in_two_parts_is_looked_at_whole(tmp_path):
    """As protobuf reads them: a field that is there twice is put together."""
    usual = tf.signature({"x": tf.info("x:0", -1, 3)}, {"y": tf.info("y:0", -1, 2)})
    whole = tf.saved_model(tf.linear(), {"serving_default": usual})
    evil = tf.graph_def(tf.node("evil", "ReadFile", "x"))
    about = tf.held(1, tf.held(4, "serve"))
    signed = tf.held(5, tf.entry("serving_default", usual))
    parted = about + tf.held(2, evil) + tf.held(2, tf.linear()) + signed
    (tmp_path / "saved_model.pb").write_bytes(whole)
    assert catalog.read(tmp_path / "saved_model.pb").nodes_by_op == {"MatMul": 1, "BiasAdd": 1}
    (tmp_path / "saved_model.pb").write_bytes(tf.number(1, 1) + tf.held(2, parted))
    with pytest.raises(UnsafeFormat, match="reach outside"):
        catalog.read(tmp_path / "saved_model.pb")


def test_words_are_read_from_an_asset_and_from_no_other_file(tmp_path):
    usual = tf.signature({"x": tf.info("x:0", -1, 3)}, {"y": tf.info("y:0", -1, 2)})
    words = tf.node("words", "InitializeTableFromTextFileV2", "x", "w")
    graph = tf.linear() + tf.held(1, words)
    path = tmp_path / "saved_model.pb"
    path.write_bytes(tf.saved_model(graph, {"serving_default": usual}, assets=("words.txt",)))
    assert catalog.read(path, without_weights=True).missing == ("assets/words.txt",)
    path.write_bytes(tf.saved_model(graph, {"serving_default": usual}))
    with pytest.raises(UnsafeFormat, match="reach outside"):
        catalog.read(path)
