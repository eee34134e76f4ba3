"""``modeldyno.Client`` and ``modeldyno.AsyncClient``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from modeldyno.client import resources
from modeldyno.client.io import AsyncIo, BlockingIo, Io
from modeldyno.client.measuring import MeasuringCalls
from modeldyno.client.operations import Async, Mode, Sync
from modeldyno.client.server_address import Address, find_server
from modeldyno.client.transport import Transport


class _Nouns(MeasuringCalls[Mode]):
    def __init__(self, io_class: Callable[[dict[str, Any]], Io], address: Address) -> None:
        self.url = address.url
        transport = Transport(address, io_class)
        super().__init__(transport)
        self.projects: resources.Projects[Mode] = resources.Projects(transport)
        self.models: resources.Models[Mode] = resources.Models(transport)
        self.datasets: resources.Datasets[Mode] = resources.Datasets(transport)
        self.benchmarks: resources.Benchmarks[Mode] = resources.Benchmarks(transport)
        self.comparisons: resources.Comparisons[Mode] = resources.Comparisons(transport)
        self.profiles: resources.Profiles[Mode] = resources.Profiles(transport)
        self.runs: resources.Runs[Mode] = resources.Runs(transport)
        self.jobs: resources.Jobs[Mode] = resources.Jobs(transport)
        self.notes: resources.Notes[Mode] = resources.Notes(transport)
        self.events: resources.Events[Mode] = resources.Events(transport)
        self.engines: resources.Engines[Mode] = resources.Engines(transport)
        self.examples: resources.Examples[Mode] = resources.Examples(transport)
        self.system: resources.System[Mode] = resources.System(transport)
        self.session: resources.BrowserSessions[Mode] = resources.BrowserSessions(transport)


class Client(_Nouns[Sync]):
    """A server's projects, models, benchmarks and jobs.

        with Client() as client:                      # the server of this workspace
            result = client.bench("m.onnx", batch=[1, 8])
            for job in client.jobs.follow(12):
                print(job.progress, job.estimate_ms)

    ``url`` and ``token`` default to MODELDYNO_SERVER and MODELDYNO_TOKEN, or to the server that
    runs for the workspace. Raises ServerUnreachable when there is none. The server's errors are
    raised here as the same classes (``modeldyno.core.errors``).
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        workspace: str | Path | None = None,
    ) -> None:
        super().__init__(BlockingIo, find_server(url, token, workspace))

    def close(self) -> None:
        self._transport.io.run(self._transport.close())

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
    """The same, to be awaited; iterate over lists and ``follow`` with ``async for``.

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
        super().__init__(AsyncIo, find_server(url, token, workspace))

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
