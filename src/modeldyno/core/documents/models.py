"""Models: what their files say, what a server keeps of them, and which ones are trusted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modeldyno.core.documents.described import Amount, Count, Described, Moment, Sha256, Size
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.models import (
    FORMATS,
    Architecture,
    ExternalFile,
    IndexRange,
    InputSpec,
    Making,
    ModelFacts,
    ModelFormat,
    ModelState,
    Origin,
    Signature,
    TensorSpec,
    Tier,
)
from modeldyno.core.redaction import without_folders
from modeldyno.core.sessions import InferenceResult
from modeldyno.core.trust import Trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustDocument(Described):
    """What `modeldyno trust --json` gives: after vouching, that one file; with --list, all; with
    --revoke, none."""

    schema: Literal["modeldyno.trust/1"] = "modeldyno.trust/1"
    """Name and version of this format."""
    trusted: tuple[Trusted, ...] = ()
    """Files that are trusted, oldest first."""
    revoked: Sha256 | None = None
    """The sha256 that is no longer trusted."""
    tier: Tier | None = None
    """What loading the file can do; null for lists."""
    can_run: bool | None = None
    """Whether an engine can run the file at all; null for lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorDocument(Described):
    """One input or output, as the model declares it."""

    name: str
    """The tensor's name."""
    dtype: str
    """Element type by NumPy's name (float32, int64, bool); string for strings."""
    shape: tuple[int | str | None, ...] | None
    """Sizes; null when the model does not even say how many dimensions there are."""
    indices: IndexRange | None
    """Of integer inputs that provably index something."""

    @classmethod
    def of(cls, tensor: TensorSpec) -> TensorDocument:
        indices = tensor.indices if isinstance(tensor, InputSpec) else None
        return cls.from_fields(tensor, indices=indices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureDocument(Described):
    """One of the ways in which a SavedModel can be called."""

    name: str
    """What `--signature` takes."""
    inputs: tuple[TensorDocument, ...]
    """What a caller must give."""
    outputs: tuple[TensorDocument, ...]
    """What a call returns."""

    @classmethod
    def of(cls, signature: Signature) -> SignatureDocument:
        return cls(
            name=signature.name,
            inputs=tuple(map(TensorDocument.of, signature.inputs)),
            outputs=tuple(map(TensorDocument.of, signature.outputs)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDocument(Described):
    """What `modeldyno inspect --json` and `ModelFacts.to_json()` give, and what results say of the
    model that was measured."""

    schema: Literal["modeldyno.model/2"] = "modeldyno.model/2"
    """Name and version of this format."""
    path: str
    """Absolute path of the file that was read; a server shows no more than its name."""
    format: ModelFormat
    """Recognised by content, never by name. scripted is for tests and demonstrations."""
    framework: str
    """The family the format belongs to."""
    tier: Tier
    """What loading the file can do: data can do nothing, a program runs in its engine, code runs in
    Python."""
    sha256: Sha256
    """Of the model file itself; external files have their own."""
    size_bytes: Count
    """Size of the model file and its external files together."""
    parameters: Count
    """Learned numbers: elements of initializers and of larger constants, without those of types
    that only shapes and indices have. Of weights that share bytes, each counts."""
    inputs: tuple[TensorDocument, ...]
    """What a caller must give; weights that old files list as inputs are left out."""
    outputs: tuple[TensorDocument, ...]
    """What a call returns."""
    external: tuple[ExternalFile, ...]
    """Files beside the model that hold weights."""
    opsets: dict[str, int]
    """Operator set version by domain; the empty domain is ONNX's own."""
    ir_version: int | None
    """ONNX's file format version; null for other formats."""
    producer: str
    """What wrote the file; empty when it does not say."""
    nodes: Count
    """Nodes in all graphs, sub-graphs included."""
    nodes_by_op: dict[str, int]
    """How many nodes there are of each operator."""
    weights_by_dtype: dict[str, int]
    """Parameters by element type."""
    imports: tuple[str, ...]
    """Names that the file's pickles would import, listed without unpickling."""
    architecture: Architecture | None
    """What builds the model around a checkpoint's weights; null for files that hold their own
    graph."""
    notes: tuple[str, ...]
    """What somebody should know about the file."""
    signature: str | None
    """Of a SavedModel: the signature that inputs and outputs belong to."""
    signatures: tuple[SignatureDocument, ...]
    """Of a SavedModel: all its signatures, the usual one first."""
    made: Making | None
    """What a converted model was made of, with what, and how close it came."""

    @classmethod
    def of(cls, facts: ModelFacts) -> ModelDocument:
        return cls.from_fields(
            facts,
            tier=FORMATS[facts.format].tier,
            inputs=tuple(map(TensorDocument.of, facts.inputs)),
            outputs=tuple(map(TensorDocument.of, facts.outputs)),
            signature=facts.signature or None,
            signatures=tuple(map(SignatureDocument.of, facts.signatures)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrustDocument(Described):
    """Whether somebody vouched for a model, and what for."""

    is_needed: bool
    """Loading this kind of file can run what is in it."""
    is_given: bool
    """Somebody vouched for exactly these bytes."""
    since: Moment | None
    """When, in UTC."""
    reason: str
    """Why, in their words; may be empty."""
    warning: str
    """What running it would do; empty for data."""
    imports: tuple[str, ...]
    """What its pickles name, listed without unpickling them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary(Described):
    """A line of a list of models."""

    id: Size
    """Its number."""
    project_id: Size
    """Number of its project."""
    name: str
    """As people call it."""
    state: ModelState
    """`ready` may run. `incomplete` lacks weights files; `untrusted` can run code and is not
    trusted yet; `unread` was never inspected."""
    missing: tuple[str, ...]
    """Weights files to upload."""
    format: ModelFormat | None
    """Recognised by content; null: never inspected."""
    tier: Tier | None
    """`data` is only read; `program` and `code` are run."""
    framework: str
    """The family the format belongs to."""
    precision: str
    """Of most of its weights."""
    domain: str
    """What it is for, as far as it shows; empty: that is not known."""
    origin: Origin
    """How it came here."""
    source: str
    """The file, address or recipe it came from."""
    sha256: Sha256 | None
    """Of the model's own file."""
    size_bytes: Count | None
    """With the weights beside it."""
    trust: ModelTrustDocument
    """Whether somebody vouched for it."""
    created_at: datetime
    """In UTC."""

    def keeps(self, sha256: str) -> bool:
        """The server has these bytes itself, and read them. A file that a terminal measured stayed
        where it lay: it may be unread, changed or gone."""
        is_read = self.state in ("ready", "untrusted")
        return self.sha256 == sha256 and is_read and self.origin != "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetailsDocument(ModelSummary):
    """A model: origin, content, inputs and outputs, trust."""

    facts: ModelDocument | None
    """What the file says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FedTensorDocument(Described):
    """An input as it was fed, or an output as it came."""

    name: str
    """The tensor's name."""
    dtype: str
    """Element type by NumPy's name."""
    shape: tuple[int, ...] | None
    """Null of a list or a map of tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceDocument(Described):
    """How it went."""

    engine: str
    """By name."""
    engine_version: str
    """Of its package."""
    device: str
    """That it ran on."""
    precision: str | None
    """Of its kernels; null if the engine does not say."""
    batch_size: Size
    """As it ran."""
    load_ms: Amount
    """Until the model was loaded."""
    first_ms: Amount
    """The very first call, which may compile and allocate."""
    ms: Amount
    """The call after it: no measurement."""
    inputs: tuple[FedTensorDocument, ...]
    """As it was fed."""
    outputs: tuple[FedTensorDocument, ...]
    """As they came."""
    notes: tuple[str, ...]
    """What was guessed, and the like."""

    @classmethod
    def of(cls, result: InferenceResult) -> InferenceDocument:
        return cls.from_fields(
            result,
            load_ms=result.load_s * 1e3,
            first_ms=result.first_call_s * 1e3,
            ms=result.call_s * 1e3,
            inputs=tuple(map(FedTensorDocument.from_fields, result.inputs)),
            outputs=tuple(map(FedTensorDocument.from_fields, result.outputs)),
            notes=tuple(map(without_folders, result.notes)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDocument(Described):
    """An attempt to run a model once: exactly one of the two."""

    inference: InferenceDocument | None = None
    """How it went."""
    failure: FailureDocument | None = None
    """Why it did not work, and what to do."""
