"""``modeldyno.Client`` and ``modeldyno.AsyncClient``."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from modeldyno.client import resources
from modeldyno.client.asynchronous import AsyncTransport
from modeldyno.client.finding import find_server
from modeldyno.client.measuring import MeasuringCalls
from modeldyno.client.steps import AsyncResource, SyncResource
from modeldyno.client.sync import SyncTransport


class Client(MeasuringCalls, SyncResource):
    """A server's projects, models, benchmarks and jobs.

        with Client() as client:                      # the server of this workspace
            result = client.bench("m.onnx", batch=[1, 8])
            for job in client.jobs.follow(12):
                print(job.progress, job.estimate_ms)

    ``url`` and ``token`` are those of MODELDYNO_SERVER and MODELDYNO_TOKEN when left out, or of the
    server that runs for the workspace. Raises ServerUnreachable when there is none. What the server
    refuses is raised as the error that it is (``modeldyno.core.errors``).
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        workspace: str | Path | None = None,
    ) -> None:
        address = find_server(url, token, workspace)
        self.url = address.url
        self._transport = SyncTransport(address)
        both = (self._transport.run, self._transport.iterate)
        super().__init__(*both)
        self.projects = resources.Projects(*both)
        self.models = resources.Models(*both)
        self.datasets = resources.Datasets(*both)
        self.benchmarks = resources.Benchmarks(*both)
        self.comparisons = resources.Comparisons(*both)
        self.profiles = resources.Profiles(*both)
        self.runs = resources.Runs(*both)
        self.jobs = resources.Jobs(*both)
        self.notes = resources.Notes(*both)
        self.events = resources.Events(*both)
        self.engines = resources.Engines(*both)
        self.examples = resources.Examples(*both)
        self.system = resources.System(*both)
        self.session = resources.Session(*both)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(MeasuringCalls, AsyncResource):
    """The same, to be awaited; lists and ``follow`` are for ``async for``.

        async with AsyncClient() as client:
            result = await client.bench("m.onnx")

    A ``bench`` or ``compare`` that is cancelled cancels its job.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        workspace: str | Path | None = None,
    ) -> None:
        address = find_server(url, token, workspace)
        self.url = address.url
        self._transport = AsyncTransport(address)
        both = (self._transport.run, self._transport.iterate)
        super().__init__(*both)
        self.projects = resources.AsyncProjects(*both)
        self.models = resources.AsyncModels(*both)
        self.datasets = resources.AsyncDatasets(*both)
        self.benchmarks = resources.AsyncBenchmarks(*both)
        self.comparisons = resources.AsyncComparisons(*both)
        self.profiles = resources.AsyncProfiles(*both)
        self.runs = resources.AsyncRuns(*both)
        self.jobs = resources.AsyncJobs(*both)
        self.notes = resources.AsyncNotes(*both)
        self.events = resources.AsyncEvents(*both)
        self.engines = resources.AsyncEngines(*both)
        self.examples = resources.AsyncExamples(*both)
        self.system = resources.AsyncSystem(*both)
        self.session = resources.AsyncSession(*both)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
