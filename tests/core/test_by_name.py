"""Percentiles as the endpoint tells them."""

from dataclasses import replace
from typing import Any

import pytest

from modeldyno.core.documents.benchmark_by_name import NamedPlace, measured_by_name, percentiles
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.figures import Figure, LatencyDocument
from modeldyno.core.ids import BenchmarkId, JobId, RunId
from modeldyno.core.results import Estimate, Latency, Tail
from tests.values import cell


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


def test_an_answer_is_made_of_a_kept_document_and_a_place():
    typical = Estimate(0.002, 0.0019, 0.0021, 0.95, 1000, "samples")
    tails = known(0.95, 0.003), known(0.99, 0.0035)
    latency = Latency(typical, typical, 0.002, 0.0, 0.001, tails[0], *tails, 0.0, 0.004)
    measured = replace(
        cell(3),
        notes=("guessed: --dim seq=16",),
        input_shapes={"x": (1, 4)},
        latency_ms=LatencyDocument.of(latency, 1000),
        throughput_per_s=Figure(value=500.0),
        samples=1000,
    )
    place = NamedPlace(
        framework="Scripted",
        device="cpu:0",
        parameters=15,
        model_name="m.json",
        model_path="models/exported/m.json",
        run_id=RunId("20261115-120000-abcdef"),
        benchmark_id=BenchmarkId(4),
        job_id=JobId(5),
    )
    answer = measured_by_name(CellDocument.read(json_text(measured)), place)
    assert answer == measured_by_name(measured, place)
    assert (answer["device"], answer["effective_device"]) == ("cpu:0", "cpu")
    assert (answer["parameters"], answer["input_shape"]) == (15, [1, 4])
    assert (answer["avg_inference_time_ms"], answer["p99_ms"]) == (2.0, 3.5)
    assert answer["throughput_samples_per_sec"] == 500.0
    assert answer["note"] == "guessed: dim=seq=16"
