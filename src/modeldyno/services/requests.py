"""From requests to complete specs: what needs the machine, its files or the engines' catalogue."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core.cell_axes import COUNTS
from modeldyno.core.conversions import GOALS, SUFFIXES, Goal
from modeldyno.core.errors import BadValue, ModelNotFound
from modeldyno.core.models import Architecture
from modeldyno.core.names import find_similar_names
from modeldyno.core.requests import axes
from modeldyno.core.requests.checking import require_valid
from modeldyno.core.requests.measuring import (
    USUAL_WARMUP,
    BenchmarkRequest,
    CellRequest,
    ConversionRequest,
    ModelFile,
    PairingRequest,
    ProfileRequest,
    SideRequest,
    budget_of,
)
from modeldyno.core.requests.texts import parse_input, side_with, split_side
from modeldyno.core.sessions import OptionValue
from modeldyno.core.specs import (
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    ConversionSpec,
    GraphSpec,
    InspectionSpec,
    ModelSpec,
    ProfileSpec,
    RunSpec,
    SideSpec,
)
from modeldyno.engines import catalog
from modeldyno.formats.tensorflow import FILE as SAVED_MODEL

Model = ModelFile | str | Path


def make_benchmark_spec(request: BenchmarkRequest, model: Model) -> BenchmarkSpec:
    require_valid(request)
    iterations, warmup = request.iterations, request.warmup
    budget = budget_of(request.budget)
    if iterations is not None:
        if iterations < 2 and max(request.instances) > 1:
            raise BadValue(
                f"iterations of several instances must be at least 2, not {iterations}",
                why="a single call does not show how they share the machine",
            )
        budget = replace(budget, processes=1, sessions_per_process=1)
        warmup = USUAL_WARMUP if warmup is None else warmup
    return BenchmarkSpec(
        model=_make_model_spec(model, request),
        cells=make_cell_specs(request),
        budget=budget,
        iterations=iterations,
        warmup_calls=warmup,
        per_call=request.per_call,
        **_limit_fields(request),
    )


def require_no_settings(given: Iterable[object], option: str = "--resume") -> None:
    """A stopped benchmark resumes with the settings it has, and a file has them all: no model and
    no setting may be ``given`` as well."""
    if any(given):
        raise BadValue(
            f"{option} takes no model and no settings",
            why="the run knows its own" if option == "--resume" else "the file has its own",
            fix=f"Leave them out, or leave {option} out",
        )


def require_resumable(spec: RunSpec) -> BenchmarkSpec:
    if not isinstance(spec, BenchmarkSpec):
        raise BadValue("Only a benchmark can be resumed", fix="Measure it again from the start")
    return spec


def make_comparison_spec(
    a: Model, b: Model, common: SideRequest, pairing: PairingRequest
) -> ComparisonSpec:
    """``a`` and ``b`` may carry options of their own: ``m.onnx@cores=2``."""
    first, second = (_parse_side(side, common) for side in (a, b))
    return make_comparison_of_sides(first, second, pairing)


def make_sides(words: Iterable[Model], common: SideRequest) -> tuple[SideSpec, ...]:
    return tuple(_parse_side(word, common) for word in words)


def make_comparison_of_sides(a: SideSpec, b: SideSpec, pairing: PairingRequest) -> ComparisonSpec:
    require_valid(pairing)
    if a.cell.contract != b.cell.contract:
        raise BadValue(
            "The two sides have different call contracts",
            why="a hot call and an ordinary one are different things to measure",
            fix="Give both sides the same contract",
        )
    budget = budget_of(pairing.budget)
    return ComparisonSpec(
        a=a,
        b=b,
        margin=pairing.margin,
        seconds=budget.seconds,
        processes={"quick": 1, "thorough": 6}.get(budget.name, 3),
        pair_s=min(0.25, budget.session_s),
        pairs=pairing.pairs,
        adaptive=pairing.adaptive,
        **_limit_fields(pairing),
    )


def make_profile_spec(request: ProfileRequest, model: Model) -> ProfileSpec:
    require_valid(request)
    return ProfileSpec(
        model=_make_model_spec(model, request),
        cell=make_cell_specs(request)[0],
        repeats=request.repeats,
        **_limit_fields(request),
    )


def make_inspection_spec(
    model: str | Path, timeout_s: float = 60.0, signature: str = ""
) -> InspectionSpec:
    return InspectionSpec(*_reading_limits(model, timeout_s, signature))


def make_graph_spec(model: str | Path, timeout_s: float = 60.0, signature: str = "") -> GraphSpec:
    return GraphSpec(*_reading_limits(model, timeout_s, signature))


def _reading_limits(
    model: str | Path, timeout_s: float, signature: str
) -> tuple[ModelSpec, float, int]:
    require_valid(PairingRequest(timeout_s=timeout_s))
    spec = ModelSpec(str(model_path(model)), signature=signature)
    return spec, timeout_s, default_memory_limit()


def make_conversion_spec(
    request: ConversionRequest, model: Model, output: str | Path | None = None
) -> ConversionSpec:
    """``output``: beside the model, under its name, unless said."""
    goal = parse_goal(request.to)
    require_valid(request)
    spec = _make_model_spec(model, request)
    path = Path(spec.path)
    suffix = SUFFIXES[goal]
    # A SavedModel is its folder, as people see it.
    source = path.parent if path.name == SAVED_MODEL else path.with_suffix("")
    place = source.with_name(source.name + suffix) if output is None else Path(output).expanduser()
    if place.suffix != suffix:
        raise BadValue(
            f"{GOALS[goal]} files are called {suffix}, not {place.suffix or place.name!r}",
            fix=f"Use --output {place.with_suffix(suffix)}",
        )
    check_folder(place)
    return ConversionSpec(
        model=spec, to=goal, output=str(place.absolute()), **_limit_fields(request)
    )


def parse_goal(to: str) -> Goal:
    for goal in GOALS:
        if to == goal:
            return goal
    raise BadValue(f"Models cannot be converted to {to!r}", fix=f"Use one of {', '.join(GOALS)}")


def make_cell_specs(request: CellRequest) -> tuple[CellSpec, ...]:
    require_valid(request)
    values = axes.axis_choices(request)
    require_cores(values["cores"])
    engines = values.get("engines", ())
    values["engines"] = tuple(_expand_engine_names(engines))
    call: dict[str, Any] = {
        "spinning": request.spinning,
        "contract": request.contract,
        "options": require_known_options(request.options),
        "sandbox": request.sandbox,
    }
    # If requested: engines that lack what an axis takes are measured with its usual value.
    optional = [
        axis
        for axis in COUNTS
        if axis.capability and len(engines) > 1 and axis.usual in values.get(axis.field, ())
    ]
    cells = tuple(
        CellSpec(**combination, **call)
        for combination in axes.combinations(values)
        if all(
            combination[axis.name] == axis.usual
            or getattr(catalog.find(combination["engine"]), axis.capability)
            for axis in optional
        )
    )
    if len(cells) > axes.MOST_CELLS:
        raise BadValue(f"{len(cells)} cells are too many", fix=f"Stay below {axes.MOST_CELLS}")
    return cells


def _expand_engine_names(names: Sequence[str]) -> list[str]:
    """One engine must be there; of several, one that is not fails its own cells."""
    if len(names) < 2:
        return [catalog.require_usable(name).name for name in names]
    return [catalog.find(name).name for name in names]


def model_path(model: str | Path) -> Path:
    try:
        path = Path(model).expanduser()
        if path.is_dir() and (path / SAVED_MODEL).is_file():
            path = path / SAVED_MODEL
        if path.exists():
            return path.resolve()
        folder = path.parent if path.parent.is_dir() else Path()
        names = [entry.name for entry in folder.iterdir() if entry.suffix]
    except (OSError, RuntimeError) as error:  # a folder we may not enter, ~nobody, 5000 letters
        why = getattr(error, "strerror", None) or str(error)
        raise ModelNotFound(f'Cannot look for "{str(model)[:200]}"', why=why) from error
    close = find_similar_names(path.name, names)
    raise ModelNotFound(
        f'No model file named "{model}"',
        fix=f"Did you mean {folder / close[0]}?" if close else "Give the path of a model file",
    )


def _list_engine_options() -> list[str]:
    return [name for entry in catalog.entries() for name in entry.options]


def _parse_side(model: Model, common: SideRequest) -> SideSpec:
    file = _to_model_file(model)
    path, words = split_side(file.path, _list_engine_options())
    return make_side_spec(str(file.path), replace(file, path=path), side_with(common, words))


def make_side_spec(label: str, model: Model, request: SideRequest) -> SideSpec:
    cell = make_cell_specs(request)[0]
    return SideSpec(label, _make_model_spec(model, request), cell)


def _to_model_file(model: Model) -> ModelFile:
    return model if isinstance(model, ModelFile) else ModelFile(model)


def _make_model_spec(model: Model, request: CellRequest | ConversionRequest) -> ModelSpec:
    file = _to_model_file(model)
    path = model_path(file.path)
    data = None
    if file.data is not None:
        given = Path(file.data).expanduser()
        if not given.is_file():
            raise ModelNotFound(f'No data file named "{file.data}"', fix="Give an .npz file")
        data = str(given.resolve())
    architecture = parse_architecture(file.architecture, file.arguments)
    if architecture is not None and file.architecture_folder is not None:
        architecture = replace(architecture, folder=file.architecture_folder)
    return ModelSpec(
        str(path),
        axes.shared_sizes(request.dims),
        dict(request.values),
        data,
        inputs=tuple(parse_input(text) for text in request.inputs),
        architecture=architecture,
        signature=request.signature or "",
    )


def parse_architecture(name: str | None, arguments: Mapping[str, Any]) -> Architecture | None:
    """What builds a checkpoint's model, searched for where we are; raises BadValue."""
    if name is None:
        if arguments:
            raise BadValue(
                "There are arguments, but no architecture that takes them",
                fix="Use --architecture package.module:factory",
            )
        return None
    module, colon, factory = name.partition(":")
    names = [*module.split("."), *factory.split(".")]
    if not colon or not all(part.isidentifier() for part in names):
        raise BadValue(
            f"Cannot read the architecture {name!r}",
            fix="Write --architecture package.module:factory",
        )
    return Architecture(name, dict(arguments), folder=str(Path.cwd()))


