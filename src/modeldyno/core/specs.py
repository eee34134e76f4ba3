"""What was requested, complete and frozen: enough to repeat a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from modeldyno.core.cell_axes import NESTED_NUMBERS, items_of
from modeldyno.core.conversions import Goal
from modeldyno.core.datasets import DatasetSpec
from modeldyno.core.documents.described import Described, Positive, Size
from modeldyno.core.models import Architecture, ExternalFile, InputSpec
from modeldyno.core.names import name_of_file
from modeldyno.core.optimization_settings import OptimizationType, TuningSettings
from modeldyno.core.sessions import CallContract, OptionValue, Sandboxing


@dataclass(frozen=True)
class Budget(Described):
    """How much time a cell may take, and when it is precise enough to stop earlier."""

    name: Literal["quick", "default", "thorough", "custom"]
    """Which preset."""
    seconds: Positive
    """Per cell, process starts included."""
    processes: Size
    """Fresh worker processes."""
    sessions_per_process: Size
    """At least; the last process goes on until the cell stops."""
    session_s: Positive
    """Measured time of one session, at least."""
    min_sessions: Size
    """Before the width rule may stop a cell."""
    floor_half_width: Positive | None
    """Relative half-width of the floor that counts as precise; null: never stop early."""
    typical_half_width: Positive | None
    """The same of the typical latency."""


QUICK = Budget("quick", 2.0, 1, 4, 0.1, 4, None, None)
DEFAULT = Budget("default", 10.0, 3, 4, 0.25, 8, 0.01, 0.02)
THOROUGH = Budget("thorough", 60.0, 5, 8, 0.5, 12, 0.005, 0.01)


@dataclass(frozen=True)
class CellSpec:
    """One configuration: a value for each axis (cell_axes.py), and how it is called."""

    engine: str = ""  # empty: the first usable engine that reads the model
    batch_size: int = 1
    cores: int = 1
    instances: int = 1
    device: str = "cpu"
    precision: str | None = None
    spinning: bool | None = None
    contract: CallContract = "api"
    sandbox: Sandboxing = "on"
    options: dict[str, OptionValue] = field(default_factory=dict)
    streams: int = 1  # requests that one call makes at the same time, inside the engine
    # Sizes of open dimensions, by name. Those that all cells share are in the model's spec.
    dims: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``onnxruntime · 2 cores · batch 8``: the values that are not defaults."""
        parts = [self.engine] if self.engine else []
        parts += [self.device] if self.device != "cpu" else []
        parts += [self.precision] if self.precision else []
        numbers = {
            axis.name: axis.words(value)
            for axis in NESTED_NUMBERS
            if (value := getattr(self, axis.name)) != axis.usual or axis.is_always_named
        }
        if numbers.pop("instances", None):
            numbers["cores"] = f"{self.instances} × {numbers['cores']}"
        return " · ".join((*parts, *filter(None, numbers.values())))

    @property
    def items(self) -> int:
        """Of one call, in all its streams."""
        return items_of(vars(self))


@dataclass(frozen=True)
class ModelSpec:
    """A model, and what the user specified about its inputs."""

    path: str
    dims: dict[str, int] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    data: str | None = None
    inputs: tuple[InputSpec, ...] = ()  # of files that do not declare any
    architecture: Architecture | None = None
    sha256: str | None = None  # the trusted content; None: whatever the file holds
    signature: str = ""  # of several ways to call it; empty: the default
    # All files that a job reads, by content: the model's own file, then its weights. Empty:
    # whatever is at the path, on the machine that runs the job.
    files: tuple[ExternalFile, ...] = ()
    data_file: ExternalFile | None = None  # what ``data`` names

    def feeding(self, cell: CellSpec) -> CellSpec:
        """The cell with all sizes of its inputs."""
        return replace(cell, dims=self.dims | cell.dims)


