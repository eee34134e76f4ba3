"""What is to be measured, as a client says it and as it is told back: axes instead of cells."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from modeldyno.api.v1.shape import MOST_ID, Asked, Told
from modeldyno.core.commands import input_text
from modeldyno.core.errors import BadValue
from modeldyno.core.names import name_of_file
from modeldyno.core.sandbox import Sandboxing
from modeldyno.core.sessions import CallContract
from modeldyno.core.specs import (
    DEFAULT,
    QUICK,
    THOROUGH,
    BenchmarkSpec,
    Budget,
    CellSpec,
    ComparisonSpec,
    ModelSpec,
    ProfileSpec,
    SideSpec,
)
from modeldyno.core.swept import axes_of
from modeldyno.services import requests
from modeldyno.services.requests import CellOptions, InputOptions

Printable = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Word = Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[A-Za-z0-9_.:+-]+$")]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Words = Annotated[list[Word], Field(max_length=20)]
Counts = Annotated[list[Count], Field(min_length=1, max_length=50)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Options = Annotated[
    dict[Word, bool | Annotated[int, Field(ge=-(2**53), le=2**53)] | Number | Printable],
    Field(max_length=50, description="Of the engine.", examples=[{}]),
]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Field(gt=0, le=7200, allow_inf_nan=False)]
BudgetName = Literal["quick", "default", "thorough"]
BudgetAsked = Annotated[
    BudgetName | Seconds,
    Field(description="How long a cell may take, by name or in seconds.", examples=["quick"]),
]
# A client cannot ask for less than the usual walls; what the terminal did is told as it was.
SandboxAsked = Annotated[
    Literal["on", "required"],
    Field(description="`required`: fail where the system cannot confine the model fully."),
]

A = TypeVar("A", bound=Asked)

_BUDGETS: dict[BudgetName, Budget] = {"quick": QUICK, "default": DEFAULT, "thorough": THOROUGH}


class InputsAsked(Asked):
    """What the model is to be fed with, where its file leaves that open."""

    dims: Annotated[
        dict[Printable, Count], Field(max_length=50, description="Sizes of open dimensions.")
    ] = Field({}, examples=[{"seq": 128}])
    values: Annotated[
        dict[Printable, Number], Field(max_length=50, description="Values of inputs.")
    ] = Field({}, examples=[{}])
    inputs: Annotated[
        list[Printable],
        Field(max_length=50, description="What a file takes that does not say so itself."),
    ] = Field([], examples=[["x=float32[1,3,224,224]"]])
    signature: Printable | None = Field(
        None, description="Of a SavedModel; null: `serving_default`, or else the first by name."
    )

    def fed(self) -> InputOptions:
        return InputOptions(
            dims=self.dims,
            values=self.values,
            inputs=self.inputs,
            signature=self.signature or "",
        )


class Limits(Asked):
    timeout_s: Seconds = Field(
        600.0, description="After which a cell fails, load included.", examples=[600.0]
    )
    memory_limit_bytes: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Most memory a worker may use; null: nine tenths of the machine's."
    )
    seed: Seed = 0


class SettingsAsked(InputsAsked, Limits):
    """Of a benchmark: every combination of engines, devices … is a cell."""

    engines: Words = Field(
        [], description="None: the first that reads the model.", examples=[["onnxruntime"]]
    )
    batch_sizes: Counts = Field([1], examples=[[1, 8]])
    cores: Counts = Field([1], examples=[[1, 2]])
    instances: Counts = Field([1], description="Processes side by side.")
    streams: Counts = Field([1], description="Requests at a time, of engines that have streams.")
    devices: Annotated[Words, Field(min_length=1)] = Field(["cpu"], examples=[["cpu"]])
    precisions: Words = Field([], description="None: as the model has it.", examples=[["fp32"]])
    spinning: bool | None = Field(None, description="Of thread pools; null: the engine's own way.")
    contract: CallContract = Field("api", description="What one call includes.")
    options: Options = Field({})
    sandbox: SandboxAsked = "on"
    budget: BudgetAsked = "default"
    iterations: Annotated[int, Field(ge=1, le=requests.MOST_ITERATIONS)] | None = Field(
        None, description="Exactly so many calls, in one session."
    )
    warmup: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="Exactly so many calls before; null: to a plateau."
    )
    per_call: bool = Field(False, description="Time every call by itself, for tails.")

    def cell_options(self) -> CellOptions:
        return CellOptions(
            engine=self.engines,
            batch=self.batch_sizes,
            cores=self.cores,
            instances=self.instances,
            streams=self.streams,
            device=self.devices,
            precision=self.precisions,
            spin=self.spinning,
            contract=self.contract,
            options=requests.known_options(self.options),
            sandbox=self.sandbox,
        )

    def spec(self, path: str) -> BenchmarkSpec:
        """Raises BadValue and its kin, with the words of the terminal."""
        return requests.benchmark_spec(
            path,
            self.cell_options(),
            self.fed(),
            budget=budget_of(self.budget),
            iterations=self.iterations,
            warmup=self.warmup,
            per_call=self.per_call,
            timeout_s=self.timeout_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=self.seed,
        )


class SideAsked(InputsAsked):
    """One side of a comparison."""

    model_id: Annotated[int, Field(ge=1, le=MOST_ID)] = Field(examples=[1])
    engine: Word | None = Field(None, examples=["onnxruntime"])
    batch_size: Count = 1
    cores: Count = 1
    streams: Count = Field(1, description="Requests at a time, of engines that have streams.")
    device: Word = "cpu"
    precision: Word | None = Field(None, examples=["fp32"])
    spinning: bool | None = None
    contract: CallContract = "api"
    options: Options = Field({})
    sandbox: SandboxAsked = "on"

    def spec(self, label: str, path: str) -> SideSpec:
        cells = CellOptions(
            engine=[self.engine] if self.engine else [],
            batch=[self.batch_size],
            cores=[self.cores],
            streams=[self.streams],
            device=[self.device],
            precision=[self.precision] if self.precision else [],
            spin=self.spinning,
            contract=self.contract,
            options=requests.known_options(self.options),
            sandbox=self.sandbox,
        )
        return requests.side_spec(label, path, cells, self.fed())


class PairingAsked(Limits):
    """How two sides are compared."""

    margin: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.02, description="Differences below this share do not matter.", examples=[0.02]
    )
    budget: BudgetAsked = "default"
    pairs: Annotated[int, Field(ge=2, le=100_000)] | None = Field(
        None, description="Exactly so many pairs of sessions instead of a budget."
    )
    adaptive: bool = Field(False, description="Stop at 8, 16 or 32 pairs if that decides.")

    def spec(self, a: SideSpec, b: SideSpec) -> ComparisonSpec:
        return requests.comparison_between(
            a,
            b,
            margin=self.margin,
            budget=budget_of(self.budget),
            pairs=self.pairs,
            adaptive=self.adaptive,
            timeout_s=self.timeout_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=self.seed,
        )


class ProfilingAsked(InputsAsked, Limits):
    """Of a profile: one cell, looked at several times."""

    engine: Word | None = Field(
        None, description="Null: the first that reads the model.", examples=["onnxruntime"]
    )
    batch_size: Count = 1
    cores: Count = Field(1, description="The engine has as many threads.", examples=[2])
    device: Word = "cpu"
    precision: Word | None = Field(None, examples=["fp32"])
    spinning: bool | None = None
    contract: CallContract = Field("hot", description="What one call includes.")
    options: Options = Field({})
    sandbox: SandboxAsked = "on"
    repeats: Annotated[int, Field(ge=1, le=requests.MOST_REPEATS)] = Field(
        5, description="Fresh sessions, each measured with the engine's profiler and without."
    )

    def spec(self, path: str) -> ProfileSpec:
        """Raises BadValue and its kin, with the words of the terminal."""
        cells = CellOptions(
            engine=[self.engine] if self.engine else [],
            batch=[self.batch_size],
            cores=[self.cores],
            device=[self.device],
            precision=[self.precision] if self.precision else [],
            spin=self.spinning,
            contract=self.contract,
            options=requests.known_options(self.options),
            sandbox=self.sandbox,
        )
        return requests.profile_spec(
            path,
            cells,
            self.fed(),
            repeats=self.repeats,
            timeout_s=self.timeout_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=self.seed,
        )


def resettled(shape: type[A], known: dict[str, Any], kind: str) -> A:
    """Settings of before together with new ones; raises BadValue for those of the terminal that
    are beyond what we accept."""
    try:
        return shape.model_validate(known)
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BadValue(
            f"The {kind}'s {name} cannot stay as it is",
            why="it was asked for in the terminal, and the server accepts less",
            fix=f"Send {name} as well",
        ) from error


def budget_of(asked: BudgetName | float) -> Budget:
    if isinstance(asked, str):
        return _BUDGETS[asked]
    return requests.choose_budget(seconds=asked)


# ---------------------------------------------------------------- told


class InputsTold(Told):
    dims: dict[str, int]
    values: dict[str, float]
    inputs: list[str]
    signature: str | None


class SettingsTold(InputsTold):
    """Of a benchmark, as it was asked for; those of the terminal may be beyond what we accept."""

    engines: list[str] = Field(examples=[["onnxruntime"]])
    batch_sizes: list[int] = Field(examples=[[1, 8]])
    cores: list[int]
    instances: list[int]
    streams: list[int]
    devices: list[str] = Field(examples=[["cpu"]])
    precisions: list[str]
    spinning: bool | None
    contract: CallContract
    options: dict[str, bool | int | float | str]
    sandbox: Sandboxing
    budget: BudgetName | float
    iterations: int | None
    warmup: int | None
    per_call: bool
    timeout_s: float
    memory_limit_bytes: int | None
    seed: int


class SideTold(InputsTold):
    label: str = Field(examples=["resnet50.onnx"])
    engine: str | None
    batch_size: int
    cores: int
    streams: int
    device: str
    precision: str | None
    spinning: bool | None
    contract: CallContract
    options: dict[str, bool | int | float | str]
    sandbox: Sandboxing


class PairingTold(Told):
    a: SideTold
    b: SideTold
    margin: float
    budget_s: float
    pairs: int | None
    adaptive: bool
    timeout_s: float
    memory_limit_bytes: int | None
    seed: int


class ProfilingTold(InputsTold):
    """Of a profile, as it was asked for; those of the terminal may be beyond what we accept."""

    engine: str | None = Field(examples=["onnxruntime"])
    batch_size: int
    cores: int
    device: str = Field(examples=["cpu"])
    precision: str | None
    spinning: bool | None
    contract: CallContract
    options: dict[str, bool | int | float | str]
    sandbox: Sandboxing
    repeats: int = Field(examples=[5])
    timeout_s: float
    memory_limit_bytes: int | None
    seed: int


def settings_of(spec: BenchmarkSpec) -> dict[str, Any]:
    """As SettingsTold describes."""
    axes, cell = axes_of(spec.cells), spec.cells[0]
    return {
        **_fed(spec.model),
        "engines": list(axes.engines),
        "batch_sizes": list(axes.batch_sizes),
        "cores": list(axes.cores),
        "instances": list(axes.instances),
        "streams": list(axes.streams),
        "devices": list(axes.devices),
        "precisions": list(axes.precisions),
        **_call(cell),
        "budget": spec.budget.seconds if spec.budget.name == "custom" else spec.budget.name,
        "iterations": spec.iterations,
        "warmup": spec.warmup_calls,
        "per_call": spec.per_call,
        **_limits(spec),
    }


def pairing_of(spec: ComparisonSpec) -> dict[str, Any]:
    """As PairingTold describes."""
    return {
        "a": _side(spec.a),
        "b": _side(spec.b),
        "margin": spec.margin,
        "budget_s": spec.seconds,
        "pairs": spec.pairs,
        "adaptive": spec.adaptive,
        **_limits(spec),
    }


def profiling_of(spec: ProfileSpec) -> dict[str, Any]:
    """As ProfilingTold describes."""
    return {
        **_fed(spec.model),
        **_cell(spec.cell),
        "repeats": spec.repeats,
        **_limits(spec),
    }


def asked_of(spec: ComparisonSpec) -> dict[str, Any]:
    """The same as a client would ask for it; whose models they are, it does not say."""
    told = pairing_of(spec)
    seconds = told.pop("budget_s")
    named = (name for name, budget in _BUDGETS.items() if budget.seconds == seconds)
    for side in (told["a"], told["b"]):
        side.pop("label")
    return told | {"budget": next(named, seconds)}


def _side(side: SideSpec) -> dict[str, Any]:
    return {
        **_fed(side.model),
        "label": name_of_file(side.label),
        **_cell(side.cell),
        "streams": side.cell.streams,
    }


def _cell(cell: CellSpec) -> dict[str, Any]:
    return {
        "engine": cell.engine or None,
        "batch_size": cell.batch_size,
        "cores": cell.cores,
        "device": cell.device,
        "precision": cell.precision,
        **_call(cell),
    }


def _fed(model: ModelSpec) -> dict[str, Any]:
    inputs = [input_text(spec) for spec in model.inputs]
    return {
        "dims": model.dims,
        "values": model.values,
        "inputs": inputs,
        "signature": model.signature or None,
    }


def _call(cell: CellSpec) -> dict[str, Any]:
    return {
        "spinning": cell.spinning,
        "contract": cell.contract,
        "options": cell.options,
        "sandbox": cell.sandbox,
    }


def _limits(spec: BenchmarkSpec | ComparisonSpec | ProfileSpec) -> dict[str, Any]:
    return {
        "timeout_s": spec.timeout_s,
        "memory_limit_bytes": spec.memory_limit_bytes,
        "seed": spec.seed,
    }
