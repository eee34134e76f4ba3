"""Files of models on their way in: received, copied, looked into, and swept out again.

A file is kept under its checksum, gets a folder of its own (``store/bundles.py``), and is read by a
worker there. Only then the database hears of it. What could not be read leaves nothing.
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

from modeldyno.core.client_paths import names_in, refused, shown
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
from modeldyno.core.specs import InspectionSpec, ModelSpec
from modeldyno.core.trust import architecture_of
from modeldyno.formats.containers.extraction import ArchiveLimits, extract
from modeldyno.formats.domains import purpose_of
from modeldyno.formats.sidecar import LONGEST as LONGEST_SIDECAR
from modeldyno.formats.sidecar import SUFFIX
from modeldyno.formats.tensorflow.saved_model import INDEX
from modeldyno.services.concurrency_limit import ConcurrencyLimit
from modeldyno.services.lru_cache import LruCache
from modeldyno.services.requests import default_memory_limit
from modeldyno.services.runs import RunService
from modeldyno.store.bundles import Bundles, file_name
from modeldyno.store.content import with_files
from modeldyno.store.objects import Incoming, Objects, StoredObject
from modeldyno.store.records.all import Records
from modeldyno.store.roots import SAVED_MODEL, FileVersion, Listing, OpenFile, Roots
from modeldyno.store.writers import is_being_written

logger = logging.getLogger(__name__)

MOST_ARRIVING = 2
MOST_READING = 12  # in workers, or waiting for one; each holds one of the server's threads
MOST_WEIGHTS = 1000  # files beside a model; old exporters write one for each tensor
UNREADABLE = (WorkerCrashed, OutOfMemory, TimedOut, WorkerGarbled)  # it was the file's doing


class PreparedModel:
    """All of a model but its row. Its files are not swept as long as somebody holds this."""

    def __init__(self, records: Records, new: NewModel, held: ExitStack) -> None:
        self._records = records
        self._new = new
        weakref.finalize(self, held.close)

    @property
    def new(self) -> NewModel:
        return self._new

    def add(self, **instead: Any) -> Model:
        """The row; ``instead`` are fields of NewModel, to be otherwise than they were prepared."""
        return self._records.models.add(replace(self._new, **instead))

    def add_once(self) -> Model:
        """The project's own, when it has the same files under the same name already."""
        new = self._new
        with self._records.database.writing():
            return self._records.models.at(new.project_id, new.name, new.path) or self.add()


@dataclass(frozen=True)
class Arriving:
    """A file that is being received."""

    incoming: Incoming
    has_arrived: Callable[[], None]  # say so: the place is free for the next, this one is read


@dataclass(frozen=True)
class TemporaryCopy:
    """A copy of a file, for a look into it."""

    model: ModelSpec
    sha256: str
    version: FileVersion | None  # of the file it is a copy of; None: that changed meanwhile