class RunSpec:
    """What the specs of all kinds have in common (``core/kinds.py``). Most are about one model."""

    kind: str
    model: ModelSpec
    memory_limit_bytes: int | None
    loads_model: ClassVar[bool] = True  # False: its file is only read
    is_kept: ClassVar[bool] = True  # False: it leaves no run
    unit: ClassVar[str] = "unit"  # what a run is made of, in a word

    def models(self) -> tuple[ModelSpec, ...]:
        return (self.model,)

    def with_models(self, change: Callable[[ModelSpec, int], ModelSpec]) -> Self:
        """``change`` gets each model and its place in ``models()``."""
        return replace(self, model=change(self.model, 0))  # type: ignore[type-var]  # a dataclass

    def with_cells(self, change: Callable[[CellSpec, int], CellSpec]) -> Self:
        """``change`` gets each cell, and the place of its model in ``models()``."""
        return self

    def configurations(self) -> tuple[CellSpec, ...]:
        """Every cell it measures, as requested, with all sizes."""
        return ()

    def cells_kept(self) -> int:
        """How many series of units it has: a benchmark has one per cell."""
        return 1

    def title(self) -> str:
        """``m.onnx``, or ``old.onnx against new.onnx``."""
        return name_of_file(self.model.path)

    def command(self, names: Sequence[str]) -> str:
        """The command that does the same, with these names of models; "" if there is none."""
        return ""

    def resume_command(self, run_id: str) -> str:
        """The command that resumes a run of it; "" if there is none."""
        return ""

    def config(self) -> tuple[str, dict[str, Any]] | None:
        """The heading and the values of its ``config.yaml``; None if it has none."""
        return None

    def identity(self) -> list[Any] | None:
        """What two equal requests share (``core/identity.py``); None: they are never equal."""
        return None


@dataclass(frozen=True)
class BenchmarkSpec(RunSpec):
    model: ModelSpec
    cells: tuple[CellSpec, ...]
    budget: Budget = DEFAULT
    iterations: int | None = None  # exact: one session, one call per sample
    warmup_calls: int | None = None
    per_call: bool = False  # one call per sample whatever it costs
    meters: bool = False  # energy even with iterations, measured over further, untimed calls
    timeout_s: float = 600.0  # per cell, load included
    memory_limit_bytes: int | None = None
    seed: int = 0
    dataset: DatasetSpec | None = None  # for later use: real inputs for accuracy
    recipe: str | None = None  # for later use: how an optimized model was made
    environment: str | None = None  # not used: an engine in another Python goes by its name
    kind: Literal["benchmark"] = "benchmark"

    unit: ClassVar[str] = "session"

    def configurations(self) -> tuple[CellSpec, ...]:
        return tuple(self.model.feeding(cell) for cell in self.cells)

    def cells_kept(self) -> int:
        return len(self.cells)

    def command(self, names: Sequence[str]) -> str:
        from modeldyno.core.requests.commands import bench_command

        return bench_command(self, *names)

    def resume_command(self, run_id: str) -> str:
        return f"modeldyno bench --resume {run_id}"

    def config(self) -> tuple[str, dict[str, Any]]:
        from modeldyno.core.requests.commands import CONFIG_HEADING, config_of

        return CONFIG_HEADING, config_of(self)

    def identity(self) -> list[Any]:
        from modeldyno.core.identity import benchmark_identity

        return benchmark_identity(self)

    def with_cells(self, change: Callable[[CellSpec, int], CellSpec]) -> Self:
        return replace(self, cells=tuple(change(cell, 0) for cell in self.cells))


@dataclass(frozen=True)
class SideSpec:
    """One side of a comparison."""

    label: str
    model: ModelSpec
    cell: CellSpec


@dataclass(frozen=True)
class ComparisonSpec(RunSpec):
    a: SideSpec
    b: SideSpec
    margin: float = 0.02
    seconds: float = 10.0
    processes: int = 3
    pair_s: float = 0.25
    pairs: int | None = None  # exactly this many instead of a time budget
    adaptive: bool = False  # looks at 8, 16 and 32 pairs
    fail_if_slower: float | None = None  # the gate: by how much B may be slower than A
    timeout_s: float = 600.0
    memory_limit_bytes: int | None = None
    seed: int = 0
    kind: Literal["comparison"] = "comparison"

    unit: ClassVar[str] = "pair"

    def models(self) -> tuple[ModelSpec, ...]:
        return self.a.model, self.b.model

    def with_models(self, change: Callable[[ModelSpec, int], ModelSpec]) -> Self:
        a, b = replace(self.a, model=change(self.a.model, 0)), self.b
        return replace(self, a=a, b=replace(b, model=change(b.model, 1)))

    def with_cells(self, change: Callable[[CellSpec, int], CellSpec]) -> Self:
        a, b = replace(self.a, cell=change(self.a.cell, 0)), self.b
        return replace(self, a=a, b=replace(b, cell=change(b.cell, 1)))

    def configurations(self) -> tuple[CellSpec, ...]:
        return self.a.model.feeding(self.a.cell), self.b.model.feeding(self.b.cell)

    def title(self) -> str:
        return " against ".join(name_of_file(side.label) for side in (self.a, self.b))

    def command(self, names: Sequence[str]) -> str:
        from modeldyno.core.requests.commands import compare_command

        return compare_command(self, *names)

    def identity(self) -> list[Any]:
        from modeldyno.core.identity import comparison_identity

        return comparison_identity(self)


