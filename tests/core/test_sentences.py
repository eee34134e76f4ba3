"""Verdicts in plain words."""

import pytest

from modeldyno.core.sentences import pair_sentence


@pytest.mark.parametrize(
    ("verdict", "ratio", "sentence"),
    [
        ("faster", (0.5, 0.4, 0.625), "B is 2.00× faster than A (1.60\u20132.50, 95 %)."),
        ("slower", (2.0, 1.9, 2.1), "A is 2.00× faster than B (1.90\u20132.10, 95 %)."),
        (
            "equivalent",
            (1.0, 0.99, 1.01),
            "A and B are equivalent within ±2% (B takes 0.990 to 1.010 times as long as A, 95 %).",
        ),
        (
            "inconclusive",
            (1.01, 0.9, 1.1),
            "No clear difference between A and B"
            " (B takes 0.900 to 1.100 times as long as A, 95 %).",
        ),
    ],
)
def test_a_verdict_names_who_is_faster_or_that_nobody_is(verdict, ratio, sentence):
    assert pair_sentence(verdict, ratio, 0.02) == sentence


@pytest.mark.parametrize(
    ("ratio", "sentence"),
    [
        (
            (1.028, 1.015, 1.042),
            "B is slower than A by 1.5 % to 4.2 % (95 %); whether by more than 2 % is open.",
        ),
        (
            (0.97, 0.955, 0.985),
            "B is faster than A by 1.5 % to 4.5 % (95 %); whether by more than 2 % is open.",
        ),
    ],
)
def test_an_inconclusive_difference_that_is_certain_is_told_as_one(ratio, sentence):
    assert pair_sentence("inconclusive", ratio, 0.02) == sentence


@pytest.mark.parametrize("ratio", [(1.01, 0.999, 1.03), (1.0, 0.9, 1.1), (1.5, 1.4, 1.6)])
def test_an_interval_that_holds_1_or_was_not_judged_makes_nobody_slower(ratio):
    """The last one is beyond the margin: somebody had a reason not to call it slower."""
    assert pair_sentence("inconclusive", ratio, 0.02).startswith("No clear difference")


def test_a_name_begins_a_sentence_as_words_do_and_a_file_as_it_is():
    ratio = 2.0, 1.9, 2.1
    said = pair_sentence("slower", ratio, 0.02, ("batch 1", "batch 8"))
    assert said.startswith("Batch 1 is 2.00× faster than batch 8")
    said = pair_sentence("slower", ratio, 0.02, ("old.onnx", "new.onnx"))
    assert said.startswith("old.onnx is 2.00× faster than new.onnx")
