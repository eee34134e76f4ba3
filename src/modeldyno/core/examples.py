"""An example: a model for people who have none at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