@dataclass(frozen=True)
class ProfileSpec(RunSpec):
    """Where one cell spends its time, node by node."""

    model: ModelSpec
    # Hot, so that little of a call lies outside the nodes.
    cell: CellSpec = field(default_factory=lambda: CellSpec(contract="hot"))
    repeats: int = 5  # fresh sessions, each measured with the engine's profiler and without
    repeat_s: float = 0.25  # of each, at least; long calls are made at least ten times
    timeout_s: float = 600.0  # of the whole, load included
    memory_limit_bytes: int | None = None
    seed: int = 0
    kind: Literal["profile"] = "profile"

    unit: ClassVar[str] = "repeat"

    def configurations(self) -> tuple[CellSpec, ...]:
        return (self.model.feeding(self.cell),)

    def with_cells(self, change: Callable[[CellSpec, int], CellSpec]) -> Self:
        return replace(self, cell=change(self.cell, 0))

    def command(self, names: Sequence[str]) -> str:
        from modeldyno.core.requests.commands import profile_command

        return profile_command(self, *names)

    def resume_command(self, run_id: str) -> str:
        return f"modeldyno profile --resume {run_id}"

    def identity(self) -> list[Any]:
        from modeldyno.core.identity import profile_identity

        return profile_identity(self)


@dataclass(frozen=True)
class OptimizationSpec(RunSpec):
    """Make a better model of another; ``settings`` are those of ``TuningSettings``."""

    model: ModelSpec
    type: OptimizationType
    precision: str
    settings: TuningSettings
    dataset: DatasetSpec | None = None
    name: str = ""  # of the model; this and the following are for readers of the configuration
    framework: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    timeout_s: float = 2 * 3600.0  # of the whole
    memory_limit_bytes: int | None = None
    kind: Literal["optimization"] = "optimization"

    unit: ClassVar[str] = "trial"

    def config(self) -> tuple[str, dict[str, Any]] | None:
        from modeldyno.core.optimization_settings import tuning_config

        return ("", tuning_config(self)) if self.type == "quantization" else None


@dataclass(frozen=True)
class InspectionSpec(RunSpec):
    model: ModelSpec
    timeout_s: float = 60.0
    memory_limit_bytes: int | None = None
    without_weights: bool = False  # missing weights files are listed, not refused
    kind: Literal["inspection"] = "inspection"

    loads_model: ClassVar[bool] = False
    is_kept: ClassVar[bool] = False


@dataclass(frozen=True)
class GraphSpec(RunSpec):
    """Read a model's graph."""

    model: ModelSpec
    timeout_s: float = 60.0
    memory_limit_bytes: int | None = None
    kind: Literal["graph"] = "graph"

    loads_model: ClassVar[bool] = False
    is_kept: ClassVar[bool] = False


@dataclass(frozen=True)
class InferenceSpec(RunSpec):
    """Run a model once, to see whether it works."""

    model: ModelSpec
    cell: CellSpec
    timeout_s: float = 60.0  # of all of it
    memory_limit_bytes: int | None = None
    seed: int = 0
    kind: Literal["inference"] = "inference"

    is_kept: ClassVar[bool] = False


@dataclass(frozen=True)
class ConversionSpec(RunSpec):
    """Convert a model to another format; a result that computes something else is discarded."""

    model: ModelSpec
    to: Goal
    output: str  # the file to be made
    timeout_s: float = 600.0  # of all of it
    memory_limit_bytes: int | None = None
    seed: int = 0
    kind: Literal["conversion"] = "conversion"

    is_kept: ClassVar[bool] = False
