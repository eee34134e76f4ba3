"""Outputs of two models: which are compared, and how far apart they are."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

from modeldyno.core.sessions import Parity, UnusualOutput
from modeldyno.engines.outputs import (
    can_compare,
    comparable,
    compare,
    load,
    parity_to,
    save,
    unusual,
)

ONE, TWO, LONG = np.array([1.0]), np.array([2.0]), np.array([1.0, 2.0])


def test_the_same_outputs_have_no_distance():
    assert compare({"y": LONG}, {"y": LONG}) == Parity(0.0, 0.0, agrees=True)


def test_errors_are_absolute_and_relative_to_the_largest_value():
    assert compare({"y": LONG}, {"y": np.array([1.5, 2.0])}) == Parity(0.5, 0.25, agrees=False)


def test_names_go_before_order():
    a, b = {"y": ONE, "state": TWO}, {"state": TWO, "y": ONE}
    assert compare(a, b) == Parity(0.0, 0.0, agrees=True)


def test_outputs_that_a_conversion_renamed_are_compared_in_their_order():
    a, b = {"y": ONE, "z": LONG}, {"output_0": ONE, "output_1": LONG}
    assert compare(a, b) == Parity(0.0, 0.0, agrees=True)
    assert compare(a, {"y": ONE, "output_1": LONG + 1}).max_abs_error == 1.0


def test_renamed_outputs_in_another_order_are_paired_by_content():
    a = {"notes": np.array([1.0, 2.0]), "onsets": np.array([3.0, 4.0]), "contour": ONE}
    b = {"0": ONE, "1": np.array([3.0, 4.0]), "2": np.array([1.0, 2.0])}
    assert compare(a, b) == Parity(0.0, 0.0, agrees=True)
    assert not compare(a, {**b, "2": np.array([1.0, 3.0])}).agrees
    assert not comparable(a, {**b, "0": LONG})


def test_an_output_of_one_side_alone_does_not_prevent_comparison():
    with_state = {"output": ONE, "stateN": LONG}
    assert comparable({"output": ONE}, with_state)
    assert compare({"output": ONE}, with_state) == Parity(0.0, 0.0, True, left_out=("stateN",))
    assert not compare({"output": TWO}, with_state).agrees


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"y": ONE}, {"y": LONG}),
        ({"y": ONE}, {"z": LONG}),
        ({"y": ONE}, {"z": ONE, "state": LONG}),
        ({"y": ONE, "z": LONG}, {"y": LONG, "z": LONG}),
    ],
)
def test_outputs_that_cannot_be_paired_are_not_compared(a, b):
    assert not comparable(a, b)
    assert not compare(a, b).agrees


def texts(*words):
    return np.array(words, dtype=object)


@pytest.mark.parametrize(
    ("a", "same", "other"),
    [
        (texts("cat", b"dog"), texts(b"cat", "dog"), texts("cat", "cow")),
        (np.array(["cat"]), texts("cat"), np.array(["cow"])),
        (texts("cat"), texts("cat"), ONE),
        (np.array([1 + 2j]), np.array([1 + 2j]), np.array([1 + 3j])),
        (LONG.astype(bfloat16), LONG, (LONG + 1).astype(bfloat16)),
    ],
)
def test_texts_complex_and_short_numbers_are_compared_too(tmp_path, a, same, other):
    save(tmp_path / "saved.npz", {"y": a})
    saved = load(tmp_path / "saved.npz")
    for reference in ({"y": a}, saved):
        assert compare(reference, {"y": same}) == Parity(0.0, 0.0, agrees=True)
        assert not compare(reference, {"y": other}).agrees


def test_where_nothing_can_be_compared_nothing_agrees():
    odd = {"probabilities": [{"cat": 0.5}], "other": texts(None)}
    assert (can_compare(odd), comparable(odd, odd), parity_to(odd, odd)) == (False, False, None)
    assert not compare(odd, odd).agrees
    assert parity_to({"y": ONE}, odd) == compare({"y": ONE}, odd)


def test_nan_and_infinity_are_counted_in_every_output():
    logits = np.arange(1000, dtype="float32")
    logits[:12], logits[12:15] = np.nan, -np.inf
    half = np.array([1, 2, np.nan], dtype="float16")
    brain = np.array([1, np.inf], dtype=bfloat16)
    pairs = np.array([1 + 1j, complex(0, np.nan)])
    outputs = {"fine": LONG, "logits": logits, "half": half, "brain": brain, "pairs": pairs}
    assert unusual(outputs) == (
        UnusualOutput("logits", 1000, nan=12, infinite=3),
        UnusualOutput("half", 3, nan=1),
        UnusualOutput("brain", 2, infinite=1),
        UnusualOutput("pairs", 2, nan=1),
    )


def test_a_value_between_those_that_are_compared_is_looked_at_too():
    large = np.zeros(2_500_001, dtype="float32")
    large[0], large[1] = 1, np.nan
    assert unusual({"y": large}) == (UnusualOutput("y", 2_500_001, nan=1),)


def test_an_output_is_constant_if_several_values_are_one_number():
    constant = {
        "floats": np.full((2, 3), 0.25),
        "classes": np.array([7, 7]),
        "is": np.array([0, 0]) > 1,
    }
    assert unusual(constant) == tuple(
        UnusualOutput(name, array.size, is_constant=True) for name, array in constant.items()
    )
    assert unusual({"one": ONE, "none": np.array([]), "scalar": np.float32(3)}) == ()
    all_nan, all_infinite = np.full(4, np.nan), np.full(4, np.inf)
    assert unusual({"a": all_nan, "b": all_infinite}) == (
        UnusualOutput("a", 4, nan=4),
        UnusualOutput("b", 4, infinite=4),
    )


def test_texts_lists_and_maps_are_never_unusual():
    assert unusual({"a": np.array(["x", "x"]), "b": [ONE, ONE], "c": {"k": ONE}}) == ()
