"""Requests to measure, with public names and units.

A field is declared only here: terminal, Python, client, config files and ``/api/v1`` fill these
classes, and what repeats a run (command, config file, settings) is made of their fields. The model
is specified separately: a file of this machine (``ModelFile``) or a model of the server (below).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict, get_args

from modeldyno.core.documents.described import shared_fields
from modeldyno.core.models import InputSpec
from modeldyno.core.requests.axes import axis_values
from modeldyno.core.requests.checking import Doc, Length, OnServer, Option, Range, Text
from modeldyno.core.sessions import CallContract, Sandboxing
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

MOST_BATCH = 1_000_000_000  # no memory holds more, and no column of a database
MOST_INSTANCES = 256
MOST_ITERATIONS = 1_000_000  # of one call each: more would not fit into one message
MOST_STREAMS = 1024
MOST_REPEATS = 100  # of a profile
USUAL_WARMUP = 10  # calls, of a benchmark with exact iterations
MOST_ON_SERVER = 1_000_000

# ---------------------------------------------------------------- values

Printable = Annotated[str, Text(200, r"^[^\x00-\x1f\x7f]+$")]
Word = Annotated[str, Text(50, r"^[A-Za-z0-9_.:+-]+$")]
Batch = Annotated[int, Range(1, MOST_BATCH, server=MOST_ON_SERVER)]
Cores = Annotated[int, Range(1, server=MOST_ON_SERVER)]  # at most the machine's, in services
Instances = Annotated[int, Range(1, MOST_INSTANCES)]
Streams = Annotated[int, Range(1, MOST_STREAMS)]
Number = Annotated[float, Range()]
OptionValue = bool | Annotated[int, Range(-(2**53), server=2**53)] | Number | Printable
Seconds = Annotated[float, Range(0, server=7200, is_open=True, unit="seconds")]
BudgetName = Literal["quick", "default", "thorough"]
Ints = int | Sequence[int]
Names = str | Sequence[str]

# ---------------------------------------------------------------- fields

_Size = Annotated[int, Range(1, server=MOST_ON_SERVER)]
Dims = Annotated[
    dict[Printable, _Size], *(Length(50), Doc("Sizes of open dimensions.", {"seq": 128}))
]
SeveralDims = Annotated[
    dict[Printable, _Size | Annotated[tuple[_Size, ...], Length(50, 1)]],
    *(
        Length(50),
        Doc("Sizes of open dimensions; of several, each makes cells.", {"seq": [64, 128]}),
    ),
]
Values = Annotated[dict[Printable, Number], Length(50), Doc("Values of inputs.", {})]
Inputs = Annotated[
    tuple[Printable, ...],
    *(
        Length(50),
        Doc("What a file takes that does not say so itself.", ["x=float32[1,3,224,224]"]),
    ),
]
Signature = Annotated[
    Printable | None, Doc("Of a SavedModel; null: `serving_default`, or else the first by name.")
]
Engine = Annotated[Word | None, Doc("Null: the first that reads the model.", "onnxruntime")]
Precision = Annotated[Word | None, Doc("Null: as the model has it.", "fp32")]
Spinning = Annotated[
    bool | None, Option("spin", "spinning"), Doc("Of thread pools; null: the engine's own way.")
]
Contract = Annotated[CallContract, Doc("What one call includes.")]
Options = Annotated[dict[Word, OptionValue], Length(50), Doc("Of the engine.", {})]
Sandbox = Annotated[
    Sandboxing,
    # A client cannot ask for less than the usual walls.
    OnServer(("on", "required"), get_args(Sandboxing)),
    Doc("`required`: fail if the system cannot confine the model fully."),
]
BudgetOf = Annotated[
    BudgetName | Seconds, Doc("How long a cell may take, by name or in seconds.", "quick")
]
Timeout = Annotated[
    Seconds, Option("timeout"), Doc("After which a cell fails, load included.", 600.0)
]
MemoryLimit = Annotated[
    Annotated[int, Range(1, server=2**53)] | None,
    *(
        Option("memory_limit"),
        Doc("Most memory a worker may use; null: nine tenths of the machine's."),
    ),
]
Seed = Annotated[int, Range(0, server=2**31 - 1)]


def _to_plain(json: Any) -> Any:
    """JSON does not distinguish ``1.0`` from ``1``, and its lists are our tuples. (Nesting is
    limited by ``api/bodies.py``.)"""
    match json:
        case float() if json.is_integer():
            return int(json)
        case list():
            return tuple(map(_to_plain, json))
        case dict():
            return {name: _to_plain(member) for name, member in json.items()}
        case _:
            return json


def without_defaults(schema: dict[str, Any]) -> None:
    """For edits: fields that are not sent stay."""
    for described in schema["properties"].values():
        described.pop("default", None)


def _allow_more_fields(schema: dict[str, Any]) -> None:
    """For answers, which have all fields and may get more; a request needs few."""
    if len(schema.get("required", ())) == len(schema["properties"]):
        schema.pop("additionalProperties", None)
        without_defaults(schema)


class Request:
    """Tells FastAPI to refuse unknown fields, and ``"1"`` and ``true`` as numbers."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Any] = {
        "extra": "forbid",
        "strict": True,
        "json_schema_serialization_defaults_required": True,
        "json_schema_extra": _allow_more_fields,
    }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        schema = handler(source)
        # The fields are strict; the body itself is a dictionary, not yet an instance.
        handler.resolve_ref_schema(schema)["strict"] = False
        first = {"type": "no-info", "function": _to_plain}
        return {"type": "function-before", "function": first, "schema": schema}