def require_known_options(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The same; raises BadValue for a name that no engine takes."""
    known = sorted(set(_list_engine_options()))
    for key in options:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise BadValue(
                f"No engine has an option {key!r}",
                why=f"options are {', '.join(known)}",
                fix=f"Did you mean {close[0]}?" if close else "See docs/engines.md",
            )
    return dict(options)


def check_folder(file: Path | None) -> None:
    """Better to hear now than after ten minutes that a file cannot be written there."""
    if file is not None and not file.parent.is_dir():
        raise BadValue(f"Cannot write {file}", why=f"there is no folder {file.parent}")


def default_memory_limit() -> int:
    """Nine tenths of what the machine has: an engine that wants more fails alone."""
    from modeldyno.measure.host import memory_bytes

    return int(0.9 * memory_bytes())


def require_cores(cores: Sequence[int]) -> None:
    """Raises BadValue for more than there are."""
    from modeldyno.measure.cpus import allowed_cpus

    available = len(allowed_cpus())
    for count in cores:
        if count > available:
            raise BadValue(
                f"This machine has no {count} cores to offer",
                why=f"we may use {available}",
                fix=f"Use --cores {available} or fewer",
            )


def _limit_fields(
    request: BenchmarkRequest | PairingRequest | ProfileRequest | ConversionRequest,
) -> dict[str, Any]:
    return {
        "timeout_s": request.timeout_s,
        "memory_limit_bytes": request.memory_limit_bytes or default_memory_limit(),
        "seed": request.seed,
    }
