"""Intervals of accuracies and verdicts on two models, against SciPy and by simulation."""

import numpy as np
import pytest
from scipy import stats

from modeldyno.datasets.catalog import make_metric
from modeldyno.measure.accuracy import (
    compare_accuracy,
    compare_hits,
    estimate_accuracy,
    mcnemar_p,
    tango_interval,
    wilson_interval,
)

TOPK = make_metric("topk", "", {"k": "1, 5"})
ACCURACY = make_metric("Accuracy", "", {})
LOSS = make_metric("Loss", "", {})


# ---------------------------------------------------------------- one model


@pytest.mark.parametrize("n", [1, 7, 100, 50_000])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_is_scipys(n, level):
    for right in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(right, n).proportion_ci(level, method="wilson")
        assert wilson_interval(right, n, level) == pytest.approx(tuple(expected), abs=1e-12)


def test_wilson_covers_as_often_as_it_says_and_walds_interval_does_not():
    """Exact: over all that 40 samples can give, for truths from 2 to 98 percent."""
    n, truths = 40, np.linspace(0.02, 0.98, 97)
    intervals = np.array([wilson_interval(right, n) for right in range(n + 1)])
    shares = np.arange(n + 1) / n
    half = 1.959964 * np.sqrt(shares * (1 - shares) / n)
    wald = np.stack([shares - half, shares + half], axis=1)
    chances = stats.binom.pmf(np.arange(n + 1)[:, None], n, truths)

    def coverage(ends):
        inside = (ends[:, :1] <= truths) & (truths <= ends[:, 1:])
        return (chances * inside).sum(axis=0)

    assert coverage(intervals).mean() == pytest.approx(0.95, abs=0.01)
    assert coverage(intervals).min() > 0.87
    assert coverage(wald).mean() < 0.93
    assert coverage(wald).min() < 0.6


def test_each_figure_has_its_interval():
    ranks = [0] * 70 + [3] * 20 + [8] * 10
    estimates = estimate_accuracy(TOPK, ranks)
    assert list(estimates) == ["top1", "top5"]
    assert (estimates["top1"].value, estimates["top5"].value) == (0.7, 0.9)
    top1 = estimates["top1"]
    assert (top1.low, top1.high) == wilson_interval(70, 100)
    assert (top1.n, top1.method, top1.seed, top1.level) == (100, "wilson", None, 0.95)


def test_other_figures_are_drawn_again_as_scipy_does():
    losses = np.random.default_rng(0).exponential(size=200).tolist()
    estimate = estimate_accuracy(LOSS, losses, seed=7)["loss"]
    expected = stats.bootstrap(
        (losses,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    width = expected.high - expected.low
    assert estimate.value == pytest.approx(np.mean(losses))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected), abs=width / 8)
    assert (estimate.method, estimate.seed, estimate.n) == ("bootstrap", 7, 200)
    assert estimate_accuracy(LOSS, losses, seed=7)["loss"] == estimate
    assert estimate_accuracy(LOSS, losses, seed=8)["loss"] != estimate


def test_drawn_intervals_cover_as_often_as_they_say():
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(150):
        estimate = estimate_accuracy(LOSS, random.normal(1, 0.5, 60).tolist())["loss"]
        covered += estimate.low <= 1 <= estimate.high
    assert stats.binomtest(covered, 150, 0.94).pvalue > 0.01
    # The control: half of its width covers far less often.
    half = 0
    for _ in range(150):
        estimate = estimate_accuracy(LOSS, random.normal(1, 0.5, 60).tolist())["loss"]
        half += abs(estimate.value - 1) <= (estimate.high - estimate.low) / 4
    assert stats.binomtest(half, 150, 0.94).pvalue < 1e-6


def test_draws_without_a_figure_are_left_out():
    """With one yes among five, a third of the draws has none."""
    metric = make_metric("ROC", "", {})
    outcomes = [[0.9, 1], [0.1, 0], [0.2, 0], [0.95, 0], [0.3, 0]]
    estimate = estimate_accuracy(metric, outcomes)["roc_auc"]
    assert 0 <= estimate.low < 0.75 == estimate.value < estimate.high <= 1
    nothing = estimate_accuracy(metric, [[0.1, 0], [0.2, 0]])["roc_auc"]
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


