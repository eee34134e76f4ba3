"""What a server has, noun by noun; each operation is told once, for both kinds of client."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from modeldyno.client.following import POLL_S, follow_events, follow_job
from modeldyno.client.reading import read
from modeldyno.client.steps import (
    Answer,
    Ask,
    AsyncResource,
    Say,
    Sent,
    Sleep,
    Step,
    Steps,
    SyncResource,
    Upload,
    delete,
    each,
    first,
    get,
    operation,
    order,
    pages,
    patch,
    post,
    put,
    stream,
)
from modeldyno.client.values import (
    BenchmarkSeen,
    ComparisonSeen,
    EventHeard,
    EventsFound,
    ModelSeen,
    ProfileSeen,
    ProjectDetails,
    RunSeen,
)
from modeldyno.core.client_paths import names_in, shown
from modeldyno.core.documents.jobs import JobDocument
from modeldyno.core.documents.note import NoteDocument
from modeldyno.core.documents.runs import ArtifactDocument
from modeldyno.core.errors import (
    Cancelled,
    FileNotFound,
    PathRefused,
    RunFailed,
    ServerFailed,
    error_classes,
)
from modeldyno.core.kinds import result_from
from modeldyno.core.notes import SubjectKind
from modeldyno.core.projects import Project
from modeldyno.core.results import RunResult

Format = Literal["json", "csv", "md", "html"]
Told = dict[str, Any]


class ProjectCalls:
    @operation
    def create(self, name: str) -> Steps[Project]:
        return read(Project, (yield post("/projects", {"name": name})).json)

    @operation
    def get(self, project_id: int) -> Steps[ProjectDetails]:
        return read(ProjectDetails, (yield get(f"/projects/{project_id}")).json)

    @operation
    def find(self, name: str, create: bool = False) -> Steps[Project | None]:
        """The newest of exactly that name."""
        item = yield from first(pages("/projects", text=name), lambda it: it["name"] == name)
        if item is not None:
            return read(Project, item)
        if create:
            return read(Project, (yield post("/projects", {"name": name})).json)
        return None

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[Project], Any, None]:
        """All of them, newest first; ``text``, ``since``, ``sort``, ``order`` … as in the API."""
        yield from each(pages("/projects", **wanted), lambda item: read(Project, item))

    @operation
    def rename(self, project_id: int, name: str) -> Steps[Project]:
        return read(Project, (yield patch(f"/projects/{project_id}", {"name": name})).json)

    @operation
    def set_baseline(
        self, project_id: int, benchmark_id: int | None, accept_noisy: bool = False
    ) -> Steps[Project]:
        """What the others are held against; None: nothing any more."""
        asked = {"baseline_benchmark_id": benchmark_id, "accept_noisy": accept_noisy}
        return read(Project, (yield patch(f"/projects/{project_id}", asked)).json)

    @operation
    def delete(self, project_id: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/projects/{project_id}", cascade=cascade)

    @operation
    def report(
        self, project_id: int, format: Format = "html", path: str | Path | None = None
    ) -> Steps[str]:
        """The latest result of everything in it; into ``path`` as well, when one is given."""
        text: str = (yield get(f"/projects/{project_id}/report", format=format)).text
        return _kept(text, path)


class ModelCalls:
    @operation
    def upload(
        self,
        project_id: int,
        path: str | Path,
        name: str | None = None,
        tell: Sent | None = None,
    ) -> Steps[ModelSeen]:
        """The file, and weights that lie beside it if the server asks for them.

        ``tell`` hears how many bytes of how many went out. Raises ServerFailed, and sends nothing
        more, when the server names what does not lie below the model's folder.
        """
        file = Path(path).expanduser()
        ask = Ask(
            "POST", f"/projects/{project_id}/models", {"name": name or file.name},
            upload=Upload(file, tell),
        )  # fmt: skip
        model = read(ModelSeen, (yield ask).json)
        sent: set[str] = set()
        # One file may tell of others: the index of a SavedModel's weights does.
        while waiting := [name for name in model.missing if name not in sent]:
            sent.add(waiting[0])
            beside = Upload(_beside(file, waiting[0]), tell)
            where = f"/models/{model.id}/files/{quote(waiting[0])}"
            answer = yield Ask("PUT", where, upload=beside)
            model = read(ModelSeen, answer.json)
        return model

    @operation
    def import_path(self, project_id: int, path: str) -> Steps[ModelSeen]:
        """A file below a folder that the server may read (``serve --models-root``)."""
        answer = yield post(f"/projects/{project_id}/models/import", {"path": path})
        return read(ModelSeen, answer.json)

    @operation
    def from_example(self, project_id: int, example: str) -> Steps[Told]:
        answer = yield post(f"/projects/{project_id}/models/example", {"example": example})
        found: Told = answer.json
        return found

    @operation
    def get(self, model_id: int) -> Steps[ModelSeen]:
        return read(ModelSeen, (yield get(f"/models/{model_id}")).json)

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[ModelSeen], Any, None]:
        yield from each(pages("/models", **wanted), lambda item: read(ModelSeen, item))

    @operation
    def rename(self, model_id: int, name: str) -> Steps[ModelSeen]:
        return read(ModelSeen, (yield patch(f"/models/{model_id}", {"name": name})).json)

    @operation
    def inspect(self, model_id: int) -> Steps[ModelSeen]:
        """Read the file again."""
        return read(ModelSeen, (yield order(f"/models/{model_id}/inspect")).json)

    @operation
    def trust(self, model_id: int, reason: str = "") -> Steps[ModelSeen]:
        return read(ModelSeen, (yield put(f"/models/{model_id}/trust", {"reason": reason})).json)

    @operation
    def distrust(self, model_id: int) -> Steps[None]:
        yield delete(f"/models/{model_id}/trust")

    @operation
    def download(self, model_id: int, path: str | Path) -> Steps[Path]:
        """Into that file, which is whole or not there."""
        target = Path(path).expanduser()
        yield Ask("GET", f"/models/{model_id}/file", into=target)
        return target

    @operation
    def convert(self, model_id: int, to: str) -> Steps[ModelSeen]:
        """The new model of the same project, once it is there: ``onnx``, ``openvino`` or
        ``litert``. Raises what went wrong; WrongOutput when the two compute different things."""
        told: Told = (yield post(f"/models/{model_id}/conversions", {"to": to})).json
        while told["state"] == "converting":
            yield Sleep(POLL_S)
            told = (yield get(f"/conversions/{told['id']}")).json
        if told["state"] == "cancelled":
            raise Cancelled("Somebody stopped the conversion")
        if told["failure"] is not None:
            why: Told = told["failure"]
            kind = error_classes().get(why["code"], RunFailed)
            raise kind(why["title"], why=why["detail"], fix=why["fix"])
        return read(ModelSeen, (yield get(f"/models/{told['made_id']}")).json)

    @operation
    def graph(self, /, model_id: int, **wanted: Any) -> Steps[Told]:
        """The document that ``modeldyno inspect --graph --json`` prints."""
        found: Told = (yield get(f"/models/{model_id}/graph", **wanted)).json
        return found

    @operation
    def delete(self, model_id: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/models/{model_id}", cascade=cascade)


class BenchmarkCalls:
    @operation
    def create(
        self, /, project_id: int, model_id: int, *, start: bool = True, **settings: Any
    ) -> Steps[BenchmarkSeen]:
        """``settings`` as in the API: ``engines``, ``batch_sizes``, ``cores``, ``budget`` …"""
        body = {"project_id": project_id, "model_id": model_id, "start": start, **settings}
        return read(BenchmarkSeen, (yield post("/benchmarks", body)).json)

    @operation
    def plan(self, /, model_id: int, **settings: Any) -> Steps[Told]:
        """What it would measure, and about how long that takes."""
        found: Told = (yield post("/benchmarks/plan", {"model_id": model_id, **settings})).json
        return found

    @operation
    def get(self, benchmark_id: int) -> Steps[BenchmarkSeen]:
        return read(BenchmarkSeen, (yield get(f"/benchmarks/{benchmark_id}")).json)

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[BenchmarkSeen], Any, None]:
        yield from each(pages("/benchmarks", **wanted), lambda item: read(BenchmarkSeen, item))

    @operation
    def edit(self, /, benchmark_id: int, **changes: Any) -> Steps[BenchmarkSeen]:
        return read(BenchmarkSeen, (yield patch(f"/benchmarks/{benchmark_id}", changes)).json)

    @operation
    def start(self, benchmark_id: int) -> Steps[JobDocument]:
        """One more run of it."""
        return read(JobDocument, (yield post(f"/benchmarks/{benchmark_id}/runs")).json)

    @operation
    def rerun(self, benchmark_id: int) -> Steps[BenchmarkSeen]:
        """A new one with the same settings, started."""
        return read(BenchmarkSeen, (yield post(f"/benchmarks/{benchmark_id}/rerun")).json)

    @stream
    def runs(self, benchmark_id: int) -> Generator[Step | Say[RunSeen], Any, None]:
        found = pages(f"/benchmarks/{benchmark_id}/runs")
        yield from each(found, lambda item: read(RunSeen, item))

    @operation
    def delete(self, benchmark_id: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/benchmarks/{benchmark_id}", cascade=cascade)


class ComparisonCalls:
    @operation
    def create(
        self,
        /,
        project_id: int,
        a: Mapping[str, Any],
        b: Mapping[str, Any],
        *,
        start: bool = True,
        **settings: Any,
    ) -> Steps[ComparisonSeen]:
        """Sides as in the API: ``{"model_id": 1, "engine": …, "cores": …}``."""
        body = {"project_id": project_id, "a": dict(a), "b": dict(b), "start": start, **settings}
        return read(ComparisonSeen, (yield post("/comparisons", body)).json)

    @operation
    def get(self, comparison_id: int) -> Steps[ComparisonSeen]:
        return read(ComparisonSeen, (yield get(f"/comparisons/{comparison_id}")).json)

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[ComparisonSeen], Any, None]:
        yield from each(pages("/comparisons", **wanted), lambda item: read(ComparisonSeen, item))

    @operation
    def start(self, comparison_id: int) -> Steps[JobDocument]:
        return read(JobDocument, (yield post(f"/comparisons/{comparison_id}/runs")).json)

    @operation
    def rerun(self, comparison_id: int) -> Steps[ComparisonSeen]:
        return read(ComparisonSeen, (yield post(f"/comparisons/{comparison_id}/rerun")).json)

    @stream
    def runs(self, comparison_id: int) -> Generator[Step | Say[RunSeen], Any, None]:
        found = pages(f"/comparisons/{comparison_id}/runs")
        yield from each(found, lambda item: read(RunSeen, item))

    @operation
    def delete(self, comparison_id: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/comparisons/{comparison_id}", cascade=cascade)


class ProfileCalls:
    @operation
    def create(
        self, /, project_id: int, model_id: int, *, start: bool = True, **settings: Any
    ) -> Steps[ProfileSeen]:
        """``settings`` as in the API: ``engine``, ``batch_size``, ``cores``, ``repeats`` …"""
        body = {"project_id": project_id, "model_id": model_id, "start": start, **settings}
        return read(ProfileSeen, (yield post("/profiles", body)).json)

    @operation
    def get(self, profile_id: int) -> Steps[ProfileSeen]:
        return read(ProfileSeen, (yield get(f"/profiles/{profile_id}")).json)

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[ProfileSeen], Any, None]:
        yield from each(pages("/profiles", **wanted), lambda item: read(ProfileSeen, item))

    @operation
    def edit(self, /, profile_id: int, **changes: Any) -> Steps[ProfileSeen]:
        return read(ProfileSeen, (yield patch(f"/profiles/{profile_id}", changes)).json)

    @operation
    def start(self, profile_id: int) -> Steps[JobDocument]:
        """One more run of it."""
        return read(JobDocument, (yield post(f"/profiles/{profile_id}/runs")).json)

    @stream
    def rows(
        self, /, profile_id: int, by: Literal["node", "op"] = "op", **wanted: Any
    ) -> Generator[Step | Say[Told], Any, None]:
        """Where the time goes, the slowest first."""
        yield from pages(f"/profiles/{profile_id}/rows", by=by, **wanted)

    @operation
    def csv(
        self, profile_id: int, by: Literal["node", "op"] = "op", path: str | Path | None = None
    ) -> Steps[str]:
        """The same as a table; into ``path`` as well, when one is given."""
        text: str = (yield get(f"/profiles/{profile_id}/csv", by=by)).text
        if path is not None:
            Path(path).expanduser().write_text(text)
        return text

    @stream
    def runs(self, profile_id: int) -> Generator[Step | Say[RunSeen], Any, None]:
        found = pages(f"/profiles/{profile_id}/runs")
        yield from each(found, lambda item: read(RunSeen, item))

    @operation
    def delete(self, profile_id: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/profiles/{profile_id}", cascade=cascade)


class RunCalls:
    @operation
    def get(self, run_id: str) -> Steps[RunSeen]:
        return read(RunSeen, (yield get(f"/runs/{run_id}")).json)

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[RunSeen], Any, None]:
        yield from each(pages("/runs", **wanted), lambda item: read(RunSeen, item))

    @operation
    def result(self, run_id: str) -> Steps[RunResult]:
        """As ``modeldyno.bench``, ``compare`` and ``profile`` return it."""
        return (yield from result_of(run_id))

    @operation
    def document(self, run_id: str) -> Steps[Told]:
        """As ``--json`` prints it."""
        found: Told = (yield get(f"/runs/{run_id}/result")).json
        return found

    @operation
    def export(
        self, run_id: str, format: Format = "json", path: str | Path | None = None
    ) -> Steps[str]:
        """The text; into ``path`` as well, when one is given."""
        text: str = (yield get(f"/runs/{run_id}/export", format=format)).text
        return _kept(text, path)

    @operation
    def samples(self, run_id: str, path: str | Path) -> Steps[Path]:
        """Every sample as CSV, into that file."""
        target = Path(path).expanduser()
        yield Ask("GET", f"/runs/{run_id}/samples", into=target)
        return target

    @operation
    def log(self, run_id: str) -> Steps[str]:
        return (yield from _whole_log(f"/runs/{run_id}/log"))

    @operation
    def again(self, run_id: str) -> Steps[JobDocument]:
        """One more run of what this is a run of."""
        run = (yield get(f"/runs/{run_id}")).json
        return read(JobDocument, (yield post(f"/{run['kind']}s/{run['of_id']}/runs")).json)

    @stream
    def artifacts(self, run_id: str) -> Generator[Step | Say[ArtifactDocument], Any, None]:
        """Files that it left."""
        found = pages(f"/runs/{run_id}/artifacts")
        yield from each(found, lambda item: read(ArtifactDocument, item))

    @operation
    def artifact(self, run_id: str, name: str, path: str | Path) -> Steps[Path]:
        """One of them, into that file."""
        target = Path(path).expanduser()
        yield Ask("GET", f"/runs/{run_id}/artifacts/{name}", into=target)
        return target

    @operation
    def delete(self, run_id: str) -> Steps[None]:
        yield delete(f"/runs/{run_id}")


class JobCalls:
    @operation
    def get(self, job_id: int) -> Steps[JobDocument]:
        return read(JobDocument, (yield get(f"/jobs/{job_id}")).json)

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[JobDocument], Any, None]:
        yield from each(pages("/jobs", **wanted), lambda item: read(JobDocument, item))

    @operation
    def cancel(self, job_id: int) -> Steps[JobDocument]:
        """Within two seconds; what it measured is kept."""
        return read(JobDocument, (yield order(f"/jobs/{job_id}/cancel")).json)

    @operation
    def resume(self, job_id: int) -> Steps[JobDocument]:
        return read(JobDocument, (yield order(f"/jobs/{job_id}/resume", False)).json)

    @operation
    def next(self, job_id: int) -> Steps[JobDocument]:
        """Before everything else that waits."""
        return read(JobDocument, (yield order(f"/jobs/{job_id}/next")).json)

    @operation
    def log(self, job_id: int) -> Steps[str]:
        return (yield from _whole_log(f"/jobs/{job_id}/log"))

    @operation
    def log_from(self, job_id: int, offset: int) -> Steps[tuple[str, int]]:
        """What comes next of a log that grows, and where to go on: where it was when that was all.

        A stretch that only commands terminals has no text, and the log goes on after it.
        """
        return (yield from _log_from(f"/jobs/{job_id}/log", offset))

    @stream
    def follow(self, job_id: int) -> Generator[Step | Say[JobDocument], Any, None]:
        """The job whenever something about it changes; the last one is over."""
        yield from follow_job(job_id)


class NoteCalls:
    @operation
    def get(self, kind: SubjectKind, id: int) -> Steps[NoteDocument]:
        return read(NoteDocument, (yield get(f"/{kind}s/{id}/note")).json)

    @operation
    def write(
        self, kind: SubjectKind, id: int, text: str, version: int | None = None
    ) -> Steps[NoteDocument]:
        """Raises EditedMeanwhile unless ``version`` is the one that is there; None: whatever is."""
        match = "*" if version is None else f'"{version}"'
        answer = yield put(f"/{kind}s/{id}/note", {"text": text}, If_Match=match)
        return read(NoteDocument, answer.json)


class EventCalls:
    @operation
    def since(
        self, after: int = 0, project_id: int | None = None, limit: int | None = None
    ) -> Steps[EventsFound]:
        answer = yield get("/events", after=after, project_id=project_id, limit=limit)
        return read(EventsFound, answer.json)

    @stream
    def follow(
        self, project_id: int | None = None, after: int | None = None
    ) -> Generator[Step | Say[EventHeard], Any, None]:
        """Every event after that number (None: from now on), for as long as you iterate."""
        yield from follow_events(project_id, after)


class DatasetCalls:
    @operation
    def create(self, /, project_id: int, name: str, **more: Any) -> Steps[Told]:
        body = {"project_id": project_id, "name": name, **more}
        found: Told = (yield post("/datasets", body)).json
        return found

    @operation
    def get(self, dataset_id: int) -> Steps[Told]:
        found: Told = (yield get(f"/datasets/{dataset_id}")).json
        return found

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[Told], Any, None]:
        yield from pages("/datasets", **wanted)

    @operation
    def delete(self, dataset_id: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/datasets/{dataset_id}", cascade=cascade)


class SystemCalls:
    @operation
    def get(self) -> Steps[Told]:
        """Hardware, versions, workspace, queue and leases of the server's machine."""
        found: Told = (yield get("/system")).json
        return found

    @operation
    def doctor(self) -> Steps[Told]:
        """Whether the server's machine is fit to measure."""
        found: Told = (yield order("/system/doctor")).json
        return found


