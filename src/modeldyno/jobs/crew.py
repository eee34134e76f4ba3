"""Workers that wait for their next turn: one for each cell, fresh with each process replicate."""

from __future__ import annotations

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
        self._workers: dict[int, tuple[int, Worker]] = {}  # by cell, oldest turn first

    def worker(self, cell: Cell, process: int) -> Worker:
        """The cell's worker in this process replicate."""
        replicate, worker = self._workers.pop(cell.number, (None, None))
        if worker is not None and replicate != process:
            worker.close()
            worker = None
        if worker is None:
            self._make_room()
            worker = launch(
                self._context.surroundings(
                    self._spec.model,
                    cells=(cell.spec,),
                    threads=cell.spec.cores,
                    memory_limit_bytes=self._spec.memory_limit_bytes,
                    sandbox=cell.spec.sandbox,
                )
            )
        self._workers[cell.number] = process, worker
        return worker

    def dismiss(self, cell: Cell) -> None:
        _, worker = self._workers.pop(cell.number, (None, None))
        if worker is not None:
            worker.close()

    def _make_room(self) -> None:
        while len(self._workers) >= MOST:
            oldest = next(iter(self._workers))
            self._workers.pop(oldest)[1].close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for _, worker in self._workers.values():
            worker.close()
