"""``client.bench``, ``compare`` and ``profile``: as those of ``modeldyno``, on a server."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

from modeldyno.client.following import follow_job
from modeldyno.client.reading import read
from modeldyno.client.resources import Models, Projects, error_of_failure, fetch, result_of
from modeldyno.client.steps import (
    Mode,
    Resource,
    Say,
    Sent,
    Sleep,
    Steps,
    Work,
    first,
    get,
    operation,
    order,
    pages,
    post,
)
from modeldyno.core.codec import encode
from modeldyno.core.documents.jobs import JobDocument
from modeldyno.core.documents.kept_runs import RunDetailsDocument
from modeldyno.core.documents.models import ModelSummary
from modeldyno.core.errors import (
    BadValue,
    Cancelled,
    ModelNotFound,
)
from modeldyno.core.jobs import JobMessage, Started
from modeldyno.core.requests.checking import require_valid
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    CellRequest,
    PairingRequest,
    ProfileRequest,
    SideRequest,
)
from modeldyno.core.requests.texts import side_with, split_side
from modeldyno.core.requests.words import (
    BenchmarkWords,
    CompareWords,
    ProfileWords,
    request_of,
    takes,
)
from modeldyno.core.results import BenchmarkResult, ComparisonResult, ProfileResult

PROJECT = "Python"  # where results go when nobody says where
Listener = Callable[[JobMessage], None]
Which = str | Path | int | ModelSummary  # a file here, or a model of the server


class MeasuringCalls(Resource[Mode]):
    @operation
    @takes(BenchmarkWords, BenchmarkRequest)
    def bench(
        self,
        model: Which,
        request: BenchmarkRequest | None = None,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        listen: Listener | None = None,
        upload: Sent | None = None,
        **words: Unpack[BenchmarkWords],
    ) -> Steps[BenchmarkResult]:
        """Measure a model on the server; ``modeldyno.bench`` says what the words mean, which a
        ``request`` replaces.

        ``model`` is a file of this machine, which is uploaded unless the project has its content,
        or the number of a model of the server. ``upload`` hears of bytes sent. Ctrl-C cancels the
        job and returns what was measured until then.
        """
        request = request or request_of(BenchmarkRequest, words)
        body = yield from _body(model, request, project, name, upload)
        result: BenchmarkResult = yield from _measured("/benchmarks", body, listen)
        return result

    @operation
    @takes(CompareWords, SideRequest, PairingRequest)
    def compare(
        self,
        a: Which,
        b: Which,
        common: SideRequest | None = None,
        pairing: PairingRequest | None = None,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        listen: Listener | None = None,
        upload: Sent | None = None,
        **words: Unpack[CompareWords],
    ) -> Steps[ComparisonResult]:
        """Is B slower than A? Sides may carry options: ``"m.onnx@cores=2"``."""
        common = common or request_of(SideRequest, words)
        pairing = pairing or request_of(PairingRequest, words)
        require_valid(pairing)
        project_id = yield from _project(project)
        sides = []
        for side in (a, b):
            which, own = split_side(side) if isinstance(side, str | Path) else (side, {})
            request = side_with(common, own)
            _require_sendable(request)
            model_id = yield from _model(project_id, which, upload)
            sides.append({"model_id": model_id} | encode(request))
        body = {"project_id": project_id, "name": name, "a": sides[0], "b": sides[1]}
        result: ComparisonResult = yield from _measured(
            "/comparisons", body | encode(pairing), listen
        )
        return result

    @operation
    @takes(ProfileWords, ProfileRequest)
    def profile(
        self,
        model: Which,
        request: ProfileRequest | None = None,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        listen: Listener | None = None,
        upload: Sent | None = None,
        **words: Unpack[ProfileWords],
    ) -> Steps[ProfileResult]:
        """Where a model spends its time, on the server; as ``modeldyno.profile``."""
        request = request or request_of(ProfileRequest, words)
        body = yield from _body(model, request, project, name, upload)
        result: ProfileResult = yield from _measured("/profiles", body, listen)
        return result


def _body(
    model: Which,
    request: BenchmarkRequest | ProfileRequest,
    project: str | int,
    name: str | None,
    upload: Sent | None,
) -> Steps[dict[str, Any]]:
    _require_sendable(request)
    project_id = yield from _project(project)
    model_id = yield from _model(project_id, model, upload)
    ids: dict[str, Any] = {"project_id": project_id, "model_id": model_id, "name": name}
    return {**ids, **encode(request)}


def _require_sendable(request: CellRequest) -> None:
    require_valid(request)
    if request.sandbox == "off":
        raise BadValue(
            "A server runs nothing without a sandbox",
            why="whoever may measure there could run any program",
            fix="Measure on your own machine for that",
        )


# ---------------------------------------------------------------- to the end


def _measured(path: str, body: dict[str, Any], listen: Listener | None) -> Steps[Any]:
    given = {key: value for key, value in body.items() if value is not None}
    made = (yield post(path, given | {"start": True})).json
    latest = made["latest_run"]
    yield from _to_the_end(latest["job_id"], listen)
    return (yield from _outcome(latest["id"], latest["job_id"]))


def _to_the_end(job_id: int, listen: Listener | None) -> Steps[None]:
    following = follow_job(job_id)
    has_begun = False
    try:
        step = next(following)
        while True:
            if isinstance(step, Say):
                has_begun = _tell(step.value, listen, has_begun)
                step = next(following)
                continue
            try:
                answer = yield step
            except Exception as error:  # noqa: BLE001 - following knows what to do about it
                step = following.throw(error)
            else:
                step = following.send(answer)
    except StopIteration:
        return
    except (KeyboardInterrupt, asyncio.CancelledError) as stop:
        # Not through `following`: whatever it was doing, the job is what matters now.
        yield order(f"/jobs/{job_id}/cancel")
        if isinstance(stop, asyncio.CancelledError):
            raise
        while not (yield from fetch(JobDocument, get(f"/jobs/{job_id}"))).is_over:
            yield Sleep(0.1)


def _tell(job: JobDocument, listen: Listener | None, has_begun: bool) -> bool:
    standing = job.progress
    if listen is None or standing is None:
        return has_begun
    if not has_begun:
        listen(Started(standing.headline, standing.units_planned))
    if standing.doing or standing.units_done:
        listen(standing.progress())
    return True


def _outcome(run_id: str, job_id: int) -> Steps[Any]:
    run = yield from fetch(RunDetailsDocument, get(f"/runs/{run_id}"))
    if run.has_result:
        return (yield from result_of(run_id))
    if run.failure is not None:
        raise error_of_failure(run.failure)
    raise Cancelled(
        f"Run {run_id} is {run.state}, without a result",
        why="it was stopped before there was enough for one",
        fix=f"Go on with it: resume job {job_id}",
    )


# ---------------------------------------------------------------- what to measure


def _project(which: str | int) -> Steps[int]:
    if isinstance(which, int):
        return which
    project = yield from Projects.find.of(None, which, create=True)
    assert project is not None
    return project.id


def _model(project_id: int, which: Which, tell: Sent | None) -> Steps[int]:
    if isinstance(which, ModelSummary):
        return which.id
    if isinstance(which, int):
        return which
    file = Path(which).expanduser()
    if not file.is_file():
        raise ModelNotFound(
            f'No model file named "{which}"',
            fix="Give the path of a model file, or the number of a model of the server",
        )
    sha256 = yield Work(lambda: _sha256(file))

    known = yield from first(
        pages("/models", project_id=project_id), lambda item: read(ModelSummary, item).keeps(sha256)
    )
    if known is not None:
        return int(known["id"])
    made = yield from Models.upload.of(None, project_id, file, tell=tell)
    return made.id


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
