"""The controls are the tests that everybody uses, and the models are what they claim to be."""

import numpy as np
import onnx
import onnxruntime
import pytest
from scipy import stats

from modeldyno.selftest import synthetic_models
from modeldyno.selftest.controls import mann_whitney_p_value, quantile_ratio_interval


def test_the_control_is_the_mann_whitney_test_everybody_uses():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 30, 200).astype(float), rng.integers(0, 33, 250).astype(float)
    theirs = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=False)
    assert mann_whitney_p_value(a, b) == pytest.approx(theirs.pvalue)


def test_samples_that_are_all_alike_do_not_differ():
    assert mann_whitney_p_value(np.ones(5), np.ones(7)) == 1.0


def test_the_interval_by_samples_holds_when_samples_are_independent():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        a, b = rng.lognormal(0, 0.1, 300), rng.lognormal(0.02, 0.1, 300)
        low, high = quantile_ratio_interval(a, b, 0.1, 0.95)
        covered += low <= 0.02 <= high
    assert covered >= 180


@pytest.mark.slow
def test_models_are_the_same_bytes_every_time(tmp_path):
    for make in (
        synthetic_models.write_shortest,
        synthetic_models.write_short,
        synthetic_models.write_convnet,
        lambda f: synthetic_models.write_stack(f, 7),
    ):
        first = make(tmp_path).read_bytes()
        assert make(tmp_path).read_bytes() == first


def test_a_larger_stack_is_a_smaller_one_and_some_layers_more(tmp_path):
    smaller, larger = (
        onnx.load(synthetic_models.write_stack(tmp_path, layers)).graph for layers in (10, 12)
    )
    assert len(larger.node) == len(smaller.node) + 2
    weights = {weight.name: weight.raw_data for weight in larger.initializer}
    assert all(weights[weight.name] == weight.raw_data for weight in smaller.initializer)


@pytest.mark.parametrize(
    "make", [lambda f: synthetic_models.write_stack(f, 105), synthetic_models.write_convnet]
)
def test_values_neither_vanish_nor_explode(make, tmp_path):
    session = onnxruntime.InferenceSession(make(tmp_path), providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    (y,) = session.run(None, {"x": x})
    assert 0.1 < np.abs(y).mean() < 10
