"""Earlier benchmarks of a workspace that were measured on the same machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from modeldyno.core.hosts import are_machines_different
from modeldyno.core.results import BenchmarkResult
from modeldyno.store.history import History

MOST_OF_A_MODEL = 500  # folders of runs to look into: a small file of each is read
MOST_OF_ANY = 50  # here the result of each is read


def earlier_results(
    result: BenchmarkResult, runs: Path, sha256: str | None = None
) -> Iterator[BenchmarkResult]:
    """The latest first; ``sha256`` leaves only those of that model."""
    history = History(runs)
    for run_id in history.list_ids()[: MOST_OF_A_MODEL if sha256 else MOST_OF_ANY]:
        try:
            origin = history.folder(run_id).origin()
            if (
                run_id >= result.run_id
                or sha256 not in (None, origin.get("sha256"))
                or are_machines_different(origin.get("machine"), result.host.machine)
            ):
                continue
            earlier = history.read(run_id).result
        except (OSError, ValueError, KeyError):  # damaged, or of another version
            continue
        if isinstance(earlier, BenchmarkResult):
            yield earlier
