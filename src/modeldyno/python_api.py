"""What ``import modeldyno`` offers: the terminal's commands as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from modeldyno.core.conversions import ConversionResult
from modeldyno.core.graphs import Graph
from modeldyno.core.jobs import JobMessage
from modeldyno.core.models import ModelFacts
from modeldyno.core.rankings import Ranking
from modeldyno.core.results import BenchmarkResult, ComparisonResult, ProfileResult
from modeldyno.core.sessions import OptionValue
from modeldyno.services import rankings, requests
from modeldyno.services.requests import CellOptions, InputOptions
from modeldyno.settings import Settings
from modeldyno.workbench import Workbench, open_workbench

Ints = int | Sequence[int]
Names = str | Sequence[str]
Listener = Callable[[JobMessage], None]

_workbenches: dict[Settings, Workbench] = {}


def bench(
    model: str | Path,
    *,
    engine: Names | None = None,
    batch: Ints = 1,
    cores: Ints = 1,
    instances: Ints = 1,
    streams: Ints = 1,
    device: Names = "cpu",
    precision: Names | None = None,
    contract: str = "api",
    spin: bool | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, float] | None = None,
    data: str | Path | None = None,
    inputs: Sequence[str] = (),
    architecture: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    signature: str = "",
    options: Mapping[str, OptionValue] | None = None,
    quick: bool = False,
    thorough: bool = False,
    budget: float | None = None,
    iterations: int | None = None,
    warmup: int | None = None,
    per_call: bool = False,
    timeout: float = 600.0,
    memory_limit: int | None = None,
    sandbox: str = "on",
    seed: int = 0,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
) -> BenchmarkResult:
    """Measure a model; ``budget`` is seconds per cell, ``listen`` hears of progress.

    ``engine``, ``batch``, ``cores``, ``instances``, ``streams``, ``device`` and ``precision`` take
    one value or several; every combination is a cell.

    ``inputs`` describes what a TorchScript file or checkpoint takes, as
    ``["x=float32[1,3,224,224]"]``; ``architecture`` and ``arguments`` build a checkpoint's model;
    ``options`` are the engine's own, as ``{"compile": True}``; ``signature`` is that of a
    SavedModel.

    Ctrl-C stops the measurement and returns what was measured until then.
    """
    cells = CellOptions(
        _names(engine),
        _ints(batch),
        _ints(cores),
        _ints(instances),
        _names(device),
        _names(precision),
        spin=spin,
        contract=contract,
        options=options or {},
        sandbox=sandbox,
        streams=_ints(streams),
    )
    spec = requests.benchmark_spec(
        model,
        cells,
        InputOptions(
            dims or {}, values or {}, data, inputs, architecture, arguments or {}, signature
        ),
        budget=requests.choose_budget(quick, thorough, budget),
        iterations=iterations,
        warmup=warmup,
        per_call=per_call,
        timeout_s=timeout,
        memory_limit_bytes=memory_limit,
        seed=seed,
    )
    result = _workbench(workspace).service.run(spec, listen)
    assert isinstance(result, BenchmarkResult)
    return result


def compare(
    a: str | Path,
    b: str | Path,
    *,
    engine: str | None = None,
    batch: int = 1,
    cores: int = 1,
    contract: str = "api",
    spin: bool | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, float] | None = None,
    data: str | Path | None = None,
    inputs: Sequence[str] = (),
    architecture: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    options: Mapping[str, OptionValue] | None = None,
    margin: float = 0.02,
    quick: bool = False,
    thorough: bool = False,
    budget: float | None = None,
    pairs: int | None = None,
    adaptive: bool = False,
    timeout: float = 600.0,
    memory_limit: int | None = None,
    sandbox: str = "on",
    seed: int = 0,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
) -> ComparisonResult:
    """Is B slower than A? Sides may carry options: ``"m.onnx@cores=2"``, and a
    signature, ``"folder@signature=encode"``."""
    cells = CellOptions(
        _names(engine),
        (batch,),
        (cores,),
        spin=spin,
        contract=contract,
        options=options or {},
        sandbox=sandbox,
    )
    spec = requests.comparison_spec(
        a,
        b,
        cells,
        InputOptions(dims or {}, values or {}, data, inputs, architecture, arguments or {}),
        margin=margin,
        budget=requests.choose_budget(quick, thorough, budget),
        pairs=pairs,
        adaptive=adaptive,
        timeout_s=timeout,
        memory_limit_bytes=memory_limit,
        seed=seed,
    )
    result = _workbench(workspace).service.run(spec, listen)
    assert isinstance(result, ComparisonResult)
    return result


def rank(
    *models: str | Path,
    engine: str = "all",
    batch: int = 1,
    cores: int = 1,
    contract: str = "api",
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, float] | None = None,
    data: str | Path | None = None,
    inputs: Sequence[str] = (),
    options: Mapping[str, OptionValue] | None = None,
    margin: float = 0.02,
    quick: bool = False,
    thorough: bool = False,
    budget: float | None = None,
    pairs: int | None = None,
    timeout: float = 600.0,
    memory_limit: int | None = None,
    sandbox: str = "on",
    seed: int = 0,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
) -> Ranking:
    """Which is fastest, each compared with the first; in all engines that can run it, or in one.

    Sides may carry options, as in ``compare``. What cannot be told apart shares a place; one that
    fails says why and spoils no other. Ctrl-C returns what was measured until then.
    """
    in_all = engine == "all"
    cells = CellOptions(
        () if in_all else (engine,),
        (batch,),
        (cores,),
        contract=contract,
        options=options or {},
        sandbox=sandbox,
    )
    how = {
        "margin": margin,
        "budget": requests.choose_budget(quick, thorough, budget),
        "pairs": pairs,
        "timeout_s": timeout,
        "memory_limit_bytes": memory_limit,
        "seed": seed,
    }
    given = InputOptions(dims or {}, values or {}, data, inputs)
    service = _workbench(workspace).service
    words = [str(model) for model in models]
    return rankings.ranked(words, cells, given, how, service, listen, in_all=in_all)


def profile(
    model: str | Path,
    *,
    engine: str | None = None,
    batch: int = 1,
    cores: int = 1,
    device: str = "cpu",
    precision: str | None = None,
    contract: str = "hot",
    spin: bool | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, float] | None = None,
    data: str | Path | None = None,
    inputs: Sequence[str] = (),
    architecture: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    signature: str = "",
    options: Mapping[str, OptionValue] | None = None,
    repeats: int = 5,
    timeout: float = 600.0,
    memory_limit: int | None = None,
    sandbox: str = "on",
    seed: int = 0,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
) -> ProfileResult:
    """Where a model spends its time: ``rows`` by node, which with ``outside_s`` add up to
    ``latency_s``. The words mean what they mean to ``bench``.

    Ctrl-C stops it and returns what was measured until then.
    """
    cells = CellOptions(
        _names(engine),
        (batch,),
        (cores,),
        device=(device,),
        precision=_names(precision),
        spin=spin,
        contract=contract,
        options=options or {},
        sandbox=sandbox,
    )
    spec = requests.profile_spec(
        model,
        cells,
        InputOptions(
            dims or {}, values or {}, data, inputs, architecture, arguments or {}, signature
        ),
        repeats=repeats,
        timeout_s=timeout,
        memory_limit_bytes=memory_limit,
        seed=seed,
    )
    result = _workbench(workspace).service.run(spec, listen)
    assert isinstance(result, ProfileResult)
    return result


def convert(
    model: str | Path,
    to: str,
    output: str | Path | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, float] | None = None,
    inputs: Sequence[str] = (),
    architecture: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    signature: str = "",
    timeout: float = 600.0,
    memory_limit: int | None = None,
    seed: int = 0,
    workspace: str | Path | None = None,
    listen: Listener | None = None,
) -> ConversionResult:
    """The same network as ``onnx``, ``openvino`` or ``litert``, in the file ``output``, which is
    beside the model unless said. Raises WrongOutput when the two compute different things, and then
    nothing is kept."""
    spec = requests.conversion_spec(
        model,
        to,
        output,
        InputOptions(
            dims or {}, values or {}, None, inputs, architecture, arguments or {}, signature
        ),
        timeout_s=timeout,
        memory_limit_bytes=memory_limit,
        seed=seed,
    )
    result = _workbench(workspace).service.run(spec, listen)
    assert isinstance(result, ConversionResult)
    return result


def inspect(model: str | Path, *, signature: str = "", timeout: float = 60.0) -> ModelFacts:
    """What is in a model file, read in a worker process; nothing of it is run."""
    spec = requests.inspection_spec(model, timeout, signature)
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
    return _workbench(workspace).graphs.graph(requests.graph_spec(model, timeout, signature))


def _workbench(workspace: str | Path | None) -> Workbench:
    """One for each settings: its supervisor thread must outlive the workers it starts."""
    settings = Settings.read(workspace)
    if settings not in _workbenches:
        _workbenches[settings] = open_workbench(settings)
    return _workbenches[settings]


def _ints(value: Ints) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _names(said: Names | None) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said or ())
