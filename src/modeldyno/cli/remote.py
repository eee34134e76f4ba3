"""Here or on a server: the one place that decides, and what a server's runs look like here."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from modeldyno.core.errors import BadValue, RunNotFound, ServerFailed
from modeldyno.core.ids import RunId, number_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from modeldyno.client.clients import Client
    from modeldyno.core.documents.failures import FailureDocument
    from modeldyno.core.documents.models import ModelDetailsDocument, ModelSummary
    from modeldyno.core.documents.reports import RunDetailsDocument
    from modeldyno.core.documents.runs import JobDocument, ProgressDocument
    from modeldyno.core.jobs import JobMessage
    from modeldyno.core.requests.measuring import ModelFile
    from modeldyno.core.results import Failure, RunResult
    from modeldyno.core.runs import StoredRun
    from modeldyno.core.specs import RunSpec
    from modeldyno.core.trust import Code, Trusted
    from modeldyno.services.trust import TrustGrant

    Listener = Callable[[JobMessage], None] | None

LATEST = "latest"
PROJECT = "Terminal"  # where a server keeps what terminals send
_clients: list[Client] = []


class Kept(Protocol):
    """Runs that were kept: ``store/history.py`` here, ``ServerRuns`` on a server."""

    def recent(self, count: int) -> tuple[list[StoredRun], list[RunId]]: ...
    def find(self, word: str | None = None) -> StoredRun: ...
    def id_of(self, word: str | None = None) -> RunId: ...
    def numbers_of(self, run_ids: Iterable[RunId]) -> dict[RunId, int]: ...


def connect_client(server: str | None, workspace: Path | None) -> Client:
    """The server that was named, or else the one that has the workspace.

    Raises ServerUnreachable when there is none.
    """
    from modeldyno.client.clients import Client

    client = Client(server, workspace=workspace)
    _clients.append(client)
    return client


def hang_up() -> None:
    """When the command is over, however it ended."""
    while _clients:
        _clients.pop().close()


def kept_runs(server: str | None, workspace: Path | None) -> Kept:
    if server is not None:
        return ServerRuns(connect_client(server, workspace))
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_history

    return open_history(Settings.read(workspace))


def run_label(server: str | None, workspace: Path | None, run_id: RunId) -> str:
    """``#12``, as every command takes it."""
    return f"#{kept_runs(server, workspace).numbers_of([run_id])[run_id]}"


