"""From what people type to complete specs: parsed once, with words for what is wrong."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from modeldyno.core.conversions import GOALS, SUFFIXES, Goal
from modeldyno.core.errors import BadValue, ModelNotFound
from modeldyno.core.models import Architecture, Dim, InputSpec
from modeldyno.core.near_misses import near_misses
from modeldyno.core.sandbox import Sandboxing
from modeldyno.core.sessions import CallContract, OptionValue
from modeldyno.core.specs import (
    DEFAULT,
    QUICK,
    THOROUGH,
    BenchmarkSpec,
    Budget,
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
from modeldyno.formats.saved_model import FILE as SAVED_MODEL

MOST_CELLS = 200
MOST_BATCH = 1_000_000_000  # no memory holds more, and no column of a database
MOST_INSTANCES = 256
MOST_ITERATIONS = 1_000_000  # of one call each: more would not fit into one message
MOST_STREAMS = 1024
MOST_REPEATS = 100  # of a profile
DTYPES = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_INPUT = re.compile(r"(.+)=([A-Za-z]\w*)\[([\w,]*)\]")
SIDE_OPTIONS = (
    *("engine", "batch", "cores", "spin", "contract", "device", "precision", "sandbox"),
    *("streams", "signature"),
)


@dataclass(frozen=True)
class CellOptions:
    """What may differ between cells; each axis may have several values."""

    engine: Sequence[str] = ()
    batch: Sequence[int] = (1,)
    cores: Sequence[int] = (1,)
    instances: Sequence[int] = (1,)
    device: Sequence[str] = ("cpu",)
    precision: Sequence[str] = ()  # empty: as the model has it
    spin: bool | None = None
    contract: str = "api"
    options: Mapping[str, OptionValue] = field(default_factory=dict)  # of the engine
    sandbox: str = "on"
    streams: Sequence[int] = (1,)


@dataclass(frozen=True)
class InputOptions:
    dims: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    data: str | Path | None = None
    inputs: Sequence[str] = ()  # "x=float32[1,3,224,224]"
    architecture: str | None = None  # "package.module:factory"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    signature: str = ""  # of a SavedModel; empty: the usual one


def benchmark_spec(
    model: str | Path,
    cells: CellOptions,
    inputs: InputOptions,
    *,
    budget: Budget = DEFAULT,
    iterations: int | None = None,
    warmup: int | None = None,
    per_call: bool = False,
    timeout_s: float = 600.0,
    memory_limit_bytes: int | None = None,
    seed: int = 0,
) -> BenchmarkSpec:
    path = model_path(model)
    if iterations is not None:
        _between(1, MOST_ITERATIONS, "iterations", iterations)
        if max(cells.instances, default=1) > 1:
            _at_least(2, "iterations of several instances", iterations)
        budget = replace(budget, processes=1, sessions_per_process=1)
    if warmup is not None:
        _at_least(0, "warmup", warmup)
    _positive("timeout", timeout_s)
    _at_least(0, "seed", seed)
    return BenchmarkSpec(
        model=_model_spec(path, inputs),
        cells=cell_specs(cells),
        budget=budget,
        iterations=iterations,
        warmup_calls=warmup if warmup is not None else (10 if iterations is not None else None),
        per_call=per_call,
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes or default_memory_limit(),
        seed=seed,
    )


def expect_no_settings(said: Sequence[object], option: str = "--resume") -> None:
    """A stopped benchmark goes on as it was asked for, and a file says all: no model, no setting
    may be ``said``."""
    if any(said):
        raise BadValue(
            f"{option} takes no model and no settings",
            why="the run knows its own" if option == "--resume" else "the file has its own",
            fix=f"Leave them out, or leave {option} out",
        )


def resumed_spec(spec: RunSpec) -> BenchmarkSpec:
    if not isinstance(spec, BenchmarkSpec):
        raise BadValue("Only a benchmark can be resumed", fix="Measure it again from the start")
    return spec


def comparison_spec(
    a: str | Path,
    b: str | Path,
    cells: CellOptions,
    inputs: InputOptions,
    *,
    margin: float = 0.02,
    budget: Budget = DEFAULT,
    pairs: int | None = None,
    adaptive: bool = False,
    fail_if_slower: float | None = None,
    timeout_s: float = 600.0,
    memory_limit_bytes: int | None = None,
    seed: int = 0,
) -> ComparisonSpec:
    return comparison_between(
        _said_side(a, cells, inputs),
        _said_side(b, cells, inputs),
        margin=margin,
        budget=budget,
        pairs=pairs,
        adaptive=adaptive,
        fail_if_slower=fail_if_slower,
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes,
        seed=seed,
    )


def said_sides(
    words: Sequence[str], cells: CellOptions, inputs: InputOptions
) -> tuple[SideSpec, ...]:
    return tuple(_said_side(word, cells, inputs) for word in dict.fromkeys(words))


def comparison_between(
    a: SideSpec,
    b: SideSpec,
    *,
    margin: float = 0.02,
    budget: Budget = DEFAULT,
    pairs: int | None = None,
    adaptive: bool = False,
    fail_if_slower: float | None = None,
    timeout_s: float = 600.0,
    memory_limit_bytes: int | None = None,
    seed: int = 0,
) -> ComparisonSpec:
    if not 0 < margin < 1:
        raise BadValue(
            f"A margin of {margin:g} makes no sense", fix="Give a share such as 2% or 0.02"
        )
    if pairs is not None:
        _at_least(2, "pairs", pairs)
    _positive("timeout", timeout_s)
    _at_least(0, "seed", seed)
    if a.cell.contract != b.cell.contract:
        raise BadValue(
            "The two sides have different call contracts",
            why="a hot call and an ordinary one are different things to measure",
            fix="Give both sides the same contract",
        )
    return ComparisonSpec(
        a=a,
        b=b,
        margin=margin,
        seconds=budget.seconds,
        processes={"quick": 1, "thorough": 6}.get(budget.name, 3),
        pair_s=min(0.25, budget.session_s),
        pairs=pairs,
        adaptive=adaptive,
        fail_if_slower=fail_if_slower,
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes or default_memory_limit(),
        seed=seed,
    )


def profile_spec(
    model: str | Path,
    cells: CellOptions | None = None,
    inputs: InputOptions | None = None,
    *,
    repeats: int = 5,
    timeout_s: float = 600.0,
    memory_limit_bytes: int | None = None,
    seed: int = 0,
) -> ProfileSpec:
    specs = cell_specs(cells or CellOptions(contract="hot"))
    if len(specs) != 1 or specs[0].instances != 1 or specs[0].streams != 1:
        raise BadValue(
            "A profile has one cell, of one instance and one stream",
            fix="Give one value each for engine, batch, cores, device and precision",
        )
    _between(1, MOST_REPEATS, "repeats", repeats)
    _positive("timeout", timeout_s)
    _at_least(0, "seed", seed)
    return ProfileSpec(
        model=_model_spec(model_path(model), inputs or InputOptions()),
        cell=specs[0],
        repeats=repeats,
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes or default_memory_limit(),
        seed=seed,
    )


def inspection_spec(
    model: str | Path, timeout_s: float = 60.0, signature: str = ""
) -> InspectionSpec:
    _positive("timeout", timeout_s)
    spec = ModelSpec(str(model_path(model)), signature=signature)
    return InspectionSpec(spec, timeout_s, default_memory_limit())


def graph_spec(model: str | Path, timeout_s: float = 60.0, signature: str = "") -> GraphSpec:
    _positive("timeout", timeout_s)
    spec = ModelSpec(str(model_path(model)), signature=signature)
    return GraphSpec(spec, timeout_s, default_memory_limit())


def conversion_spec(
    model: str | Path,
    to: str,
    output: str | Path | None = None,
    inputs: InputOptions | None = None,
    *,
    timeout_s: float = 600.0,
    memory_limit_bytes: int | None = None,
    seed: int = 0,
) -> ConversionSpec:
    """``output``: beside the model, under its name, unless said."""
    goal = parse_goal(to)
    path = model_path(model)
    _positive("timeout", timeout_s)
    _at_least(0, "seed", seed)
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
        model=_model_spec(path, inputs or InputOptions()),
        to=goal,
        output=str(place.absolute()),
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes or default_memory_limit(),
        seed=seed,
    )


def parse_goal(to: str) -> Goal:
    for goal in GOALS:
        if to == goal:
            return goal
    raise BadValue(f"Models cannot be converted to {to!r}", fix=f"Use one of {', '.join(GOALS)}")


def choose_budget(
    quick: bool = False, thorough: bool = False, seconds: float | None = None
) -> Budget:
    said = {"--quick": quick, "--thorough": thorough, "--budget": seconds is not None}
    first, *others = [name for name, given in said.items() if given] or [""]
    if others:
        raise BadValue(
            f"{first} and {others[0]} contradict each other",
            why=f"--quick is {QUICK.seconds:g} s, --thorough {THOROUGH.seconds:g} s",
            fix="Give one of them",
        )
    chosen = QUICK if quick else THOROUGH if thorough else DEFAULT
    if seconds is None:
        return chosen
    _positive("budget", seconds)
    return replace(chosen, name="custom", seconds=float(seconds))


def cell_specs(options: CellOptions) -> tuple[CellSpec, ...]:
    if options.contract not in get_args(CallContract):
        raise BadValue(
            f"There is no call contract {options.contract!r}",
            fix=f"Use one of {', '.join(get_args(CallContract))}",
        )
    if options.sandbox not in get_args(Sandboxing):
        raise BadValue(
            f"The sandbox cannot be {options.sandbox!r}",
            fix=f"Use one of {', '.join(get_args(Sandboxing))}",
        )
    numbers = {
        "batch": options.batch, "cores": options.cores, "instances": options.instances,
        "streams": options.streams,
    }  # fmt: skip
    for name, values in numbers.items():
        if not values:
            raise BadValue(f"No value for {name}", fix=f"Give one or several, such as --{name} 1,2")
        for value in values:
            _at_least(1, name, value)
    for value in options.batch:
        _between(1, MOST_BATCH, "batch", value)
    for value in options.instances:
        _between(1, MOST_INSTANCES, "instances", value)
    for value in options.streams:
        _between(1, MOST_STREAMS, "streams", value)
    if not options.device:
        raise BadValue("No value for device", fix="Give one or several, such as --device cpu,cuda")
    expect_cores(options.cores)
    cells = tuple(
        CellSpec(
            engine=engine,
            batch_size=batch,
            cores=cores,
            instances=instances,
            device=device,
            precision=precision,
            spinning=options.spin,
            contract=options.contract,  # type: ignore[arg-type]  # checked above
            options=dict(options.options),
            sandbox=options.sandbox,  # type: ignore[arg-type]  # checked above
            streams=streams,
        )
        for engine in dict.fromkeys(_engines(options.engine))
        for device in dict.fromkeys(options.device)
        for precision in dict.fromkeys(options.precision or (None,))
        for instances in dict.fromkeys(options.instances)
        for cores in dict.fromkeys(options.cores)
        for streams in _streams(engine, options)
        for batch in dict.fromkeys(options.batch)
    )
    if len(cells) > MOST_CELLS:
        raise BadValue(f"{len(cells)} cells are too many", fix=f"Stay below {MOST_CELLS}")
    return cells


def _streams(engine: str, options: CellOptions) -> list[int]:
    """Of several engines, those without streams are measured with one, where one was asked for."""
    wanted = list(dict.fromkeys(options.streams))
    if len(options.engine) < 2 or 1 not in wanted or catalog.find(engine).has_streams:
        return wanted
    return [1]


def _engines(names: Sequence[str]) -> list[str]:
    """One engine must be there; of several, one that is not fails its own cells."""
    if len(names) < 2:
        return [catalog.usable(name).name for name in names] or [""]
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
    close = near_misses(path.name, names)
    raise ModelNotFound(
        f'No model file named "{model}"',
        fix=f"Did you mean {folder / close[0]}?" if close else "Give the path of a model file",
    )


def split_side(text: str | Path) -> tuple[str, dict[str, str]]:
    """``m.onnx@cores=2,batch=8`` → the path and its options; a file may have an @ in its name."""
    whole = str(text)
    if "@" not in whole or _is_there(whole):
        return whole, {}
    path, _, options = whole.rpartition("@")
    pairs = [part.partition("=") for part in options.split(",") if part]
    for name, equals, _ in pairs:
        if not equals or name not in (*SIDE_OPTIONS, *_engine_options()):
            close = difflib.get_close_matches(name, SIDE_OPTIONS, n=1)
            raise BadValue(
                f"Cannot read {name!r} in {whole!r}",
                why=f"a side's options are {', '.join(SIDE_OPTIONS)}, as in m.onnx@cores=2",
                fix=f"Did you mean {close[0]}=…?" if close else "Write NAME=VALUE after the @",
            )
    return path, {name: value for name, _, value in pairs}


def _is_there(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError):
        return False


def _engine_options() -> list[str]:
    return [name for entry in catalog.entries() for name in entry.options]


def _said_side(text: str | Path, cells: CellOptions, inputs: InputOptions) -> SideSpec:
    path, said = split_side(text)
    options = replace(
        cells,
        engine=[said["engine"]] if "engine" in said else cells.engine,
        batch=[parse_int("batch", said["batch"])] if "batch" in said else cells.batch,
        cores=[parse_int("cores", said["cores"])] if "cores" in said else cells.cores,
        spin=parse_switch("spin", said["spin"]) if "spin" in said else cells.spin,
        contract=said.get("contract", cells.contract),
        device=[said["device"]] if "device" in said else cells.device,
        precision=[said["precision"]] if "precision" in said else cells.precision,
        options={
            **cells.options,
            **parse_options([f"{name}={said[name]}" for name in said if name not in SIDE_OPTIONS]),
        },
        sandbox=said.get("sandbox", cells.sandbox),
        streams=[parse_int("streams", said["streams"])] if "streams" in said else cells.streams,
    )
    inputs = replace(inputs, signature=said.get("signature", inputs.signature))
    return side_spec(str(text), path, options, inputs)


def side_spec(label: str, model: str | Path, cells: CellOptions, inputs: InputOptions) -> SideSpec:
    specs = cell_specs(cells)
    if len(specs) != 1:
        raise BadValue(
            "A comparison has one cell on each side",
            fix="Give one value each for engine, batch, cores, device and precision",
        )
    return SideSpec(label, _model_spec(model_path(model), inputs), specs[0])


def _model_spec(path: Path, inputs: InputOptions) -> ModelSpec:
    for name, value in inputs.dims.items():
        _at_least(1, f"dim {name}", value)
    data = None
    if inputs.data is not None:
        file = Path(inputs.data).expanduser()
        if not file.is_file():
            raise ModelNotFound(f'No data file named "{inputs.data}"', fix="Give an .npz file")
        data = str(file.resolve())
    return ModelSpec(
        str(path),
        dict(inputs.dims),
        dict(inputs.values),
        data,
        inputs=tuple(parse_input(text) for text in inputs.inputs),
        architecture=named_architecture(inputs.architecture, inputs.arguments),
        signature=inputs.signature,
    )


def named_architecture(name: str | None, arguments: Mapping[str, Any]) -> Architecture | None:
    """What builds a checkpoint's model, searched for where we are; raises BadValue."""
    if name is None:
        if arguments:
            raise BadValue(
                "There are arguments, but no architecture to give them to",
                fix="Say --architecture package.module:factory",
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


# ---------------------------------------------------------------- values


def parse_int(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadValue(f"{name} must be a whole number, not {text!r}") from None


def parse_ints(name: str, text: str) -> list[int]:
    """``1,8,32`` → [1, 8, 32]."""
    return [parse_int(name, part.strip()) for part in text.split(",") if part.strip()]


def parse_names(text: str | None) -> list[str]:
    """``onnxruntime, pytorch`` → ["onnxruntime", "pytorch"]."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def parse_switch(name: str, text: str) -> bool:
    if text not in ("on", "off"):
        raise BadValue(f"{name} is on or off, not {text!r}")
    return text == "on"


def choose_sandbox(none: bool, required: bool) -> str:
    if none and required:
        raise BadValue(
            "--no-sandbox and --require-sandbox contradict each other", fix="Give one of them"
        )
    return "off" if none else "required" if required else "on"


def parse_share(name: str, text: str) -> float:
    """``5%`` and ``0.05`` → 0.05. A bare ``5`` means 5% to most people and 500% to a computer."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (abs(value) >= 1 and not text.endswith("%")):
        raise BadValue(f"{name} must be a share such as 5% or 0.05, not {text!r}")
    return value


def parse_bytes(name: str, text: str) -> int:
    """``4G``, ``500M`` and plain bytes."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    number, unit = text.strip().upper().removesuffix("B"), 1
    if number and number[-1] in units:
        number, unit = number[:-1], units[number[-1]]
    try:
        value = int(float(number) * unit)
    except (ValueError, OverflowError):
        raise BadValue(f"{name} must be a size such as 4G or 500M, not {text!r}") from None
    _at_least(1, name, value)
    return value


def parse_pairs(name: str, texts: Sequence[str]) -> dict[str, str]:
    """``["batch=8", "seq=128"]`` or ``["batch=8,seq=128"]`` → a dictionary."""
    found: dict[str, str] = {}
    for text in (part for item in texts for part in item.replace(",", " ").split()):
        key, equals, value = text.rpartition("=")
        if not (equals and key and value):
            raise BadValue(f"Cannot read {text!r} after {name}", fix=f"Write {name} NAME=VALUE")
        found[key] = value
    return found


def parse_input(text: str) -> InputSpec:
    """``x=float32[1,3,224,224]``; a size may be a name, as in ``x=float32[batch,3,224,224]``."""
    match = _INPUT.fullmatch(text.replace(" ", ""))
    if match is None:
        raise BadValue(
            f"Cannot read {text!r} after --input",
            fix="Write --input NAME=TYPE[SIZES], for example --input x=float32[1,3,224,224]",
        )
    name, dtype, sizes = match.groups()
    if dtype not in DTYPES:
        close = difflib.get_close_matches(dtype, DTYPES, n=1)
        raise BadValue(
            f"There is no input type {dtype!r}",
            why=f"known types are {', '.join(DTYPES)}",
            fix=f"Did you mean {close[0]}?" if close else "Use one of those",
        )
    return InputSpec(name, dtype, tuple(_dim(part) for part in sizes.split(",") if part))


def _dim(text: str) -> Dim:
    if text.isidentifier():
        return text
    size = parse_int("a size in --input", text)
    _at_least(1, "a size in --input", size)
    return size


def parse_arguments(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """``["depth=50", "layers=[2,2]", "name=lite0"]``: JSON where it is JSON, else plain text."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.isidentifier()):
            raise BadValue(f"Cannot read {text!r} after {name}", fix=f"Write {name} NAME=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def parse_options(texts: Sequence[str]) -> dict[str, OptionValue]:
    """``["compile=on"]`` → {"compile": True}; only names that some engine takes."""
    found = parse_arguments("--option", texts)
    switched = {
        key: {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value
        for key, value in found.items()
    }
    return known_options(switched)


def known_options(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The same; raises BadValue for a name that no engine takes."""
    known = sorted(set(_engine_options()))
    for key in options:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise BadValue(
                f"No engine has an option {key!r}",
                why=f"options are {', '.join(known)}",
                fix=f"Did you mean {close[0]}?" if close else "See docs/engines.md",
            )
    return dict(options)


def parse_number(name: str, text: str) -> float:
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise BadValue(f"{name} must be a number, not {text!r}") from None


def check_folder(file: Path | None) -> None:
    """Better to hear now than after ten minutes that a file cannot be written there."""
    if file is not None and not file.parent.is_dir():
        raise BadValue(f"Cannot write {file}", why=f"there is no folder {file.parent}")


def default_memory_limit() -> int:
    """Nine tenths of what the machine has: an engine that wants more fails alone."""
    from modeldyno.measure.host import memory_bytes

    return int(0.9 * memory_bytes())


def expect_cores(cores: Sequence[int]) -> None:
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


def _at_least(least: int, name: str, value: float) -> None:
    if value < least:
        raise BadValue(f"{name} must be at least {least}, not {_shown(value)}")


def _between(least: int, most: int, name: str, value: float) -> None:
    _at_least(least, name, value)
    if value > most:
        raise BadValue(f"{name} must be at most {most}, not {_shown(value)}")


def _shown(value: float) -> str:
    try:
        return f"{value:g}"
    except OverflowError:  # a whole number may have any length
        return "a number that long"


def _positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise BadValue(f"{name} must be a number of seconds above 0, not {value:g}")
