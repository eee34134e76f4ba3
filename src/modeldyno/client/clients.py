"""``modeldyno.Client`` and ``modeldyno.AsyncClient``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from modeldyno.client import resources
from modeldyno.client.asynchronous import AsyncTransport
from modeldyno.client.finding import find_server
from modeldyno.client.measuring import MeasuringCalls
from modeldyno.client.steps import Async, Mode, Steps, Stream, Sync
from modeldyno.client.sync import SyncTransport


class _Nouns(MeasuringCalls[Mode]):
    def __init__(self, run: Callable[[Steps[Any]], Any], iterate: Callable[[Stream], Any]) -> None:
        super().__init__(run, iterate)
        self.projects: resources.Projects[Mode] = resources.Projects(run, iterate)
        self.models: resources.Models[Mode] = resources.Models(run, iterate)
        self.datasets: resources.Datasets[Mode] = resources.Datasets(run, iterate)
        self.benchmarks: resources.Benchmarks[Mode] = resources.Benchmarks(run, iterate)
        self.comparisons: resources.Comparisons[Mode] = resources.Comparisons(run, iterate)
        self.profiles: resources.Profiles[Mode] = resources.Profiles(run, iterate)
        self.runs: resources.Runs[Mode] = resources.Runs(run, iterate)
        self.jobs: resources.Jobs[Mode] = resources.Jobs(run, iterate)
        self.notes: resources.Notes[Mode] = resources.Notes(run, iterate)
        self.events: resources.Events[Mode] = resources.Events(run, iterate)
        self.engines: resources.Engines[Mode] = resources.Engines(run, iterate)
        self.examples: resources.Examples[Mode] = resources.Examples(run, iterate)
        self.system: resources.System[Mode] = resources.System(run, iterate)
        self.session: resources.Session[Mode] = resources.Session(run, iterate)


class Client(_Nouns[Sync]):
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
        super().__init__(self._transport.run, self._transport.iterate)

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


class AsyncClient(_Nouns[Async]):
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
        super().__init__(self._transport.run, self._transport.iterate)

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
