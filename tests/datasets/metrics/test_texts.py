import string

import numpy as np
import pytest
import sacrebleu
from sklearn import metrics as sklearn_metrics

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_metric
from modeldyno.datasets.protocol import Merges
from tests.datasets.metrics.judging import figures

RIGHT = [
    "The cat sat on the mat.",
    "There's a dog in the house, isn't there?",
    "He bought 1,000 apples for $3.50 yesterday.",
    "It rains again and again in this small town.",
]
SAID = [
    "The cat sat on a mat.",
    "A dog is in the house, is it not?",
    "He bought 1,000 apples for $3.50 yesterday.",
    "It rains again in this town.",
]


@pytest.mark.oracle("BLEU", "sacrebleu.corpus_bleu")
def test_bleu_is_of_the_whole_corpus():
    expected = sacrebleu.corpus_bleu(SAID * 5, [RIGHT * 5]).score
    assert 20 < expected < 90
    assert figures("BLEU", np.array(SAID * 5), RIGHT * 5) == {"BLEU": pytest.approx(expected)}


@pytest.mark.oracle("BLEU", "sacrebleu.corpus_bleu")
def test_several_translations_may_be_right():
    others = ["A cat sat on a mat."] * 4
    expected = sacrebleu.corpus_bleu(SAID, [RIGHT, others]).score
    labels = [list(pair) for pair in zip(RIGHT, others, strict=True)]
    assert figures("BLEU", np.array(SAID), labels) == {"BLEU": pytest.approx(expected)}


def test_tokens_are_words():
    tokens = np.array([[5, 6, 7, 8, 9], [1, 2, 3, 4, 5]])
    assert figures("BLEU", tokens, list(tokens))["BLEU"] == pytest.approx(100)


def f1_by_sorting(answer, right):
    """The same figure from the definition, in another way."""
    answer, right = list(answer), list(right)
    lengths = len(answer) + len(right)
    shared = 0
    for piece in answer:
        if piece in right:
            right.remove(piece)
            shared += 1
    return 2 * shared / lengths


@pytest.mark.oracle("F1", "the definition; sklearn.metrics.f1_score of single classes")
def test_f1_of_tokens_is_a_mean_over_samples():
    random = np.random.default_rng(0)
    answers, labels = random.integers(0, 9, (50, 6)), random.integers(0, 9, (50, 4))
    expected = np.mean(
        [f1_by_sorting(*pair) for pair in zip(answers.tolist(), labels.tolist(), strict=True)]
    )
    assert figures("F1", answers, list(labels)) == {"f1": pytest.approx(expected)}
    named, right = random.integers(0, 3, 50), random.integers(0, 3, 50)
    micro = sklearn_metrics.f1_score(right, named, average="micro")
    assert figures("F1", named, right.tolist()) == {"f1": pytest.approx(micro)}


def test_f1_of_scores_is_that_of_the_highest():
    sure = np.eye(5)[[[1, 2, 3], [4, 4, 0]]] * 0.9
    assert figures("F1", sure, [[1, 2, 3], [4, 0, 0]]) == {"f1": pytest.approx((1 + 2 / 3) / 2)}


def test_nothing_equals_nothing():
    assert figures("F1", np.zeros((1, 0), int), [[]]) == {"f1": 1.0}
    assert figures("F1", np.zeros((1, 0), int), [[3]]) == {"f1": 0.0}


def reference_words(text):
    """SQuAD's normalization, letter by letter."""
    kept = "".join(c if c not in string.punctuation else "" for c in text.lower())
    return [word for word in kept.split() if word not in ("a", "an", "the")]


@pytest.mark.oracle("SquadF1", "the rules of SQuAD 1.1, letter by letter")
def test_squad_f1_takes_the_answer_that_fits_best():
    said = ["The Denver Broncos!", "in 1999", "a blue  car", "nothing"]
    right = [["Denver Broncos", "Broncos"], ["1999", "the year 1999"], ["the red car"], ["Ann"]]
    expected = []
    for answer, answers in zip(said, right, strict=True):
        pairs = [(reference_words(answer), reference_words(text)) for text in answers]
        expected.append((max(f1_by_sorting(*p) for p in pairs), any(a == b for a, b in pairs)))
    f1, exact = np.mean(expected, axis=0)
    assert figures("SquadF1", np.array(said), right) == pytest.approx(
        {"f1": f1, "exact_match": exact}
    )
    assert (f1, exact) == (pytest.approx((1 + 2 / 3 + 0.5 + 0) / 4), 0.25)


def test_the_surest_part_answers_a_question():
    outputs = [np.array(["Ann", "Bob", "Eve"]), np.array([1.0, 3.0, 2.0])]
    labels = [{"id": key, "answers": ["Bob"]} for key in ("q1", "q1", "q2")]
    assert figures("SquadF1", outputs, labels) == {"f1": 0.5, "exact_match": 0.5}
    metric = make_metric("SquadF1", "", {})
    assert isinstance(metric, Merges)
    merged = metric.merge(metric.judge(outputs, labels))
    assert [outcome[2] for outcome in merged] == [1.0, 0.0]
    assert metric.merge(merged * 2) == merged * 2  # drawn twice, counted twice


@pytest.mark.parametrize("name", ["BLEU", "SquadF1"])
def test_what_is_no_text_is_refused(name):
    with pytest.raises(BadValue, match="is no text"):
        make_metric(name, "", {}).judge([np.array([0.5])], ["text"])
    with pytest.raises(BadValue, match=r"no (translation|right answer)"):
        make_metric(name, "", {}).judge([np.array(["text"])], [[]])
    with pytest.raises(BadValue, match="Sample 0 of a batch has no label"):
        make_metric(name, "", {}).judge([np.array(["text"])], [None])