class ServerRuns:
    """The runs of a server, read back as if they were ours."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def recent(self, count: int) -> tuple[list[StoredRun], list[RunId]]:
        runs: list[StoredRun] = []
        unreadable: list[RunId] = []
        for run in islice(self._client.runs.list(), count):
            try:
                runs.append(self._read_run(run.id))
            except ServerFailed:  # of another version
                unreadable.append(RunId(run.id))
        return runs, unreadable

    def find(self, word: str | None = None) -> StoredRun:
        return self._read_run(self.id_of(word))

    def id_of(self, word: str | None = None) -> RunId:
        if word and (number := number_in(word)) is not None:
            return self._numbered(number)
        part = "" if word in (None, LATEST) else word or ""
        runs = [RunId(run.id) for run in islice(self._client.runs.list(text=part), 4)]
        if part in runs:
            return RunId(part)
        if len(runs) > 1 and part:
            raise RunNotFound(
                f"Several runs have {word!r} in their id", fix=f"Say which: {', '.join(runs[:3])}"
            )
        if not runs:
            what = f"There is no run {word!r}" if part else "There is no run yet"
            raise RunNotFound(f"{what} on this server", fix="`modeldyno ls` lists all runs")
        return runs[0]

    def _numbered(self, number: int) -> RunId:
        for run in self._client.runs.list(text=f"#{number}"):
            return RunId(run.id)
        latest = [f"#{run.number}" for run in islice(self._client.runs.list(), 3)]
        raise RunNotFound(
            f"There is no run #{number} on this server",
            fix=f"The latest are {', '.join(latest)}; `modeldyno ls` lists all"
            if latest
            else "Nothing was measured there yet",
        )

    def numbers_of(self, run_ids: Iterable[RunId]) -> dict[RunId, int]:
        return {run_id: self._client.runs.get(run_id).number for run_id in run_ids}

    def _read_run(self, run_id: str) -> StoredRun:
        from modeldyno.core.runs import Artifact, StoredRun

        run = self._client.runs.get(run_id)
        result = self._client.runs.result(run_id) if run.has_result else None
        assert run.created_at is not None
        spec = result.spec if result else self._decode_spec(run)
        return StoredRun(
            run_id=RunId(run_id),
            number=run.number,
            created_at=run.created_at.isoformat(),
            state=run.state,
            spec=spec,
            sessions=run.units_kept,
            cell_names=tuple(cell.name for cell in run.cells or spec.configurations()),
            result=result,
            failure=_to_failure(run.failure),
            artifacts=tuple(Artifact(a.name, a.sha256, a.size_bytes) for a in run.artifacts),
        )

    def _decode_spec(self, run: RunDetailsDocument) -> RunSpec:
        """As far as the server reports it: enough to say what is measured, not to repeat it."""
        from modeldyno.core.requests.axes import axis_choices, combinations
        from modeldyno.core.specs import (
            BenchmarkSpec,
            CellSpec,
            ComparisonSpec,
            ModelSpec,
            ProfileSpec,
            SideSpec,
        )

        if run.settings is not None:
            name = self._client.benchmarks.get(run.of_id).model_name
            cells = (CellSpec(**cell) for cell in combinations(axis_choices(run.settings)))
            return BenchmarkSpec(ModelSpec(name), tuple(cells))
        if run.profiling is not None:
            name = self._client.profiles.get(run.of_id).model_name
            return ProfileSpec(ModelSpec(name), repeats=run.profiling.repeats)
        if run.pairing is None:
            raise BadValue(
                f"Run {run.id} is a {run.kind}",
                fix="This command is for benchmarks, comparisons and profiles",
            )
        pairing = run.pairing
        labels = pairing.a.label, pairing.b.label
        a, b = (SideSpec(label, ModelSpec(label), CellSpec()) for label in labels)
        return ComparisonSpec(a, b, margin=pairing.margin, seconds=pairing.budget_s)


class ServerTrust:
    """As ``services/trust.py``, of a server: files are vouched for by their content there, too."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def grant(
        self,
        file: str,
        reason: str = "",
        architecture: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> TrustGrant:
        """What builds the model is what the server's copy of the sidecar says."""
        refuse_options(architecture=architecture, arg=arguments)
        from modeldyno.core.models import FORMATS
        from modeldyno.services.trust import TrustGrant

        model = self._client.models.trust(find_or_upload_model(self._client, file).id, reason)
        tier = FORMATS[model.format].tier if model.format in FORMATS else "code"
        return TrustGrant(_to_trusted(model), tier, can_run=True)

    def revoke(self, file_or_sha256: str) -> str:
        path = Path(file_or_sha256).expanduser()
        sha256 = _hash_file(path) if path.is_file() else file_or_sha256.lower()
        known = [model for model in self._models() if model.sha256 == sha256]
        if not known:
            raise BadValue(
                f'"{file_or_sha256}" is not trusted',
                why="no trusted file of the server has this content",
                fix="See `modeldyno trust --list`",
            )
        self._client.models.distrust(known[0].id)
        return sha256

    def all(self) -> tuple[Trusted, ...]:
        trusted = {model.sha256: _to_trusted(model) for model in self._models()}
        return tuple(sorted(trusted.values(), key=lambda entry: entry.at))

    def _models(self) -> Iterator[ModelSummary]:
        return (m for m in self._client.models.list() if m.trust.is_given)


def _to_trusted(model: ModelSummary) -> Trusted:
    from modeldyno.core.trust import Trusted

    trust = model.trust
    return Trusted(
        model.sha256 or "", model.name, trust.since or "", trust.reason, _trusted_code(model)
    )


