"""``profiling/…``: our profiles, by operator type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import Response

from modeldyno.api.inc.announcing import Speech
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.profile_shape import op_rows_shape, profile_shape
from modeldyno.api.inc.runnables import before_its_first_run
from modeldyno.api.inc.shapes import Json
from modeldyno.core.errors import BadValue, FileNotFound, NotFound
from modeldyno.core.ids import ModelId, ProfileId, ProjectId, RunId
from modeldyno.core.profiles import Profile
from modeldyno.core.specs import ModelSpec, ProfileSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.profiles import MakeSpec, with_threads

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.profiles import ProfileService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MOST_THREADS = 1024


def operations(
    records: Records, history: History, profiles: ProfileService, runnables: Runnables
) -> Operations:
    def add(asked: Parameters) -> Json:
        """More threads than there are cores are kept as they were requested; a run takes what there
        is, and says so."""
        project_id = ProjectId(asked.id("project_id", MISSING))
        model_id, name = ModelId(asked.id("model_id", MISSING)), asked.text("name")
        dataset_id, threads = asked.dataset_id(), _threads(asked)
        make_spec = _with_threads(threads, runnables.sizes(dataset_id, model_id))
        made, _ = profiles.create(project_id, model_id, name, dataset_id, make_spec=make_spec)
        return {"profiling_id": made.id}

    def edit(asked: Parameters) -> Json:
        number = ProfileId(asked.id())
        changed: Json = {}
        if "dataset_id" in asked:
            changed["dataset_id"] = asked.dataset_id()
        if "num_threads" in asked:
            changed["num_threads"] = _threads(asked)
        before, dataset_id = profiles.get(number), changed.get("dataset_id")
        model = runnables.changed_model(before, dataset_id)
        make_spec = _changed(before, changed.get("num_threads"), model)
        with before_its_first_run("profiling", before.state):
            profiles.edit(number, dataset_id=dataset_id, make_spec=make_spec)
        return {"id": number, **changed}

    def listed(asked: Parameters) -> Json:
        project_id = ProjectId(asked.id("project_id", MISSING))
        details = profiles.all_details(project_id)
        place_of = runnables.places(project_id)
        placed = [(one, place_of(one.runnable, one.latest)) for one in details]
        return {"profilings": [profile_shape(one, place) for one, place in placed if place]}

    def details_of(number: int) -> Json:
        details = profiles.details(ProfileId(number))
        place = runnables.place_of(details.runnable, details.latest)
        results = _results(ProfileId(number))
        return profile_shape(details, place) | ({"results": results} if results else {})

    def _results(number: ProfileId) -> list[Json]:
        """Of the latest run that has some."""
        agreement = profiles.agreement(number)
        if agreement is None:
            return []
        run = records.runs.get(agreement.run_id)
        return op_rows_shape(number, profiles.op_rows(number), run.finished_at)

    def table(asked: Parameters) -> Response:
        number = ProfileId(asked.id())
        profiles.get(number)  # 404, where there is none
        try:
            text = profiles.op_csv(number)
        except NotFound as error:
            raise BadValue(
                "Could not find results for specified project.", why=error.why, fix=error.fix
            ) from error
        headers = {"Content-Disposition": f'attachment; filename="profiling_{number}.csv"'}
        return Response(text, media_type="text/csv", headers=headers)

    def config(asked: Parameters) -> Response:
        profiles.get(ProfileId(asked.id()))
        raise FileNotFound(
            "Unable to find config file", why="the command of a profiling says all there is"
        )

    def started(_number: int, run_id: RunId) -> Json:
        return {"output_path": str(history.folder(run_id).log)}

    return {
        **runnables.operations(profiles, Speech("profiling", details_of, started)),
        "profiling/add": add,
        "profiling/edit": edit,
        "profiling/list": listed,
        "profiling/config.yaml": config,
        "profiling/results/csv": table,
    }


def _threads(asked: Parameters) -> int:
    return asked.whole("num_threads", least=1, most=MOST_THREADS)


def _with_threads(threads: int, dims: dict[str, int]) -> MakeSpec:
    """As many as were requested, also where there are fewer cores."""

    def make(path: str) -> ProfileSpec:
        spec = with_threads(min(threads, len(allowed_cpus())))(path)
        model = replace(spec.model, dims=dims)
        return replace(spec, model=model, cell=replace(spec.cell, cores=threads))

    return make


def _changed(before: Profile, threads: int | None, model: ModelSpec) -> MakeSpec | None:
    spec = before.spec
    if threads is None and model == spec.model:
        return None
    cell = spec.cell if threads is None else replace(spec.cell, cores=threads)
    return lambda path: replace(spec, model=replace(model, path=path), cell=cell)
