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


def test_a_name_begins_a_sentence_as_words_do_and_a_file_as_it_is():
    ratio = 2.0, 1.9, 2.1
    said = pair_sentence("slower", ratio, 0.02, ("batch 1", "batch 8"))
    assert said.startswith("Batch 1 is 2.00× faster than batch 8")
    said = pair_sentence("slower", ratio, 0.02, ("old.onnx", "new.onnx"))
    assert said.startswith("old.onnx is 2.00× faster than new.onnx")