class ModelFiles:
    """``looking`` runs inspections, beside whatever is measured; ``kept`` are the checksums of
    files that stay even when no model has them."""

    def __init__(
        self,
        records: Records,
        objects: Objects,
        bundles: Bundles,
        roots: Roots,
        looking: RunService,
        kept: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._records = records
        self._objects = objects
        self._bundles = bundles
        self._roots = roots
        self._looking = looking
        self._kept = kept
        # Apart: a file that takes long to read does not keep others from arriving.
        self._arriving = ConcurrencyLimit(
            MOST_ARRIVING, "being received", "more at once would only take longer, each of them"
        )
        self._reading = ConcurrencyLimit(
            MOST_READING, "being read", "each is read by a process of its own"
        )
        self._lock = threading.RLock()  # what is prepared and forgotten is released at any moment
        self._busy: Counter[str] = Counter()  # checksums and owners that nobody may sweep
        self._gathering: dict[ModelId, threading.Lock] = {}
        self._read = LruCache[str, ModelFacts]()  # by content

    # ------------------------------------------------------------ in

    @contextmanager
    def receiving(self, announced: int = 0) -> Iterator[Arriving]:
        """For the pieces of an upload; raises TooBusy when two are under way already."""
        with ExitStack() as place:
            place.enter_context(self._arriving.taken())
            with self._objects.receiving(announced) as incoming:
                yield Arriving(incoming, place.close)

    def add(
        self, project_id: ProjectId, name: str, incoming: Incoming, origin: Origin = "upload"
    ) -> Model:
        """A model of what was received; raises what reading it raises, and then nothing stays."""
        stored = incoming.settle()
        with self._at_work_on(stored.sha256):
            incoming.keep(stored)
            return self._records.models.add(self._new(project_id, name, stored, origin, name))

    def add_stored(
        self, project_id: ProjectId, name: str, stored: StoredObject, origin: Origin, source: str
    ) -> Model:
        """A model of a file that the workspace has already."""
        with self._at_work_on(stored.sha256):
            return self._records.models.add(self._new(project_id, name, stored, origin, source))

    def prepared_received(self, name: str, incoming: Incoming, origin: Origin) -> PreparedModel:
        """A model of what was received, for a project that is yet to be made."""
        stored = incoming.settle()
        with ExitStack() as held:
            held.enter_context(self._at_work_on(stored.sha256))
            incoming.keep(stored)
            new = self._new(ProjectId(0), name, stored, origin, name)
            return PreparedModel(self._records, new, held.pop_all())

    def prepared_stored(
        self, name: str, stored: StoredObject, origin: Origin, source: str
    ) -> PreparedModel:
        """The same, for a project that is yet to be made: ``add(project_id=…)``."""
        with ExitStack() as held:
            held.enter_context(self._at_work_on(stored.sha256))
            new = self._new(ProjectId(0), name, stored, origin, source)
            return PreparedModel(self._records, new, held.pop_all())

    def prepared_from(self, project_id: ProjectId, path: str, name: str = "") -> PreparedModel:
        """A copy of a file below an allowed folder, with the weights beside it: all, or nothing.

        Raises PathRefused, FileNotFound, and what reading the model raises.
        """
        self._records.projects.get(project_id)
        return self._prepared(project_id, path, name)

    def prepared(self, path: str) -> PreparedModel:
        """The same, for a project that is yet to be made: ``add(project_id=…)``."""
        return self._prepared(ProjectId(0), path, "")

    @contextmanager
    def borrowed(self, path: str) -> Iterator[TemporaryCopy]:
        """A copy of a file below an allowed folder, without weights beside it, for a look into it:
        it becomes no model, and is gone afterwards.

        Raises PathRefused and FileNotFound.
        """
        with (
            self._roots.model(path) as file,
            self._objects.receiving(file.size_bytes) as incoming,
        ):
            before = file.version()
            incoming.copy(file.descriptor)
            version = before if file.version().key == before.key else None
            stored = incoming.settle()
            with self._at_work_on(stored.sha256):
                incoming.keep(stored)
                place = self._bundles.alone(_called(file, file.name), stored.sha256)
                model = ModelSpec(str(place), sha256=stored.sha256)
                yield TemporaryCopy(model, stored.sha256, version)
        self.sweep()

    def opened(self, path: str) -> AbstractContextManager[OpenFile]:
        """A file below an allowed folder; raises PathRefused and FileNotFound."""
        return self._roots.model(path)

    def current(self, project_id: ProjectId, path: str, roots: Roots) -> Model:
        """The model of a file below ``roots`` as that is now; copied unless the project has it.

        Raises as ``prepared_from`` does, and ModelChanged while somebody writes the file.
        """
        with roots.model(path) as file:
            known = self._known(project_id, file, _said_beside(roots, file))
        return known or self._copied(roots, project_id, path, "", "path").add_once()

    def add_packed(self, project_id: ProjectId, path: str, incoming: Incoming) -> Model:
        """A model out of an archive (zip, tar, tar.gz) with the weights beside it, all or nothing;
        what else is in there is left out.

        Raises ArchiveRefused, PathRefused, FileNotFound, and what reading the model raises.
        """
        names_in(path)
        owner = secrets.token_hex(16)
        folder = self._bundles.waiting(owner)
        with self._at_work_on(owner):
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                limits = ArchiveLimits(total_bytes=self._objects.largest)
                with incoming.reading() as archive:
                    extract(archive, folder, limits, self._objects.check_room)
                return self._copied(Roots([folder]), project_id, path, "", "upload").add()
            except FileNotFound as error:
                raise FileNotFound(
                    error.title, why="the archive does not hold it", fix="Pack it, too"
                ) from error
            finally:
                self._bundles.forget(owner)

    def add_made(self, project_id: ProjectId, path: str, name: str, source: str) -> Model:
        """A model that was converted: its file, its weights and what is said beside it; ``source``
        is what it was made of."""
        made = Path(path)
        prepared = self._copied(Roots([made.parent]), project_id, made.name, name, "conversion")
        return prepared.add(source=source)

    def add_weights(self, model_id: ModelId, location: str, incoming: Incoming) -> Model:
        """One of the files that a model lacks. With the last one, it is looked into again; when it
        cannot be read then, that file is refused."""
        self.require_missing_weights(model_id, location)
        settled = incoming.settle()
        with self._one_by_one(model_id):
            model = self.require_missing_weights(model_id, location)
            facts, sha256 = require_inspected(model)
            owner = str(model_id)
            place = self._bundles.waiting(owner).joinpath(*names_in(location))
            incoming.keep_at(place)
            arrived = ExternalFile(location, settled.size_bytes, settled.sha256)
            try:
                if location == INDEX:
                    facts = self._told_by_index(owner, Path(model.path).name, sha256, facts)
                    model = replace(model, facts=facts)
                return self._with_weights(model, (*facts.external, arrived))
            except ModeldynoError:
                place.unlink(missing_ok=True)
                raise

    def require_missing_weights(self, model_id: ModelId, location: str) -> Model:
        """Raises unless the model waits for a file of that name: before anybody sends it."""
        names_in(location)
        model = self._records.models.get(model_id)
        facts, _ = require_inspected(model)
        if not facts.missing:
            raise WrongState(
                f"{model.name} lacks nothing",
                why="its weights are in the model's own file, or have all arrived",
                fix="Upload other weights with their model, as a model of its own",
            )
        if location not in _declared(facts):
            raise FileNotFound(
                f'{model.name} names no file "{shown(location)}"',
                why="only weights that the model asks for are taken",
                fix="Send one of: " + ", ".join(facts.missing[:5]),
            )
        return model

    # ------------------------------------------------------------ look

    def look(self, model: ModelSpec) -> ModelFacts:
        """What a file says of itself, read in a worker; weights beside it need not be there.

        One that says all in itself is read once: who looked at it first, and then makes a project
        of it, does not wait again.
        """
        known = self._read.find(model.sha256 or "")
        if known is not None:
            return replace(known, path=model.path)
        facts = self._look(Path(model.path), model.sha256, without_weights=True)
        is_whole = facts.format == "onnx" and not facts.external and not facts.missing
        if model.sha256 and is_whole:  # by the hash that we know ourselves, not the worker's
            self._read.remember(model.sha256, facts)
        return facts

    def inspect(self, model_id: ModelId) -> Model:
        """Look again, in a worker; raises what reading the model raises."""
        model = self._records.models.get(model_id)
        if model.facts is None or not model.facts.missing:
            facts = self._look(Path(model.path), model.sha256)
            return self._records.models.set_facts(model_id, facts)
        with self._one_by_one(model_id):
            path = Path(model.path)
            facts = self._look(path, model.sha256, without_weights=True)
            if INDEX in self._bundles.gathered(str(model_id)):
                _, sha256 = require_inspected(model)
                facts = self._told_by_index(str(model_id), path.name, sha256, facts)
            return self._with_weights(replace(model, facts=facts), model.facts.external)

    def open(self, model: Model) -> int:
        """A descriptor of its file, which the caller closes; raises FileNotFound."""
        if model.sha256 is None or model.origin == "terminal":
            raise FileNotFound(
                f"The file of {model.name} is not in the workspace",
                why="it was measured in the terminal, where it lay",
                fix="Upload it to a project",
            )
        return self._objects.open(model.sha256)

    def entries(self, path: str) -> Listing:
        """What could be imported; without a path, from where to start."""
        return self._roots.entries(path) if path else self._roots.top()

    # ------------------------------------------------------------ out

    def sweep(self) -> int:
        """Removes the files that no model has any more. Rows go first, so no row ever names a file
        that was swept."""
        with self._lock:
            places = self._records.models.places()
            used = {*places.values(), *(str(number) for number in places)}
            removed = self._bundles.sweep(used, busy=self._busy, kept=self._kept())
            self._gathering = {n: lock for n, lock in self._gathering.items() if n in places}
        self._objects.sweep()
        if removed:
            logger.info("removed files of %s models that are gone", removed)
        return removed

    # ------------------------------------------------------------ inside

    def _prepared(self, project_id: ProjectId, path: str, name: str) -> PreparedModel:
        with ExitStack() as place:
            place.enter_context(self._arriving.taken())
            return self._copied(self._roots, project_id, path, name, "path", place.close)

    def _copied(
        self,
        roots: Roots,
        project_id: ProjectId,
        path: str,
        name: str,
        origin: Origin,
        has_arrived: Callable[[], None] = lambda: None,
    ) -> PreparedModel:
        owner = secrets.token_hex(16)
        with (
            ExitStack() as held,
            roots.model(path) as file,
            self._objects.receiving(file.size_bytes) as incoming,
        ):
            before = _unwritten(file)
            incoming.copy(file.descriptor)
            if _unwritten(file) != before:
                raise _being_written(file.name)
            stored = incoming.settle()
            has_arrived()
            held.enter_context(self._at_work_on(stored.sha256, owner))
            incoming.keep(stored)

            def gather(facts: ModelFacts) -> ModelFacts:
                name = Path(facts.path).name
                if INDEX in facts.missing:
                    self._bring(roots, file, owner, INDEX, INDEX)
                    facts = self._told_by_index(owner, name, stored.sha256, facts)
                is_alone = not facts.missing and not facts.external
                for location in facts.missing:
                    self._bring(
                        roots, file, owner, location, _as_called_there(facts, file, location)
                    )
                said = _said_beside(roots, file)
                if said is not None:
                    self._write_beside(owner, name, said)
                elif is_alone:
                    return facts
                return self._whole(owner, name, stored.sha256, _described(name, said))

            name = name or file.name
            new = self._new(project_id, name, stored, origin, path, gather, _called(file, name))
            return PreparedModel(self._records, new, held.pop_all())

    def _new(
        self,
        project_id: ProjectId,
        name: str,
        stored: StoredObject,
        origin: Origin,
        source: str,
        gather: Callable[[ModelFacts], ModelFacts] | None = None,
        called: str = "",
    ) -> NewModel:
        """Where it can be run from, and what is in it; ``called``: the file, where not ``name``."""
        path = self._bundles.alone(called or file_name(name), stored.sha256)
        facts = self.look(ModelSpec(str(path), sha256=stored.sha256))
        _check_weights(path.name, facts)
        if gather is not None:
            facts = gather(facts)
        purpose = purpose_of(facts)
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

    def _bring(self, roots: Roots, model: OpenFile, owner: str, location: str, called: str) -> None:
        """Weights from where the model came from, and what they are called there, through the same
        door."""
        try:
            with (
                roots.open(model.beside(called)) as file,
                self._objects.receiving(file.size_bytes) as incoming,
            ):
                incoming.copy(file.descriptor)
                incoming.settle()
                incoming.keep_at(self._bundles.waiting(owner).joinpath(*names_in(location)))
        except FileNotFound as error:
            raise FileNotFound(
                f'{model.name} needs the weights file "{shown(called)}", which is not there',
                why="the model keeps its weights in a file of their own",
                fix="Put it beside the model; or upload the model, then its weights",
            ) from error

    def _write_beside(self, owner: str, name: str, said: bytes) -> None:
        """What somebody wrote about a model goes where it goes: readers look for it there."""
        with self._objects.receiving(len(said)) as incoming:
            incoming.write(said)
            incoming.settle()
            incoming.keep_at(self._bundles.waiting(owner) / (name + SUFFIX))

    def _known(self, project_id: ProjectId, file: OpenFile, said: bytes | None) -> Model | None:
        """Only by content: names and times tell nothing."""
        before = _unwritten(file)
        with os.fdopen(os.dup(file.descriptor), "rb") as reading:
            sha256 = hashlib.file_digest(reading, "sha256").hexdigest()
        if _unwritten(file) != before:
            raise _being_written(file.name)
        name = _called(file, file.name)
        place = self._bundles.place(name, sha256, _described(name, said))
        return self._records.models.at(project_id, file.name, str(place))

    def _with_weights(self, model: Model, known: tuple[ExternalFile, ...]) -> Model:
        """As complete as the weights make it that have gathered; ``known`` describes those."""
        facts, sha256 = require_inspected(model)
        owner = str(model.id)
        name = Path(model.path).name
        here = self._bundles.gathered(owner, name)
        missing = tuple(location for location in _declared(facts) if location not in here)
        if missing:
            described = {file.location: file for file in known}
            external = tuple(
                described.get(location) or self._bundles.describe(owner, location)
                for location in sorted(here)
            )
            facts = replace(facts, missing=missing, external=external)
        else:
            facts = self._whole(owner, name, sha256)
        return self._records.models.set_facts(model.id, facts)

    def _told_by_index(self, owner: str, name: str, sha256: str, facts: ModelFacts) -> ModelFacts:
        """The index of a SavedModel's weights says into how many files they are split; before it
        was there, one was assumed."""
        with self._bundles.joined(owner, name, sha256) as path:
            found = self._look(path, sha256, without_weights=True)
        _check_weights(name, found)
        for stray in self._bundles.gathered(owner, name) - {*_declared(found)}:
            (self._bundles.waiting(owner) / stray).unlink(missing_ok=True)
        return replace(found, path=facts.path)

    def _whole(
        self, owner: str, name: str, sha256: str, beside: tuple[ExternalFile, ...] = ()
    ) -> ModelFacts:
        with self._bundles.joined(owner, name, sha256) as path:
            facts = self._look(path, sha256)
        place = self._bundles.whole(owner, name, sha256, (*facts.external, *beside))
        return replace(facts, path=str(place))

    def _look(self, path: Path, sha256: str | None, without_weights: bool = False) -> ModelFacts:
        spec = InspectionSpec(
            ModelSpec(str(path), sha256=sha256),
            memory_limit_bytes=default_memory_limit(),
            without_weights=without_weights,
        )
        try:
            with self._reading.taken():
                facts = self._looking.run(spec)
        except UNREADABLE as error:
            raise ModelUnreadable(
                f"{path.name} cannot be read: {error.title}", why=error.why, fix=error.fix
            ) from error
        assert isinstance(facts, ModelFacts)
        return facts

    @contextmanager
    def _one_by_one(self, model_id: ModelId) -> Iterator[None]:
        """One at a time gathers for a model, and nobody sweeps what it has."""
        _, sha256 = require_inspected(self._records.models.get(model_id))
        with self._lock:
            mine = self._gathering.setdefault(model_id, threading.Lock())
        with mine, self._at_work_on(sha256, str(model_id)):
            yield

    @contextmanager
    def _at_work_on(self, *keys: str) -> Iterator[None]:
        """Nobody sweeps these meanwhile; when it goes wrong, we do."""
        with self._lock:
            self._busy.update(keys)
        is_done = False
        try:
            yield
            is_done = True
        finally:
            with self._lock:
                self._busy.subtract(keys)
                self._busy = +self._busy
            if not is_done:
                try:
                    self.sweep()
                except Exception:  # there will be another; what went wrong here matters more
                    logger.exception("files of a model that could not be added may be left")


def require_inspected(model: Model) -> tuple[ModelFacts, str]:
    if model.facts is None or model.sha256 is None:
        raise WrongState(
            f"{model.name} has not been looked into",
            why="only of what could be read anything is known",
            fix="Inspect it; that tells what is wrong",
        )
    return model.facts, model.sha256


def pinned_spec(model: Model) -> ModelSpec:
    """What was vouched for is what is run."""
    facts, sha256 = require_inspected(model)
    spec = ModelSpec(model.path, sha256=sha256, architecture=architecture_of(facts))
    return with_files(spec, facts)


def _called(file: OpenFile, name: str) -> str:
    """The file of a model of this name. In a SavedModel's folder, it is what loaders look for."""
    is_inside = file.place.rpartition("/")[2] == SAVED_MODEL
    return SAVED_MODEL if is_inside else file_name(name)


def _unwritten(file: OpenFile) -> tuple[int, int]:
    """How large and how old it is; raises ModelChanged while somebody has it open to write."""
    if is_being_written(file.descriptor):
        raise _being_written(file.name)
    status = os.fstat(file.descriptor)
    return status.st_size, status.st_mtime_ns


def _being_written(name: str) -> ModelChanged:
    return ModelChanged(
        f'"{shown(name)}" is being written right now',
        why="a program has it open to write, or changed it while it was read",
        fix="Let that finish, then ask again. Who writes under another name and renames at the end "
        "is never met half-way",
    )


def _said_beside(roots: Roots, model: OpenFile) -> bytes | None:
    """What ``<file>.modeldyno.toml`` says, if it is there, through the same door."""
    try:
        with roots.open(model.beside(model.name + SUFFIX)) as file:
            if file.size_bytes > LONGEST_SIDECAR:
                raise BadValue(
                    f'"{shown(file.name)}" is too long',
                    why=f"{LONGEST_SIDECAR >> 10} KiB are enough",
                )
            return os.pread(file.descriptor, LONGEST_SIDECAR, 0)
    except FileNotFound:
        return None


def _described(name: str, said: bytes | None) -> tuple[ExternalFile, ...]:
    if said is None:
        return ()
    return (ExternalFile(name + SUFFIX, len(said), hashlib.sha256(said).hexdigest()),)


def _declared(facts: ModelFacts) -> tuple[str, ...]:
    """Every file that the model names, here or not."""
    return tuple(sorted({*facts.missing, *(file.location for file in facts.external)}))


def _check_weights(name: str, facts: ModelFacts) -> None:
    """Raises unless the files that it lacks can lie beside it, under their own names."""
    if len(facts.missing) > MOST_WEIGHTS:
        raise BadValue(
            f"{name} keeps its weights in {len(facts.missing)} files",
            why=f"up to {MOST_WEIGHTS} are taken",
            fix="Export it with all weights in one file",
        )
    taken = {(name,), *(names_in(location) for location in facts.missing)}
    for names in taken:
        if any(names[:depth] in taken for depth in range(1, len(names))):
            raise refused("/".join(names), "a file stands where a folder should be")
    if any(names_in(location) == (name,) for location in facts.missing):
        raise refused(name, "the model's own file would have to hold its weights")


def _as_called_there(facts: ModelFacts, file: OpenFile, location: str) -> str:
    """Weights of an OpenVINO model are called like the model, which may have another name here."""
    return Path(file.name).with_suffix(".bin").name if facts.format == "openvino-ir" else location
