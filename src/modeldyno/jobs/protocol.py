"""What every place that runs jobs can do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from modeldyno.core.hosts import HostFacts
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import JobMessage, Unit
from modeldyno.core.models import ModelFacts
from modeldyno.core.sessions import Sandboxing
from modeldyno.core.specs import CellSpec, ModelSpec, RunSpec
from modeldyno.engines import catalog
from modeldyno.jobs.leases import Leases
from modeldyno.store.models import copy_privately
from modeldyno.store.runs import RunFolder
from modeldyno.worker.launch import Stop, WorkerSetup

Record = Callable[[RunId, JobMessage], None]


class Jobs(Protocol):
    """Values go in and come out, wherever a job runs. Large content is named by its checksum and
    travels on its own: models come through ``Content``, and files that a run leaves are in its
    folder before they are announced."""

    def submit(
        self, run_id: RunId, spec: RunSpec, record: Record, earlier: tuple[Unit, ...] = ()
    ) -> None:
        """Run a spec; messages come through ``record``, from the supervisor's thread."""

    def cancel(self, run_id: RunId) -> None:
        """Stop a run within two seconds; what it measured stays."""

    def wait(self, run_id: RunId) -> None:
        """Return when the run is over."""


class Content(Protocol):
    """Where the files are that a spec lists by checksum."""

    def local(self, model: ModelSpec, stop: Stop) -> ModelSpec:
        """The same model, with paths of this machine: its files are all there, only to be read.

        Called again for each process, so files that are here already must cost nothing. Raises
        ModelNotFound, ModelChanged (other bytes came than were listed) and StorageFailed.
        """


@dataclass(frozen=True)
class Context:
    """What a running job works with."""

    folder: RunFolder
    send: Callable[[JobMessage], None]
    stop: Stop
    leases: Leases
    earlier: tuple[Unit, ...] = ()  # what an interrupted part of this run has measured
    machine: str | None = None  # the name the user gave this one
    content: Content | None = None  # None: files are where a spec says

    def host(self) -> HostFacts:
        """Facts of this machine, for the result."""
        from modeldyno.measure import host

        return host.facts(machine=self.machine)

    def keep_file(self, name: str, descriptor: int) -> None:
        """Keep a copy of what is open here as a file of the run, and announce it."""
        self.send(self.folder.keep_file(name, descriptor))

    def local(self, model: ModelSpec) -> ModelSpec:
        """The model with paths that are valid here; results keep those of the spec."""
        if self.content is None or not model.files:
            return model
        return self.content.local(model, self.stop)

    def copy_privately(self, model: ModelSpec, facts: ModelFacts, inside: str = "") -> Path:
        """What was inspected, where no engine can harm the original (``store/models.py``)."""
        here = replace(facts, path=self.local(model).path)
        return copy_privately(here, self.folder.model / inside)

    def worker_setup(
        self,
        spec: RunSpec,
        models: Sequence[ModelSpec] = (),
        cells: Sequence[CellSpec] = (),
        threads: int = 1,
        inspecting: bool = False,
        sandbox: Sandboxing | None = None,
        python: str = sys.executable,
    ) -> WorkerSetup:
        """A worker for ``models`` (default: the spec's): it sees their private copies and what is
        fed to them. ``sandbox`` is by default that of ``cells``.

        One that inspects sees the originals too, with the weights beside them, until it loads an
        engine.
        """
        models = [self.local(model) for model in models or spec.models()]
        data = [Path(model.data) for model in models if model.data is not None]
        code = [m.architecture.folder for m in models if m.architecture is not None]
        originals = [Path(model.path).parent for model in models if inspecting]
        strict = [cell.sandbox for cell in cells if cell.sandbox != "off"]
        usual: Sandboxing = strict[0] if strict else "off" if cells else "on"
        return WorkerSetup(
            scratch=self.folder.scratch,
            log=self.folder.log,
            threads=threads,
            memory_limit_bytes=spec.memory_limit_bytes or 0,
            python=python,
            readable=(self.folder.model, *data, *(Path(folder) for folder in code if folder)),
            devices=device_nodes({cell.device.partition(":")[0] for cell in cells}),
            allow_exec=any(catalog.starts_programs(cell.engine, cell.options) for cell in cells),
            inspectable=tuple(originals),
            sandbox=sandbox or usual,
        )


_NODES = {
    "cuda": "nvidia*",
    "tensorrt": "nvidia*",
    "gpu": "dri/render*",
    "npu": "accel/accel*",
}


def device_nodes(kinds: Collection[str] = tuple(_NODES)) -> tuple[Path, ...]:
    """The nodes of what computes, for workers that compute there."""
    patterns = {_NODES[kind] for kind in kinds if kind in _NODES}
    return tuple(sorted(node for pattern in patterns for node in Path("/dev").glob(pattern)))
