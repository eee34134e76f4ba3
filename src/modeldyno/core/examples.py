"""An example: a model that people can try without having one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ExampleKind = Literal["onnx-wheel", "keras", "download"]
FetchState = Literal["fetching", "done", "failed"]


@dataclass(frozen=True, kw_only=True)
class Example:
    """What the catalogue says of one. A download has a ``url``, and no other kind does."""

    slug: str  # how commands and requests name it
    name: str  # how its makers do
    kind: ExampleKind
    domain: str
    framework: str
    format: str  # of the model file, as engines name the formats they read
    file: str  # the model's file: in the package, in the archive, or what is downloaded
    note: str
    url: str | None = None
    is_archive: bool = False
    sha256: str | None = None  # of what is downloaded; None: nobody has told us, as below
    size_bytes: int | None = None
    input_shapes: tuple[tuple[int, ...], ...] = ()  # of one item, in the order of ``inputs``
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """For a copy of it."""
        return self.file.rpartition("/")[2]


@dataclass(frozen=True)
class ExampleStatus:
    """An example, and what can be done with it here and now."""

    example: Example
    available: bool  # it is here, or may be fetched
    why_not: str | None
    fix: str | None
    can_run: bool  # an engine that is installed reads its format
    size_bytes: int | None  # of the file, or of what is downloaded; None: not known before
