"""The space of a workspace: what uses it, and what may be removed to free some.

Only runs that nobody measures, samples of finished runs, and caches are ever removed. Projects,
models, datasets and environments have commands and pages of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from modeldyno.core.documents.runs import (
    PartName,
    PruneDocument,
    PrunedPartDocument,
    UsageDocument,
    UsagePartDocument,
)
from modeldyno.core.ids import RunId, began_at
from modeldyno.services.archive import Archive
from modeldyno.settings import DATABASE_FILE
from modeldyno.store.disk_usage import DiskCounter
from modeldyno.store.history import History
from modeldyno.store.named_models import FOLDERS
from modeldyno.store.objects import LEFT_OVER_S, free_space
from modeldyno.store.runs import RunFolders
from modeldyno.worker.untrusted_folders import discard_tree


@dataclass(frozen=True)
class PruneRequest:
    runs_older_than: timedelta | None = None  # by when they began
    samples: bool = False
    caches: bool = False


@dataclass(frozen=True)
class Prunable:
    """What would go, and the document that says so; of samples, the runs that lose them."""

    runs: tuple[RunId, ...]
    samples: tuple[RunId, ...]
    caches: tuple[Path, ...]
    document: PruneDocument


class SpaceService:
    """``environments`` is the folder of engines that live in another Python."""

    def __init__(
        self,
        workspace: Path,
        environments: Path,
        history: History,
        folders: RunFolders,
        open_archive: Callable[[], Archive],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._workspace = workspace
        self._environments = environments
        self._history = history
        self._folders = folders
        self._open_archive = open_archive  # for runs alone: there may be a database to open
        self._now = now

    def usage(self) -> UsageDocument:
        counter, parts = DiskCounter(), []
        for name, paths in self._parts():
            used = counter.count(paths)
            if used.files:
                parts.append(
                    UsagePartDocument(name=name, size_bytes=used.size_bytes, files=used.files)
                )
        return UsageDocument(
            workspace=str(self._workspace),
            parts=tuple(parts),
            size_bytes=sum(part.size_bytes for part in parts),
            free_bytes=free_space(self._workspace) if self._workspace.is_dir() else 0,
        )

    def _parts(self) -> Iterator[tuple[PartName, list[Path]]]:
        """What is in two of them counts in the first."""
        top = self._workspace
        yield (
            "samples",
            [self._history.folder(run_id).samples for run_id in self._history.list_ids()],
        )
        yield "caches", [top / "graphs", top / "downloads", *(top / "runs").glob(".removed-*")]
        yield "runs", [top / "runs", top / "runs.numbers"]
        yield "own models", [top / "models" / name for name in FOLDERS]
        yield "models", [top / "objects", top / "models", top / "examples"]
        yield "datasets", [top / "custom_datasets"]
        yield "environments", [self._environments]
        yield "database", [*top.glob(f"{DATABASE_FILE}*")]
        yield "other", [*top.iterdir()] if top.is_dir() else []

    def prunable(self, request: PruneRequest) -> Prunable:
        """What it comes to; nothing is removed."""
        runs = self._old_runs(request.runs_older_than) if request.runs_older_than else ()
        samples = self._with_samples(runs) if request.samples else ()
        caches = tuple(self._cached()) if request.caches else ()
        folder, counter, parts = self._history.folder, DiskCounter(), []
        if request.runs_older_than is not None:
            size = counter.count(folder(run_id).path for run_id in runs).size_bytes
            parts.append(
                PrunedPartDocument(name="runs", count=len(runs), size_bytes=size, runs=runs)
            )
        if request.samples:
            size = counter.count(folder(run_id).samples for run_id in samples).size_bytes
            parts.append(
                PrunedPartDocument(
                    name="samples", count=len(samples), size_bytes=size, runs=samples
                )
            )
        if request.caches:
            size = counter.count(caches).size_bytes
            parts.append(
                PrunedPartDocument(name="caches", count=len(caches), size_bytes=size, runs=())
            )
        total = sum(part.size_bytes for part in parts)
        document = PruneDocument(is_dry_run=True, parts=tuple(parts), size_bytes=total)
        return Prunable(runs, samples, caches, document)

    def _old_runs(self, age: timedelta) -> tuple[RunId, ...]:
        """Oldest first, without those that wait, run, or are resumed at the moment."""
        before, busy = self._now() - age, self._open_archive().active()
        return tuple(
            run_id
            for run_id in reversed(self._history.list_ids())
            if (began := began_at(run_id))
            and began < before
            and run_id not in busy
            and not self._history.folder(run_id).is_being_measured()
        )

    def _with_samples(self, others: tuple[RunId, ...]) -> tuple[RunId, ...]:
        """Finished runs that have samples: one that was stopped needs them to go on."""
        return tuple(
            run_id
            for run_id in reversed(self._history.list_ids())
            if run_id not in others and self._history.folder(run_id).can_lose_samples()
        )

    def _cached(self) -> Iterator[Path]:
        """What is written again when it is needed, and what ended processes left behind."""
        top, before = self._workspace, time.time() - LEFT_OVER_S
        yield from (top / "graphs").glob("*")
        yield from (top / "runs").glob(".removed-*")
        for folder in self._folders.find_ended_with_scratch():
            yield from (path for path in (folder.scratch, folder.model) if path.exists())
        for path in (*(top / "downloads").glob("*.part"), *(top / "objects/incoming").glob("*")):
            if path.stat().st_mtime < before:  # nobody is receiving it
                yield path

    def prune(self, prunable: Prunable) -> PruneDocument:
        """Remove it; raises WrongState if one of the runs has been resumed since."""
        if prunable.runs:
            archive = self._open_archive()
            for run_id in prunable.runs:
                archive.remove(run_id)
        for run_id in prunable.samples:
            self._folders.remove_samples(run_id)
        for path in prunable.caches:
            discard_tree(path)
        document = prunable.document
        return PruneDocument(is_dry_run=False, parts=document.parts, size_bytes=document.size_bytes)
