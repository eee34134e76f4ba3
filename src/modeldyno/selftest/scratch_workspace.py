"""A workspace of a self-test's own: the product's real path, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.requests.measuring import PairingRequest, SideRequest
from modeldyno.core.results import ComparisonResult, Estimate, Statistic
from modeldyno.core.sessions import Pair
from modeldyno.core.specs import DEFAULT
from modeldyno.measure.compare import log_ratio
from modeldyno.measure.statistics import mean_t
from modeldyno.services import requests
from modeldyno.settings import Settings
from modeldyno.workbench import Workbench, open_workbench
from modeldyno.worker.untrusted_folders import temporary_folder

LEVEL = 0.95
GROUP = 8  # pairs: the fewest that a comparison may decide on
SHORT_PAIR_S = 0.1


@dataclass(frozen=True)
class ScratchWorkspace:
    folder: Path
    workspace: Path
    workbench: Workbench

    def compare_for(self, a: Path, b: Path, seconds: float, seed: int = 0) -> ComparisonResult:
        """What ``modeldyno compare A B --budget S`` does, without the terminal."""
        return self._compare(a, b, seconds=seconds, pair_s=DEFAULT.session_s, seed=seed)

    def compare_short_pairs(
        self, a: Path, b: Path, pairs: int, seed: int = 0
    ) -> tuple[ComparisonResult, list[Pair]]:
        """So many pairs of 0.1 s, and the pairs themselves as they were stored."""
        result = self._compare(
            a, b, seconds=DEFAULT.seconds, pair_s=SHORT_PAIR_S, pairs=pairs, seed=seed
        )
        return result, self.pairs(result)

    def pairs(self, result: ComparisonResult) -> list[Pair]:
        """The units of a comparison, read back from the disk."""
        units = self.workbench.runs.units(result.run_id)
        return [unit.measured for unit in units if isinstance(unit.measured, Pair)]

    def _compare(
        self,
        a: Path,
        b: Path,
        *,
        seconds: float,
        pair_s: float,
        pairs: int | None = None,
        seed: int,
    ) -> ComparisonResult:
        pairing = PairingRequest(budget=seconds, pairs=pairs, seed=seed)
        spec = requests.comparison_spec(a, b, SideRequest(), pairing)
        spec = replace(spec, pair_s=min(spec.pair_s, pair_s))
        result: ComparisonResult = self.workbench.service.run(spec)
        return result


@contextmanager
def scratch_workspace() -> Iterator[ScratchWorkspace]:
    with temporary_folder("modeldyno-selftest-") as folder:
        workspace = folder / "workspace"
        yield ScratchWorkspace(folder, workspace, open_workbench(Settings(workspace)))


# ---------------------------------------------------------------- pairs, as they ship


def estimate(pairs: list[Pair], statistic: Statistic = "wall p10") -> Estimate:
    """The log-ratio of B over A with its interval, by the functions that ship."""
    return mean_t([log_ratio(pair, statistic) for pair in pairs], LEVEL, "pairs")


def groups(pairs: list[Pair]) -> list[Estimate]:
    """One estimate of each disjoint group of 8 pairs, in the order of measurement."""
    whole = len(pairs) // GROUP * GROUP
    return [estimate(pairs[i : i + GROUP]) for i in range(0, whole, GROUP)]


def percent(log_value: float) -> float:
    return round(100 * log_value, 3)