class EngineCalls:
    @operation
    def list(self) -> Steps[Told]:
        """The document that ``modeldyno engines --json`` prints, of the server's machine."""
        found: Told = (yield get("/engines")).json
        return found


class ExampleCalls:
    @operation
    def list(self) -> Steps[Any]:
        """The models that the server knows where to get."""
        return (yield get("/examples")).json

    @operation
    def get(self, name: str) -> Steps[Told]:
        found: Told = (yield get(f"/examples/{name}")).json
        return found


class SessionCalls:
    @operation
    def code(self) -> Steps[str]:
        """The path of a page that signs a browser in; it works once, and for a minute."""
        return str((yield order("/session/codes")).json["path"])


# ---------------------------------------------------------------- shared


def result_of(run_id: str) -> Steps[RunResult]:
    answer = yield get(f"/runs/{run_id}/record")
    try:
        return result_from(answer.json)
    except ValueError as error:
        raise ServerFailed(
            f"The result of run {run_id} cannot be read",
            why=f"the server may have another version of Modeldyno ({str(error)[:200]})",
            fix="Use the same version on both sides, or ask for the document",
        ) from error


def _beside(model: Path, name: str) -> Path:
    """Where the server's word leads: it must not have us send what is no part of the model."""
    try:
        names = names_in(name)
    except PathRefused as error:
        raise _not_sent(name, error.why) from error
    place = model.parent
    for one in names:
        place /= one
        if place.is_symlink():  # it may lead anywhere
            raise _not_sent(name, "there is a link on the way to it")
    if not place.exists():
        raise FileNotFound(
            f'"{shown(name)}" is missing, which {model.name} needs',
            why="the model keeps weights in it, and it does not lie beside the model",
            fix="Put it there, and upload the model again",
        )
    if not place.is_file():
        raise _not_sent(name, "it is no regular file")
    return place


