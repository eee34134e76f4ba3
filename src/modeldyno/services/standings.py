"""Where a project stands, from what was measured: nothing is ranked that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from modeldyno.core.benchmarks import BenchmarkOutcome
from modeldyno.core.comparisons import Comparison
from modeldyno.core.errors import NotFound
from modeldyno.core.figures import counted
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.pages import LARGEST_PAGE, Wanted
from modeldyno.core.pairs_of_cells import place_of
from modeldyno.core.projects import Project
from modeldyno.core.requests.axes import axis_fields
from modeldyno.core.results import FEWEST_SESSIONS, Estimate, Objective
from modeldyno.core.runs import CellOutcome, Run
from modeldyno.core.specs import CellSpec, ModelSpec
from modeldyno.core.standings import Best, Contender, Happened, NextStep, ProjectStanding
from modeldyno.engines import catalog
from modeldyno.measure.unpaired import ratio_apart
from modeldyno.services.models import ModelService, ModelShown
from modeldyno.store.records.all import Records

MOST_HAPPENED = 10
MOST_STEPS = 3
_WORDS = {
    "queued": "waits",
    "running": "runs",
    "done": "is done",
    "failed": "failed",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
}


class StandingService:
    def __init__(self, records: Records, models: ModelService) -> None:
        self._records = records
        self._models = models

    def of(self, project_id: ProjectId) -> ProjectStanding:
        """Raises NotFound."""
        records = self._records
        project = records.projects.get(project_id)
        of_project = Wanted(project_id=project_id, limit=LARGEST_PAGE)
        models = self._models.page(of_project).items
        outcomes = records.benchmarks.outcomes(project_id)
        comparisons = records.comparisons.page(of_project).items
        best = best_of(outcomes, {shown.model.id: shown.model for shown in models}, comparisons)
        counts = records.projects.counts(project_id)
        queue = (*records.jobs.waiting(), *records.jobs.running())
        steps = _steps(project, models, outcomes, comparisons, best, counts)
        return ProjectStanding(
            best=best,
            activity=self._activity(project_id, [shown.model for shown in models]),
            next_steps=tuple(islice(steps, MOST_STEPS)),
            counts=counts,
            active=sum(job.project_id == project_id for job in queue),
        )

    def _activity(self, project_id: ProjectId, models: Sequence[Model]) -> tuple[Happened, ...]:
        runs = self._records.runs.page(Wanted(project_id=project_id, limit=MOST_HAPPENED)).items
        came = (
            Happened(
                at=model.created_at, subject="model", id=model.id, sentence=f"{model.name} came in"
            )
            for model in models
        )
        told = sorted(chain(map(self._happened, runs), came), key=lambda one: one.at, reverse=True)
        return tuple(told[:MOST_HAPPENED])

    def _happened(self, run: Run) -> Happened:
        failed = f": {run.failure['title']}" if run.failure else ""
        return Happened(
            at=run.finished_at or run.started_at or run.created_at,
            subject=run.of.kind,
            id=run.of.id,
            sentence=f"{run.of.kind.capitalize()} {self._name(run)} {_WORDS[run.state]}{failed}",
            state=run.state,
            run_id=run.id,
        )

    def _name(self, run: Run) -> str:
        try:
            return str(self._records.of_kind(run.of.kind).get(run.of.id).name)
        except NotFound:  # deleted meanwhile
            return str(run.of.id)


# ---------------------------------------------------------------- the best so far


def best_of(
    outcomes: Sequence[BenchmarkOutcome],
    models: dict[ModelId, Model],
    comparisons: Sequence[Comparison],
) -> tuple[Best, Best]:
    contenders = _contenders(outcomes, models)
    lost = [loser for loser in map(_loser, comparisons) if loser is not None]
    return _best(contenders, lost, "latency"), _best(contenders, lost, "throughput")


def _contenders(
    outcomes: Sequence[BenchmarkOutcome], models: dict[ModelId, Model]
) -> list[Contender]:
    """Each configuration once, as it was measured last."""
    newest: dict[object, Contender] = {}
    for outcome in outcomes:  # oldest first
        of = outcome.benchmark
        model = models.get(of.model_id)
        for cell in outcome.cells:
            if cell.typical_s is not None:
                name = model.name if model else ""
                one = Contender(of.id, of.name, of.model_id, name, cell)
                newest[of.model_id, *axis_fields(cell).values(), *_call(of.spec.model)] = one
    return list(newest.values())


def _call(model: ModelSpec) -> tuple[str, str]:
    return str(model.dims), model.signature


def _best(
    contenders: Sequence[Contender], lost: Sequence[tuple[ModelId, CellSpec]], by: Objective
) -> Best:
    if not contenders:
        return Best(by, None, note="nothing was measured yet")
    sure = [one for one in contenders if _figure(one.cell, by) is not None]
    if not sure:
        few = f"no number rests on {FEWEST_SESSIONS} sessions or more"
        return Best(by, None, note=f"{few}; measure longer")
    usable = [one for one in sure if one.cell.noise != "unusable"]
    if not usable:
        return Best(by, None, note="every number is unusable; measure again on a calmer machine")
    running = usable
    if by == "latency":  # what an alternation compares
        running = [one for one in usable if not any(_is(one, loser) for loser in lost)] or usable
    leader = min(running, key=lambda one: _seconds(one.cell, by).value)
    tied = [one for one in running if one is not leader and not _is_behind(leader, one, by)]
    return Best(by, leader, tuple(tied), _note(leader, tied, by, len(sure) - len(usable)))


def _note(leader: Contender, tied: Sequence[Contender], by: Objective, unusable: int) -> str:
    notes = []
    if tied:
        others = counted(len(tied), "other")
        notes.append(f"cannot be told from {others}; compare them in alternation")
    if leader.cell.noise == "contended":
        floor = ": read the floor" if by == "latency" else ""  # throughput has none
        notes.append(f"other work ran beside{floor}")
    if unusable:
        verb = "is" if unusable == 1 else "are"
        notes.append(f"{counted(unusable, 'number')} {verb} unusable and left out")
    return "; ".join(notes)


def _is_behind(leader: Contender, other: Contender, by: Objective) -> bool:
    return ratio_apart(_seconds(leader.cell, by), _seconds(other.cell, by)).low > 1


def _seconds(cell: CellOutcome, by: Objective) -> Estimate:
    """Lower is better: seconds per call, or per item of all that was done."""
    found = _figure(cell, by)
    assert found is not None
    return found


def _figure(cell: CellOutcome, by: Objective) -> Estimate | None:
    if by == "latency":
        value, low, high = cell.floor_s, cell.floor_low_s, cell.floor_high_s
    else:
        value = cell.throughput_per_s
        low, high = cell.throughput_low_per_s, cell.throughput_high_per_s
    sessions = cell.sessions or 0
    if value is None or low is None or high is None or sessions < FEWEST_SESSIONS:
        return None
    if min(value, low) <= 0:
        return None
    found = Estimate(value, low, high, cell.interval_level or 0.95, sessions, "sessions")
    return found if by == "latency" else found.inverse


def _loser(comparison: Comparison) -> tuple[ModelId, CellSpec] | None:
    """Who was slower when both were measured in alternation."""
    match comparison.summary.verdict:
        case "slower":
            return comparison.b_model_id, comparison.spec.b.cell
        case "faster":
            return comparison.a_model_id, comparison.spec.a.cell
        case _:
            return None


def _is(one: Contender, other: tuple[ModelId, CellSpec]) -> bool:
    model_id, spec = other
    cell = one.cell
    here, there = place_of(axis_fields(cell)), place_of(axis_fields(spec))
    is_engine = spec.engine in ("", cell.engine)
    is_precision = spec.precision in (None, cell.precision)
    return one.model_id == model_id and here == there and is_engine and is_precision


# ---------------------------------------------------------------- what to do next


def _steps(
    project: Project,
    models: Sequence[ModelShown],
    outcomes: Sequence[BenchmarkOutcome],
    comparisons: Sequence[Comparison],
    best: tuple[Best, Best],
    counts: dict[str, int],
) -> Iterator[NextStep]:
    """The most useful first."""
    if not models:
        yield NextStep(sentence="There is no model yet.", action="add-model", label="Bring a model")
        return
    yield from _of_models(models)
    ready = [shown.model for shown in models if shown.state == "ready"]
    measured = [outcome for outcome in outcomes if outcome.measured]
    if ready and not measured:
        yield NextStep(
            sentence="Nothing was measured yet.",
            action="add-benchmark",
            label="Run a first benchmark",
            model_id=ready[-1].id,
        )
        return
    yield from _of_best(best[0])
    yield from _of_engines(ready, measured, comparisons)
    if project.baseline_benchmark_id is None and len(measured) > 1:
        yield NextStep(
            sentence="No benchmark is the baseline of the others.",
            action="set-baseline",
            label="Choose a baseline",
            benchmark_id=measured[0].benchmark.id,
        )
    if measured and not counts["profile"]:
        yield NextStep(
            sentence="Where the time goes is not known yet.",
            action="add-profile",
            label="Profile the model",
            model_id=measured[-1].benchmark.model_id,
        )


def _of_models(models: Sequence[ModelShown]) -> Iterator[NextStep]:
    for shown in models:
        if shown.state == "untrusted":
            yield NextStep(
                sentence=f"{shown.model.name} could run code, and nobody vouched for it.",
                action="trust-model",
                label="Look at it",
                model_id=shown.model.id,
            )
        elif shown.state == "incomplete":
            yield NextStep(
                sentence=f"{shown.model.name} lacks weights.",
                action="complete-model",
                label="Send them",
                model_id=shown.model.id,
            )


def _of_best(best: Best) -> Iterator[NextStep]:
    leader = best.leader
    if leader is None:
        return
    if best.tied:
        other = best.tied[0]
        yield NextStep(
            sentence=f"{leader.name} cannot be told from {other.name}.",
            action="compare",
            label="Compare in alternation",
            benchmark_id=leader.benchmark_id,
            other_benchmark_id=other.benchmark_id,
        )
    if leader.cell.noise != "quiet":
        yield NextStep(
            sentence=f"The best number so far is {leader.cell.noise}.",
            action="rerun-benchmark",
            label="Measure it again",
            benchmark_id=leader.benchmark_id,
        )


def _of_engines(
    ready: Sequence[Model],
    measured: Sequence[BenchmarkOutcome],
    comparisons: Sequence[Comparison],
) -> Iterator[NextStep]:
    used = {cell.engine for outcome in measured for cell in outcome.cells}
    compared = [one for one in comparisons if one.summary.verdict is not None]
    used |= {side.cell.engine for one in compared for side in (one.spec.a, one.spec.b)} - {""}
    for model in ready:
        readers = [entry for entry in catalog.entries() if model.format in entry.formats]
        other = next((e for e in readers if e.name not in used and catalog.is_usable(e)), None)
        if other is not None and used:
            title = catalog.title_of(other.name)
            yield NextStep(
                sentence=f"{counted(len(used), 'engine')} measured; {title} reads this model, too.",
                action="add-engine",
                label=f"Compare with {title}",
                model_id=model.id,
                engine=other.name,
            )
            return
