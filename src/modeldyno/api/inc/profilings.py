"""``profiling/…``: our profiles, by operator type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import Response

from modeldyno.api.inc.announcing import RunEvents
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.runnable_shapes import op_rows_shape, profile_shape
from modeldyno.api.inc.runnables import translated_state_errors
from modeldyno.api.inc.shapes import Json
from modeldyno.core.errors import BadValue, FileNotFound, NotFound
from modeldyno.core.ids import ModelId, ProfileId, ProjectId, RunId
from modeldyno.core.profiles import Profile
from modeldyno.core.specs import ModelSpec, ProfileSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.profiles import MakeSpec, make_spec_with_threads

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.profiles import ProfileService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MOST_THREADS = 1024


def operations(
    records: Records, history: History, profiles: ProfileService, runnables: Runnables
) -> Operations:
    def add(parameters: Parameters) -> Json:
        """Threads are kept as requested, even if there are fewer cores: a run takes what there is,
        and says so."""
        project_id = ProjectId(parameters.id("project_id", MISSING))
        model_id, name = ModelId(parameters.id("model_id", MISSING)), parameters.text("name")
        dataset_id, threads = parameters.dataset_id(), _requested_threads(parameters)
        make_spec = _make_spec_with_threads(threads, runnables.sizes(dataset_id, model_id))
        profile, _ = profiles.create(project_id, model_id, name, dataset_id, make_spec=make_spec)
        return {"profiling_id": profile.id}

    def edit(parameters: Parameters) -> Json:
        number = ProfileId(parameters.id())
        changed: Json = {}
        if "dataset_id" in parameters:
            changed["dataset_id"] = parameters.dataset_id()
        if "num_threads" in parameters:
            changed["num_threads"] = _requested_threads(parameters)
        before, dataset_id = profiles.get(number), changed.get("dataset_id")
        model = runnables.changed_model(before, dataset_id)
        make_spec = _make_changed_spec(before, changed.get("num_threads"), model)
        with translated_state_errors("profiling", before.state):
            profiles.edit(number, dataset_id=dataset_id, make_spec=make_spec)
        return {"id": number, **changed}

    def list_profilings(parameters: Parameters) -> Json:
        project_id = ProjectId(parameters.id("project_id", MISSING))
        all_details = profiles.all_details(project_id)
        surroundings_of = runnables.all_surroundings(project_id)
        return {
            "profilings": [
                profile_shape(details, surroundings)
                for details in all_details
                if (surroundings := surroundings_of(details.runnable, details.latest))
            ]
        }

    def details_of(number: int) -> Json:
        details = profiles.details(ProfileId(number))
        surroundings = runnables.surroundings_of(details.runnable, details.latest)
        results = _results(ProfileId(number))
        return profile_shape(details, surroundings) | ({"results": results} if results else {})

    def _results(number: ProfileId) -> list[Json]:
        """Of the latest run that has results."""
        agreement = profiles.agreement(number)
        if agreement is None:
            return []
        run = records.runs.get(agreement.run_id)
        return op_rows_shape(number, profiles.op_rows(number), run.finished_at)

    def table(parameters: Parameters) -> Response:
        number = ProfileId(parameters.id())
        profiles.get(number)  # raises NotFound
        try:
            text = profiles.op_csv(number)
        except NotFound as error:
            raise BadValue(
                "Could not find results for specified project.", why=error.why, fix=error.fix
            ) from error
        headers = {"Content-Disposition": f'attachment; filename="profiling_{number}.csv"'}
        return Response(text, media_type="text/csv", headers=headers)

    def config(parameters: Parameters) -> Response:
        profiles.get(ProfileId(parameters.id()))
        raise FileNotFound(
            "Unable to find config file", why="the command of a profiling contains all its settings"
        )

    def started(_number: int, run_id: RunId) -> Json:
        return {"output_path": str(history.folder(run_id).log)}

    return {
        **runnables.operations(profiles, RunEvents("profiling", details_of, started)),
        "profiling/add": add,
        "profiling/edit": edit,
        "profiling/list": list_profilings,
        "profiling/config.yaml": config,
        "profiling/results/csv": table,
    }


def _requested_threads(parameters: Parameters) -> int:
    return parameters.integer("num_threads", least=1, most=MOST_THREADS)


def _make_spec_with_threads(threads: int, dims: dict[str, int]) -> MakeSpec:
    """Keeps the number of threads, even if there are fewer cores."""

    def make(path: str) -> ProfileSpec:
        spec = make_spec_with_threads(min(threads, len(allowed_cpus())))(path)
        model = replace(spec.model, dims=dims)
        return replace(spec, model=model, cell=replace(spec.cell, cores=threads))

    return make


def _make_changed_spec(before: Profile, threads: int | None, model: ModelSpec) -> MakeSpec | None:
    spec = before.spec
    if threads is None and model == spec.model:
        return None
    cell = spec.cell if threads is None else replace(spec.cell, cores=threads)
    return lambda path: replace(spec, model=replace(model, path=path), cell=cell)