def test_parts_of_one_question_are_drawn_together():
    metric = make_metric("SquadF1", "", {})
    parts = [[f"q{at // 4}", at % 4, float(at % 8 == 3), 0] for at in range(400)]
    estimate = estimate_accuracy(metric, parts)["f1"]
    assert (estimate.value, estimate.n) == (0.5, 100)
    # As wide as that of 100 independent halves.
    assert estimate.high - estimate.low == pytest.approx(0.196, abs=0.03)


def test_one_sample_has_no_interval_to_draw():
    with pytest.raises(ValueError, match="at least 2 samples, not 1"):
        estimate_accuracy(LOSS, [1.0])
    with pytest.raises(ValueError, match="3 of 2 is no share"):
        wilson_interval(3, 2)


# ---------------------------------------------------------------- two models


@pytest.mark.parametrize(
    ("only_a", "only_b"), [(0, 0), (0, 1), (3, 3), (2, 9), (40, 25), (500, 600)]
)
def test_mcnemar_is_scipys_binomial_test_with_half_of_the_equal_case(only_a, only_b):
    n, fewer = only_a + only_b, min(only_a, only_b)
    expected = 2 * stats.binom.cdf(fewer - 1, n, 0.5) + stats.binom.pmf(fewer, n, 0.5)
    assert mcnemar_p(only_a, only_b) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p(only_b, only_a) == mcnemar_p(only_a, only_b)
    if only_a != only_b:
        exact = stats.binomtest(fewer, n).pvalue
        assert mcnemar_p(only_a, only_b) == pytest.approx(exact - stats.binom.pmf(fewer, n, 0.5))


def test_mcnemar_of_many_samples_is_quick_and_exact():
    assert mcnemar_p(10_000, 10_300) == pytest.approx(stats.chi2.sf(300**2 / 20_300, 1), rel=1e-3)
    assert mcnemar_p(0, 5000) == 0.0


@pytest.mark.parametrize(
    ("only_a", "only_b", "n"), [(2, 9, 44), (0, 0, 30), (0, 5, 5), (60, 40, 1000)]
)
def test_tango_holds_the_differences_that_a_score_test_does_not_reject(only_a, only_b, n):
    """Each difference is tested with the likeliest shares, found by trying."""

    def score(difference):
        """Where the likelihood of the three kinds of samples is highest, given the difference."""
        share = np.linspace(max(0, -difference), (1 - difference) / 2, 200_001)[1:-1]
        likelihood = (
            only_a * np.log(share)
            + only_b * np.log(np.maximum(share + difference, 1e-300))
            + (n - only_a - only_b) * np.log(np.maximum(1 - 2 * share - difference, 1e-300))
        )
        best = share[likelihood.argmax()]
        variance = n * (2 * best + difference - difference**2)
        return (only_b - only_a - n * difference) / np.sqrt(variance)

    low, high = tango_interval(only_a, only_b, n)
    assert low < (only_b - only_a) / n <= high
    assert score(low) == pytest.approx(1.96, abs=0.01)
    if high < 1:
        assert score(high) == pytest.approx(-1.96, abs=0.01)


def test_tango_of_a_published_table():
    """Altman's 21 children, of whom 7 changed one way and 1 the other, as in Tango (1998)."""
    assert tango_interval(7, 1, 21) == pytest.approx((-0.517, -0.026), abs=5e-4)


def test_tango_agrees_with_mcnemars_score_about_zero():
    for only_a in range(12):
        for only_b in range(12):
            low, high = tango_interval(only_a, only_b, 60)
            if only_a + only_b:
                z = abs(only_a - only_b) / np.sqrt(only_a + only_b)
                assert (low <= 0 <= high) == (z <= 1.959964)


def pairs(random, n, *, drop=0.0, differ=0.06):
    """Two models that are right on most samples, and differ on some; B is worse by ``drop``."""
    kind = random.random(n)
    only_a = kind < differ / 2 + drop / 2
    only_b = (kind >= 0.5) & (kind < 0.5 + differ / 2 - drop / 2)
    both = random.random(n) < 0.8
    return np.where(only_a, 1, np.where(only_b, 0, both)), np.where(
        only_a, 0, np.where(only_b, 1, both)
    )