# ---------------------------------------------------------------- requests


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRequest(Request):
    """Every combination of engines, devices … is a cell."""

    dims: SeveralDims = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    inputs: Inputs = ()
    signature: Signature = None
    engines: Annotated[
        tuple[Word, ...],
        *(
            Length(20),
            Option("engine"),
            Doc("None: the first that reads the model.", ["onnxruntime"]),
        ),
    ] = ()
    batch_sizes: Annotated[
        tuple[Batch, ...], Length(50, 1), Option("batch", "batch_size"), Doc("", [1, 8])
    ] = (1,)
    cores: Annotated[tuple[Cores, ...], Length(50, 1), Doc("", [1, 2])] = (1,)
    instances: Annotated[
        tuple[Instances, ...], Length(50, 1), Doc("Processes side by side.", [1])
    ] = (1,)
    streams: Annotated[
        tuple[Streams, ...],
        *(Length(50, 1), Doc("Requests at a time, of engines that have streams.", [1])),
    ] = (1,)
    devices: Annotated[tuple[Word, ...], Length(20, 1), Option("device"), Doc("", ["cpu"])] = (
        "cpu",
    )
    precisions: Annotated[
        tuple[Word, ...],
        *(Length(20), Option("precision"), Doc("None: as the model has it.", ["fp32"])),
    ] = ()
    spinning: Spinning = None
    contract: Contract = "api"
    options: Options = field(default_factory=dict)
    sandbox: Sandbox = "on"
    budget: BudgetOf = "default"
    iterations: Annotated[
        Annotated[int, Range(1, MOST_ITERATIONS)] | None,
        Doc("Exactly this many calls, in one session."),
    ] = None
    warmup: Annotated[
        Annotated[int, Range(0, server=MOST_ON_SERVER)] | None,
        Doc("Exactly so many calls before; null: to a plateau."),
    ] = None
    per_call: Annotated[bool, Doc("Time each call separately (for tail latencies).")] = False
    timeout_s: Timeout = 600.0
    memory_limit_bytes: MemoryLimit = None
    seed: Seed = 0


class AxesWords(TypedDict, total=False):
    """As Python's functions take them: one value, or several."""

    engine: Names | None
    batch: Ints
    cores: Ints
    instances: Ints
    streams: Ints
    device: Names
    precision: Names | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCellRequest(Request):
    """A model in one cell."""

    dims: Dims = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    inputs: Inputs = ()
    signature: Signature = None
    engine: Engine = None
    batch_size: Annotated[Batch, Option("batch")] = 1
    cores: Cores = 1
    device: Word = "cpu"
    precision: Precision = None
    spinning: Spinning = None
    contract: Contract = "api"
    options: Options = field(default_factory=dict)
    sandbox: Sandbox = "on"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRequest(OneCellRequest):
    """One side of a comparison."""

    streams: Annotated[Streams, Doc("Requests at a time, of engines that have streams.")] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest(Request):
    """How sides are compared, whatever they are."""

    margin: Annotated[
        float,
        *(Range(0, 1, is_open=True), Doc("Differences below this share do not matter.", 0.02)),
    ] = 0.02
    budget: BudgetOf = "default"
    pairs: Annotated[
        Annotated[int, Range(2, server=100_000)] | None,
        Doc("Exactly so many pairs of sessions instead of a budget."),
    ] = None
    adaptive: Annotated[bool, Doc("Stop at 8, 16 or 32 pairs if that decides.")] = False
    timeout_s: Timeout = 600.0
    memory_limit_bytes: MemoryLimit = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest(PairingRequest):
    a: SideRequest
    b: SideRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest(OneCellRequest):
    """One cell, looked at several times."""

    cores: Annotated[Cores, Doc("The engine has as many threads.", 2)] = 1
    device: Annotated[Word, Doc("", "cpu")] = "cpu"
    contract: Contract = "hot"
    repeats: Annotated[
        int,
        *(
            Range(1, MOST_REPEATS),
            Doc("Fresh sessions, each measured with the engine's profiler and without.", 5),
        ),
    ] = 5
    timeout_s: Timeout = 600.0
    memory_limit_bytes: MemoryLimit = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRequest(Request):
    """The same network in another format."""

    to: str
    dims: Dims = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    inputs: Inputs = ()
    signature: Signature = None
    timeout_s: Timeout = 600.0
    memory_limit_bytes: MemoryLimit = None
    seed: Seed = 0


