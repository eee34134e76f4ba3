"""A temporary workspace for a self-test, which takes the same path as a user's run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.requests.measuring import BenchmarkRequest, PairingRequest, SideRequest
from modeldyno.core.results import BenchmarkResult, ComparisonResult, Estimate
from modeldyno.core.sessions import Pair
from modeldyno.core.specs import DEFAULT
from modeldyno.measure.compare import log_ratio
from modeldyno.measure.statistics import FloatArray, mean_t, seconds_per_call
from modeldyno.selftest import synthetic_models
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

    def make_stack_models(self, *layers: int) -> list[Path]:
        """Models that differ in their number of equal layers only."""
        return [synthetic_models.write_stack(self.folder, count) for count in layers]

    def write_script(self, name: str, **fields: float) -> Path:
        """A model of the scripted engine."""
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"modeldyno": "scripted/1", **fields}))
        return path

    def bench_for(self, model: Path, seconds: float, seed: int = 0) -> BenchmarkResult:
        """What ``modeldyno bench MODEL --budget S`` does, without the terminal."""
        request = BenchmarkRequest(budget=seconds, seed=seed)
        result: BenchmarkResult = self.workbench.service.run(
            requests.make_benchmark_spec(request, model)
        )
        return result

    def compare_for(self, a: Path, b: Path, seconds: float, seed: int = 0) -> ComparisonResult:
        """What ``modeldyno compare A B --budget S`` does, without the terminal."""
        return self._compare(a, b, seconds=seconds, pair_s=DEFAULT.session_s, seed=seed)

    def compare_short_pairs(
        self, a: Path, b: Path, pairs: int, seed: int = 0
    ) -> tuple[ComparisonResult, list[Pair]]:
        """Compare with this number of 0.1 s pairs; also returns the pairs as they were stored."""
        result = self._compare(
            a, b, seconds=DEFAULT.seconds, pair_s=SHORT_PAIR_S, pairs=pairs, seed=seed
        )
        return result, self.read_pairs(result)

    def read_pairs(self, result: ComparisonResult) -> list[Pair]:
        """The pairs of a comparison, read back from disk."""
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
        spec = requests.make_comparison_spec(a, b, SideRequest(), pairing)
        spec = replace(spec, pair_s=min(spec.pair_s, pair_s))
        result: ComparisonResult = self.workbench.service.run(spec)
        return result


@contextmanager
def scratch_workspace() -> Iterator[ScratchWorkspace]:
    with temporary_folder("modeldyno-selftest-") as folder:
        workspace = folder / "workspace"
        yield ScratchWorkspace(folder, workspace, open_workbench(Settings(workspace)))


# ---------------------------------------------------------------- pairs, as they ship


def pooled_estimate(pairs: list[Pair]) -> Estimate:
    """The log-ratio of B over A with its interval, by the functions that ship."""
    return mean_t([log_ratio(pair, "wall p10") for pair in pairs], LEVEL, "pairs")


def estimate_by_group(pairs: list[Pair]) -> list[Estimate]:
    """One estimate of each disjoint group of 8 pairs, in the order of measurement."""
    whole = len(pairs) // GROUP * GROUP
    return [pooled_estimate(pairs[i : i + GROUP]) for i in range(0, whole, GROUP)]


def wall_samples(pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Seconds per call of both sides."""
    a, b = (
        seconds_per_call(side.samples.wall_ns, side.samples.calls_per_sample)
        for side in (pair.a, pair.b)
    )
    return a, b


def log_to_percent(log_value: float) -> float:
    return round(100 * log_value, 3)
