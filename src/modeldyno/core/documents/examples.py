"""Models to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Count, Described, Sha256, Size
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.examples import ExampleKind, ExampleStatus, FetchState


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleDocument(Described):
    """A model to try, and what can be done with it here."""

    slug: str
    """How commands name it."""
    name: str
    """How its makers do."""
    kind: ExampleKind
    """Where it comes from: the installed onnx package, Keras, or a download."""
    domain: str
    """What it is for."""
    framework: str
    """What it was made with."""
    format: str
    """Of its file, as engines name the formats they read."""
    file: str
    """Name of the model's file."""
    available: bool
    """Whether it is here, or may be fetched."""
    why_not: str | None
    """Why it is not available; null when it is."""
    fix: str | None
    """What to do about that; null when it is available."""
    can_run: bool
    """Whether an engine that is installed reads its format."""
    url: str | None
    """Where a download comes from; null for other kinds."""
    sha256: Sha256 | None
    """Of what is downloaded; null when it is not known."""
    size_bytes: Count | None
    """Of the file, or of what is downloaded; null when that is not known before."""
    inputs: tuple[str, ...]
    """Names of the model's inputs, where the catalogue knows them."""
    input_shapes: tuple[tuple[int, ...], ...]
    """Shapes of the inputs for one item, without the batch."""
    outputs: tuple[str, ...]
    """Names of the model's outputs, where the catalogue knows them."""
    note: str
    """What it is, and what it is useless for."""

    @classmethod
    def of(cls, status: ExampleStatus) -> ExampleDocument:
        example = status.example
        return cls.from_fields(
            example,
            file=example.file_name,
            available=status.available,
            why_not=status.why_not,
            fix=status.fix,
            can_run=status.can_run,
            size_bytes=status.size_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedDocument(Described):
    """A model in the workspace."""

    path: str
    """The file: the copy that --to asked for, or the one in the workspace."""
    sha256: Sha256
    """Checksum of the model's file."""
    size_bytes: Count
    """Size of the model's file."""
    source: str
    """Where it came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplesDocument(Described):
    """What `modeldyno examples --json` and `modeldyno examples get NAME --json` give."""

    schema: Literal["modeldyno.examples/1"] = "modeldyno.examples/1"
    """Name and version of this format."""
    examples: tuple[ExampleDocument, ...]
    """The whole catalogue in its order; or the one that was got."""
    fetched: FetchedDocument | None = None
    """Where the example that was got lies now; null for a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchDocument(Described):
    """An example on its way into a project of a server."""

    project_id: Size
    """Number of the project."""
    example: str
    """Its `slug`."""
    state: FetchState
    """Whether it is over."""
    done_bytes: Count
    """That are here."""
    total_bytes: Count | None
    """Null as long as nobody has said."""
    model_id: Size | None
    """The model that became of it."""
    failure: FailureDocument | None
    """Why nothing came of it, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleFetchesDocument(Described):
    """A model to try, and how far it is on its way into projects."""

    example: ExampleDocument
    """What it is."""
    fetches: tuple[FetchDocument, ...]
    """The latest into each project."""
