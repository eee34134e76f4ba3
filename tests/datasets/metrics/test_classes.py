"""Metrics of models that name a class."""

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_metric
from tests.datasets.metrics.judging import classes, figures, scores


def softmax(values):
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.oracle("topk", "sklearn.metrics.top_k_accuracy_score")
def test_topk():
    expected = {
        f"top{k}": sklearn_metrics.top_k_accuracy_score(classes(), scores(), k=k, labels=range(10))
        for k in (1, 5)
    }
    assert figures("topk", scores(), classes()) == pytest.approx(expected, abs=1e-15)
    assert figures("topk", scores(), classes(), k="5") == {"top5": pytest.approx(expected["top5"])}


def test_of_equal_scores_the_first_wins_as_with_argmax():
    equal = np.array([[1.0, 3.0, 3.0]])
    assert figures("topk", equal, [1], k=1) == {"top1": 1.0}
    assert figures("topk", equal, [2], k="1, 2") == {"top1": 0.0, "top2": 1.0}


def test_labels_may_be_rows_with_a_one():
    rows = list(np.eye(10)[classes()])
    assert figures("topk", scores(), rows) == figures("topk", scores(), classes())


def test_scores_of_images_may_keep_empty_axes():
    assert figures("topk", scores()[:, :, None, None], classes()) == figures(
        "topk", scores(), classes()
    )


def test_what_is_no_number_is_wrong():
    broken = np.array([[1.0, np.nan, 0.0]])
    for label in range(3):
        assert figures("topk", broken, [label], k="1, 3") == {"top1": 0.0, "top3": 0.0}
        assert figures("Accuracy", broken, [label]) == {"accuracy": 0.0}


@pytest.mark.oracle("Accuracy", "sklearn.metrics.accuracy_score")
def test_accuracy_of_classes():
    expected = sklearn_metrics.accuracy_score(classes(), scores().argmax(axis=1))
    assert figures("Accuracy", scores(), classes()) == {"accuracy": expected}
    named = scores().argmax(axis=1)
    assert figures("Accuracy", named, classes()) == {"accuracy": expected}


@pytest.mark.oracle("Accuracy", "sklearn.metrics.accuracy_score")
def test_accuracy_of_yes_and_no():
    sure, labels = np.random.default_rng(0).random(101).astype(np.float32), classes(classes=2)
    expected = {"accuracy": sklearn_metrics.accuracy_score(labels, sure >= 0.5)}
    assert figures("Accuracy", sure, labels) == expected
    assert figures("Accuracy", sure[:, None], labels) == expected


@pytest.mark.oracle("Accuracy", "sklearn.metrics.accuracy_score")
def test_of_many_labels_all_must_be_right():
    random = np.random.default_rng(0)
    sure = random.random((200, 3)).astype(np.float32)
    labels = (sure >= 0.5) ^ (random.random((200, 3)) < 0.1)
    expected = sklearn_metrics.accuracy_score(labels, sure >= 0.5)
    assert 0.5 < expected < 0.9
    assert figures("Accuracy", sure, list(labels.astype(int))) == {"accuracy": expected}


@pytest.mark.oracle("Loss", "sklearn.metrics.log_loss")
def test_loss_of_probabilities_and_of_what_becomes_them():
    raw = scores().astype(np.float64)
    expected = sklearn_metrics.log_loss(classes(), softmax(raw), labels=range(10))
    assert figures("Loss", raw, classes()) == {"loss": pytest.approx(expected, rel=1e-12)}
    assert figures("Loss", softmax(raw), classes()) == {"loss": pytest.approx(expected, rel=1e-12)}


def test_large_scores_do_not_overflow():
    assert figures("Loss", np.array([[1000.0, 0.0]]), [1]) == {"loss": 1000.0}
    assert figures("Loss", np.array([[1.0, 0.0]]), [1])["loss"] == pytest.approx(708.4, abs=0.1)


@pytest.mark.oracle("ROC", "sklearn.metrics.roc_auc_score")
@pytest.mark.parametrize("places", [1, 8])
def test_roc(places):
    """Rounded scores are often equal."""
    sure = np.random.default_rng(0).random(101).round(places)
    labels = (sure + np.random.default_rng(1).normal(size=101) / 3 > 0.5).astype(int).tolist()
    expected = {"roc_auc": pytest.approx(sklearn_metrics.roc_auc_score(labels, sure), abs=1e-14)}
    assert figures("ROC", sure, labels) == expected
    assert figures("ROC", np.stack([1 - sure, sure], axis=1), labels) == expected


def test_roc_of_one_answer_alone_is_unknown():
    metric = make_metric("ROC", "", {})
    assert np.isnan(metric.summarize([[0.2, 1], [0.4, 1]])["roc_auc"])


@pytest.mark.parametrize("name", ["topk", "Accuracy", "Loss", "GLUE"])
@pytest.mark.parametrize(
    ("label", "what"),
    [
        (None, "Sample 1 of a batch has no label"),
        (10, "Label 10 is none of the model's 10 classes"),
        (-1, "Label -1 is none of the model's 10 classes"),
        (1.5, "Label 1.5 does not name a class"),
        ("cat", "Label cat does not name a class"),
        (float("nan"), "Label nan does not name a class"),
    ],
)
def test_labels_that_name_no_class_are_refused(name, label, what):
    with pytest.raises(BadValue, match=what) as refused:
        make_metric(name, "", {}).judge([scores(3)], [1, label, 2])
    assert refused.value.fix


def test_the_first_class_too_many_hints_at_counting_from_one():
    with pytest.raises(BadValue) as refused:
        make_metric("topk", "", {}).judge([scores(1)], [10])
    assert "LabelShift" in refused.value.fix


@pytest.mark.parametrize(
    ("name", "outputs", "labels", "what"),
    [
        ("topk", np.zeros((2, 1)), [0, 0], "one number for each sample"),
        ("topk", np.zeros((1, 3)), [np.array([1, 1, 0])], "does not name a class"),
        ("Accuracy", np.zeros((1, 4)), [np.zeros(3)], "A label of 3 values cannot be"),
        ("ROC", np.zeros((1, 3)), [0], "ROC cannot judge 3 classes"),
        ("Loss", np.array([[np.nan, 1]]), [0], "answer to sample 0 of a batch holds values"),
    ],
)  # fmt: skip
def test_answers_of_other_shapes_are_refused(name, outputs, labels, what):
    with pytest.raises(BadValue, match=what):
        make_metric(name, "", {}).judge([outputs], labels)


def test_k_begins_at_one():
    with pytest.raises(BadValue, match=r"topk has no k of \[0\]"):
        make_metric("topk", "", {"k": 0})
