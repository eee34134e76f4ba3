"""Two models in a comparison: both get the same values, whatever their files call the inputs."""

from dataclasses import replace

import numpy as np
import pytest

from modeldyno.core.errors import BadValue
from modeldyno.core.models import IndexRange, InputSpec, ModelFacts
from modeldyno.core.specs import ModelSpec
from modeldyno.engines.inputs import synthesise
from modeldyno.inputs.matching import is_more_specific, match_models, plan_matching_inputs
from modeldyno.inputs.model_overrides import UNSTATED


def facts(*inputs, model_format="onnx"):
    return ModelFacts("m", model_format, "", "", 0, 0, inputs, ())


def floats(name, *shape):
    return InputSpec(name, "float32", shape)


def script(*names):
    unstated = (InputSpec(name, UNSTATED, None) for name in names)
    return facts(*unstated, model_format="torchscript")


def fed(a, b, batch_size=1, **said):
    """The arrays of both sides, by name."""
    spec = ModelSpec("m", **said)
    one, other = match_models(spec, a, spec, b)
    first, second = (other, one) if is_more_specific(other, one) else (one, other)
    plan = plan_matching_inputs(first, batch_size, None, 0)[0]
    follower = plan_matching_inputs(second, batch_size, plan, 0)[0]
    made = {True: synthesise(plan).tensors, False: synthesise(follower).tensors}
    return made[first is one], made[first is not one]


def test_inputs_of_different_names_get_the_same_bytes():
    a, b = fed(facts(floats("x", "batch", 3)), facts(floats("input", "N", 3)), batch_size=2)
    assert a["x"].shape == (2, 3)
    np.testing.assert_array_equal(a["x"], b["input"])


def test_inputs_of_one_name_are_not_confused_by_their_order():
    a, b = fed(facts(floats("x", 4), floats("y", 4)), facts(floats("y", 4), floats("x", 4)))
    np.testing.assert_array_equal(a["x"], b["x"])
    np.testing.assert_array_equal(a["y"], b["y"])
    assert not np.array_equal(a["x"], a["y"])


def test_what_torchscript_leaves_out_is_taken_from_the_other_file():
    a, b = fed(script("x"), facts(floats("input", 1, 3, 8, 8)))
    np.testing.assert_array_equal(a["x"], b["input"])


def test_a_checkpoint_takes_all_its_inputs_from_the_other_file():
    a, b = fed(facts(model_format="torch-checkpoint"), facts(floats("x", 1, 4), floats("y", 1, 2)))
    assert a.keys() == b.keys() == {"x", "y"}


def test_a_fixed_shape_is_followed_by_an_open_one():
    fixed, open_ = facts(floats("x", 1, 17)), facts(floats("x", 1, None))
    for pair in ((fixed, open_), (open_, fixed)):
        a, b = fed(*pair)
        assert a["x"].shape == b["x"].shape == (1, 17)


def test_numbers_of_different_width_are_the_same_numbers():
    narrow = InputSpec("ids", "int32", (1, 64))
    a, b = fed(facts(replace(narrow, dtype="int64")), facts(narrow))
    assert (a["ids"].dtype, b["ids"].dtype) == (np.int64, np.int32)
    np.testing.assert_array_equal(a["ids"], b["ids"])


def test_what_one_file_knows_of_its_table_holds_for_both():
    ids = InputSpec("ids", "int64", (1, 500))
    known = replace(ids, indices=IndexRange(0, 9000, "a table of 9000 rows"))
    a, b = fed(facts(ids), facts(known))
    assert a["ids"].max() > 100
    np.testing.assert_array_equal(a["ids"], b["ids"])


def test_a_state_that_only_one_model_takes_starts_at_zero():
    alone, stateful = facts(floats("x", 1, 8)), facts(floats("x", 1, 8), floats("state", 2, 1, 4))
    assert not fed(alone, stateful)[1]["state"].any()
    assert (fed(alone, stateful, values={"state": 3})[1]["state"] == 3).all()


def test_words_for_one_model_do_not_offend_the_other():
    a, b = fed(facts(floats("x", 1, "length")), facts(floats("x", 1, "s0")), dims={"s0": 5})
    assert a["x"].shape == b["x"].shape == (1, 5)
    for nonsense in ({"dims": {"s1": 5}}, {"values": {"y": 1}}):
        with pytest.raises(BadValue):
            fed(facts(floats("x", 1, "length")), facts(floats("x", 1, "s0")), **nonsense)


def test_sides_of_different_batches_keep_their_own():
    spec = ModelSpec("m")
    one, other = match_models(spec, facts(floats("x", "N", 3)), spec, facts(floats("x", "N", 3)))
    plan = plan_matching_inputs(one, 1, None, 0)[0]
    assert plan_matching_inputs(other, 4, plan, 0)[0].tensors[0].shape == (4, 3)


def test_a_file_of_data_may_use_either_name(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, input=np.full((1, 3), 7, np.float32), spare=np.zeros(1))
    a, b = fed(facts(floats("x", 1, 3)), facts(floats("input", 1, 3)), data=str(path))
    assert a["x"].tolist() == b["input"].tolist() == [[7, 7, 7]]


def test_a_file_with_both_names_gives_each_model_its_own(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.ones((1, 3), np.float32), input=np.zeros((1, 3), np.float32))
    a, b = fed(facts(floats("x", 1, 3)), facts(floats("input", 1, 3)), data=str(path))
    assert (a["x"].tolist(), b["input"].tolist()) == ([[1, 1, 1]], [[0, 0, 0]])


def test_notes_tell_who_was_taken_for_whom():
    spec = ModelSpec("m")
    one, other = match_models(spec, script("x"), spec, facts(floats("input", 1, 3)))
    (note,) = (*one.notes, *other.notes)
    assert note.startswith("input of one model was taken for x of the other")
