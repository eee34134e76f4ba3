"""``profiling/…``: our profiles, by operator type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi import Response

from modeldyno.api.inc.announcing import Speech
from modeldyno.api.inc.dataset_shape import NO_DATASET, dataset_shape
from modeldyno.api.inc.dummy_sizes import sizes_said, unfit_note
from modeldyno.api.inc.model_shape import model_shape
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import everything, moment, seconds, status, why_not_done
from modeldyno.core.commands import profile_command
from modeldyno.core.datasets import Dataset
from modeldyno.core.errors import BadValue, FileNotFound, NotFound, WrongState
from modeldyno.core.ids import DatasetId, ModelId, ProfileId, ProjectId, RunId
from modeldyno.core.models import Model
from modeldyno.core.profiles import Profile
from modeldyno.core.queue import Job
from modeldyno.core.runnables import RunnableDetails
from modeldyno.core.runs import LatestRun
from modeldyno.core.specs import ProfileSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.profiles import MakeSpec, with_threads

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.profiles import ProfileService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MOST_THREADS = 1024
_MISSING = "Could not find required parameter."

Json = dict[str, Any]


def operations(
    records: Records, history: History, profiles: ProfileService, runnables: Runnables
) -> Operations:
    def add(asked: Parameters) -> Json:
        """More threads than there are cores are kept as they were asked for; a run takes what there
        is, and says so."""
        project_id = ProjectId(asked.id("project_id", _MISSING))
        model_id, name = ModelId(asked.id("model_id", _MISSING)), asked.text("name")
        dataset_id = _dataset_id(asked, is_needed=True)
        threads = asked.whole("num_threads", least=1, most=MOST_THREADS)
        dims = sizes_said(_found(dataset_id), records.models.get(model_id))
        make_spec = _with_threads(threads, dims)
        made, _ = profiles.create(project_id, model_id, name, dataset_id, make_spec=make_spec)
        return {"profiling_id": made.id}

    def edit(asked: Parameters) -> Json:
        number = ProfileId(asked.id())
        changed: Json = {}
        if "dataset_id" in asked:
            changed["dataset_id"] = _dataset_id(asked)
        if "num_threads" in asked:
            changed["num_threads"] = asked.whole("num_threads", least=1, most=MOST_THREADS)
        before = profiles.get(number)
        dims = None
        if changed.get("dataset_id") is not None:
            model = records.models.get(before.model_id)
            others = sizes_said(_found(before.dataset_id), model)
            dims = {
                name: size for name, size in before.spec.model.dims.items() if name not in others
            } | sizes_said(_found(changed["dataset_id"]), model)
        make_spec = _changed(before, changed.get("num_threads"), dims)
        try:
            profiles.edit(number, dataset_id=changed.get("dataset_id"), make_spec=make_spec)
        except WrongState as error:
            text = "Can not modify profiling that has been run."
            raise WrongState(text, why=error.why, fix="Add another profiling") from error
        return {"id": number, **changed}

    def listed(asked: Parameters) -> Json:
        project_id = ProjectId(asked.id("project_id", _MISSING))
        found = profiles.all_details(project_id)
        models = {one.id: one for one in everything(records.models.page, project_id)}
        datasets: dict[DatasetId | None, Dataset] = {
            one.id: one for one in everything(records.datasets.page, project_id)
        }
        return {
            "profilings": [
                _shape(one, models[one.runnable.model_id], datasets.get(one.runnable.dataset_id))
                for one in found
            ]
        }

    def _found(dataset_id: DatasetId | None) -> Dataset | None:
        return records.datasets.get(dataset_id) if dataset_id else None

    def details_of(number: int) -> Json:
        found = profiles.details(ProfileId(number))
        profile = found.runnable
        dataset, model = _found(profile.dataset_id), records.models.get(profile.model_id)
        job = records.jobs.of_run(found.latest.id) if found.latest else None
        told = _shape(found, model, dataset, job)
        results = _results(profile.id)
        return told | ({"results": results} if results else {})

    def _results(number: ProfileId) -> list[Json]:
        """Of the latest run that has some."""
        found = profiles.agreement(number)
        if found is None:
            return []
        run = records.runs.get(found.run_id)
        return [
            {
                "profiling_id": number,
                "id": position,
                "node_name": row.op_type,
                "total_execution_time": row.total_us,
                "accelerator_execution_time": row.accelerator_us,
                "cpu_execution_time": row.cpu_us,
                "op_run": row.op_run,
                "op_defined": row.op_defined,
                "created_at": moment(run.finished_at),
            }
            for position, row in enumerate(profiles.op_rows(number), 1)
        ]

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

    def _shape(
        found: RunnableDetails[Profile],
        model: Model,
        dataset: Dataset | None,
        job: Job | None = None,
    ) -> Json:
        profile, latest = found.runnable, found.latest
        has_begun = latest is not None and latest.started_at is not None
        ran = _note(profile) if has_begun else ""
        notes = [why_not_done(latest, job), unfit_note(dataset, model), ran]
        return {
            "project_id": profile.project_id,
            "id": profile.id,
            "name": profile.name,
            "model": model_shape(model),
            "dataset": dataset_shape(dataset) if dataset else NO_DATASET,
            "num_threads": profile.spec.cell.cores,
            "execution_command": _command(profile) if has_begun else None,
            "log_path": str(history.folder(latest.id).log) if latest and has_begun else None,
            "status": status(profile.state),
            "created_at": moment(profile.created_at),
            "last_run_at": moment(profile.last_run_at),
            "duration": seconds(latest),
            "note": "; ".join(note for note in notes if note),
        }

    def latest(number: int) -> LatestRun | None:
        found: RunnableDetails[Profile] = profiles.details(ProfileId(number))
        return found.latest

    runnables.announcer.speaks("profile", Speech("profiling", details_of, started))
    return {
        "profiling": lambda asked: details_of(asked.id()),
        "profiling/add": add,
        "profiling/edit": edit,
        "profiling/list": listed,
        **runnables.operations("profiling", profiles, latest),
        "profiling/config.yaml": config,
        "profiling/results/csv": table,
    }


def _with_threads(threads: int, dims: dict[str, int]) -> MakeSpec:
    """As many as were asked for, also where there are fewer cores."""

    def make(path: str) -> ProfileSpec:
        spec = with_threads(min(threads, len(allowed_cpus())))(path)
        model = replace(spec.model, dims=dims)
        return replace(spec, model=model, cell=replace(spec.cell, cores=threads))

    return make


def _changed(before: Profile, threads: int | None, dims: dict[str, int] | None) -> MakeSpec | None:
    """``dims`` of a dataset that is another one now."""
    spec = before.spec
    model = spec.model if dims is None else replace(spec.model, dims=dims)
    if threads is None and model == spec.model:
        return None
    cell = spec.cell if threads is None else replace(spec.cell, cores=threads)
    return lambda path: replace(spec, model=replace(model, path=path), cell=cell)


def _note(profile: Profile) -> str:
    available, asked = len(allowed_cpus()), profile.spec.cell.cores
    return f"ran with {available} threads; asked {asked}" if asked > available else ""


def _command(profile: Profile) -> str:
    """With the file that is run, so that it can be pasted."""
    spec = profile.spec
    cores = min(spec.cell.cores, len(allowed_cpus()))
    return profile_command(replace(spec, cell=replace(spec.cell, cores=cores)), spec.model.path)


def _dataset_id(asked: Parameters, is_needed: bool = False) -> DatasetId | None:
    """-1 is what ``project/create`` says when it made no dataset."""
    if is_needed and "dataset_id" not in asked:
        raise BadValue(_MISSING, why="there is no dataset_id")
    found = asked.whole("dataset_id", -1, least=-1)
    return DatasetId(found) if found > 0 else None
