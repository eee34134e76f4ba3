"""Which scope a node's name, or the exporter's notes beside it, tell of."""

import pytest

from modeldyno.formats.name_scopes import (
    scopes_from_metadata,
    scopes_from_module_stack,
    scopes_from_name,
)


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("/layer1/layer1.0/conv1/Conv", ("layer1", "layer1.0", "conv1")),
        ("layer1.0.conv1", ("layer1", "0")),
        ("bert/encoder/layer_0/MatMul", ("bert", "encoder", "layer_0")),
        ("a//b/", ("a",)),
        ("Conv_12", ()),
        ("Conv.12", ()),
        ("p2o.Conv.12", ()),
        ("Conv@3", ()),
        ("1.5", ()),
        ("a .b", ()),
        ("/", ()),
        ("", ()),
    ],
)
def test_scopes_out_of_names(name, scope):
    assert scopes_from_name(name) == scope


NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"


@pytest.mark.parametrize(
    ("said", "scope"),
    [
        ("['', 'encoder.layer.0', 'encoder.layer.0.mlp', 'linear_2']", "encoder layer 0 mlp"),
        ("""['', "it's", 'add']""", "it's"),
        ("['', 'add']", ""),
        (f"['{NO_MODULE}', 'sym_size_int']", ""),
        ("rubbish", ""),
    ],
)
def test_scopes_come_from_torchs_metadata(said, scope):
    assert scopes_from_metadata({"pkg.torch.onnx.name_scopes": said}) == tuple(scope.split())


def test_scopes_out_of_a_namespace():
    said = ": net.Net/layer1: Sequential/layer1.0: Block/conv2d: aten.conv2d.default"
    assert scopes_from_metadata({"namespace": said}) == ("layer1", "0")


def test_other_notes_say_nothing():
    assert scopes_from_metadata({"pkg.torch.onnx.fx_node": "%x"}) is None


@pytest.mark.parametrize(
    ("stack", "scope"),
    [
        ("L__self__,,m.Net;L__self__a.0,a.0,m.Block;L__self__a.0.b,a.0.b,m.B", ("a", "0", "b")),
        ("L__self__,,m.Net", ()),
        (f"{NO_MODULE},{NO_MODULE},{NO_MODULE}", ()),
        ("", ()),
        (";;,;", ()),
    ],
)
def test_scopes_out_of_a_module_stack(stack, scope):
    assert scopes_from_module_stack(stack) == scope


def test_only_the_beginning_of_an_absurd_name_is_looked_at():
    assert len(scopes_from_name("a/" * 10_000_000)) < 5000
