"""What ``import modeldyno`` offers: the terminal's commands as functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from modeldyno.core.conversions import ConversionResult
from modeldyno.core.graphs import Graph
from modeldyno.core.jobs import JobMessage
from modeldyno.core.models import ModelFacts
from modeldyno.core.rankings import Ranking
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    ConversionRequest,
    PairingRequest,
    ProfileRequest,
    SideRequest,
)
from modeldyno.core.requests.texts import (
    ConvertWords,
    LocalBenchmarkWords,
    LocalCompareWords,
    LocalProfileWords,
    LocalRankWords,
    file_of,
    request_of,
    takes,
)
from modeldyno.core.results import BenchmarkResult, ComparisonResult, ProfileResult
from modeldyno.services import rankings, requests
from modeldyno.settings import Settings
from modeldyno.workbench import Workbench, open_workbench

Listener = Callable[[JobMessage], None]

_workbenches: dict[Settings, Workbench] = {}


@takes(LocalBenchmarkWords, BenchmarkRequest)
def bench(
    model: str | Path,
    *,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
    **words: Unpack[LocalBenchmarkWords],
) -> BenchmarkResult:
    """Measure a model; ``budget`` is seconds per cell, ``listen`` hears of progress.

    ``engine``, ``device``, ``precision`` and what is counted (``batch``, ``cores`` …) take one
    value or several; every combination is a cell.

    ``inputs`` describes what a TorchScript file or checkpoint takes, as
    ``["x=float32[1,3,224,224]"]``; ``architecture`` and ``arguments`` build a checkpoint's model;
    ``options`` are the engine's own, as ``{"compile": True}``; ``signature`` is that of a
    SavedModel.

    Ctrl-C stops the measurement and returns what was measured until then.
    """
    request = request_of(BenchmarkRequest, words)
    spec = requests.make_benchmark_spec(request, file_of(model, words))
    result: BenchmarkResult = _workbench(workspace).service.run(spec, listen)
    return result


@takes(LocalCompareWords, SideRequest, PairingRequest)
def compare(
    a: str | Path,
    b: str | Path,
    *,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
    **words: Unpack[LocalCompareWords],
) -> ComparisonResult:
    """Is B slower than A? Sides may carry options: ``"m.onnx@cores=2"``, and a
    signature, ``"folder@signature=encode"``."""
    sides = file_of(a, words), file_of(b, words)
    common, pairing = request_of(SideRequest, words), request_of(PairingRequest, words)
    spec = requests.make_comparison_spec(*sides, common, pairing)
    result: ComparisonResult = _workbench(workspace).service.run(spec, listen)
    return result


@takes(LocalRankWords, SideRequest, PairingRequest)
def rank(
    *models: str | Path,
    engine: str = "all",
    workspace: str | Path | None = None,
    listen: Listener | None = None,
    **words: Unpack[LocalRankWords],
) -> Ranking:
    """Which is fastest, each compared with the first; in all engines that can run it, or in one.

    Sides may carry options, as in ``compare``. What cannot be told apart shares a place; one that
    fails says why and spoils no other. Ctrl-C returns what was measured until then.
    """
    in_all = engine == "all"
    return rankings.rank_models(
        [file_of(model, words) for model in models],
        request_of(SideRequest, words, engine=None if in_all else engine),
        request_of(PairingRequest, words),
        _workbench(workspace).service,
        listen,
        in_all=in_all,
    )


@takes(LocalProfileWords, ProfileRequest)
def profile(
    model: str | Path,
    *,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
    **words: Unpack[LocalProfileWords],
) -> ProfileResult:
    """Where a model spends its time: ``rows`` by node, which with ``outside_s`` add up to
    ``latency_s``. The words mean what they mean to ``bench``.

    Ctrl-C stops it and returns what was measured until then.
    """
    spec = requests.make_profile_spec(request_of(ProfileRequest, words), file_of(model, words))
    result: ProfileResult = _workbench(workspace).service.run(spec, listen)
    return result


@takes(ConvertWords, ConversionRequest)
def convert(
    model: str | Path,
    to: str,
    output: str | Path | None = None,
    *,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
    **words: Unpack[ConvertWords],
) -> ConversionResult:
    """The same network as ``onnx``, ``openvino`` or ``litert``, in the file ``output``, which is
    beside the model unless said. Raises WrongOutput when the two compute different things, and then
    nothing is kept."""
    request = request_of(ConversionRequest, words, to=to)
    spec = requests.make_conversion_spec(request, file_of(model, words), output)
    result = _workbench(workspace).service.run(spec, listen)
    assert isinstance(result, ConversionResult)
    return result


def inspect(model: str | Path, *, signature: str = "", timeout: float = 60.0) -> ModelFacts:
    """What is in a model file, read in a worker process; nothing of it is run."""
    spec = requests.make_inspection_spec(model, timeout, signature)
    result = _workbench(None).service.run(spec)
    assert isinstance(result, ModelFacts)
    return result


def graph(
    model: str | Path,
    *,
    signature: str = "",
    timeout: float = 60.0,
    workspace: str | Path | None = None,
) -> Graph:
    """A model's graph, read in a worker process; kept in the workspace for the next look."""
    return _workbench(workspace).graphs.graph(requests.make_graph_spec(model, timeout, signature))


def _workbench(workspace: str | Path | None) -> Workbench:
    """One for each settings: its supervisor thread must outlive the workers it starts."""
    settings = Settings.read(workspace)
    if settings not in _workbenches:
        _workbenches[settings] = open_workbench(settings)
    return _workbenches[settings]
