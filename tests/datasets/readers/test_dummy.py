"""Random values of wanted shapes, types and ranges."""

import numpy as np
import pytest

from modeldyno.core.errors import BadValue
from modeldyno.datasets.readers.dummy import ENDLESS, Dummy, DummyV2
from tests.dataset_files import refuse


def test_the_first_size_of_dummy_is_the_number_of_samples():
    samples = Dummy(shape=(5, 3, 8, 8)).open()
    assert len(samples) == 5
    assert samples[4].inputs[0].shape == (3, 8, 8)
    assert samples[4].inputs[0].dtype == np.float32
    assert samples[4].label == 0
    assert Dummy(shape=(5, 3), label=False).open()[0].label is None
    with pytest.raises(IndexError):
        samples[5]


def test_values_are_in_their_range_and_the_same_each_time():
    samples = Dummy(shape=(2, 5000), low=-2.0, high=3.0).open()
    first = samples[0].inputs[0]
    assert first.min() >= -2
    assert first.max() < 3
    assert first.min() < -1.9
    assert first.max() > 2.9
    np.testing.assert_array_equal(
        first, Dummy(shape=(2, 5000), low=-2.0, high=3.0).open()[0].inputs[0]
    )
    assert not np.array_equal(first, samples[1].inputs[0])


@pytest.mark.oracle("dummy", "numpy.random")
@pytest.mark.oracle("dummy_v2", "numpy.random")
@pytest.mark.parametrize("reader", [Dummy(shape=(9, 2, 3)), DummyV2(input_shape=(2, 3))])
def test_values_are_uniform_with_the_seed_of_the_reference_and_the_number(reader):
    expected = np.random.default_rng((9527, 8)).uniform(-128, 127, (2, 3)).astype("float32")
    np.testing.assert_array_equal(reader.open()[8].inputs[0], expected)


def test_several_inputs_have_a_shape_a_range_and_a_type_each():
    samples = Dummy(
        shape=((4, 3), (4, 2)), low=(0.0, 5.0), high=(1.0, 9.0), dtype=("float16", "int64")
    ).open()
    one, two = samples[0].inputs
    assert (one.shape, one.dtype, two.shape, two.dtype) == ((3,), "float16", (2,), "int64")
    assert one.min() >= 0
    assert one.max() < 1
    assert set(two) <= {5, 6, 7, 8}
    with pytest.raises(BadValue, match="must begin with the number of samples"):
        Dummy(shape=((4, 3), (5, 2))).open()


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8", "int32", "int64", "bool"])
def test_every_type_of_the_reference_is_drawn(dtype):
    values = DummyV2(input_shape=(1000,), low=0.0, high=100.0, dtype=dtype).open()[0].inputs[0]
    assert values.dtype == np.dtype(dtype)
    assert len(set(values.tolist())) == 2 if dtype == "bool" else len(set(values.tolist())) > 90


def test_shapes_of_dummy_v2_are_without_the_batch():
    samples = DummyV2(input_shape=((3, 4), (2,)), label_shape=(1,)).open()
    assert [value.shape for value in samples[0].inputs] == [(3, 4), (2,)]
    assert samples[0].label.shape == (1,)
    assert len(samples) == ENDLESS
    assert DummyV2(input_shape=(3,)).open()[0].label is None


def test_values_that_a_type_cannot_hold_are_refused():
    refuse(DummyV2(input_shape=(3,), dtype="uint8").open, "does not fit into uint8", "0 to 255")
    refuse(DummyV2(input_shape=(3,), dtype="text").open, "float32, float16")
    refuse(DummyV2(input_shape=(3,), low=2.0, high=1.0).open, "low must be below high")
    refuse(DummyV2(input_shape=(3,), low=(1.0, 2.0, 3.0)).open, "low has 3 values")
    refuse(DummyV2(input_shape=(1 << 20, 1 << 20)).open, "too large")
    refuse(DummyV2(input_shape=(0, 2)).open, "whole numbers above 0")
    refuse(DummyV2().open, "input_shape of dummy_v2 is empty")
    refuse(Dummy().open, "number of samples")
