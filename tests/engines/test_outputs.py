"""Outputs of two models: which are compared, and how far apart they are."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

from modeldyno.core.sessions import Parity
from modeldyno.engines.outputs import can_compare, comparable, compare, load, parity_to, save

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
