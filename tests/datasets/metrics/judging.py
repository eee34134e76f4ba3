"""Judge answers as an evaluation does: batch by batch, outcomes kept as JSON."""

import json

import numpy as np

from modeldyno.datasets.catalog import make_metric


def outcomes_of(metric, outputs, labels, batch=16):
    outcomes = []
    for start in range(0, len(labels), batch):
        part = [output[start : start + batch] for output in outputs]
        outcomes += metric.judge(part, labels[start : start + batch])
    assert len(outcomes) == len(labels)
    return json.loads(json.dumps(outcomes, allow_nan=False))


def figures(name, outputs, labels, batch=16, framework="", **parameters):
    """The same whatever the size of a batch."""
    if isinstance(outputs, np.ndarray):
        outputs = [outputs]
    metric = make_metric(name, framework, parameters)
    result = dict(metric.summarize(outcomes_of(metric, outputs, labels, batch)))
    for other in (1, 7, len(labels)):
        assert dict(metric.summarize(outcomes_of(metric, outputs, labels, other))) == result
    assert all(type(value) is float for value in result.values())
    return result


def scores(samples=101, classes=10, seed=0):
    return np.random.default_rng(seed).normal(size=(samples, classes)).astype(np.float32)


def classes(samples=101, classes=10, seed=1):
    return np.random.default_rng(seed).integers(0, classes, samples).tolist()
