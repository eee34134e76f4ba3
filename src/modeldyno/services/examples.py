"""Models to try: which there are, which can be had here, and one of them into the workspace."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.core.errors import BadValue, DownloadsOff, ExampleNotFound, ExampleUnavailable
from modeldyno.core.examples import Example, ExampleStatus
from modeldyno.core.names import find_similar_names, names_in, printable
from modeldyno.engines import catalog
from modeldyno.formats.containers.extraction import ArchiveLimits, extract
from modeldyno.services import keras_models
from modeldyno.store.downloads import Downloads, OnProgress
from modeldyno.store.examples import find_wheel_file
from modeldyno.store.objects import Objects, StoredObject, translated_storage_errors
from modeldyno.store.transfers import Stop, check_stop
from modeldyno.store.web_addresses import download_refused_error
from modeldyno.worker.untrusted_folders import discard_tree

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_ABSENT = "not installed"


@dataclass(frozen=True)
class FetchedExample:
    example: Example
    stored: StoredObject
    path: Path  # the stored file: read-only, and named after its content
    source: str  # where it came from, for people


class ExampleService:
    """May be called from any thread. An example is named by its slug, never by an address."""

    def __init__(
        self,
        catalogue: Mapping[str, Example],
        objects: Objects,
        downloads: Downloads,
        *,
        allow_downloads: bool,
    ) -> None:
        self._catalogue = catalogue
        self._objects = objects
        self._downloads = downloads
        self._allow_downloads = allow_downloads

    def list(self) -> tuple[ExampleStatus, ...]:
        """In the catalogue's order."""
        readable = _formats_that_run()
        return tuple(self._status(example, readable) for example in self._catalogue.values())

    def offered(self) -> tuple[Example, ...]:
        """Those that are available, here or by a download if that is allowed; without engines."""
        return tuple(
            example
            for example in self._catalogue.values()
            if example.kind == "download" or self._why_unavailable(example) is None
        )

    def get(self, slug: str) -> ExampleStatus:
        """Raises ExampleNotFound."""
        return self._status(self._find(slug), _formats_that_run())

    def fetch(
        self, slug: str, say: OnProgress = lambda done, total: None, stop: Stop = lambda: False
    ) -> FetchedExample:
        """The model, in the workspace; at once when it is there already.

        ``say`` is called with bytes at most four times a second, ``stop`` several times a second.
        Raises ExampleNotFound, ExampleUnavailable, and what ``Downloads.fetched_file`` and
        unpacking an archive raise.
        """
        example = self._find(slug)
        if obstacle := self._why_unavailable(example):
            raise obstacle
        stored = self._find_without_download(example)
        if stored is None and example.kind == "keras":
            stored = self._build(example, stop)
        stored = stored or self._download(example, say, stop)
        path = self._objects.path(stored.sha256)
        return FetchedExample(example, stored, path, _describe_source(example))

    def name(self, fetched: FetchedExample) -> Path:
        """The same file under the name that people know it by."""
        example = fetched.example
        path = self._objects.folder.parent / "examples" / example.slug / example.file_name
        self._objects.name(fetched.stored.sha256, path)
        return path

    def address(self, example: Example) -> str:
        """Where it comes from: of the web, or of the package that holds it (a package URL)."""
        package = "keras" if example.kind == "keras" else "onnx"
        return example.url or f"pkg:pypi/{package}@{_installed_version(package)}#{example.file}"

    def readable_slugs(self) -> frozenset[str]:
        """The checksums of what was downloaded once and need not be again."""
        downloads = map(self._downloads.find_earlier_download, self._catalogue.values())
        return frozenset(stored.sha256 for stored in downloads if stored)

    def _find(self, slug: str) -> Example:
        if slug in self._catalogue:
            return self._catalogue[slug]
        close = find_similar_names(slug, self._catalogue)
        raise ExampleNotFound(
            f'There is no example named "{printable(slug)}"',
            fix=f"Did you mean {close[0]}?" if close else "`modeldyno examples` lists them",
        )

    def _status(self, example: Example, readable: Collection[str]) -> ExampleStatus:
        obstacle = self._why_unavailable(example)
        return ExampleStatus(
            example=example,
            available=obstacle is None,
            why_not=obstacle.why if obstacle else None,
            fix=obstacle.fix if obstacle else None,
            can_run=example.format in readable,
            size_bytes=_expected_size(example),
        )

    def _why_unavailable(self, example: Example) -> ExampleUnavailable | None:
        title = f"{example.slug} is not available here"
        match example.kind:
            case "onnx-wheel" if find_wheel_file(example) is None:
                why = (
                    f"the installed onnx package ({_installed_version('onnx')}) does not contain it"
                )
                return ExampleUnavailable(title, why=why, fix="Run `pip install --upgrade onnx`")
            case "keras" if not _has_keras():
                why = f"it is built by Keras ({_installed_version('keras')}) with TensorFlow"
                fix = f"Run `{catalog.find('tensorflow').install}`"
                return ExampleUnavailable(title, why=why, fix=fix)
            case "download" if not self._allow_downloads and self._find_stored(example) is None:
                why = "downloads are switched off"
                fix = "Allow them with --allow-downloads or MODELDYNO_ALLOW_DOWNLOADS=1"
                return DownloadsOff(title, why=why, fix=fix)
        return None

    def _find_without_download(self, example: Example) -> StoredObject | None:
        if example.kind != "onnx-wheel":
            return self._find_stored(example)
        path = find_wheel_file(example)
        assert path is not None, "it was there a moment ago"
        return self._store_file(path)

    def _find_stored(self, example: Example) -> StoredObject | None:
        stored = self._downloads.find_earlier_download(example)
        with contextlib.suppress(BadValue):  # a damaged note is none
            if stored and self._objects.path(stored.sha256).is_file():
                return stored
        return None

    def _build(self, example: Example, stop: Stop) -> StoredObject:
        """Once: a second one would have other bytes, for its file says when it was made."""
        with (
            self._downloads.locked_for_one_download(example),
            tempfile.TemporaryDirectory(prefix="modeldyno-") as folder,
        ):
            if (
                stored := self._find_stored(example)
            ) is not None:  # another process built it meanwhile
                return stored
            path = Path(folder) / example.file_name
            keras_models.build(path.stem, path, stop)
            stored = self._store_file(path)
            self._downloads.remember_download(example, stored)
        return stored

    def _download(self, example: Example, say: OnProgress, stop: Stop) -> StoredObject:
        with self._downloads.fetched_file(example, say, stop) as whole:
            if example.is_archive:
                with self._unpacked_model(example, whole, stop) as model:
                    stored = self._store_file(model)
            else:
                stored = self._store_file(whole)
            self._downloads.remember_download(example, stored)
        return stored

    @contextmanager
    def _unpacked_model(self, example: Example, archive: Path, stop: Stop) -> Iterator[Path]:
        folder = archive.with_suffix(".unpacked")
        discard_tree(folder)  # left by a process that was killed
        limits = ArchiveLimits(total_bytes=self._objects.largest)
        try:
            with io.BufferedReader(_Heeding(archive, stop)) as file:
                names = [member.name for member in extract(file, folder, limits)]
            if example.file not in names:
                raise download_refused_error(
                    "the archive does not contain the file named in the catalogue"
                )
            yield folder.joinpath(*names_in(example.file))
        finally:
            discard_tree(folder)

    def _store_file(self, path: Path) -> StoredObject:
        with translated_storage_errors():
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return self._objects.add(descriptor)
        finally:
            os.close(descriptor)


class _Heeding(io.FileIO):
    """A file that stops being readable once ``stop`` says so."""

    def __init__(self, path: Path, stop: Stop) -> None:
        super().__init__(path)
        self._stop = stop

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        check_stop(self._stop)
        return super().readinto(buffer)


def _formats_that_run() -> frozenset[str]:
    usable = filter(catalog.is_usable, catalog.entries())
    return frozenset(name for entry in usable for name in entry.formats)


def _expected_size(example: Example) -> int | None:
    if example.kind == "onnx-wheel" and (path := find_wheel_file(example)):
        with contextlib.suppress(OSError):
            return path.stat().st_size
    return example.size_bytes


def _describe_source(example: Example) -> str:
    if example.kind == "keras":
        return f"keras {_installed_version('keras')}: {example.file_name}, with random weights"
    return example.url or f"onnx {_installed_version('onnx')}: {example.file_name}"


def _has_keras() -> bool:
    return _installed_version("keras") != _ABSENT and catalog.is_usable(catalog.find("tensorflow"))


@cache  # looked up among all that is installed, each time
def _installed_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return _ABSENT
