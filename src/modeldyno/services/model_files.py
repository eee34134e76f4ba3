"""Model files: received or copied into the workspace, inspected, and removed when unused.

A file is stored under its checksum, gets a folder of its own (``store/bundles.py``), and is read
there by a worker. Only then does it get a row. A file that cannot be read leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modeldyno.core.errors import (
    BadValue,
    FileNotFound,
    ModelChanged,
    ModeldynoError,
    ModelUnreadable,
    OutOfMemory,
    TimedOut,
    WorkerCrashed,
    WorkerGarbled,
    WrongState,
)
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import (
    Boundary,
    ExternalFile,
    Model,
    ModelFacts,
    NewModel,
    Origin,
    precision_of,
)
from modeldyno.core.names import names_in, path_refused, printable
from modeldyno.core.specs import InspectionSpec, ModelSpec
from modeldyno.core.trust import architecture_of
from modeldyno.formats.containers.extraction import ArchiveLimits, extract
from modeldyno.formats.domains import guess_purpose
from modeldyno.formats.sidecar import LONGEST as LONGEST_SIDECAR
from modeldyno.formats.sidecar import SUFFIX
from modeldyno.formats.tensorflow import INDEX
from modeldyno.services.concurrency_limit import ConcurrencyLimit
from modeldyno.services.lru_cache import LruCache
from modeldyno.services.requests import default_memory_limit
from modeldyno.services.runs import RunService
from modeldyno.store.bundles import Bundles, safe_file_name
from modeldyno.store.content import list_files_in_spec
from modeldyno.store.objects import Incoming, Objects, StoredObject
from modeldyno.store.records.all import Records
from modeldyno.store.roots import SAVED_MODEL, FileVersion, Listing, OpenFile, Roots
from modeldyno.store.writers import is_open_for_writing

logger = logging.getLogger(__name__)

MOST_ARRIVING = 2
MOST_READING = 12  # by or waiting for a worker; each holds one of the server's threads
MOST_WEIGHTS = 1000  # files beside a model; old exporters write one for each tensor
UNREADABLE = (WorkerCrashed, OutOfMemory, TimedOut, WorkerGarbled)  # caused by the file


class PreparedModel:
    """A model without its row. Its files are not swept while this object is alive."""

    def __init__(self, records: Records, new: NewModel, held: ExitStack) -> None:
        self._records = records
        self._link_and_inspect = new
        weakref.finalize(self, held.close)

    @property
    def new(self) -> NewModel:
        return self._link_and_inspect

    def add(self, **instead: Any) -> Model:
        """Add the row; ``instead`` are fields of NewModel that replace the prepared ones."""
        return self._records.models.add(replace(self._link_and_inspect, **instead))

    def add_once(self) -> Model:
        """The project's existing model, if it has the same files under the same name."""
        new = self._link_and_inspect
        with self._records.database.writing():
            return (
                self._records.models.find_by_name_and_path(new.project_id, new.name, new.path)
                or self.add()
            )


@dataclass(frozen=True)
class IncomingUpload:
    """A file that is being received."""

    incoming: Incoming
    release_slot: Callable[[], None]  # once received: others may send while this one is read


@dataclass(frozen=True)
class TemporaryCopy:
    """A copy of a file, to inspect it."""

    model: ModelSpec
    sha256: str
    version: FileVersion | None  # of the original; None: it changed while it was copied


