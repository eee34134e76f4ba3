"""The nouns of a server; each operation is written once, for both kinds of client.

Operations return documents. Their times are in UTC, latencies in milliseconds; results
(``runs.result``) are those of ``modeldyno.bench`` and ``modeldyno.compare``, in seconds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing
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
from modeldyno.client.operations import Mode, Resource, expand_path, operation, stream
from modeldyno.client.transport import (
    ByteProgress,
    Call,
    Transport,
    Upload,
    command,
    delete,
    get,
    patch,
    post,
    put,
)
from modeldyno.core.documents.benchmarks import (
    BenchmarkDetailsDocument,
    BenchmarkSummary,
    PlanDocument,
)
from modeldyno.core.documents.comparisons import ComparisonDetailsDocument, ComparisonSummary
from modeldyno.core.documents.conversions import ConversionJobDocument
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.hosts import DoctorDocument, EnginesDocument, SystemDocument
from modeldyno.core.documents.models import ModelDetailsDocument, ModelSummary
from modeldyno.core.documents.profiles import ProfileDetailsDocument, ProfileSummary, TimeDocument
from modeldyno.core.documents.projects import DatasetDocument, ProjectDocument
from modeldyno.core.documents.reports import RunDetailsDocument, RunSummary
from modeldyno.core.documents.runs import ArtifactDocument, JobDocument
from modeldyno.core.errors import (
    Cancelled,
    FileNotFound,
    ModeldynoError,
    PathRefused,
    RunFailed,
    ServerFailed,
    error_classes,
)
from modeldyno.core.examples import (
    ExampleFetchesDocument,
    ExamplesDocument,
    FetchDocument,
)
from modeldyno.core.kinds import result_from
from modeldyno.core.names import names_in, printable
from modeldyno.core.notes import NoteDocument, SubjectKind
from modeldyno.core.projects import Project
from modeldyno.core.results import RunResult

Format = Literal["json", "csv", "md", "html"]
Json = dict[str, Any]
Document = TypeVar("Document")
Summary = TypeVar("Summary")


Awaited = Coroutine[Any, Any, Document]


class NounCalls(Resource[Mode], Generic[Mode, Document, Summary]):
    """Operations on every noun that has numeric ids."""

    noun: ClassVar[str]
    document: type[Document]
    summary: type[Summary]

    @operation
    def get(self, number: int) -> Awaited[Document]:
        return self._fetch(self.document, get(f"/{self.noun}/{number}"))

    @stream
    def list(self, /, **query: Any) -> AsyncGenerator[Summary, None]:
        """All of them, newest first; ``text``, ``since``, ``sort``, ``order`` … as in the API."""
        return self._iterate_pages(self.summary, f"/{self.noun}", **query)

    @operation
    async def delete(self, number: int, cascade: bool = False) -> None:
        await self._send(delete(f"/{self.noun}/{number}", cascade=cascade))


class Projects(NounCalls[Mode, ProjectDocument, Project]):
    noun, document, summary = "projects", ProjectDocument, Project

    @operation
    def create(self, name: str) -> Awaited[Project]:
        return self._fetch(Project, post("/projects", {"name": name}))

    @operation
    async def find(self, name: str, create: bool = False) -> Project | None:
        """The newest of exactly that name."""
        async for project in self._iterate_pages(Project, "/projects", text=name):
            if project.name == name:
                return project
        if create:
            return await self._fetch(Project, post("/projects", {"name": name}))
        return None

    @operation
    def rename(self, project_id: int, name: str) -> Awaited[Project]:
        return self._fetch(Project, patch(f"/projects/{project_id}", {"name": name}))

    @operation
    def set_baseline(
        self, project_id: int, benchmark_id: int | None, accept_noisy: bool = False
    ) -> Awaited[Project]:
        """What the other benchmarks are compared with; None: no longer any."""
        body = {"baseline_benchmark_id": benchmark_id, "accept_noisy": accept_noisy}
        return self._fetch(Project, patch(f"/projects/{project_id}", body))

    @operation
    async def report(
        self, project_id: int, format: Format = "html", path: str | Path | None = None
    ) -> str:
        """The latest result of everything in it; written to ``path`` as well, if given."""
        return await self._fetch_text(get(f"/projects/{project_id}/report", format=format), path)


class Models(NounCalls[Mode, ModelDetailsDocument, ModelSummary]):
    noun, document, summary = "models", ModelDetailsDocument, ModelSummary

    @operation
    async def upload(
        self,
        project_id: int,
        path: str | Path,
        name: str | None = None,
        on_progress: ByteProgress | None = None,
    ) -> ModelDetailsDocument:
        """The file, and the weights beside it that the server asks for.

        ``on_progress`` is called with the bytes sent so far and in total. Raises ServerFailed, and
        sends nothing more, when the server asks for a file that is not below the model's folder.
        """
        file = expand_path(path)
        models, query = f"/projects/{project_id}/models", {"name": name or file.name}
        call = Call("POST", models, query, upload=Upload(file, on_progress))
        model = await self._fetch(ModelDetailsDocument, call)
        sent: set[str] = set()
        # A file that was sent may need others: the index of a SavedModel's weights does.
        while missing := [name for name in model.missing if name not in sent]:
            sent.add(missing[0])
            weights = Upload(_weights_beside(file, missing[0]), on_progress)
            call = Call("PUT", f"/models/{model.id}/files/{quote(missing[0])}", upload=weights)
            model = await self._fetch(ModelDetailsDocument, call)
        return model

    @operation
    def import_path(self, project_id: int, path: str) -> Awaited[ModelDetailsDocument]:
        """A file below a folder that the server may read (``serve --models-root``)."""
        return self._fetch(
            ModelDetailsDocument, post(f"/projects/{project_id}/models/import", {"path": path})
        )

    @operation
    def from_example(self, project_id: int, example: str) -> Awaited[FetchDocument]:
        return self._fetch(
            FetchDocument, post(f"/projects/{project_id}/models/example", {"example": example})
        )

    @operation
    def rename(self, model_id: int, name: str) -> Awaited[ModelDetailsDocument]:
        return self._fetch(ModelDetailsDocument, patch(f"/models/{model_id}", {"name": name}))

    @operation
    def inspect(self, model_id: int) -> Awaited[ModelDetailsDocument]:
        """Read the file again."""
        return self._fetch(ModelDetailsDocument, command(f"/models/{model_id}/inspect"))

    @operation
    def trust(self, model_id: int, reason: str = "") -> Awaited[ModelDetailsDocument]:
        return self._fetch(
            ModelDetailsDocument, put(f"/models/{model_id}/trust", {"reason": reason})
        )

    @operation
    async def distrust(self, model_id: int) -> None:
        await self._send(delete(f"/models/{model_id}/trust"))

    @operation
    async def download(self, model_id: int, path: str | Path) -> Path:
        """Into that file, which is complete or absent."""
        return await self._download(f"/models/{model_id}/file", path)

    @operation
    async def convert(self, model_id: int, to: str) -> ModelDetailsDocument:
        """Convert to ``onnx``, ``openvino`` or ``litert``; returns the new model of the project.
        Raises what went wrong; WrongOutput when the two compute different things."""
        conversion = post(f"/models/{model_id}/conversions", {"to": to})
        job = await self._fetch(ConversionJobDocument, conversion)
        while job.state == "converting":
            await self._transport.io.sleep(POLL_S)
            job = await self._fetch(ConversionJobDocument, get(f"/conversions/{job.id}"))
        if job.state == "cancelled":
            raise Cancelled("The conversion was cancelled")
        if job.failure is not None:
            raise error_of_failure(job.failure)
        return await self._fetch(ModelDetailsDocument, get(f"/models/{job.made_id}"))

    @operation
    async def graph(self, /, model_id: int, **query: Any) -> Json:
        """The document that ``modeldyno inspect --graph --json`` prints."""
        graph: Json = (await self._send(get(f"/models/{model_id}/graph", **query))).json
        return graph


class KindCalls(NounCalls[Mode, Document, Summary]):
    """Operations on every kind that can be run."""

    @operation
    def edit(self, /, number: int, **changes: Any) -> Awaited[Document]:
        return self._fetch(self.document, patch(f"/{self.noun}/{number}", changes))

    @operation
    def start(self, number: int) -> Awaited[JobDocument]:
        """One more run of it."""
        return self._fetch(JobDocument, post(f"/{self.noun}/{number}/runs"))

    @stream
    def runs(self, number: int) -> AsyncGenerator[RunSummary, None]:
        return self._iterate_pages(RunSummary, f"/{self.noun}/{number}/runs")

    def _created(self, start: bool, body: Mapping[str, Any]) -> Awaited[Document]:
        return self._fetch(self.document, post(f"/{self.noun}", {**body, "start": start}))


class RepeatableCalls(KindCalls[Mode, Document, Summary]):
    @operation
    def rerun(self, number: int) -> Awaited[Document]:
        """A new one with the same settings, started."""
        return self._fetch(self.document, post(f"/{self.noun}/{number}/rerun"))


class Benchmarks(RepeatableCalls[Mode, BenchmarkDetailsDocument, BenchmarkSummary]):
    noun, document, summary = "benchmarks", BenchmarkDetailsDocument, BenchmarkSummary

    @operation
    def create(
        self, /, project_id: int, model_id: int, *, start: bool = True, **settings: Any
    ) -> Awaited[BenchmarkDetailsDocument]:
        """``settings`` as in the API: ``engines``, ``batch_sizes``, ``cores``, ``budget`` …"""
        body = {"project_id": project_id, "model_id": model_id, **settings}
        return self._created(start, body)

    @operation
    def plan(self, /, model_id: int, **settings: Any) -> Awaited[PlanDocument]:
        """What it would measure, and roughly how long that would take."""
        return self._fetch(
            PlanDocument, post("/benchmarks/plan", {"model_id": model_id, **settings})
        )


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
    ) -> Awaited[ComparisonDetailsDocument]:
        """Sides as in the API: ``{"model_id": 1, "engine": …, "cores": …}``."""
        body = {"project_id": project_id, "a": dict(a), "b": dict(b), **settings}
        return self._created(start, body)


class Profiles(KindCalls[Mode, ProfileDetailsDocument, ProfileSummary]):
    noun, document, summary = "profiles", ProfileDetailsDocument, ProfileSummary

    @operation
    def create(
        self, /, project_id: int, model_id: int, *, start: bool = True, **settings: Any
    ) -> Awaited[ProfileDetailsDocument]:
        """``settings`` as in the API: ``engine``, ``batch_size``, ``cores``, ``repeats`` …"""
        body = {"project_id": project_id, "model_id": model_id, **settings}
        return self._created(start, body)

    @stream
    def rows(
        self, /, number: int, by: Literal["node", "op"] = "op", **query: Any
    ) -> AsyncGenerator[TimeDocument, None]:
        """Where the time goes, the slowest first."""
        return self._iterate_pages(TimeDocument, f"/profiles/{number}/rows", by=by, **query)

    @operation
    async def csv(
        self, number: int, by: Literal["node", "op"] = "op", path: str | Path | None = None
    ) -> str:
        """The same as a table; written to ``path`` as well, if given."""
        return await self._fetch_text(get(f"/profiles/{number}/csv", by=by), path)


class Runs(Resource[Mode]):
    @operation
    def get(self, run_id: str) -> Awaited[RunDetailsDocument]:
        return self._fetch(RunDetailsDocument, get(f"/runs/{run_id}"))

    @stream
    def list(self, /, **query: Any) -> AsyncGenerator[RunSummary, None]:
        return self._iterate_pages(RunSummary, "/runs", **query)

    @operation
    def result(self, run_id: str) -> Awaited[RunResult]:
        """As ``modeldyno.bench``, ``compare`` and ``profile`` return it."""
        return fetch_run_result(self._transport, run_id)

    @operation
    async def document(self, run_id: str) -> Json:
        """As ``--json`` prints it."""
        document: Json = (await self._send(get(f"/runs/{run_id}/result"))).json
        return document

    @operation
    async def export(
        self, run_id: str, format: Format = "json", path: str | Path | None = None
    ) -> str:
        """The text; written to ``path`` as well, if given."""
        return await self._fetch_text(get(f"/runs/{run_id}/export", format=format), path)

    @operation
    async def samples(self, run_id: str, path: str | Path) -> Path:
        """Every sample as CSV, into that file."""
        return await self._download(f"/runs/{run_id}/samples", path)

    @operation
    def log(self, run_id: str) -> Awaited[str]:
        return self._fetch_log(f"/runs/{run_id}/log")

    @operation
    async def again(self, run_id: str) -> JobDocument:
        """One more run of the same benchmark, comparison or profile."""
        run = (await self._send(get(f"/runs/{run_id}"))).json
        runs = f"/{run['kind']}s/{run['of_id']}/runs"
        return await self._fetch(JobDocument, post(runs))

    @stream
    def artifacts(self, run_id: str) -> AsyncGenerator[ArtifactDocument, None]:
        """Files that it produced."""
        return self._iterate_pages(ArtifactDocument, f"/runs/{run_id}/artifacts")

    @operation
    async def artifact(self, run_id: str, name: str, path: str | Path) -> Path:
        """One of them, into that file."""
        return await self._download(f"/runs/{run_id}/artifacts/{name}", path)

    @operation
    async def delete(self, run_id: str) -> None:
        await self._send(delete(f"/runs/{run_id}"))


class Jobs(Resource[Mode]):
    @operation
    def get(self, job_id: int) -> Awaited[JobDocument]:
        return self._fetch(JobDocument, get(f"/jobs/{job_id}"))

    @stream
    def list(self, /, **query: Any) -> AsyncGenerator[JobDocument, None]:
        return self._iterate_pages(JobDocument, "/jobs", **query)

    @operation
    def cancel(self, job_id: int) -> Awaited[JobDocument]:
        """Within two seconds; what it measured is kept."""
        return self._fetch(JobDocument, command(f"/jobs/{job_id}/cancel"))

    @operation
    def resume(self, job_id: int) -> Awaited[JobDocument]:
        return self._fetch(JobDocument, command(f"/jobs/{job_id}/resume", False))

    @operation
    def next(self, job_id: int) -> Awaited[JobDocument]:
        """Before everything else that waits."""
        return self._fetch(JobDocument, command(f"/jobs/{job_id}/next"))

    @operation
    def log(self, job_id: int) -> Awaited[str]:
        return self._fetch_log(f"/jobs/{job_id}/log")

    @operation
    def log_from(self, job_id: int, offset: int) -> Awaited[tuple[str, int]]:
        """The next part of a growing log, and the offset to go on from: ``offset`` at its end.

        A part that only controls a terminal has no text, and the log goes on after it.
        """
        return self._fetch_log_from(f"/jobs/{job_id}/log", offset)

    @stream
    async def follow(self, job_id: int) -> AsyncGenerator[JobDocument, None]:
        """The job whenever something about it changes; the last one is over."""
        async with aclosing(self._transport.events()) as connection:
            async for job in follow_job(self._transport, connection, job_id):
                yield job


class Notes(Resource[Mode]):
    @operation
    def get(self, kind: SubjectKind, id: int) -> Awaited[NoteDocument]:
        return self._fetch(NoteDocument, get(f"/{kind}s/{id}/note"))

    @operation
    def write(
        self, kind: SubjectKind, id: int, text: str, version: int | None = None
    ) -> Awaited[NoteDocument]:
        """Raises EditedMeanwhile unless ``version`` is the current one; None: whichever is."""
        match = "*" if version is None else f'"{version}"'
        return self._fetch(NoteDocument, put(f"/{kind}s/{id}/note", {"text": text}, If_Match=match))


class Events(Resource[Mode]):
    @operation
    def since(
        self, after: int = 0, project_id: int | None = None, limit: int | None = None
    ) -> Awaited[ReceivedEvents]:
        return self._fetch(
            ReceivedEvents, get("/events", after=after, project_id=project_id, limit=limit)
        )

    @stream
    async def follow(
        self, project_id: int | None = None, after: int | None = None
    ) -> AsyncGenerator[ReceivedEvent, None]:
        """Every event after that number (None: from now on), for as long as you iterate."""
        async with aclosing(self._transport.events()) as connection:
            async for event in follow_events(self._transport, connection, project_id, after):
                yield event


class Datasets(NounCalls[Mode, DatasetDocument, DatasetDocument]):
    noun, document, summary = "datasets", DatasetDocument, DatasetDocument

    @operation
    def create(self, /, project_id: int, name: str, **more: Any) -> Awaited[DatasetDocument]:
        body = {"project_id": project_id, "name": name, **more}
        return self._fetch(DatasetDocument, post("/datasets", body))


class System(Resource[Mode]):
    @operation
    def get(self) -> Awaited[SystemDocument]:
        """Hardware, versions, workspace, queue and leases of the server's machine."""
        return self._fetch(SystemDocument, get("/system"))

    @operation
    def doctor(self) -> Awaited[DoctorDocument]:
        """Whether the server's machine is fit to measure."""
        return self._fetch(DoctorDocument, command("/system/doctor"))