CellRequest = BenchmarkRequest | OneCellRequest


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model of this machine, with the files and code of this machine that it needs, which no
    server accepts."""

    path: Annotated[str | Path, Option("model")]
    data: str | Path | None = None  # real inputs: an .npz file
    architecture: str | None = None  # what builds a checkpoint's model: "package.module:factory"
    arguments: dict[str, Any] = field(default_factory=dict)  # of the architecture
    architecture_folder: str | None = None  # of the architecture; None: the current one


# ---------------------------------------------------------------- budgets

_BUDGETS: dict[str, Budget] = {"quick": QUICK, "default": DEFAULT, "thorough": THOROUGH}


def budget_of(word: BudgetName | float) -> Budget:
    if isinstance(word, str):
        return _BUDGETS[word]
    return replace(DEFAULT, name="custom", seconds=float(word))


# ---------------------------------------------------------------- from specs


def benchmark_request(spec: BenchmarkSpec) -> BenchmarkRequest:
    """The request that a spec was made of."""
    fields = shared_fields(BenchmarkRequest, spec.cells[0]) | shared_fields(BenchmarkRequest, spec)
    fields |= _model_fields(spec.model) | axis_values(spec.configurations())
    budget = spec.budget.seconds if spec.budget.name == "custom" else spec.budget.name
    return BenchmarkRequest(**fields | {"budget": budget, "warmup": spec.warmup_calls})


def side_request(side: SideSpec) -> SideRequest:
    return SideRequest(**_one_cell_fields(SideRequest, side.model, side.cell))


def comparison_request(spec: ComparisonSpec) -> ComparisonRequest:
    names = (name for name, budget in _BUDGETS.items() if budget.seconds == spec.seconds)
    sides = {"a": side_request(spec.a), "b": side_request(spec.b)}
    budget = {"budget": next(names, spec.seconds)}
    return ComparisonRequest(**shared_fields(ComparisonRequest, spec) | sides | budget)


def profile_request(spec: ProfileSpec) -> ProfileRequest:
    one_cell = _one_cell_fields(ProfileRequest, spec.model, spec.cell)
    return ProfileRequest(**shared_fields(ProfileRequest, spec) | one_cell)


def input_text(spec: InputSpec) -> str:
    """``x=float32[1,3,224,224]``, as ``--input`` reads it."""
    sizes = ",".join("?" if dim is None else str(dim) for dim in spec.shape or ())
    return f"{spec.name}={spec.dtype}[{sizes}]"


def _model_fields(model: ModelSpec) -> dict[str, Any]:
    return {
        "dims": model.dims,
        "values": model.values,
        "inputs": tuple(input_text(spec) for spec in model.inputs),
        "signature": model.signature or None,
    }


def _one_cell_fields(
    kind: type[OneCellRequest], model: ModelSpec, cell: CellSpec
) -> dict[str, Any]:
    """Sizes are said with the model."""
    fields = shared_fields(kind, cell) | {"engine": cell.engine or None}
    return fields | _model_fields(model)


# ---------------------------------------------------------------- on a server

MOST_ID = 2**31 - 1
# One line of text that is not blank.
NAME = r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$"

Reference = Annotated[int, Range(1, MOST_ID)]
Id = Annotated[Reference, Doc("", 1)]
Name = Annotated[str, Text(200, NAME)]
NameOrModels = Annotated[Name | None, Doc("Null: the model's.", "On the edge box")]
_EDIT = Request.__pydantic_config__ | {"json_schema_extra": without_defaults}
Start = Annotated[bool, Doc("Put it in the queue at once.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBenchmarkRequest(BenchmarkRequest):
    model_id: Id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBenchmarkRequest(PlanBenchmarkRequest):
    project_id: Id
    name: NameOrModels = None
    dataset_id: Reference | None = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditBenchmarkRequest(BenchmarkRequest):
    """What is not sent stays."""

    __pydantic_config__: ClassVar[Any] = _EDIT
    name: Annotated[Name | None, Doc("", "On the edge box")] = None
    dataset_id: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSideRequest(SideRequest):
    """One side of a comparison."""

    model_id: Id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComparisonRequest(PairingRequest):
    project_id: Id
    a: ModelSideRequest
    b: ModelSideRequest
    name: Annotated[Name | None, Doc("Null: made of the models' names.", "Before and after")] = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditComparisonRequest(PairingRequest):
    """What is not sent stays; a side that is sent is that side, whole."""

    __pydantic_config__: ClassVar[Any] = _EDIT
    name: Annotated[Name | None, Doc("", "Before and after")] = None
    a: ModelSideRequest | None = None
    b: ModelSideRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProfileRequest(ProfileRequest):
    project_id: Id
    model_id: Id
    name: NameOrModels = None
    dataset_id: Reference | None = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditProfileRequest(ProfileRequest):
    """What is not sent stays."""

    __pydantic_config__: ClassVar[Any] = _EDIT
    name: Annotated[Name | None, Doc("", "On the edge box")] = None
    dataset_id: Reference | None = None
