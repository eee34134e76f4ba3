"""Runs on disk: ``runs/<id>/`` holds spec, state, units, raw samples, log and result.

Each cell has an append-only file of samples, little-endian int64 nanoseconds; ``units.jsonl`` says
which part of it belongs to which session. A unit is on the disk before it is announced.
"""

from __future__ import annotations

import array
import csv
import difflib
import io
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modeldyno.core.codec import decode, encode
from modeldyno.core.errors import (
    MachineChanged,
    ModelChanged,
    NotFound,
    RunNotFound,
    StorageFailed,
)
from modeldyno.core.hosts import are_machines_different
from modeldyno.core.ids import RunId, new_run_id
from modeldyno.core.ids import run_id as checked
from modeldyno.core.jobs import Result, Unit
from modeldyno.core.kinds import spec_from, unit_from
from modeldyno.core.results import Failure
from modeldyno.core.runs import Artifact, RunState, may_move
from modeldyno.core.sessions import Session, Timings
from modeldyno.core.specs import CellSpec, RunSpec
from modeldyno.store.durable_files import (
    append_to_file,
    replace_file,
    sync_folder,
    workspace_unusable_error,
)
from modeldyno.store.owners import Owner, current_process
from modeldyno.store.run_numbers import RunNumbers
from modeldyno.worker.untrusted_folders import discard_tree

if TYPE_CHECKING:
    from modeldyno.store.objects import Objects

_ARTIFACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PRUNED = "samples.removed"  # a file that stands for them
_REMOVED = ".removed-"  # prefix of folders that are to be deleted
SWEEP_S = 10.0  # the end of a job waits no longer for files to be deleted


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "log.txt"
        self.scratch = path / "scratch"
        self.model = path / "model"
        self.samples = path / "samples"
        self.artifacts = path / "artifacts"  # files by checksum

    @property
    def id(self) -> RunId:
        return RunId(self.path.name)

    def exists(self) -> bool:
        """Whether its creation was completed: the spec is written last."""
        return (self.path / "spec.json").is_file()

    def state(self) -> RunState:
        """Interrupted if the file says that it runs, but its process has ended."""
        record = self._read_json("state.json")
        state: RunState = decode(RunState, record["state"])
        return "interrupted" if state == "running" and _has_owner_ended(record) else state

    def is_being_measured(self) -> bool:
        """Whether a process measures it now; False if it is damaged or does not exist."""
        try:
            return self.state() == "running"
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False

    def is_over(self) -> bool:
        """Whether its end was written down, which an interrupted process cannot do."""
        return bool(self._read_json("state.json")["state"] != "running")

    def failure(self) -> Failure | None:
        """Why it failed, if it did."""
        failure: Failure | None = decode(
            Failure | None, self._read_json("state.json").get("failure")
        )
        return failure

    def spec(self) -> RunSpec:
        return spec_from(self._read_json("spec.json"))

    def origin(self) -> dict[str, str]:
        """``sha256`` of the model, and the ``machine`` that measures it; empty before it began."""
        try:
            return dict(self._read_json("model.json"))
        except FileNotFoundError:
            return {}

    def cells(self) -> tuple[CellSpec, ...]:
        """Those of a benchmark, as its units count them; empty before its model was read."""
        try:
            return tuple(decode(CellSpec, cell) for cell in self._read_json("cells.json"))
        except FileNotFoundError:
            return ()

    def can_lose_samples(self) -> bool:
        """Whether it has any and is finished: a stopped run needs them to go on."""
        try:
            return self.samples.is_dir() and any(self.samples.iterdir()) and self.state() == "done"
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False  # it is damaged

    def require_samples(self) -> None:
        """Raises NotFound if they were removed to free space."""
        if (self.path / _PRUNED).exists():
            raise NotFound(
                f"The samples of run {self.id} were removed",
                why="`modeldyno prune --samples` freed their space; the result is kept",
                fix="Measure it again to have new ones",
            )

    def keep_file(self, name: str, descriptor: int) -> Artifact:
        """Copy an open file to the disk and hash it; ``list_artifact`` makes it part of the run."""
        if not _ARTIFACT.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an artifact")
        stored = self._object_store().add(descriptor)
        return Artifact(name, stored.sha256, stored.size_bytes)

    def open_artifact(self, artifact: Artifact) -> int:
        """A descriptor, which the caller closes; raises FileNotFound."""
        return self._object_store().open(artifact.sha256)

    def read_artifacts(self) -> tuple[Artifact, ...]:
        """By name; the latest of each, without a torn last line."""
        artifacts = (
            decode(Artifact, line) for line in _read_json_lines(self.path / "artifacts.jsonl")
        )
        by_name = {artifact.name: artifact for artifact in artifacts}
        return tuple(by_name[name] for name in sorted(by_name))

    def _object_store(self) -> Objects:
        from modeldyno.store.objects import Objects

        return Objects(self.artifacts)

    def _read_json(self, name: str) -> Any:
        return json.loads((self.path / name).read_text())


