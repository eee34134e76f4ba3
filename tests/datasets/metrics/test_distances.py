import numpy as np
import pytest
from scipy import special, stats
from scipy.spatial import distance
from sklearn import metrics as sklearn_metrics

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_metric
from tests.datasets.metrics.judging import figures, scores

ORACLES = {
    "MAE": sklearn_metrics.mean_absolute_error,
    "MSE": sklearn_metrics.mean_squared_error,
    "RMSE": sklearn_metrics.root_mean_squared_error,
}


@pytest.mark.oracle("MAE", "sklearn.metrics.mean_absolute_error")
@pytest.mark.oracle("MSE", "sklearn.metrics.mean_squared_error")
@pytest.mark.oracle("RMSE", "sklearn.metrics.root_mean_squared_error")
@pytest.mark.parametrize("name", ORACLES)
def test_distances_from_labels(name):
    answers, labels = scores(60, 4), scores(60, 4, seed=5)
    value = ORACLES[name](labels.astype(np.float64).ravel(), answers.astype(np.float64).ravel())
    # Other outputs are none of the label's business.
    result = figures(name, [answers, scores(60, 9)], list(labels))
    assert result == {name: pytest.approx(value, rel=1e-13)}


@pytest.mark.parametrize("name", ORACLES)
def test_distances_from_a_references_outputs_are_of_all_of_them(name):
    answers, others = [scores(30, 4), scores(30, 2)], [scores(30, 4, 5), scores(30, 2, 6)]
    flat = [np.concatenate(side, axis=1).astype(float).ravel() for side in (others, answers)]
    value = ORACLES[name](*flat)
    references = [tuple(output[number] for output in others) for number in range(30)]
    result = figures(name, answers, references, compare_label="False")
    assert result == {name: pytest.approx(value, rel=1e-13)}


def test_every_value_counts_the_same_however_long_its_sample_is():
    metric = make_metric("MAE", "", {})
    outcomes = metric.judge([np.ones((1, 1))], [0.0]) + metric.judge(
        [np.ones((1, 9))], [np.ones(9)]
    )
    assert metric.summarize(outcomes) == {"MAE": 0.1}


@pytest.mark.oracle("fidelity", "scipy.special, scipy.stats.entropy, scipy.spatial.distance")
@pytest.mark.parametrize("are_probabilities", [True, False])
def test_fidelity(are_probabilities):
    reference = scores(80).astype(np.float64)
    answers = reference + scores(80, seed=9) / 3
    p, q = special.softmax(reference, axis=1), special.softmax(answers, axis=1)
    if are_probabilities:
        reference, answers = p, q
    expected = {
        "top1_agreement": float((p.argmax(axis=1) == q.argmax(axis=1)).mean()),
        "cosine": 1 - float(np.mean(list(map(distance.cosine, reference, answers)))),
        "kl": float(stats.entropy(p, q, axis=1).mean()),
        "normalized_error": float(((answers - reference) ** 2).sum() / (reference**2).sum()),
    }  # fmt: skip
    result = figures("fidelity", answers, [(row,) for row in reference])
    assert 0.5 < result["top1_agreement"] < 1
    assert result == pytest.approx(expected, rel=1e-9)


def test_a_model_agrees_with_itself():
    labels = [(row,) for row in scores()]
    same = {"top1_agreement": 1.0, "cosine": 1.0, "kl": 0.0, "normalized_error": 0.0}
    assert figures("fidelity", scores(), labels) == pytest.approx(same, abs=1e-12)


def test_a_model_without_scores_has_only_distances():
    values = scores(20, 1)
    result = figures("fidelity", values * 2, [(row,) for row in values])
    assert result == pytest.approx({"cosine": 1.0, "normalized_error": 1.0})


def test_agreement_counts_each_place_of_a_map():
    reference = np.zeros((1, 2, 2, 3))
    reference[..., 1] = 1
    answer = reference.copy()
    answer[0, 0, 0] = [5, 1, 1]
    assert figures("fidelity", answer, [(reference[0],)])["top1_agreement"] == 0.75


@pytest.mark.parametrize(
    ("name", "label", "what"),
    [
        ("MSE", None, "Sample 0 of a batch has no label"),
        ("MSE", np.zeros(5), r"Answers of \[3\] values cannot be compared with \[5\]"),
        ("MSE", "cat", "Label cat is no number"),
        ("fidelity", (np.zeros(4),), r"Answers of \[3\] values cannot be compared with \[4\]"),
    ],
)
def test_what_has_no_distance_is_refused(name, label, what):
    with pytest.raises(BadValue, match=what):
        make_metric(name, "", {}).judge([np.zeros((1, 3))], [label])
    with pytest.raises(BadValue, match="values that are no numbers"):
        make_metric(name, "", {}).judge([np.full((1, 3), np.inf)], [(np.zeros(3),)])
