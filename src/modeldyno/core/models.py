"""A model: what its file says about itself, and how a project knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from modeldyno.core import precisions
from modeldyno.core.documents.described import Count, Described, Sha256, Size
from modeldyno.core.ids import ModelId, ProjectId

ModelFormat = Literal[
    "onnx",
    "scripted",
    "torchscript",
    "torch-export",
    "torch-checkpoint",
    "openvino-ir",
    "tf-graph",
    "saved-model",
    "keras",
    "litert",
]
Tier = Literal["data", "program", "code"]  # what loading a file can do to you


@dataclass(frozen=True)
class FormatEntry:
    """A format of model files, apart from how it is read (``formats/catalog.py``)."""

    title: str  # for people; documents have the name
    tier: Tier
    suffixes: tuple[str, ...]  # of its usual names; only the content decides
    framework: str = ""  # as the reference API names it
    no_graph: str = ""  # why there is none to show


FORMATS: dict[str, FormatEntry] = {
    "onnx": FormatEntry("ONNX", "data", (".onnx",), "ONNXRT"),
    "openvino-ir": FormatEntry("OpenVINO IR", "data", (".xml",), "OpenVINO"),
    "litert": FormatEntry("LiteRT", "data", (".tflite",)),
    # Its loader unpickles members: torch.export says so itself.
    "torch-export": FormatEntry("PyTorch export", "code", (".pt2",), "PyTorch"),
    # PyTorch interprets it; it can allocate, loop and call operators.
    "torchscript": FormatEntry(
        "TorchScript",
        "program",
        (".pt", ".ts", ".torchscript"),
        "PyTorch",
        no_graph="is TorchScript, whose graph is written as code",
    ),
    # Weights alone are data; what builds the model is Python code.
    "torch-checkpoint": FormatEntry(
        "PyTorch checkpoint",
        "code",
        (".pth", ".pt"),
        "PyTorch",
        no_graph="is a checkpoint: weights without the graph that uses them",
    ),
    "scripted": FormatEntry(
        "Script", "data", (".json",), no_graph="is a script of latencies and has no graph"
    ),
    # Operators that reach outside the model are refused when the file is read
    # (formats/tensorflow/unsafe_operators.py), and so are Keras models that name anything but
    # Keras's own layers (formats/keras/model.py).
    "keras": FormatEntry("Keras", "data", (".keras",), "TensorFlow"),
    "tf-graph": FormatEntry("TensorFlow graph", "data", (".pb",), "TensorFlow"),
    "saved-model": FormatEntry("SavedModel", "data", (".pb",), "TensorFlow"),
}
Dim = int | str | None  # a number, a symbol shared between tensors, or unknown and unnamed


def model_suffixes(*formats: str) -> tuple[str, ...]:
    """Each once, in the order of the table."""
    return tuple(dict.fromkeys(end for name in formats for end in FORMATS[name].suffixes))


def format_title(name: str) -> str:
    """For people; documents have the name itself."""
    return FORMATS[name].title if name in FORMATS else name


@dataclass(frozen=True)
class TensorSpec:
    """One input or output as the model declares it; dtypes carry numpy's names."""

    name: str
    dtype: str
    # Of a sequence or an optional value, that of its content. None: unknown rank.
    shape: tuple[Dim, ...] | None


@dataclass(frozen=True)
class IndexRange(Described):
    """The values an integer input may take, and how we know."""

    low: int
    """Smallest value."""
    high: int
    """One more than the largest value."""
    because: str
    """The reason, in words: indexes an embedding of 30522 rows."""


@dataclass(frozen=True)
class InputSpec(TensorSpec):
    indices: IndexRange | None = None


@dataclass(frozen=True)
class Signature:
    """One of the ways in which a model can be called."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True)
class ExternalFile(Described):
    """A file beside the model that holds some of its weights."""

    location: str
    """Relative to the model's folder, and inside it."""
    size_bytes: Count
    """Size of the whole file."""
    sha256: Sha256
    """Of the whole file."""


@dataclass(frozen=True)
class Architecture(Described):
    """The code that builds a model for which a file holds only the weights."""

    factory: str
    """`package.module:factory`."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Its keyword arguments, as JSON values."""
    folder: str | None = None
    """Searched for the package after everything that is installed."""


@dataclass(frozen=True)
class Making(Described):
    """What a model was converted from, with what, and how close it came."""

    source: str
    """Name of the file it was made of."""
    source_sha256: str
    """Of that file."""
    source_format: str
    """Of that file."""
    tool: str
    """What converted it: `torch.onnx`."""
    versions: dict[str, str]
    """Of the packages that took part, by name."""
    at: str
    """ISO 8601, UTC."""
    checks: Size
    """Inputs on which both were run."""
    max_rel_error: float
    """The largest difference of outputs, as a share of the largest value of the same output."""


