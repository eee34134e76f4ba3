"""OpenVINO IR, read without OpenVINO: what it says, its graph, and what is refused."""

import hashlib

import numpy as np
import pytest

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import ExternalFile, IndexRange, InputSpec, TensorSpec
from modeldyno.formats import catalog
from modeldyno.formats.openvino import xml_reader
from tests import onnx_models
from tests.openvino_files import LAYERS, layer, linear, port, saved


def test_inputs_operators_and_weights_are_read(tmp_path):
    path = saved(tmp_path / "m.xml")
    facts = catalog.read(path)
    weights = (tmp_path / "m.bin").read_bytes()
    assert (facts.format, facts.framework, facts.ir_version) == ("openvino-ir", "openvino", 11)
    assert facts.inputs == (InputSpec("x", "float32", (None, 4)),)
    assert facts.outputs == (TensorSpec("y", "float32", (None, 3)),)
    assert facts.external == (ExternalFile("m.bin", 48, hashlib.sha256(weights).hexdigest()),)
    assert (facts.parameters, facts.weights_by_dtype) == (12, {"float32": 12})
    assert (facts.nodes_by_op, facts.producer) == ({"MatMul": 1}, "OpenVINO 2026.4.1")
    assert facts.size_bytes == path.stat().st_size + 48


def test_its_name_does_not_matter(tmp_path):
    assert catalog.read(saved(tmp_path / "network")).format == "openvino-ir"
    saved(tmp_path / "m.xml").rename(tmp_path / "m.bin")
    with pytest.raises(ModelUnreadable, match="under the name of its weights"):
        catalog.read(tmp_path / "m.bin")


def test_its_graph_has_operators_weights_and_groups(tmp_path):
    graph = catalog.read_graph(saved(tmp_path / "m.xml"))
    (node,) = graph.nodes
    assert (node.op_type, node.scope, node.label) == ("MatMul", "net/dense", "MatMul")
    assert [a.name for a in node.attributes] == ["transpose_a", "transpose_b"]
    kinds = {tensor.id: (tensor.kind, tensor.shape) for tensor in graph.tensors}
    assert kinds == {
        "x": ("input", (None, 4)),
        "w": ("initializer", (4, 3)),
        "y": ("node", (None, 3)),
    }
    assert (graph.inputs, graph.outputs, graph.notes) == (("x",), ("y",), ())


@pytest.mark.engine("openvino")
def test_openvinos_own_files_are_read_as_openvino_reads_them(tmp_path):
    """An embedding's rows are known, so that no made-up number lies outside."""
    import openvino

    model = onnx_models.saved(onnx_models.embedding(rows=50), tmp_path / "m.onnx")
    openvino.save_model(openvino.convert_model(model), tmp_path / "m.xml")
    facts = catalog.read(tmp_path / "m.xml")
    taken = openvino.Core().read_model(tmp_path / "m.xml")
    assert [spec.name for spec in facts.inputs] == [port.any_name for port in taken.inputs]
    assert [spec.name for spec in facts.outputs] == [port.any_name for port in taken.outputs]
    expected = IndexRange(0, 50, "indexes an embedding of 50 rows")
    assert (facts.inputs[0].dtype, facts.inputs[0].indices) == ("int64", expected)
    assert np.prod([50, 8]) == facts.parameters


def test_a_branch_is_a_graph_inside_the_graph(tmp_path):
    body = f"<then_body><layers>{''.join(LAYERS)}</layers><edges></edges></then_body>"
    held = layer(9, "choice", "If", "", more=body)
    graph = catalog.read_graph(saved(tmp_path / "m.xml", linear([*LAYERS, held])))
    assert [(b.scope, b.kind) for b in graph.bodies] == [("choice[then_body]", "subgraph")]
    assert catalog.read(tmp_path / "m.xml").nodes_by_op == {"MatMul": 2, "If": 1}


def test_weights_may_come_later(tmp_path):
    path = saved(tmp_path / "m.xml")
    (tmp_path / "m.bin").unlink()
    assert catalog.read(path, without_weights=True).missing == ("m.bin",)
    with pytest.raises(ModelUnreadable, match=r"needs the weights file 'm\.bin'"):
        catalog.read(path)


# ---------------------------------------------------------------- hostile and damaged files


LAUGHS = '<!DOCTYPE net [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
READS = '<!DOCTYPE net [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("before", [LAUGHS, READS, "<!DOCTYPE net>"])
def test_a_document_type_is_refused_before_anything_is_made_of_it(before, tmp_path):
    path = saved(tmp_path / "m.xml", linear(before=before))
    with pytest.raises(UnsafeFormat, match="declares a document type"):
        catalog.read(path)
    assert catalog.read(saved(tmp_path / "n.xml", linear(before="<!-- a -->"))).parameters == 12


DEEP = "<a>" * 300 + "</a>" * 300
DIMS = layer(9, "deep", "Relu", "", "", port(0, *[1] * 100))
NO_PLACE = layer(9, "w2", "Const", 'element_type="f32" shape="4" offset="-8" size="16"')


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (linear()[:-20], "damaged OpenVINO model"),
        (linear([*LAYERS, DEEP]), "more than 200 deep"),
        (linear([*LAYERS, DIMS]), "more than 64 dimensions"),
        (linear([*LAYERS, NO_PLACE]), "is not a number"),
        (linear(version=7), "of version 7"),
        ('<net name="m" version="11">&lost;</net>', "undefined entity"),
    ],
)
def test_files_that_are_not_models_are_refused_with_a_reason(text, complaint, tmp_path):
    path = saved(tmp_path / "m.xml", text)
    with pytest.raises(ModelUnreadable) as caught:
        catalog.read(path)
    assert complaint in f"{caught.value.title} {caught.value.why}"


def test_more_than_anybody_writes_is_not_read(tmp_path):
    path = saved(tmp_path / "m.xml", linear() + " " * 5000)
    with path.open("ab") as file:
        file.truncate(xml_reader.LARGEST_XML + 1)
    with pytest.raises(ModelUnreadable, match="too large"):
        catalog.read(path)


def test_truncated_weights_are_refused(tmp_path):
    path = saved(tmp_path / "m.xml", weights=b"\0" * 40)
    with pytest.raises(ModelUnreadable, match="is truncated") as caught:
        catalog.read(path)
    assert "tensor 'w' ends at byte 48" in caught.value.why


def test_weights_are_in_the_model_s_own_folder(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_bytes(b"\0" * 99)
    path = saved(tmp_path / "inside" / "m.xml")
    path.with_suffix(".bin").unlink()
    path.with_suffix(".bin").symlink_to(tmp_path / "secret")
    with pytest.raises(UnsafeFormat, match="outside its own folder"):
        catalog.read(path)


@pytest.mark.parametrize("seed", range(20))
def test_a_file_with_broken_bytes_raises_and_does_no_more(seed, tmp_path):
    """Whatever is in it: an error of ours, or a model."""
    randomness = np.random.default_rng(seed)
    text = bytearray(linear().encode())
    for place in randomness.integers(40, len(text), 8):
        text[place] = randomness.integers(32, 127)
    path = saved(tmp_path / "m.xml")
    path.write_bytes(bytes(text))
    for look in (catalog.read, catalog.read_graph):
        try:
            look(path)
        except (ModelUnreadable, UnsafeFormat):
            continue
