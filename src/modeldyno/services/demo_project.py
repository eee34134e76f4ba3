"""The project that a new workspace begins with: a small model, and what it costs here, in two
engines."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.errors import NotFound, WorkspaceUnusable
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.projects import Project
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    ModelFile,
    PairingRequest,
    ProfileRequest,
    SideRequest,
)
from modeldyno.core.specs import QUICK, BenchmarkSpec, Budget, ComparisonSpec, ProfileSpec
from modeldyno.demo import model_path
from modeldyno.engines import catalog
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.model_files import ModelFiles, PreparedModel
from modeldyno.services.profiles import ProfileService
from modeldyno.services.requests import (
    make_benchmark_spec,
    make_comparison_of_sides,
    make_profile_spec,
    make_side_spec,
)
from modeldyno.services.runnables import ComparisonService
from modeldyno.store.records.all import Records

NAME = "Demo"
# A file of the workspace, with the project's number: once deleted, it is not made again by itself.
MARKER = "demo-made"
ENGINES = ("onnxruntime", "openvino")
COMPARISON_S = 6.0  # enough for a verdict between engines, and all together for a minute


class DemoProject:
    def __init__(
        self,
        workspace: Path,
        records: Records,
        files: ModelFiles,
        benchmarks: BenchmarkService,
        comparisons: ComparisonService,
        profiles: ProfileService,
        model: Callable[[], Path] = model_path,
    ) -> None:
        self._marker = workspace / MARKER
        self._records = records
        self._files = files
        self._benchmarks = benchmarks
        self._comparisons = comparisons
        self._profiles = profiles
        self._model = model

    def make_once(self) -> Project | None:
        """Made, and its jobs in the queue; None when this workspace has had it before."""
        if self._marker.exists():
            return None
        return self.prepare()()

    def prepare(self) -> Callable[[], Project]:
        """The existing one, or a new one on request: its model is read now, and the project made
        with all that belongs to it when what is returned is called."""
        there = self._find_made_before()
        if there is not None:
            return lambda: there
        model = self._receive_model_file()

        def make() -> Project:
            # First the marker: a crash in between costs a demo, the other way round it makes two.
            self._write_marker("")
            with self._records.database.writing():
                project = self._records.projects.add(NAME)
                added = model.add(project_id=project.id)
                # The verdict first: it is what people came for, and there after some seconds.
                self._add_comparison(project.id, added.id)
                self._add_benchmark(project.id, added.id)
                self._add_profile(project.id, added.id)
                self._write_marker(str(project.id))
            return project

        return make

    def _find_made_before(self) -> Project | None:
        try:
            said = self._marker.read_text()
        except OSError:
            return None
        if not (said.isascii() and said.isdecimal()):
            return None
        try:
            return self._records.projects.get(ProjectId(int(said)))
        except NotFound:
            return None

    def _write_marker(self, number: str) -> None:
        try:
            self._marker.write_text(number)
            descriptor = os.open(self._marker.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise WorkspaceUnusable(
                "Cannot write to the workspace", why=error.strerror or str(error)
            ) from error

    def _receive_model_file(self) -> PreparedModel:
        path = self._model()
        with path.open("rb") as file, self._files.receiving(path.stat().st_size) as upload:
            upload.incoming.copy(file.fileno())
            upload.release_slot()
            return self._files.prepare_received(path.name, upload.incoming, "example")

    def _add_comparison(self, project_id: ProjectId, model_id: ModelId) -> None:
        sides = choose_two_sides()

        def spec(a: Model, b: Model) -> ComparisonSpec:
            return demo_comparison(a.path, b.path, sides)

        models = [model_id, model_id]
        self._comparisons.add(project_id, models, sides.title, spec, start=True)

    def _add_benchmark(self, project_id: ProjectId, model_id: ModelId) -> None:
        def spec(path: str) -> BenchmarkSpec:
            return demo_benchmark(path)

        name = "Handwritten digits: engines, batches and cores"
        self._benchmarks.create(project_id, model_id, name, spec, start=True)

    def _add_profile(self, project_id: ProjectId, model_id: ModelId) -> None:
        create = self._profiles.create
        name = "Handwritten digits: where the time goes"
        create(project_id, model_id, name, make_spec=demo_profile, start=True)


# ---------------------------------------------------------------- what it measures


@dataclass(frozen=True)
class Sides:
    """What is compared: two engines, or two batches where there is one engine alone."""

    title: str
    a: SideRequest
    b: SideRequest
    words: tuple[str, str]  # after the model's name and an @


def choose_two_sides() -> Sides:
    engines = list_usable_engines()
    if len(engines) < 2:
        batches = SideRequest(batch_size=1), SideRequest(batch_size=8)
        return Sides("One image at a time, or eight", *batches, ("batch=1", "batch=8"))
    titles = [catalog.title_of(name) for name in engines]
    a, b = (SideRequest(engine=name) for name in engines)
    return Sides(" or ".join(titles), a, b, (f"engine={engines[0]}", f"engine={engines[1]}"))


def list_usable_engines() -> list[str]:
    """Of those that read the demo's model, what is installed here."""
    return [name for name in ENGINES if catalog.is_usable(catalog.find(name))]


def demo_comparison(a: str | Path, b: str | Path, sides: Sides) -> ComparisonSpec:
    name = Path(a).name
    first = make_side_spec(f"{name}@{sides.words[0]}", a, sides.a)
    second = make_side_spec(f"{name}@{sides.words[1]}", b, sides.b)
    # Pairs as short as those of a quick one, and more of them.
    short = make_comparison_of_sides(first, second, PairingRequest(budget=COMPARISON_S))
    return replace(short, pair_s=QUICK.session_s)


def demo_benchmark(model: ModelFile | str | Path, budget: Budget = QUICK) -> BenchmarkSpec:
    cores = tuple(sorted({1, min(2, len(allowed_cpus()))}))
    request = BenchmarkRequest(
        engines=tuple(list_usable_engines()), batch_sizes=(1, 8), cores=cores
    )
    return replace(make_benchmark_spec(request, model), budget=budget)


def demo_profile(path: str | Path) -> ProfileSpec:
    engine = next(iter(list_usable_engines()), None)
    return make_profile_spec(ProfileRequest(engine=engine, batch_size=8, repeats=2), path)