@dataclass(frozen=True)
class ModelFacts:
    path: str
    format: ModelFormat
    framework: str
    sha256: str
    size_bytes: int  # with external data
    parameters: int
    inputs: tuple[InputSpec, ...]
    outputs: tuple[TensorSpec, ...]
    external: tuple[ExternalFile, ...] = ()
    opsets: dict[str, int] = field(default_factory=dict)
    ir_version: int | None = None
    producer: str = ""
    nodes_by_op: dict[str, int] = field(default_factory=dict)
    weights_by_dtype: dict[str, int] = field(default_factory=dict)  # parameters per dtype
    notes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()  # what its pickles name, listed without unpickling them
    architecture: Architecture | None = None  # what builds the model around these weights
    missing: tuple[str, ...] = ()  # weights files that it names and that are not there
    telling: tuple[
        str, ...
    ] = ()  # words in names of nodes that indicate its domain (formats/domains.py)
    made: Making | None = None  # of a model that we converted (formats/sidecar.py)
    signature: str = ""  # of several ways to call it, the one that inputs and outputs belong to
    signatures: tuple[Signature, ...] = ()  # all of them, of formats that have such

    @property
    def nodes(self) -> int:
        return sum(self.nodes_by_op.values())

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``modeldyno inspect --json`` prints."""
        from modeldyno.core.documents.described import json_text
        from modeldyno.core.documents.models import ModelDocument
        from modeldyno.core.exports import write_if_given_path

        return write_if_given_path(json_text(ModelDocument.of(self)), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Inputs and outputs, one line each."""
        from modeldyno.present.tables import model_csv

        return model_csv(self, path)

    def _repr_html_(self) -> str:
        from modeldyno.present.tables import model_html

        return model_html(self)


@dataclass(frozen=True)
class Boundary:
    """Inputs and outputs of a model as the user gives them, and its kind of detector."""

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    domain_flavour: str = ""
    fed: tuple[InputSpec, ...] = ()  # specs of ``inputs`` that differ from those of the file


# unread: never inspected; incomplete: weights are missing; untrusted: could run code
ModelState = Literal["ready", "untrusted", "incomplete", "unread"]
Origin = Literal["path", "upload", "example", "optimization", "conversion", "terminal"]


@dataclass(frozen=True, kw_only=True)
class NewModel:
    """A model of a project; ``sha256`` names its content."""

    project_id: ProjectId
    name: str
    path: str  # where it is read from
    format: ModelFormat | None = None  # this and the following: None until inspected
    sha256: str | None = None
    size_bytes: int | None = None
    framework: str = ""
    precision: str = ""
    domain: str = ""
    origin: Origin = "path"
    source: str = ""  # the file, address or recipe it came from
    facts: ModelFacts | None = None
    boundary: Boundary | None = None


@dataclass(frozen=True, kw_only=True)
class Model(NewModel):
    id: ModelId
    created_at: datetime
    trusted_at: datetime | None = None  # when somebody trusted this content
    trust_reason: str = ""


def precision_of(facts: ModelFacts) -> str:
    """Of its weights: ``fp32``, ``fp16``, ``int4`` …, the one of most of them, else fp32. Those of
    64 bits do not count: the reference API knows none of them."""
    counts: dict[str, int] = {}
    for dtype, count in facts.weights_by_dtype.items():
        if dtype in precisions.NAMES and dtype != "float64":
            name = precisions.NAMES[dtype]
            counts[name] = counts.get(name, 0) + count
    return max(counts, key=lambda name: counts[name], default="fp32")


# ---------------------------------------------------------------- names from a signature


@dataclass(frozen=True)
class TensorNames:
    """The names that a signature gives to tensors, which are numbers."""

    key: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def serving_signature(
    signatures: Sequence[TensorNames], inputs: Sequence[int]
) -> TensorNames | None:
    """The signature that names all inputs of the graph; of several the first by key, since files
    and engines list them in different orders."""
    fitting = [each for each in signatures if set(each.inputs.values()) == set(inputs)]
    return min(fitting, key=lambda signature: signature.key, default=None)


def names_of(
    tensors: Sequence[int], signature: Mapping[str, int], own_names: Sequence[str]
) -> list[str]:
    """Of each tensor its name in the signature, else its own; each name once.

    ``own_names`` are those of the same tensors, in the same order.
    """
    # Of two names for one tensor, the first by alphabet stays.
    by_tensor = {signature[name]: name for name in sorted(signature, reverse=True)}
    names: list[str] = []
    for number, (tensor, own) in enumerate(zip(tensors, own_names, strict=True)):
        name = by_tensor.get(tensor) or own or f"tensor {number}"
        names.append(name if name not in names else f"{name}#{number}")
    return names