class Engines(Resource[Mode]):
    @operation
    def list(self) -> Awaited[EnginesDocument]:
        """Which engines can run on the server's machine, and how to install the others."""
        return self._fetch(EnginesDocument, get("/engines"))


class Examples(Resource[Mode]):
    @operation
    def list(self) -> Awaited[ExamplesDocument]:
        """The example models that the server can fetch."""
        return self._fetch(ExamplesDocument, get("/examples"))

    @operation
    def get(self, name: str) -> Awaited[ExampleFetchesDocument]:
        return self._fetch(ExampleFetchesDocument, get(f"/examples/{name}"))


class BrowserSessions(Resource[Mode]):
    @operation
    async def code(self) -> str:
        """The path of a page that signs a browser in; it works once, and for a minute."""
        return str((await self._send(command("/session/codes"))).json["path"])


# ---------------------------------------------------------------- shared


def error_of_failure(failure: FailureDocument) -> ModeldynoError:
    kind = error_classes().get(failure.code, RunFailed)
    return kind(failure.title, why=failure.detail, fix=failure.fix)


async def fetch_run_result(transport: Transport, run_id: str) -> RunResult:
    record = (await transport.send(get(f"/runs/{run_id}/record"))).json
    try:
        return result_from(record)
    except ValueError as error:
        raise ServerFailed(
            f"The result of run {run_id} cannot be read",
            why=f"the server may have another version of Modeldyno ({str(error)[:200]})",
            fix="Use the same version on both sides, or ask for the document",
        ) from error


def _weights_beside(model: Path, name: str) -> Path:
    """The file that the server asks for. It must not make us send anything but the model."""
    try:
        parts = names_in(name)
    except PathRefused as error:
        raise _not_sent_error(name, error.why) from error
    path = model.parent
    for part in parts:
        path /= part
        if path.is_symlink():  # it may lead anywhere
            raise _not_sent_error(name, "its path contains a symbolic link")
    if not path.exists():
        raise FileNotFound(
            f'"{printable(name)}" is missing, which {model.name} needs',
            why="the model keeps weights in it, but it is not beside the model",
            fix="Put it there, and upload the model again",
        )
    if not path.is_file():
        raise _not_sent_error(name, "it is not a regular file")
    return path


def _not_sent_error(name: str, why: str) -> ServerFailed:
    return ServerFailed(
        f'The server asks for "{printable(name)}", which is not sent',
        why=why,
        fix="Keep weights beside the model, under plain names; check that this is the right server",
    )
