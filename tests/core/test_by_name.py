"""Percentiles as the endpoint tells them."""

from typing import Any

import pytest

from modeldyno.core.documents.by_name import percentiles
from modeldyno.core.documents.latency import LatencyDocument
from modeldyno.core.results import Estimate, Latency, Tail


def told(samples: int, p95: Tail, p99: Tail) -> dict[str, Any]:
    typical = Estimate(0.002, 0.0019, 0.0021, 0.95, samples, "samples")
    latency = Latency(typical, typical, 0.002, 0.0, 0.001, p95, p95, p99, 0.0, 0.004)
    return percentiles(LatencyDocument.of(latency, samples), samples)


def known(quantile: float, value: float) -> Tail:
    return Tail(quantile, value, value, value, None)


def unknown(quantile: float, needed: int) -> Tail:
    return Tail(quantile, None, None, None, needed)


def test_what_enough_samples_tell_is_told_without_a_note():
    assert told(1000, known(0.95, 0.003), known(0.99, 0.0035)) == {
        "p50_ms": 2.0,
        "p95_ms": 3.0,
        "p99_ms": 3.5,
        "percentiles_note": None,
    }


@pytest.mark.parametrize("samples", [6, 100])
def test_what_too_few_cannot_tell_is_null_with_how_many_it_takes(samples):
    assert told(samples, known(0.95, 0.003), unknown(0.99, 368)) == {
        "p50_ms": 2.0,
        "p95_ms": 3.0,
        "p99_ms": None,
        "percentiles_note": f"p99 needs 368 iterations; there were {samples}",
    }


def test_five_samples_do_not_even_tell_a_median():
    found = told(5, unknown(0.95, 72), unknown(0.99, 368))
    assert found["p50_ms"] is None
    assert found["percentiles_note"] == (
        "p50 needs 6 iterations, p95 needs 72 iterations, p99 needs 368 iterations; there were 5"
    )
