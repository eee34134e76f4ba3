"""What a server has, noun by noun; each operation is written once, for both kinds of client.

Answers are documents. Their times are in UTC, latencies in milliseconds; results (``runs.result``)
are those of ``modeldyno.bench`` and ``modeldyno.compare``, in seconds.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar
from urllib.parse import quote

from modeldyno.client.following import (
    POLL_S,
    ReceivedEvent,
    ReceivedEvents,
    follow_events,
    follow_job,
)
from modeldyno.client.reading import read
from modeldyno.client.steps import (
    Answer,
    Ask,
    Mode,
    Resource,
    Say,
    Sent,
    Sleep,
    Step,
    Steps,
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
from modeldyno.core.client_paths import names_in, shown
from modeldyno.core.documents.artifact import ArtifactDocument
from modeldyno.core.documents.benchmarks import (
    BenchmarkDetailsDocument,
    BenchmarkSummary,
    PlanDocument,
)
from modeldyno.core.documents.comparisons import ComparisonDetailsDocument, ComparisonSummary
from modeldyno.core.documents.conversion import ConversionJobDocument
from modeldyno.core.documents.datasets import DatasetDocument
from modeldyno.core.documents.doctor import DoctorDocument
from modeldyno.core.documents.engines import EnginesDocument
from modeldyno.core.documents.examples import (
    ExampleFetchesDocument,
    ExamplesDocument,
    FetchDocument,
)
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.jobs import JobDocument
from modeldyno.core.documents.kept_runs import RunDetailsDocument, RunSummary
from modeldyno.core.documents.models import ModelDetailsDocument, ModelSummary
from modeldyno.core.documents.note import NoteDocument
from modeldyno.core.documents.profile import TimeDocument
from modeldyno.core.documents.profiles import ProfileDetailsDocument, ProfileSummary
from modeldyno.core.documents.projects import ProjectDocument
from modeldyno.core.documents.system import SystemDocument
from modeldyno.core.errors import (
    Cancelled,
    FileNotFound,
    ModeldynoError,
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
Json = dict[str, Any]
Document = TypeVar("Document")
Summary = TypeVar("Summary")


def fetch(kind: type[Document], ask: Ask) -> Steps[Document]:
    return read(kind, (yield ask).json)


def read_pages(
    kind: type[Document], path: str, **query: Any
) -> Generator[Step | Say[Document], Any, None]:
    yield from each(pages(path, **query), lambda item: read(kind, item))


class NounCalls(Resource[Mode], Generic[Mode, Document, Summary]):
    """What every noun with numbers has."""

    noun: ClassVar[str]
    document: type[Document]
    summary: type[Summary]

    @operation
    def get(self, number: int) -> Steps[Document]:
        return fetch(self.document, get(f"/{self.noun}/{number}"))

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[Summary], Any, None]:
        """All of them, newest first; ``text``, ``since``, ``sort``, ``order`` … as in the API."""
        return read_pages(self.summary, f"/{self.noun}", **wanted)

    @operation
    def delete(self, number: int, cascade: bool = False) -> Steps[None]:
        yield delete(f"/{self.noun}/{number}", cascade=cascade)


class Projects(NounCalls[Mode, ProjectDocument, Project]):
    noun, document, summary = "projects", ProjectDocument, Project

    @operation
    def create(self, name: str) -> Steps[Project]:
        return fetch(Project, post("/projects", {"name": name}))

    @operation
    def find(self, name: str, create: bool = False) -> Steps[Project | None]:
        """The newest of exactly that name."""
        item = yield from first(pages("/projects", text=name), lambda it: it["name"] == name)
        if item is not None:
            return read(Project, item)
        if create:
            return (yield from fetch(Project, post("/projects", {"name": name})))
        return None

    @operation
    def rename(self, project_id: int, name: str) -> Steps[Project]:
        return fetch(Project, patch(f"/projects/{project_id}", {"name": name}))

    @operation
    def set_baseline(
        self, project_id: int, benchmark_id: int | None, accept_noisy: bool = False
    ) -> Steps[Project]:
        """What the others are held against; None: nothing any more."""
        body = {"baseline_benchmark_id": benchmark_id, "accept_noisy": accept_noisy}
        return fetch(Project, patch(f"/projects/{project_id}", body))

    @operation
    def report(
        self, project_id: int, format: Format = "html", path: str | Path | None = None
    ) -> Steps[str]:
        """The latest result of everything in it; into ``path`` as well, when one is given."""
        text: str = (yield get(f"/projects/{project_id}/report", format=format)).text
        return _kept(text, path)


class Models(NounCalls[Mode, ModelDetailsDocument, ModelSummary]):
    noun, document, summary = "models", ModelDetailsDocument, ModelSummary

    @operation
    def upload(
        self,
        project_id: int,
        path: str | Path,
        name: str | None = None,
        tell: Sent | None = None,
    ) -> Steps[ModelDetailsDocument]:
        """The file, and weights that lie beside it if the server asks for them.

        ``tell`` hears how many bytes of how many went out. Raises ServerFailed, and sends nothing
        more, when the server names what does not lie below the model's folder.
        """
        file = Path(path).expanduser()
        ask = Ask(
            "POST", f"/projects/{project_id}/models", {"name": name or file.name},
            upload=Upload(file, tell),
        )  # fmt: skip
        model = yield from fetch(ModelDetailsDocument, ask)
        sent: set[str] = set()
        # One file may tell of others: the index of a SavedModel's weights does.
        while waiting := [name for name in model.missing if name not in sent]:
            sent.add(waiting[0])
            beside = Upload(_beside(file, waiting[0]), tell)
            where = f"/models/{model.id}/files/{quote(waiting[0])}"
            model = yield from fetch(ModelDetailsDocument, Ask("PUT", where, upload=beside))
        return model

    @operation
    def import_path(self, project_id: int, path: str) -> Steps[ModelDetailsDocument]:
        """A file below a folder that the server may read (``serve --models-root``)."""
        return fetch(
            ModelDetailsDocument, post(f"/projects/{project_id}/models/import", {"path": path})
        )

    @operation
    def from_example(self, project_id: int, example: str) -> Steps[FetchDocument]:
        return fetch(
            FetchDocument, post(f"/projects/{project_id}/models/example", {"example": example})
        )

    @operation
    def rename(self, model_id: int, name: str) -> Steps[ModelDetailsDocument]:
        return fetch(ModelDetailsDocument, patch(f"/models/{model_id}", {"name": name}))

    @operation
    def inspect(self, model_id: int) -> Steps[ModelDetailsDocument]:
        """Read the file again."""
        return fetch(ModelDetailsDocument, order(f"/models/{model_id}/inspect"))

    @operation
    def trust(self, model_id: int, reason: str = "") -> Steps[ModelDetailsDocument]:
        return fetch(ModelDetailsDocument, put(f"/models/{model_id}/trust", {"reason": reason}))

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
    def convert(self, model_id: int, to: str) -> Steps[ModelDetailsDocument]:
        """The new model of the same project, once it is there: ``onnx``, ``openvino`` or
        ``litert``. Raises what went wrong; WrongOutput when the two compute different things."""
        conversion = post(f"/models/{model_id}/conversions", {"to": to})
        job = yield from fetch(ConversionJobDocument, conversion)
        while job.state == "converting":
            yield Sleep(POLL_S)
            job = yield from fetch(ConversionJobDocument, get(f"/conversions/{job.id}"))
        if job.state == "cancelled":
            raise Cancelled("Somebody stopped the conversion")
        if job.failure is not None:
            raise error_of_failure(job.failure)
        return (yield from fetch(ModelDetailsDocument, get(f"/models/{job.made_id}")))

    @operation
    def graph(self, /, model_id: int, **wanted: Any) -> Steps[Json]:
        """The document that ``modeldyno inspect --graph --json`` prints."""
        graph: Json = (yield get(f"/models/{model_id}/graph", **wanted)).json
        return graph


class KindCalls(NounCalls[Mode, Document, Summary]):
    """What every kind that can be run has."""

    @operation
    def edit(self, /, number: int, **changes: Any) -> Steps[Document]:
        return fetch(self.document, patch(f"/{self.noun}/{number}", changes))

    @operation
    def start(self, number: int) -> Steps[JobDocument]:
        """One more run of it."""
        return fetch(JobDocument, post(f"/{self.noun}/{number}/runs"))

    @stream
    def runs(self, number: int) -> Generator[Step | Say[RunSummary], Any, None]:
        return read_pages(RunSummary, f"/{self.noun}/{number}/runs")

    def _created(self, start: bool, body: Mapping[str, Any]) -> Steps[Document]:
        return fetch(self.document, post(f"/{self.noun}", {**body, "start": start}))


class RepeatableCalls(KindCalls[Mode, Document, Summary]):
    @operation
    def rerun(self, number: int) -> Steps[Document]:
        """A new one with the same settings, started."""
        return fetch(self.document, post(f"/{self.noun}/{number}/rerun"))


class Benchmarks(RepeatableCalls[Mode, BenchmarkDetailsDocument, BenchmarkSummary]):
    noun, document, summary = "benchmarks", BenchmarkDetailsDocument, BenchmarkSummary

    @operation
    def create(
        self, /, project_id: int, model_id: int, *, start: bool = True, **settings: Any
    ) -> Steps[BenchmarkDetailsDocument]:
        """``settings`` as in the API: ``engines``, ``batch_sizes``, ``cores``, ``budget`` …"""
        body = {"project_id": project_id, "model_id": model_id, **settings}
        return self._created(start, body)

    @operation
    def plan(self, /, model_id: int, **settings: Any) -> Steps[PlanDocument]:
        """What it would measure, and about how long that takes."""
        return fetch(PlanDocument, post("/benchmarks/plan", {"model_id": model_id, **settings}))


class Comparisons(RepeatableCalls[Mode, ComparisonDetailsDocument, ComparisonSummary]):
    noun, document, summary = "comparisons", ComparisonDetailsDocument, ComparisonSummary

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
    ) -> Steps[ComparisonDetailsDocument]:
        """Sides as in the API: ``{"model_id": 1, "engine": …, "cores": …}``."""
        body = {"project_id": project_id, "a": dict(a), "b": dict(b), **settings}
        return self._created(start, body)


class Profiles(KindCalls[Mode, ProfileDetailsDocument, ProfileSummary]):
    noun, document, summary = "profiles", ProfileDetailsDocument, ProfileSummary

    @operation
    def create(
        self, /, project_id: int, model_id: int, *, start: bool = True, **settings: Any
    ) -> Steps[ProfileDetailsDocument]:
        """``settings`` as in the API: ``engine``, ``batch_size``, ``cores``, ``repeats`` …"""
        body = {"project_id": project_id, "model_id": model_id, **settings}
        return self._created(start, body)

    @stream
    def rows(
        self, /, number: int, by: Literal["node", "op"] = "op", **wanted: Any
    ) -> Generator[Step | Say[TimeDocument], Any, None]:
        """Where the time goes, the slowest first."""
        return read_pages(TimeDocument, f"/profiles/{number}/rows", by=by, **wanted)

    @operation
    def csv(
        self, number: int, by: Literal["node", "op"] = "op", path: str | Path | None = None
    ) -> Steps[str]:
        """The same as a table; into ``path`` as well, when one is given."""
        return _kept((yield get(f"/profiles/{number}/csv", by=by)).text, path)


class Runs(Resource[Mode]):
    @operation
    def get(self, run_id: str) -> Steps[RunDetailsDocument]:
        return fetch(RunDetailsDocument, get(f"/runs/{run_id}"))

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[RunSummary], Any, None]:
        return read_pages(RunSummary, "/runs", **wanted)

    @operation
    def result(self, run_id: str) -> Steps[RunResult]:
        """As ``modeldyno.bench``, ``compare`` and ``profile`` return it."""
        return result_of(run_id)

    @operation
    def document(self, run_id: str) -> Steps[Json]:
        """As ``--json`` prints it."""
        document: Json = (yield get(f"/runs/{run_id}/result")).json
        return document

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
        return _whole_log(f"/runs/{run_id}/log")

    @operation
    def again(self, run_id: str) -> Steps[JobDocument]:
        """One more run of what this is a run of."""
        run = (yield get(f"/runs/{run_id}")).json
        runs = f"/{run['kind']}s/{run['of_id']}/runs"
        return (yield from fetch(JobDocument, post(runs)))

    @stream
    def artifacts(self, run_id: str) -> Generator[Step | Say[ArtifactDocument], Any, None]:
        """Files that it left."""
        return read_pages(ArtifactDocument, f"/runs/{run_id}/artifacts")

    @operation
    def artifact(self, run_id: str, name: str, path: str | Path) -> Steps[Path]:
        """One of them, into that file."""
        target = Path(path).expanduser()
        yield Ask("GET", f"/runs/{run_id}/artifacts/{name}", into=target)
        return target

    @operation
    def delete(self, run_id: str) -> Steps[None]:
        yield delete(f"/runs/{run_id}")


class Jobs(Resource[Mode]):
    @operation
    def get(self, job_id: int) -> Steps[JobDocument]:
        return fetch(JobDocument, get(f"/jobs/{job_id}"))

    @stream
    def list(self, /, **wanted: Any) -> Generator[Step | Say[JobDocument], Any, None]:
        return read_pages(JobDocument, "/jobs", **wanted)

    @operation
    def cancel(self, job_id: int) -> Steps[JobDocument]:
        """Within two seconds; what it measured is kept."""
        return fetch(JobDocument, order(f"/jobs/{job_id}/cancel"))

    @operation
    def resume(self, job_id: int) -> Steps[JobDocument]:
        return fetch(JobDocument, order(f"/jobs/{job_id}/resume", False))

    @operation
    def next(self, job_id: int) -> Steps[JobDocument]:
        """Before everything else that waits."""
        return fetch(JobDocument, order(f"/jobs/{job_id}/next"))

    @operation
    def log(self, job_id: int) -> Steps[str]:
        return _whole_log(f"/jobs/{job_id}/log")

    @operation
    def log_from(self, job_id: int, offset: int) -> Steps[tuple[str, int]]:
        """What comes next of a log that grows, and where to go on: where it was when that was all.

        A stretch that only commands terminals has no text, and the log goes on after it.
        """
        return _log_from(f"/jobs/{job_id}/log", offset)

    @stream
    def follow(self, job_id: int) -> Generator[Step | Say[JobDocument], Any, None]:
        """The job whenever something about it changes; the last one is over."""
        return follow_job(job_id)


class Notes(Resource[Mode]):
    @operation
    def get(self, kind: SubjectKind, id: int) -> Steps[NoteDocument]:
        return fetch(NoteDocument, get(f"/{kind}s/{id}/note"))

    @operation
    def write(
        self, kind: SubjectKind, id: int, text: str, version: int | None = None
    ) -> Steps[NoteDocument]:
        """Raises EditedMeanwhile unless ``version`` is the one that is there; None: whatever is."""
        match = "*" if version is None else f'"{version}"'
        return fetch(NoteDocument, put(f"/{kind}s/{id}/note", {"text": text}, If_Match=match))


class Events(Resource[Mode]):
    @operation
    def since(
        self, after: int = 0, project_id: int | None = None, limit: int | None = None
    ) -> Steps[ReceivedEvents]:
        return fetch(
            ReceivedEvents, get("/events", after=after, project_id=project_id, limit=limit)
        )

    @stream
    def follow(
        self, project_id: int | None = None, after: int | None = None
    ) -> Generator[Step | Say[ReceivedEvent], Any, None]:
        """Every event after that number (None: from now on), for as long as you iterate."""
        return follow_events(project_id, after)


class Datasets(NounCalls[Mode, DatasetDocument, DatasetDocument]):
    noun, document, summary = "datasets", DatasetDocument, DatasetDocument

    @operation
    def create(self, /, project_id: int, name: str, **more: Any) -> Steps[DatasetDocument]:
        body = {"project_id": project_id, "name": name, **more}
        return fetch(DatasetDocument, post("/datasets", body))


class System(Resource[Mode]):
    @operation
    def get(self) -> Steps[SystemDocument]:
        """Hardware, versions, workspace, queue and leases of the server's machine."""
        return fetch(SystemDocument, get("/system"))

    @operation
    def doctor(self) -> Steps[DoctorDocument]:
        """Whether the server's machine is fit to measure."""
        return fetch(DoctorDocument, order("/system/doctor"))


class Engines(Resource[Mode]):
    @operation
    def list(self) -> Steps[EnginesDocument]:
        """Which engines can run on the server's machine, and how to get the others."""
        return fetch(EnginesDocument, get("/engines"))


class Examples(Resource[Mode]):
    @operation
    def list(self) -> Steps[ExamplesDocument]:
        """The models that the server knows where to get."""
        return fetch(ExamplesDocument, get("/examples"))

    @operation
    def get(self, name: str) -> Steps[ExampleFetchesDocument]:
        return fetch(ExampleFetchesDocument, get(f"/examples/{name}"))


class Session(Resource[Mode]):
    @operation
    def code(self) -> Steps[str]:
        """The path of a page that signs a browser in; it works once, and for a minute."""
        return str((yield order("/session/codes")).json["path"])


# ---------------------------------------------------------------- shared


def error_of_failure(failure: FailureDocument) -> ModeldynoError:
    kind = error_classes().get(failure.code, RunFailed)
    return kind(failure.title, why=failure.detail, fix=failure.fix)


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