def _not_sent(name: str, why: str) -> ServerFailed:
    return ServerFailed(
        f'The server asks for "{shown(name)}", which is not sent',
        why=why,
        fix="Keep a model's weights beside it, under plain names; check whose server this is",
    )


def _kept(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).expanduser().write_text(text, encoding="utf-8")
    return text


def _whole_log(path: str) -> Steps[str]:
    text, offset = "", 0
    while True:
        more, after = yield from _log_from(path, offset)
        text += more
        if after <= offset:
            return text
        offset = after


def _log_from(path: str, offset: int) -> Steps[tuple[str, int]]:
    answer: Answer = yield get(path, offset=offset)
    return answer.text, int(answer.headers.get("x-next-offset", offset))


# ---------------------------------------------------------------- the two kinds


class Projects(ProjectCalls, SyncResource):
    pass


class AsyncProjects(ProjectCalls, AsyncResource):
    pass


class Models(ModelCalls, SyncResource):
    pass


class AsyncModels(ModelCalls, AsyncResource):
    pass


class Benchmarks(BenchmarkCalls, SyncResource):
    pass


class AsyncBenchmarks(BenchmarkCalls, AsyncResource):
    pass


class Comparisons(ComparisonCalls, SyncResource):
    pass


class AsyncComparisons(ComparisonCalls, AsyncResource):
    pass


class Profiles(ProfileCalls, SyncResource):
    pass


class AsyncProfiles(ProfileCalls, AsyncResource):
    pass


class Runs(RunCalls, SyncResource):
    pass


class AsyncRuns(RunCalls, AsyncResource):
    pass


class Jobs(JobCalls, SyncResource):
    pass


class AsyncJobs(JobCalls, AsyncResource):
    pass


class Notes(NoteCalls, SyncResource):
    pass


class AsyncNotes(NoteCalls, AsyncResource):
    pass


class Events(EventCalls, SyncResource):
    pass


class AsyncEvents(EventCalls, AsyncResource):
    pass


class Datasets(DatasetCalls, SyncResource):
    pass


class AsyncDatasets(DatasetCalls, AsyncResource):
    pass


class System(SystemCalls, SyncResource):
    pass


class AsyncSystem(SystemCalls, AsyncResource):
    pass


class Engines(EngineCalls, SyncResource):
    pass


class AsyncEngines(EngineCalls, AsyncResource):
    pass


class Examples(ExampleCalls, SyncResource):
    pass


class AsyncExamples(ExampleCalls, AsyncResource):
    pass


class Session(SessionCalls, SyncResource):
    pass


class AsyncSession(SessionCalls, AsyncResource):
    pass
