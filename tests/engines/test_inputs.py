"""The arrays themselves: the same bytes for everybody, or the user's own."""

import io
import pickle

import numpy as np
import pytest

from modeldyno.core.errors import InputUnresolved
from modeldyno.core.models import InputSpec
from modeldyno.engines.inputs import Inputs, synthesise
from modeldyno.inputs.plans import InputPlan, TensorPlan, plan_inputs


def arrays_of(*tensors, seed=0):
    return synthesise(InputPlan(tensors, batch_size=1, seed=seed)).tensors


def array_of(**changes):
    plan = TensorPlan(**{"name": "x", "dtype": "float32", "shape": (2, 3)} | changes)
    return arrays_of(plan)["x"]


# ---------------------------------------------------------------- synthetic


def test_the_same_plan_makes_the_same_bytes():
    plan = TensorPlan("x", "float32", (64, 64))
    assert arrays_of(plan)["x"].tobytes() == arrays_of(plan)["x"].tobytes()


def test_another_seed_makes_other_values():
    plan = TensorPlan("x", "float32", (64, 64))
    assert not np.array_equal(arrays_of(plan)["x"], arrays_of(plan, seed=1)["x"])


def test_inputs_do_not_change_each_other():
    a, b = TensorPlan("a", "float32", (4,)), TensorPlan("b", "float32", (4,))
    together = arrays_of(a, b)
    assert np.array_equal(together["a"], arrays_of(a)["a"])
    assert np.array_equal(together["b"], arrays_of(b)["b"])
    assert not np.array_equal(together["a"], together["b"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_look_normal_and_fit_in_half_precision(dtype):
    values = array_of(dtype=dtype, shape=(100, 100))
    assert values.dtype == dtype
    assert abs(float(values.mean())) < 0.1
    assert 0.9 < float(values.astype("float64").std()) < 1.1
    assert float(abs(values).max()) < 10


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_integers_fill_their_range(dtype):
    values = array_of(dtype=dtype, shape=(1000,), fill="integers", low=0, high=3)
    assert values.dtype == dtype
    assert set(values.tolist()) == {0, 1, 2}


def test_the_whole_range_of_a_type_can_be_requested():
    assert array_of(dtype="uint8", shape=(5000,), fill="integers", low=0, high=256).max() == 255
    assert array_of(dtype="int8", shape=(5000,), fill="integers", low=-128, high=128).min() == -128


def test_booleans_are_both():
    values = array_of(dtype="bool", shape=(100,), fill="booleans")
    assert (values.dtype, set(values.tolist())) == (np.dtype(bool), {False, True})


@pytest.mark.parametrize(("dtype", "value"), [("int64", 16000.0), ("bool", 1), ("float16", 0.5)])
def test_constants_are_constant(dtype, value):
    values = array_of(dtype=dtype, fill="constant", value=value)
    assert values.dtype == dtype
    assert (values == value).all()


@pytest.mark.parametrize("fill", ["normal", "integers", "constant"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 0, 3), (2, 3, 4)])
def test_arrays_have_their_shape_and_lie_in_one_piece(fill, shape):
    values = array_of(shape=shape, fill=fill)
    assert isinstance(values, np.ndarray)
    assert values.shape == shape
    assert values.flags.c_contiguous


# ---------------------------------------------------------------- from a file


IMAGE = InputSpec("image", "float32", ("batch", 3, "height", 4))


def from_file(path, *inputs, batch_size=1, values=None):
    plan = plan_inputs(inputs, batch_size, dims={}, values=values or {}, data=str(path), seed=0)[0]
    return synthesise(plan)


def numbers(*shape, dtype="float32"):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def saved(tmp_path, **arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    return tmp_path / "data.npz"


def refusal(path, *inputs, **settings):
    with pytest.raises(InputUnresolved) as caught:
        from_file(path, *inputs, **settings)
    return caught.value


def test_data_determines_dynamic_sizes(tmp_path):
    array = numbers(2, 3, 5, 4)
    inputs = from_file(saved(tmp_path, image=array, other=numbers(9)), IMAGE, batch_size=2)
    assert isinstance(inputs, Inputs)
    assert (inputs.batch_size, inputs.notes) == (2, ())
    assert inputs.tensors["image"].tolist() == array.tolist()


def test_more_data_than_the_batch_needs_is_cut(tmp_path):
    array = numbers(5, 3, 5, 4)
    inputs = from_file(saved(tmp_path, image=array), IMAGE, batch_size=2)
    assert inputs.tensors["image"].tolist() == array[:2].tolist()
    assert inputs.notes == ("data.npz: the first 2 of 5 items",)


def test_less_data_than_the_batch_needs_is_repeated(tmp_path):
    array = numbers(2, 3, 5, 4)
    inputs = from_file(saved(tmp_path, image=array), IMAGE, batch_size=5)
    assert inputs.tensors["image"].tolist() == array[[0, 1, 0, 1, 0]].tolist()
    assert inputs.notes == ("data.npz: 2 repeated to 5 items",)


def test_states_are_cut_along_their_own_batch(tmp_path):
    state = InputSpec("state", "float32", (2, "batch", 3))
    array = numbers(2, 4, 3)
    inputs = from_file(saved(tmp_path, x=array), state, batch_size=1)
    assert inputs.tensors["state"].tolist() == array[:, :1].tolist()


def test_a_fixed_batch_takes_the_first_items(tmp_path):
    array = numbers(6, 4)
    inputs = from_file(saved(tmp_path, x=array), InputSpec("x", "float32", (1, 4)))
    assert inputs.tensors["x"].tolist() == array[:1].tolist()


def test_an_unknown_rank_takes_any_array(tmp_path):
    array = numbers(2, 3, 4)
    inputs = from_file(saved(tmp_path, x=array), InputSpec("x", "float32", None), batch_size=2)
    assert inputs.tensors["x"].tolist() == array.tolist()


def test_one_array_for_one_input_needs_no_name(tmp_path):
    array = numbers(1, 3, 5, 4)
    np.save(tmp_path / "image.npy", array)
    for path in (saved(tmp_path, arr_0=array), tmp_path / "image.npy"):
        assert from_file(path, IMAGE).tensors["image"].tolist() == array.tolist()


def test_a_said_value_needs_no_array(tmp_path):
    rate = InputSpec("sr", "int64", ())
    path = saved(tmp_path, image=numbers(1, 3, 5, 4))
    assert from_file(path, IMAGE, rate, values={"sr": 8000}).tensors["sr"].item() == 8000


def test_arrays_are_converted_only_where_nothing_is_lost(tmp_path):
    path = saved(tmp_path, image=numbers(1, 3, 5, 4, dtype="float16"))
    assert from_file(path, IMAGE).tensors["image"].dtype == np.float32
    error = refusal(saved(tmp_path, image=numbers(1, 3, 5, 4, dtype="float64")), IMAGE)
    assert error.title == "The array 'image' of data.npz has the wrong type"
    assert "it is float64, the model needs float32" in error.why
    assert error.fix.endswith("array.astype('float32')")


@pytest.mark.parametrize("shape", [(1, 4, 5, 4), (1, 3, 5, 5), (3, 5, 4), (0, 3, 5, 4)])
def test_shapes_must_fit_where_the_model_fixes_them(tmp_path, shape):
    error = refusal(saved(tmp_path, image=numbers(*shape)), IMAGE)
    assert error.title == "The array 'image' of data.npz has the wrong shape"
    assert error.why == f"it is {list(shape)}, the model needs [batch, 3, any, 4]"


def test_missing_arrays_are_named(tmp_path):
    mask = InputSpec("mask", "int64", ("batch", 4))
    error = refusal(saved(tmp_path, image=numbers(1, 3, 5, 4), msk=numbers(1)), IMAGE, mask)
    assert error.title == "data.npz has no array for 'mask'"
    assert error.why == "it has 'image', 'msk'"


def test_a_missing_file_says_so(tmp_path):
    assert (
        refusal(tmp_path / "gone.npz", IMAGE).title == f'No data file named "{tmp_path}/gone.npz"'
    )


def object_array():
    buffer = io.BytesIO()
    np.savez(buffer, image=np.array([object], dtype=object))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", pickle.dumps([1]), b"PK\x03\x04 not really", b"\x93NUMPY\x01", object_array()],
    ids=["empty", "text", "pickle", "half a zip", "half an array", "pickled objects"],
)
def test_files_that_hold_no_plain_arrays_are_refused(tmp_path, content):
    path = tmp_path / "data.npz"
    path.write_bytes(content)
    assert refusal(path, IMAGE).title == "Cannot read inputs from data.npz"