def test_the_same_model_twice_is_rarely_called_different_and_never_more_than_nominal():
    """Five percent are; ten where one looks only to the side that came out better."""
    random = np.random.default_rng(11)
    alarms = outside = one_sided = 0
    for _ in range(2000):
        difference = compare_hits(*pairs(random, 600))
        alarms += difference.p < 0.05
        one_sided += difference.p / 2 < 0.05
        outside += not difference.low <= 0 <= difference.high
    nominal = range(int(0.03 * 2000), int(0.062 * 2000))
    assert alarms in nominal
    assert outside in nominal
    assert one_sided not in nominal  # the control


def test_intervals_of_differences_cover_as_often_as_they_say():
    random = np.random.default_rng(5)
    covered = sum(
        (difference := compare_hits(*pairs(random, 400, drop=0.02))).low <= -0.02 <= difference.high
        for _ in range(2000)
    )
    assert 0.938 * 2000 < covered < 0.965 * 2000


def test_a_drop_of_one_point_is_found_in_five_thousand_samples():
    random = np.random.default_rng(2)
    missed = sum(compare_hits(*pairs(random, 5000, drop=0.01)).p >= 0.05 for _ in range(200))
    # 300 samples differ; 50 more on one side are 2.9 standard errors: 82 percent are found.
    assert missed < 60
    sure = sum(
        compare_hits(*pairs(random, 5000, drop=0.01, differ=0.02)).p >= 0.05 for _ in range(200)
    )
    assert sure == 0


def test_samples_are_compared_one_by_one():
    a, b = [0] * 90 + [7] * 10, [0] * 80 + [2] * 10 + [7] * 10
    differences = compare_accuracy(TOPK, a, b)
    assert list(differences) == ["top1", "top5"]
    top1 = differences["top1"]
    assert (top1.value, top1.only_a, top1.only_b, top1.n) == (-0.1, 10, 0, 100)
    assert top1.p == pytest.approx(2**-10)
    assert (top1.method, top1.seed) == ("mcnemar", None)
    assert top1.low < -0.1 < top1.high < 0
    assert (differences["top5"].value, differences["top5"].p) == (0, 1)


def test_what_is_no_share_is_drawn_in_pairs():
    """Both have the same hard samples: unpaired, their difference would drown in them."""
    random = np.random.default_rng(0)
    hard = random.exponential(5, 300)
    a, b = hard.tolist(), (hard + random.normal(0.1, 0.3, 300)).tolist()
    difference = compare_accuracy(LOSS, a, b, seed=3)["loss"]
    assert 0 < difference.low < difference.value < difference.high < 0.2
    assert difference.p < 0.01
    assert (difference.method, difference.seed, difference.n) == ("bootstrap", 3, 300)
    backwards = compare_accuracy(LOSS, b, a, seed=3)["loss"]
    assert (backwards.low, backwards.high) == pytest.approx((-difference.high, -difference.low))
    shuffled = compare_accuracy(LOSS, a, random.permutation(b).tolist(), seed=3)["loss"]
    assert shuffled.low < 0 < shuffled.high


def test_drawn_pairs_raise_nominal_false_alarms():
    random = np.random.default_rng(8)
    alarms = 0
    for _ in range(150):
        hard = random.exponential(1, 60)
        a, b = ((hard + random.normal(0, 0.3, 60)).tolist() for _ in range(2))
        alarms += compare_accuracy(LOSS, a, b)["loss"].p < 0.05
    assert 1 <= alarms <= 17


def test_a_model_does_not_differ_from_itself():
    same = compare_accuracy(LOSS, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])["loss"]
    assert (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)
    hits = compare_accuracy(ACCURACY, [1, 0, 1], [1, 0, 1])["accuracy"]
    assert (hits.value, hits.p) == (0, 1)
    assert hits.low < 0 < hits.high  # three samples say little


def test_other_samples_cannot_be_compared():
    with pytest.raises(ValueError, match="the same samples, not 2 and 3"):
        compare_accuracy(LOSS, [1.0, 2.0], [1.0, 2.0, 3.0])