def _trusted_code(model: ModelSummary) -> Code | None:
    from modeldyno.core.documents.models import ModelDetailsDocument
    from modeldyno.core.trust import Code

    facts = model.facts if isinstance(model, ModelDetailsDocument) else None
    built = facts.architecture if facts and model.format == "torch-checkpoint" else None
    return Code(built.factory, built.arguments) if built else None


def _hash_file(path: Path) -> str:
    import hashlib

    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def find_or_upload_model(client: Client, file: str) -> ModelDetailsDocument:
    """A file of ours as a model of the server; sent unless it has those bytes."""
    path = require_local_file(file)
    sha256 = _hash_file(path)
    project = client.projects.find(PROJECT, create=True)
    assert project is not None
    for model in client.models.list(project_id=project.id):
        if model.keeps(sha256):
            return client.models.get(model.id)
    return client.models.upload(project.id, path)


def require_local_file(file: str) -> Path:
    """A file of ours; raises ModelNotFound, which knows what else may have been meant."""
    from modeldyno.services.requests import model_path

    return model_path(file)


def refuse_files(model: ModelFile, sandbox: str) -> None:
    """Raises BadValue for what is about this machine alone."""
    refuse_options(data=model.data, architecture=model.architecture, arg=model.arguments)
    refuse_options(no_sandbox=sandbox == "off")


def make_upload_listener(listen: Listener) -> Callable[[int, int], None] | None:
    """Reports to ``listen`` how much of a file has been sent."""
    if listen is None:
        return None
    from modeldyno.core.jobs import Progress

    return lambda sent, size: listen(Progress(sent >> 20, size >> 20, "Sending the model, MB"))


def refuse_options(**said: object) -> None:
    """Options that a server does not take are refused, not dropped."""
    for option, value in said.items():
        if value:
            name = option.replace("_", "-")
            raise BadValue(
                f"--{name} does not work on a server",
                why="it concerns files and programs on this machine",
                fix=f"Leave --{name} out, or measure here, without --server",
            )


def run_again(client: Client, word: str, listen: Listener) -> RunResult:
    """The benchmark, comparison or profile of a run, once more."""
    job = client.runs.again(ServerRuns(client).id_of(word))
    return follow_to_result(client, job, listen)


def resume_run(client: Client, word: str, listen: Listener) -> RunResult:
    """A run that was stopped, to its end."""
    run = client.runs.get(ServerRuns(client).id_of(word))
    if run.job_id is None:
        raise BadValue(
            f"Run {run.id} does not belong to the server",
            why="it was measured in a terminal",
            fix="Resume it there, with `modeldyno bench --resume`",
        )
    return follow_to_result(client, client.jobs.resume(run.job_id), listen)


def follow_to_result(client: Client, job: JobDocument, listen: Listener) -> RunResult:
    """Follow a job; Ctrl-C cancels it, and what was measured until then comes back."""
    from modeldyno.core.errors import Cancelled, RunFailed, error_classes

    before: ProgressDocument | None = None
    try:
        for now in client.jobs.follow(job.id):
            if listen is None or now.progress is None:
                continue
            for message in now.progress.messages(before):
                listen(message)
            before = now.progress
    except KeyboardInterrupt:
        client.jobs.cancel(job.id)
        for _ in client.jobs.follow(job.id):
            pass
    run = client.runs.get(job.run_id)
    if run.has_result:
        return client.runs.result(run.id)
    if run.failure is not None:
        kind = error_classes().get(run.failure.code, RunFailed)
        raise kind(run.failure.title, why=run.failure.detail, fix=run.failure.fix)
    raise Cancelled(
        f"Run {run.id} is {run.state}, without a result",
        fix=f"Continue it: modeldyno jobs resume {job.id}",
    )


def _to_failure(failure: FailureDocument | None) -> Failure | None:
    from modeldyno.core.results import Failure

    return (
        None
        if failure is None
        else Failure(failure.code, failure.title, failure.detail, failure.fix)
    )