class RunFolders:
    """All runs of a workspace."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers = RunNumbers(root)

    def create(self, spec: RunSpec, run_id: RunId | None = None) -> RunFolder:
        """``run_id`` is given if the row was written before the folder, which may then exist in
        part: an earlier attempt may have been killed."""
        folder = RunFolder(self._root / (run_id or new_run_id()))
        try:
            for path in (folder.samples, folder.scratch, folder.model):
                path.mkdir(parents=True, exist_ok=run_id is not None)
            folder.log.touch()
        except OSError as error:
            why = f"{error.strerror}: {self._root}"
            raise workspace_unusable_error("Cannot write to the workspace", why) from error
        with _translated_storage_errors():
            if spec.is_kept:
                self._numbers.add(folder.id)
            _write_json(folder.path / "state.json", _state_record("running"))
            _write_json(folder.path / "spec.json", encode(spec))
            sync_folder(self._root)
        return folder

    def spec(self, run_id: RunId) -> RunSpec:
        """The spec of a run; raises RunNotFound."""
        folder = self.folder(run_id)
        if not folder.exists():
            raise RunNotFound(
                f"There is no run {run_id!r} in this workspace",
                fix=self._suggest_closest_id(run_id) or f"Runs are kept in {self._root}",
            )
        return folder.spec()

    def reopen(self, run_id: RunId) -> RunFolder:
        """Prepare a run that ended early to be resumed; its units stay."""
        folder = self.folder(run_id)
        with _translated_storage_errors():
            self._write_state(folder, "running")
            _truncate_torn_writes(folder)
            self.clear_scratch(run_id)  # a killed process leaves its copy of the model behind
            for path in (folder.scratch, folder.model):
                path.mkdir()
        return folder

    def _suggest_closest_id(self, run_id: str) -> str:
        names = [path.name for path in self._root.iterdir()] if self._root.is_dir() else []
        close = difflib.get_close_matches(run_id, names, n=1)
        return f"Did you mean {close[0]}?" if close else ""

    def record_origin(self, run_id: RunId, sha256: str, machine: str | None) -> None:
        """Record which model is measured on which machine; raises ModelChanged or MachineChanged if
        a resumed run has another one."""
        folder = self.folder(run_id)
        before = folder.origin()
        if sha256 and before.get("sha256", sha256) != sha256:
            raise ModelChanged(
                "The model has changed since this run began",
                why="its file has another hash now",
                fix="Measure the new model as a new run",
            )
        if are_machines_different(before.get("machine"), machine):
            raise MachineChanged(
                "This run began on another machine",
                why=f"it was measured on {before['machine']}, and this is {machine}; numbers of "
                "two machines are never joined",
                fix="Resume it there, or measure here as a new run",
            )
        origin = {"sha256": sha256, "machine": machine}
        after = {name: text for name, text in origin.items() if text} | before
        if after != before:
            with _translated_storage_errors():
                _write_json(folder.path / "model.json", after)

    def record_cells(self, run_id: RunId, cells: Sequence[CellSpec]) -> None:
        with _translated_storage_errors():
            _write_json(self.folder(run_id).path / "cells.json", encode(tuple(cells)))

    def folder(self, run_id: RunId) -> RunFolder:
        return RunFolder(self._root / checked(run_id))

    def append(self, run_id: RunId, unit: Unit) -> None:
        """Write the samples of a unit, then the line that refers to them, and sync both."""
        folder = self.folder(run_id)
        with _translated_storage_errors():
            record = encode(unit) | {"measured": _measured_to_record(folder, unit)}
            append_to_file(folder.path / "units.jsonl", json.dumps(record).encode() + b"\n")

    def list_artifact(self, run_id: RunId, artifact: Artifact) -> None:
        """Make it part of the run; raises FileNotFound if its content is not stored."""
        folder = self.folder(run_id)
        os.close(folder.open_artifact(artifact))
        with _translated_storage_errors():
            line = json.dumps(encode(artifact)).encode() + b"\n"
            append_to_file(folder.path / "artifacts.jsonl", line)

    def finish(
        self, run_id: RunId, result: Result, state: RunState, failure: Failure | None = None
    ) -> None:
        folder = self.folder(run_id)
        with _translated_storage_errors():
            _write_json(folder.path / "result.json", encode(result))
            self._write_state(folder, state, failure)

    def fail(self, run_id: RunId, failure: Failure | None, state: RunState) -> None:
        folder = self.folder(run_id)
        with _translated_storage_errors():
            self._write_state(folder, state, failure)

    def _write_state(
        self, folder: RunFolder, state: RunState, failure: Failure | None = None
    ) -> None:
        before = folder.state()
        if not may_move(before, state):
            raise ValueError(f"a run cannot go from {before} to {state}")
        _write_json(folder.path / "state.json", _state_record(state, failure))

    def discard_if_empty(self, run_id: RunId) -> None:
        """Forget a run that measured nothing, unless its workers had something to say."""
        folder = self.folder(run_id)
        names = ("units.jsonl", "artifacts.jsonl", "result.json", folder.log.name)
        kept = [folder.path / name for name in names]
        if not any(path.exists() and path.stat().st_size for path in kept):
            discard_tree(folder.path)

    def remove(self, run_id: RunId) -> None:
        """Delete it. It is renamed first, so nobody reads half a run, and what cannot be deleted
        now is deleted by the next sweep."""
        folder = self.folder(run_id)
        with _translated_storage_errors(folder.path):
            if folder.path.exists():
                folder.path.rename(folder.path.with_name(f"{_REMOVED}{run_id}"))
        self.delete_renamed_scratch()

    def remove_samples(self, run_id: RunId) -> None:
        """Delete every timing of a finished run; its result stays."""
        folder = self.folder(run_id)
        if not folder.can_lose_samples():
            return
        with _translated_storage_errors(folder.path):
            (folder.path / _PRUNED).touch()
            sync_folder(folder.path)
            folder.samples.rename(self._root / f"{_REMOVED}{run_id}-{secrets.token_hex(4)}")
        self.delete_renamed_scratch()

    def clear_scratch(self, run_id: RunId) -> None:
        """Delete the private copy of the model and the worker's files. Never raises."""
        self.rename_scratch(run_id)
        self.delete_renamed_scratch()

    def rename_scratch(self, run_id: RunId) -> None:
        """Only rename them, which is quick: the next sweep deletes them."""
        folder = self.folder(run_id)
        for path in (folder.scratch, folder.model):
            aside = self._root / f"{_REMOVED}{run_id}-{path.name}-{secrets.token_hex(4)}"
            try:
                path.rename(aside)
            except FileNotFoundError:
                pass
            except OSError:
                discard_tree(path, SWEEP_S)

    def delete_renamed_scratch(self, limit_s: float = SWEEP_S) -> None:
        """Delete what was set aside; what takes longer is left to the next sweep. Never raises."""
        deadline = time.monotonic() + limit_s
        for path in self._root.glob(f"{_REMOVED}*"):
            discard_tree(path, max(0.0, deadline - time.monotonic()))

    def find_ended_with_scratch(self) -> Iterator[RunFolder]:
        """Runs that have ended, or whose process has, and still have scratch files."""
        paths = list(self._root.iterdir()) if self._root.is_dir() else []
        for folder in (RunFolder(path) for path in paths if not path.name.startswith(".")):
            has_scratch = os.path.lexists(folder.scratch) or os.path.lexists(folder.model)
            if has_scratch and folder.exists() and not folder.is_being_measured():
                yield folder

    def units(self, run_id: RunId, cell: int | None = None) -> Iterator[Unit]:
        """The units of one cell or of all, with their samples; without a torn last line."""
        folder = self.folder(run_id)
        folder.require_samples()
        path = folder.path / "units.jsonl"
        kind = folder.spec().kind if path.exists() else ""
        for record in _read_json_lines(path):
            if cell is None or record["cell"] == cell:
                yield _read_unit(folder, kind, record)

    def export_raw(self, run_id: RunId, target: Path) -> None:
        """Every sample as CSV: cell, process, session, sample, calls, wall_ns, cpu_ns."""
        with _translated_storage_errors(target), target.open("w", newline="") as file:
            file.writelines(self.sample_csv_lines(run_id))

    def sample_csv_lines(self, run_id: RunId) -> Iterator[str]:
        """The CSV of ``export_raw``, in a piece for each session."""
        yield _csv_text([("cell", "process", "session", "sample", "calls", "wall_ns", "cpu_ns")])
        for number, unit in enumerate(self.units(run_id)):
            for timings in unit.measured.timings():
                yield _csv_text(_sample_rows(unit, number, timings))


