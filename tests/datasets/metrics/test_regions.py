import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_metric
from tests.datasets.metrics.judging import figures


def maps(seed=0, count=12):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, (count, 6, 8))
    answers = np.where(
        random.random(labels.shape) < 0.7, labels, random.integers(0, 5, labels.shape)
    )
    return answers, labels


@pytest.mark.oracle("mIOU", "sklearn.metrics.jaccard_score")
def test_mean_overlap_of_regions():
    answers, labels = maps()
    expected = sklearn_metrics.jaccard_score(labels.ravel(), answers.ravel(), average="macro")
    assert figures("mIOU", answers, list(labels)) == {"mIOU": pytest.approx(expected, abs=1e-14)}
    last = np.eye(5, dtype=np.float32)[answers]
    first = np.moveaxis(last, 3, 1)
    for scores in (last, first):
        assert figures("mIOU", scores, list(labels[..., None]))["mIOU"] == pytest.approx(expected)


def test_pixels_on_borders_do_not_count():
    answers, labels = maps()
    counted = np.random.default_rng(1).random(labels.shape) < 0.8
    expected = sklearn_metrics.jaccard_score(labels[counted], answers[counted], average="macro")
    void = np.where(counted, labels, 255).astype(np.uint8)
    assert figures("mIOU", answers, list(void)) == {"mIOU": pytest.approx(expected, abs=1e-14)}


def test_answers_of_another_size_are_refused():
    with pytest.raises(BadValue, match=r"shape \[5, 5\] does not fit a label of \[6, 8\]"):
        make_metric("mIOU", "", {}).judge([np.zeros((1, 5, 5))], [np.zeros((6, 8), int)])
