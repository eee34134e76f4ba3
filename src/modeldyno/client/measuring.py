"""``client.bench``, ``compare`` and ``profile``: as those of ``modeldyno``, on a server."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Unpack

from modeldyno.client.following import follow_job
from modeldyno.client.operations import Mode, Resource, expand_path, operation
from modeldyno.client.resources import Models, Projects, error_of_failure, fetch_run_result
from modeldyno.client.transport import ByteProgress, EventConnection, Transport, command, get, post
from modeldyno.core.codec import encode
from modeldyno.core.documents.models import ModelSummary
from modeldyno.core.documents.reports import RunDetailsDocument
from modeldyno.core.documents.runs import JobDocument, ProgressDocument
from modeldyno.core.errors import (
    BadValue,
    Cancelled,
    ModelNotFound,
)
from modeldyno.core.jobs import JobMessage
from modeldyno.core.requests.checking import require_valid
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    CellRequest,
    PairingRequest,
    ProfileRequest,
    SideRequest,
)
from modeldyno.core.requests.texts import (
    BenchmarkWords,
    CompareWords,
    ProfileWords,
    request_of,
    side_with,
    split_side,
    takes,
)
from modeldyno.core.results import BenchmarkResult, ComparisonResult, ProfileResult

PROJECT = "Python"  # where results go by default
Listener = Callable[[JobMessage], None]
ModelReference = str | Path | int | ModelSummary  # a file of this machine, or a model of the server


class MeasuringCalls(Resource[Mode]):
    @operation
    @takes(BenchmarkWords, BenchmarkRequest)
    async def bench(
        self,
        model: ModelReference,
        request: BenchmarkRequest | None = None,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        listen: Listener | None = None,
        upload: ByteProgress | None = None,
        **words: Unpack[BenchmarkWords],
    ) -> BenchmarkResult:
        """Measure a model on the server; ``modeldyno.bench`` explains the keywords, which a
        ``request`` replaces.

        ``model`` is a file of this machine, which is uploaded unless the project has its content,
        or the id of a model of the server. ``upload`` is called with bytes sent and bytes in total.
        Ctrl-C cancels the job and returns what was measured so far.
        """
        request = request or request_of(BenchmarkRequest, words)
        body = await self._make_body(model, request, project, name, upload)
        result: BenchmarkResult = await self._start_and_wait("/benchmarks", body, listen)
        return result

    @operation
    @takes(CompareWords, SideRequest, PairingRequest)
    async def compare(
        self,
        a: ModelReference,
        b: ModelReference,
        common: SideRequest | None = None,
        pairing: PairingRequest | None = None,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        listen: Listener | None = None,
        upload: ByteProgress | None = None,
        **words: Unpack[CompareWords],
    ) -> ComparisonResult:
        """Is B slower than A? Sides may carry options: ``"m.onnx@cores=2"``."""
        common = common or request_of(SideRequest, words)
        pairing = pairing or request_of(PairingRequest, words)
        require_valid(pairing)
        project_id = await self._find_project_id(project)
        sides = []
        for side in (a, b):
            reference, own = split_side(side) if isinstance(side, str | Path) else (side, {})
            request = side_with(common, own)
            _require_no_local_paths(request)
            model_id = await self._find_or_upload_model(project_id, reference, upload)
            sides.append({"model_id": model_id} | encode(request))
        body = {"project_id": project_id, "name": name, "a": sides[0], "b": sides[1]}
        result: ComparisonResult = await self._start_and_wait(
            "/comparisons", body | encode(pairing), listen
        )
        return result

    @operation
    @takes(ProfileWords, ProfileRequest)
    async def profile(
        self,
        model: ModelReference,
        request: ProfileRequest | None = None,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        listen: Listener | None = None,
        upload: ByteProgress | None = None,
        **words: Unpack[ProfileWords],
    ) -> ProfileResult:
        """Where a model spends its time, on the server; as ``modeldyno.profile``."""
        request = request or request_of(ProfileRequest, words)
        body = await self._make_body(model, request, project, name, upload)
        result: ProfileResult = await self._start_and_wait("/profiles", body, listen)
        return result

    async def _make_body(
        self,
        model: ModelReference,
        request: BenchmarkRequest | ProfileRequest,
        project: str | int,
        name: str | None,
        upload: ByteProgress | None,
    ) -> dict[str, Any]:
        _require_no_local_paths(request)
        project_id = await self._find_project_id(project)
        model_id = await self._find_or_upload_model(project_id, model, upload)
        ids: dict[str, Any] = {"project_id": project_id, "model_id": model_id, "name": name}
        return {**ids, **encode(request)}

    async def _find_project_id(self, project: str | int) -> int:
        if isinstance(project, int):
            return project
        document = await Projects.find.call(self, project, create=True)
        assert document is not None
        return document.id

    async def _find_or_upload_model(
        self, project_id: int, model: ModelReference, upload: ByteProgress | None
    ) -> int:
        """Of a model of the server, or of a file, uploaded unless the project has its content."""
        if isinstance(model, ModelSummary):
            return model.id
        if isinstance(model, int):
            return model
        file = expand_path(model)
        if not file.is_file():
            raise ModelNotFound(
                f'No model file named "{model}"',
                fix="Give the path of a model file, or the number of a model of the server",
            )
        sha256 = await self._transport.io.run_in_thread(lambda: _sha256(file))
        async for summary in self._iterate_pages(ModelSummary, "/models", project_id=project_id):
            if summary.keeps(sha256):
                return summary.id
        return (await Models.upload.call(self, project_id, file, on_progress=upload)).id

    async def _start_and_wait(
        self, path: str, body: dict[str, Any], listen: Listener | None
    ) -> Any:
        """Start it, follow its job to the end, and return the result."""
        settings = {name: setting for name, setting in body.items() if setting is not None}
        latest = (await self._send(post(path, settings | {"start": True}))).json["latest_run"]
        async with aclosing(self._transport.events()) as connection:
            await follow_to_end(self._transport, connection, latest["job_id"], listen)
        run = await self._fetch(RunDetailsDocument, get(f"/runs/{latest['id']}"))
        if run.has_result:
            return await fetch_run_result(self._transport, run.id)
        if run.failure is not None:
            raise error_of_failure(run.failure)
        raise Cancelled(
            f"Run {run.id} is {run.state}, without a result",
            why="it was stopped before there was enough for one",
            fix=f"Continue it: resume job {latest['job_id']}",
        )


async def follow_to_end(
    transport: Transport, connection: EventConnection, job_id: int, listen: Listener | None
) -> None:
    """Until the job is over. Ctrl-C and a cancellation cancel it; after Ctrl-C it returns then."""
    before: ProgressDocument | None = None
    try:
        async with aclosing(follow_job(transport, connection, job_id)) as jobs:
            async for job in jobs:
                if listen is None or job.progress is None:
                    continue
                for message in job.progress.messages(before):
                    listen(message)
                before = job.progress
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        # Before the connection is closed: stopping the job is what matters now.
        await transport.send(command(f"/jobs/{job_id}/cancel"))
        if isinstance(error, asyncio.CancelledError):
            raise
        while not (await transport.fetch(JobDocument, get(f"/jobs/{job_id}"))).is_over:
            await transport.io.sleep(0.1)


def _require_no_local_paths(request: CellRequest) -> None:
    require_valid(request)
    if request.sandbox == "off":
        raise BadValue(
            "A server runs nothing without a sandbox",
            why="anybody allowed to measure there could run any program",
            fix="Measure on your own machine to do that",
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