def _csv_text(rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _state_record(state: RunState, failure: Failure | None = None) -> dict[str, Any]:
    owner = current_process() if state == "running" else None
    return {"state": state, "failure": encode(failure), "owner": encode(owner)}


def _has_owner_ended(record: dict[str, Any]) -> bool:
    owner: Owner | None = decode(Owner | None, record.get("owner"))
    return owner is None or owner.is_gone()


def _sample_rows(unit: Unit, number: int, timings: Timings) -> Iterator[tuple[object, ...]]:
    label = timings.label or str(unit.cell)
    cpu: tuple[int | str, ...] = timings.cpu_ns or ("",) * len(timings.wall_ns)
    for i, (wall, spent) in enumerate(zip(timings.wall_ns, cpu, strict=True)):
        yield label, unit.process, number, i, timings.calls_per_sample, wall, spent


# ---------------------------------------------------------------- samples


def _measured_to_record(folder: RunFolder, unit: Unit) -> dict[str, Any]:
    """Its record. Samples of sessions go to files; other samples are few enough for the line."""
    if isinstance(unit.measured, Session):
        return _write_samples(folder, f"cell-{unit.cell}", unit.measured)
    parts = {field.name: getattr(unit.measured, field.name) for field in fields(unit.measured)}
    sides = {name: part for name, part in parts.items() if isinstance(part, Session)}
    bare = {name: _without_samples(session) for name, session in sides.items()}
    record: dict[str, Any] = encode(replace(unit.measured, **bare))
    for name, session in sides.items():
        record[name] = _write_samples(folder, f"side-{name}", session)
    return record


def _without_samples(session: Session) -> Session:
    return replace(session, samples=replace(session.samples, wall_ns=(), cpu_ns=()))


def _write_samples(folder: RunFolder, name: str, session: Session) -> dict[str, Any]:
    """The session's record, which says where in the file the samples are."""
    samples = session.samples
    path = folder.samples / f"{name}.i64"
    offset = (
        append_to_file(
            path, _to_little_endian_bytes(samples.wall_ns) + _to_little_endian_bytes(samples.cpu_ns)
        )
        // 8
    )
    places = {"file": name, "offset": offset, "wall": len(samples.wall_ns)}
    record: dict[str, Any] = encode(_without_samples(session))
    record["samples"] |= {"stored": places | {"cpu": len(samples.cpu_ns)}}
    return record


def _read_unit(folder: RunFolder, kind: str, record: dict[str, Any]) -> Unit:
    measured = record.pop("measured")
    for part in (measured, *measured.values()):
        samples = part.get("samples") if isinstance(part, dict) else None
        if isinstance(samples, dict) and "stored" in samples:
            _read_samples(folder, samples)
    unit: Unit = decode(Unit, record | {"measured": None})
    return replace(unit, measured=unit_from(kind, measured))


def _read_samples(folder: RunFolder, samples: dict[str, Any]) -> None:
    places = samples.pop("stored")
    count = places["wall"] + places["cpu"]
    with (folder.samples / f"{places['file']}.i64").open("rb") as file:
        file.seek(places["offset"] * 8)
        values = list(_swap_to_little_endian(array.array("q", file.read(count * 8))))
    samples["wall_ns"] = values[: places["wall"]]
    samples["cpu_ns"] = values[places["wall"] :]


def _to_little_endian_bytes(values: tuple[int, ...]) -> bytes:
    return _swap_to_little_endian(array.array("q", values)).tobytes()


def _swap_to_little_endian(values: array.array[int]) -> array.array[int]:
    if sys.byteorder == "big":
        values.byteswap()
    return values


# ---------------------------------------------------------------- files


@contextmanager
def _translated_storage_errors(path: Path | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" ({path})" if path else ""
        raise StorageFailed(
            f"The result could not be written{where}",
            why=error.strerror or str(error),
            fix="Free some space or choose another folder with --workspace; "
            "what was written before is kept",
        ) from error


def _truncate_torn_writes(folder: RunFolder) -> None:
    """Cut off what a killed process wrote in part, so that the next line or number begins in the
    right place."""
    for lines in folder.path.glob("*.jsonl"):
        os.truncate(lines, lines.read_bytes().rfind(b"\n") + 1)
    for samples in folder.samples.glob("*.i64"):
        os.truncate(samples, samples.stat().st_size // 8 * 8)


def _read_json_lines(path: Path) -> Iterator[Any]:
    """The JSON of each line, without a torn last one."""
    if path.exists():
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


def _write_json(path: Path, document: object) -> None:
    replace_file(path, json.dumps(document, indent=1))
