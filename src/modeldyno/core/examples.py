"""An example: a model for people who have none at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Count, Described, Sha256, Size
from modeldyno.core.documents.failures import FailureDocument

ExampleKind = Literal["onnx-wheel", "keras", "download"]
FetchState = Literal["fetching", "done", "failed"]


@dataclass(frozen=True, kw_only=True)
class Example:
    """An entry of the catalogue. Only downloads have a ``url``."""

    slug: str  # how commands and requests name it
    name: str  # its makers' name
    kind: ExampleKind
    domain: str
    framework: str
    format: str  # of the model file, as engines name the formats they read
    file: str  # the model's file: in the package, in the archive, or what is downloaded
    note: str
    url: str | None = None
    is_archive: bool = False
    sha256: str | None = None  # of the download; None: unknown, as below
    size_bytes: int | None = None
    input_shapes: tuple[tuple[int, ...], ...] = ()  # of one item, in the order of ``inputs``
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """Of a copy."""
        return self.file.rpartition("/")[2]


@dataclass(frozen=True)
class ExampleStatus:
    """An example, and whether it can be used here."""

    example: Example
    available: bool  # present, or may be fetched
    why_not: str | None
    fix: str | None
    can_run: bool  # an installed engine reads its format
    size_bytes: int | None  # of the file, or of the download; None if unknown


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
