"""Workers that wait for their next turn: one for each instance, fresh with each replicate."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from modeldyno.core.specs import BenchmarkSpec
from modeldyno.jobs.cells import Cell
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import Worker, launch

MOST = 16  # waiting workers; beyond it the one that has waited longest goes


class Crew:
    """Between its turns a worker blocks on its pipe and costs nothing but memory."""

    def __init__(self, spec: BenchmarkSpec, context: Context) -> None:
        self._spec = spec
        self._context = context
        self._workers: dict[int, tuple[int, list[Worker]]] = {}  # by cell, oldest turn first

    def workers(self, cell: Cell, process: int) -> list[Worker]:
        """The cell's workers in this process replicate, one for each instance."""
        replicate, workers = self._workers.pop(cell.number, (process, []))
        if replicate != process:
            _close(workers)
            workers = []
        if not workers:
            self._make_room(cell.spec.instances)
        self._workers[cell.number] = process, workers  # known here before the next one may fail
        while len(workers) < cell.spec.instances:
            workers.append(self._launch(cell))
        return workers

    def dismiss(self, cell: Cell) -> None:
        _, workers = self._workers.pop(cell.number, (0, []))
        _close(workers)

    def _launch(self, cell: Cell) -> Worker:
        assert cell.prepared is not None
        return launch(
            self._context.worker_setup(
                self._spec.model,
                cells=(cell.spec,),
                threads=cell.spec.cores,
                memory_limit_bytes=self._spec.memory_limit_bytes,
                sandbox=cell.spec.sandbox,
                python=cell.prepared.python,
            )
        )

    def _make_room(self, wanted: int) -> None:
        while self._workers and self._waiting() + wanted > MOST:
            oldest = next(iter(self._workers))
            _close(self._workers.pop(oldest)[1])

    def _waiting(self) -> int:
        return sum(len(workers) for _, workers in self._workers.values())

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _close([worker for _, workers in self._workers.values() for worker in workers])


def _close(workers: list[Worker]) -> None:
    """All of them, also when closing one fails."""
    with ExitStack() as closing:
        for worker in workers:
            closing.callback(worker.close)
