"""The graph that ONNX Runtime writes after optimising, read without ``onnx``."""

import pytest

from modeldyno.engines import onnx_optimized
from tests import onnx_models


def test_a_graph_that_is_cut_off_is_refused():
    """Whatever it is cut off in: a number, a name, or the values of a weight."""
    whole = onnx_models.decoder().SerializeToString()
    assert onnx_optimized.read(whole).nodes == {}
    for end in range(30, len(whole) - 30, 41):
        with pytest.raises(ValueError, match="the file ends inside a field"):
            onnx_optimized.read(whole[:end])