class ModelFiles:
    """``inspections`` runs them beside measurements; ``kept`` gives the checksums of files that
    stay even when no model uses them."""

    def __init__(
        self,
        records: Records,
        objects: Objects,
        bundles: Bundles,
        roots: Roots,
        inspections: RunService,
        kept: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._records = records
        self._objects = objects
        self._bundles = bundles
        self._roots = roots
        self._inspections = inspections
        self._kept = kept
        # Two limits: a file that takes long to read does not keep others from arriving.
        self._receiving = ConcurrencyLimit(
            MOST_ARRIVING, "being received", "more at once would only make each of them slower"
        )
        self._reading = ConcurrencyLimit(
            MOST_READING, "being read", "each is read by a separate process"
        )
        self._lock = threading.RLock()  # reentrant: collecting a PreparedModel takes it
        self._in_use: Counter[str] = Counter()  # checksums and owners that must not be swept
        self._gathering: dict[ModelId, threading.Lock] = {}
        self._facts = LruCache[str, ModelFacts]()  # by content

    # ------------------------------------------------------------ in

    @contextmanager
    def receiving(self, announced: int = 0) -> Iterator[IncomingUpload]:
        """Receive an upload in pieces; raises TooBusy when two are under way already."""
        with ExitStack() as slot:
            slot.enter_context(self._receiving.slot())
            with self._objects.receiving(announced) as incoming:
                yield IncomingUpload(incoming, slot.close)

    def add(
        self, project_id: ProjectId, name: str, incoming: Incoming, origin: Origin = "upload"
    ) -> Model:
        """A model of what was received; raises what reading it raises, and then keeps nothing."""
        stored = incoming.sync_and_hash()
        with self._protected_from_cleanup(stored.sha256):
            incoming.store(stored)
            return self._records.models.add(
                self._link_and_inspect(project_id, name, stored, origin, name)
            )

    def add_stored(
        self, project_id: ProjectId, name: str, stored: StoredObject, origin: Origin, source: str
    ) -> Model:
        """A model of a file that is in the workspace already."""
        with self._protected_from_cleanup(stored.sha256):
            return self._records.models.add(
                self._link_and_inspect(project_id, name, stored, origin, source)
            )

    def prepare_received(self, name: str, incoming: Incoming, origin: Origin) -> PreparedModel:
        """Like ``add``, for a project that does not exist yet: ``add(project_id=…)``."""
        stored = incoming.sync_and_hash()
        with ExitStack() as held:
            held.enter_context(self._protected_from_cleanup(stored.sha256))
            incoming.store(stored)
            new = self._link_and_inspect(ProjectId(0), name, stored, origin, name)
            return PreparedModel(self._records, new, held.pop_all())

    def prepare_stored(
        self, name: str, stored: StoredObject, origin: Origin, source: str
    ) -> PreparedModel:
        """Like ``add_stored``, for a project that does not exist yet: ``add(project_id=…)``."""
        with ExitStack() as held:
            held.enter_context(self._protected_from_cleanup(stored.sha256))
            new = self._link_and_inspect(ProjectId(0), name, stored, origin, source)
            return PreparedModel(self._records, new, held.pop_all())

    def prepare_from(self, project_id: ProjectId, path: str, name: str = "") -> PreparedModel:
        """A copy of a file below an allowed folder, with the weights beside it: all, or nothing.

        Raises PathRefused, FileNotFound, and what reading the model raises.
        """
        self._records.projects.get(project_id)
        return self._prepare_copy(project_id, path, name)

    def prepare(self, path: str) -> PreparedModel:
        """Like ``prepare_from``, for a project that does not exist yet: ``add(project_id=…)``."""
        return self._prepare_copy(ProjectId(0), path, "")

    @contextmanager
    def temporary_copy(self, path: str) -> Iterator[TemporaryCopy]:
        """A copy of a file below an allowed folder, without weights beside it, to inspect it. It
        does not become a model, and is removed afterwards.

        Raises PathRefused and FileNotFound.
        """
        with (
            self._roots.open_model(path) as file,
            self._objects.receiving(file.size_bytes) as incoming,
        ):
            before = file.version()
            incoming.copy(file.descriptor)
            version = before if file.version().key == before.key else None
            stored = incoming.sync_and_hash()
            with self._protected_from_cleanup(stored.sha256):
                incoming.store(stored)
                copy = self._bundles.link_model_without_weights(
                    _name_in_store(file, file.name), stored.sha256
                )
                model = ModelSpec(str(copy), sha256=stored.sha256)
                yield TemporaryCopy(model, stored.sha256, version)
        self.sweep()

    def open_below_roots(self, path: str) -> AbstractContextManager[OpenFile]:
        """A file below an allowed folder; raises PathRefused and FileNotFound."""
        return self._roots.open_model(path)

    def find_or_add_current(self, project_id: ProjectId, path: str, roots: Roots) -> Model:
        """The model of a file below ``roots`` as it is now; copied unless the project has it.

        Raises as ``prepare_from`` does, and ModelChanged while the file is being written.
        """
        with roots.open_model(path) as file:
            known = self._find_copy(project_id, file, _read_sidecar(roots, file))
        return known or self._copy_and_prepare(roots, project_id, path, "", "path").add_once()

    def add_packed(self, project_id: ProjectId, path: str, incoming: Incoming) -> Model:
        """A model from an archive (zip, tar, tar.gz) with the weights beside it, all or nothing;
        anything else in the archive is ignored.

        Raises ArchiveRefused, PathRefused, FileNotFound, and what reading the model raises.
        """
        names_in(path)
        owner = secrets.token_hex(16)
        folder = self._bundles.waiting_folder(owner)
        with self._protected_from_cleanup(owner):
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                limits = ArchiveLimits(total_bytes=self._objects.largest)
                with incoming.open_from_start() as archive:
                    extract(archive, folder, limits, self._objects.check_room)
                return self._copy_and_prepare(Roots([folder]), project_id, path, "", "upload").add()
            except FileNotFound as error:
                raise FileNotFound(
                    error.title, why="the archive does not contain it", fix="Add it to the archive"
                ) from error
            finally:
                self._bundles.discard_waiting(owner)

    def add_converted(self, project_id: ProjectId, path: str, name: str, source: str) -> Model:
        """A converted model with its weights and sidecar; ``source`` names the original."""
        file = Path(path)
        prepared = self._copy_and_prepare(
            Roots([file.parent]), project_id, file.name, name, "conversion"
        )
        return prepared.add(source=source)

    def add_weights(self, model_id: ModelId, location: str, incoming: Incoming) -> Model:
        """Add one of the files that a model lacks. With the last one, it is inspected again; if it
        cannot be read then, that file is refused."""
        self.require_missing_weights(model_id, location)
        stored = incoming.sync_and_hash()
        with self._gathering_weights(model_id):
            model = self.require_missing_weights(model_id, location)
            facts, sha256 = require_inspected(model)
            owner = str(model_id)
            place = self._bundles.waiting_folder(owner).joinpath(*names_in(location))
            incoming.move_to(place)
            arrived = ExternalFile(location, stored.size_bytes, stored.sha256)
            try:
                if location == INDEX:
                    facts = self._apply_weights_index(owner, Path(model.path).name, sha256, facts)
                    model = replace(model, facts=facts)
                return self._update_with_weights(model, (*facts.external, arrived))
            except ModeldynoError:
                place.unlink(missing_ok=True)
                raise

    def require_missing_weights(self, model_id: ModelId, location: str) -> Model:
        """Raises unless the model lacks a file of that name. To be called before it is sent."""
        names_in(location)
        model = self._records.models.get(model_id)
        facts, _ = require_inspected(model)
        if not facts.missing:
            raise WrongState(
                f"{model.name} has all its weights",
                why="they are in the model's own file, or have all been uploaded",
                fix="Upload other weights with their model, as a new model",
            )
        if location not in _list_declared_weights(facts):
            raise FileNotFound(
                f'{model.name} does not refer to a file "{printable(location)}"',
                why="only weights that the model refers to can be uploaded",
                fix="Send one of: " + ", ".join(facts.missing[:5]),
            )
        return model

    # ------------------------------------------------------------ inspect

    def inspect_file(self, model: ModelSpec) -> ModelFacts:
        """The facts of a file, read by a worker; weights beside it need not be there.

        Facts of ONNX files without external weights are cached: inspecting a file and then making a
        project of it reads it once.
        """
        cached = self._facts.get(model.sha256 or "")
        if cached is not None:
            return replace(cached, path=model.path)
        facts = self._inspect(Path(model.path), model.sha256, without_weights=True)
        is_self_contained = facts.format == "onnx" and not facts.external and not facts.missing
        if model.sha256 and is_self_contained:  # under our own hash, not the worker's
            self._facts.put(model.sha256, facts)
        return facts

    def inspect(self, model_id: ModelId) -> Model:
        """Inspect it again; raises what reading the model raises."""
        model = self._records.models.get(model_id)
        if model.facts is None or not model.facts.missing:
            facts = self._inspect(Path(model.path), model.sha256)
            return self._records.models.set_facts(model_id, facts)
        with self._gathering_weights(model_id):
            path = Path(model.path)
            facts = self._inspect(path, model.sha256, without_weights=True)
            if INDEX in self._bundles.list_arrived_weights(str(model_id)):
                _, sha256 = require_inspected(model)
                facts = self._apply_weights_index(str(model_id), path.name, sha256, facts)
            return self._update_with_weights(replace(model, facts=facts), model.facts.external)

    def open(self, model: Model) -> int:
        """A descriptor of its file, which the caller closes; raises FileNotFound."""
        if model.sha256 is None or model.origin == "terminal":
            raise FileNotFound(
                f"The file of {model.name} is not in the workspace",
                why="it was measured in place, from the terminal",
                fix="Upload it to a project",
            )
        return self._objects.open(model.sha256)

    def entries(self, path: str) -> Listing:
        """What could be imported; without a path, the folders to start from."""
        return self._roots.entries(path) if path else self._roots.list_top()

    # ------------------------------------------------------------ remove

    def sweep(self) -> int:
        """Remove the files that no model uses any more. Rows are deleted first, so no row ever
        refers to a removed file."""
        with self._lock:
            places = self._records.models.places()
            used = {*places.values(), *(str(number) for number in places)}
            removed = self._bundles.delete_unused(used, busy=self._in_use, kept=self._kept())
            self._gathering = {n: lock for n, lock in self._gathering.items() if n in places}
        self._objects.sweep()
        if removed:
            logger.info("removed files of %s deleted models", removed)
        return removed

    # ------------------------------------------------------------ inside

    def _prepare_copy(self, project_id: ProjectId, path: str, name: str) -> PreparedModel:
        with ExitStack() as slot:
            slot.enter_context(self._receiving.slot())
            return self._copy_and_prepare(self._roots, project_id, path, name, "path", slot.close)

    def _copy_and_prepare(
        self,
        roots: Roots,
        project_id: ProjectId,
        path: str,
        name: str,
        origin: Origin,
        release_slot: Callable[[], None] = lambda: None,
    ) -> PreparedModel:
        owner = secrets.token_hex(16)
        with (
            ExitStack() as held,
            roots.open_model(path) as file,
            self._objects.receiving(file.size_bytes) as incoming,
        ):
            before = _require_unwritten(file)
            incoming.copy(file.descriptor)
            if _require_unwritten(file) != before:
                raise _being_written_error(file.name)
            stored = incoming.sync_and_hash()
            release_slot()
            held.enter_context(self._protected_from_cleanup(stored.sha256, owner))
            incoming.store(stored)

            def gather(facts: ModelFacts) -> ModelFacts:
                name = Path(facts.path).name
                if INDEX in facts.missing:
                    self._copy_weights(roots, file, owner, INDEX, INDEX)
                    facts = self._apply_weights_index(owner, name, stored.sha256, facts)
                is_single_file = not facts.missing and not facts.external
                for location in facts.missing:
                    source_name = _weights_source_name(facts, file, location)
                    self._copy_weights(roots, file, owner, location, source_name)
                sidecar = _read_sidecar(roots, file)
                if sidecar is not None:
                    self._write_sidecar(owner, name, sidecar)
                elif is_single_file:
                    return facts
                return self._move_and_inspect(
                    owner, name, stored.sha256, _sidecar_files(name, sidecar)
                )

            name = name or file.name
            stored_name = _name_in_store(file, name)
            new = self._link_and_inspect(
                project_id, name, stored, origin, path, gather, stored_name
            )
            return PreparedModel(self._records, new, held.pop_all())

    def _link_and_inspect(
        self,
        project_id: ProjectId,
        name: str,
        stored: StoredObject,
        origin: Origin,
        source: str,
        gather: Callable[[ModelFacts], ModelFacts] | None = None,
        stored_name: str = "",
    ) -> NewModel:
        """Puts it into a folder of its own and inspects it there. ``gather`` adds the files beside
        it; ``stored_name`` is its file's, if not ``name``."""
        path = self._bundles.link_model_without_weights(
            stored_name or safe_file_name(name), stored.sha256
        )
        facts = self.inspect_file(ModelSpec(str(path), sha256=stored.sha256))
        _check_weights(path.name, facts)
        if gather is not None:
            facts = gather(facts)
        purpose = guess_purpose(facts)
        return NewModel(
            project_id=project_id,
            name=name,
            path=facts.path,
            format=facts.format,
            sha256=stored.sha256,
            size_bytes=facts.size_bytes,
            framework=facts.framework,
            precision=precision_of(facts),
            domain=purpose.domain.name,
            origin=origin,
            source=source,
            facts=facts,
            boundary=Boundary(domain_flavour=purpose.flavour.name),
        )

    def _copy_weights(
        self, roots: Roots, model: OpenFile, owner: str, location: str, source_name: str
    ) -> None:
        """Weights beside a model's original, with the same checks; ``source_name`` is their name
        there."""
        try:
            with (
                roots.open(model.path_beside(source_name)) as file,
                self._objects.receiving(file.size_bytes) as incoming,
            ):
                incoming.copy(file.descriptor)
                incoming.sync_and_hash()
                incoming.move_to(self._bundles.waiting_folder(owner).joinpath(*names_in(location)))
        except FileNotFound as error:
            raise FileNotFound(
                f'{model.name} needs the weights file "{printable(source_name)}", which is missing',
                why="the model keeps its weights in a separate file",
                fix="Put it beside the model; or upload the model, then its weights",
            ) from error

    def _write_sidecar(self, owner: str, name: str, sidecar: bytes) -> None:
        """Beside the model's copy: readers look for it there."""
        with self._objects.receiving(len(sidecar)) as incoming:
            incoming.write(sidecar)
            incoming.sync_and_hash()
            incoming.move_to(self._bundles.waiting_folder(owner) / (name + SUFFIX))

    def _find_copy(
        self, project_id: ProjectId, file: OpenFile, sidecar: bytes | None
    ) -> Model | None:
        """The project's model with the same content; names and times prove nothing."""
        before = _require_unwritten(file)
        with os.fdopen(os.dup(file.descriptor), "rb") as reading:
            sha256 = hashlib.file_digest(reading, "sha256").hexdigest()
        if _require_unwritten(file) != before:
            raise _being_written_error(file.name)
        name = _name_in_store(file, file.name)
        place = self._bundles.path_of(name, sha256, _sidecar_files(name, sidecar))
        return self._records.models.find_by_name_and_path(project_id, file.name, str(place))

    def _update_with_weights(self, model: Model, known: tuple[ExternalFile, ...]) -> Model:
        """Update its facts with the weights received so far; ``known`` describes some of them."""
        facts, sha256 = require_inspected(model)
        owner = str(model.id)
        name = Path(model.path).name
        received = self._bundles.list_arrived_weights(owner, name)
        missing = tuple(
            location for location in _list_declared_weights(facts) if location not in received
        )
        if missing:
            described = {file.location: file for file in known}
            external = tuple(
                described.get(location) or self._bundles.describe_arrived_file(owner, location)
                for location in sorted(received)
            )
            facts = replace(facts, missing=missing, external=external)
        else:
            facts = self._move_and_inspect(owner, name, sha256)
        return self._records.models.set_facts(model.id, facts)

    def _apply_weights_index(
        self, owner: str, name: str, sha256: str, facts: ModelFacts
    ) -> ModelFacts:
        """The index of a SavedModel's weights says into how many files they are split; until it is
        there, one is assumed."""
        with self._bundles.linked_beside_arrived_weights(owner, name, sha256) as path:
            updated = self._inspect(path, sha256, without_weights=True)
        _check_weights(name, updated)
        for stray in self._bundles.list_arrived_weights(owner, name) - {
            *_list_declared_weights(updated)
        }:
            (self._bundles.waiting_folder(owner) / stray).unlink(missing_ok=True)
        return replace(updated, path=facts.path)

    def _move_and_inspect(
        self, owner: str, name: str, sha256: str, beside: tuple[ExternalFile, ...] = ()
    ) -> ModelFacts:
        with self._bundles.linked_beside_arrived_weights(owner, name, sha256) as path:
            facts = self._inspect(path, sha256)
        place = self._bundles.move_model_and_weights_into_place(
            owner, name, sha256, (*facts.external, *beside)
        )
        return replace(facts, path=str(place))

    def _inspect(self, path: Path, sha256: str | None, without_weights: bool = False) -> ModelFacts:
        spec = InspectionSpec(
            ModelSpec(str(path), sha256=sha256),
            memory_limit_bytes=default_memory_limit(),
            without_weights=without_weights,
        )
        try:
            with self._reading.slot():
                facts = self._inspections.run(spec)
        except UNREADABLE as error:
            raise ModelUnreadable(
                f"{path.name} cannot be read: {error.title}", why=error.why, fix=error.fix
            ) from error
        assert isinstance(facts, ModelFacts)
        return facts

    @contextmanager
    def _gathering_weights(self, model_id: ModelId) -> Iterator[None]:
        """Lock a model's weights, and keep them from being swept."""
        _, sha256 = require_inspected(self._records.models.get(model_id))
        with self._lock:
            lock = self._gathering.setdefault(model_id, threading.Lock())
        with lock, self._protected_from_cleanup(sha256, str(model_id)):
            yield

    @contextmanager
    def _protected_from_cleanup(self, *keys: str) -> Iterator[None]:
        """Keep these from being swept; if the body fails, sweep them."""
        with self._lock:
            self._in_use.update(keys)
        is_done = False
        try:
            yield
            is_done = True
        finally:
            with self._lock:
                self._in_use.subtract(keys)
                self._in_use = +self._in_use
            if not is_done:
                try:
                    self.sweep()
                except Exception:  # a later sweep will do it; the original error matters more
                    logger.exception("files of a model that could not be added may be left")


def require_inspected(model: Model) -> tuple[ModelFacts, str]:
    if model.facts is None or model.sha256 is None:
        raise WrongState(
            f"{model.name} has not been inspected",
            why="nothing is known about a model until its file was read",
            fix="Inspect it; that says what is wrong",
        )
    return model.facts, model.sha256


def pinned_spec(model: Model) -> ModelSpec:
    """Pinned to the content and the code that are trusted."""
    facts, sha256 = require_inspected(model)
    spec = ModelSpec(model.path, sha256=sha256, architecture=architecture_of(facts))
    return list_files_in_spec(spec, facts)


def _name_in_store(file: OpenFile, name: str) -> str:
    """Of our copy of a model's file. In a SavedModel's folder, it is what loaders look for."""
    is_inside = file.place.rpartition("/")[2] == SAVED_MODEL
    return SAVED_MODEL if is_inside else safe_file_name(name)


def _require_unwritten(file: OpenFile) -> tuple[int, int]:
    """Its size and modification time; raises ModelChanged while a program has it open to write."""
    if is_open_for_writing(file.descriptor):
        raise _being_written_error(file.name)
    status = os.fstat(file.descriptor)
    return status.st_size, status.st_mtime_ns


def _being_written_error(name: str) -> ModelChanged:
    return ModelChanged(
        f'"{printable(name)}" is being written right now',
        why="a program has it open to write, or changed it while it was read",
        fix="Try again when that has finished. A file written under another name and renamed at "
        "the end is never seen incomplete",
    )


def _read_sidecar(roots: Roots, model: OpenFile) -> bytes | None:
    """``<file>.modeldyno.toml``, if there is one."""
    try:
        with roots.open(model.path_beside(model.name + SUFFIX)) as file:
            if file.size_bytes > LONGEST_SIDECAR:
                raise BadValue(
                    f'"{printable(file.name)}" is too long',
                    why=f"{LONGEST_SIDECAR >> 10} KiB are enough",
                )
            return os.pread(file.descriptor, LONGEST_SIDECAR, 0)
    except FileNotFound:
        return None


def _sidecar_files(name: str, sidecar: bytes | None) -> tuple[ExternalFile, ...]:
    if sidecar is None:
        return ()
    return (ExternalFile(name + SUFFIX, len(sidecar), hashlib.sha256(sidecar).hexdigest()),)


def _list_declared_weights(facts: ModelFacts) -> tuple[str, ...]:
    """Every file that the model refers to, present or missing."""
    return tuple(sorted({*facts.missing, *(file.location for file in facts.external)}))


def _check_weights(name: str, facts: ModelFacts) -> None:
    """Raises unless the missing files can lie beside it under their own names."""
    if len(facts.missing) > MOST_WEIGHTS:
        raise BadValue(
            f"{name} keeps its weights in {len(facts.missing)} files",
            why=f"at most {MOST_WEIGHTS} are supported",
            fix="Export it with all weights in one file",
        )
    taken = {(name,), *(names_in(location) for location in facts.missing)}
    for names in taken:
        if any(names[:depth] in taken for depth in range(1, len(names))):
            raise path_refused("/".join(names), "a file stands where a folder should be")
    if any(names_in(location) == (name,) for location in facts.missing):
        raise path_refused(name, "the model's own file would have to hold its weights")


def _weights_source_name(facts: ModelFacts, file: OpenFile, location: str) -> str:
    """Weights of an OpenVINO model are named after the model, whose copy may have another name."""
    return Path(file.name).with_suffix(".bin").name if facts.format == "openvino-ir" else location
