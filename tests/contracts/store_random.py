"""Hundreds of random operations, next to a plain model of what should be there."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from modeldyno.core.errors import ModeldynoError, StillUsed, WrongState
from modeldyno.core.runs import MOVES, ListQuery
from tests import values


@dataclass
class Plain:
    """What should be in the database."""

    projects: set[int] = field(default_factory=set)
    models: dict[int, int] = field(default_factory=dict)  # → project
    benchmarks: dict[int, int] = field(default_factory=dict)  # → model
    runs: dict[str, tuple[int, str, float | None]] = field(default_factory=dict)

    def latest(self, benchmark: int) -> tuple[str, float | None]:
        mine = [run for run in self.runs.values() if run[0] == benchmark]
        return (mine[-1][1], mine[-1][2]) if mine else ("draft", None)

    def is_at_work(self, benchmarks: set[int]) -> bool:
        return any(b in benchmarks and s in ("queued", "running") for b, s, _ in self.runs.values())

    def drop_benchmarks(self, gone: set[int]) -> None:
        self.runs = {run: told for run, told in self.runs.items() if told[0] not in gone}
        self.benchmarks = {b: m for b, m in self.benchmarks.items() if b not in gone}


class Random:
    @pytest.mark.parametrize("seed", range(4))
    def test_random_operations_leave_what_a_plain_model_says(self, desk, seed):
        chance = random.Random(seed)
        plain = Plain()
        for _ in range(150):
            chance.choice(OPERATIONS)(desk, plain, chance)
        check(desk, plain)


def pick(chance: random.Random, things):
    return chance.choice(list(things)) if things else None


def add_project(desk, plain, chance):
    plain.projects.add(desk.project().id)


def add_model(desk, plain, chance):
    if (number := pick(chance, plain.projects)) is not None:
        model = desk.model(desk.records.projects.get(number))
        plain.models[model.id] = number


def add_benchmark(desk, plain, chance):
    if (number := pick(chance, plain.models)) is not None:
        benchmark = desk.benchmark(desk.records.models.get(number))
        plain.benchmarks[benchmark.id] = number


def add_run(desk, plain, chance):
    if (number := pick(chance, plain.benchmarks)) is not None:
        run = desk.run(desk.records.benchmarks.get(number))
        plain.runs[run.id] = (number, "queued", None)


def move(desk, plain, chance):
    if (run := pick(chance, plain.runs)) is None:
        return
    benchmark, state, time = plain.runs[run]
    after = chance.choice(list(MOVES))
    if after in MOVES[state]:
        desk.records.runs.move(run, after)
        plain.runs[run] = (benchmark, after, time)
    else:
        with pytest.raises(WrongState):
            desk.records.runs.move(run, after)


def finish(desk, plain, chance):
    if (run := pick(chance, plain.runs)) is None:
        return
    benchmark, state, _ = plain.runs[run]
    typical_s = chance.random()
    summary = values.summary(typical_s)
    if state == "running":
        desk.records.runs.finish(run, summary)
        plain.runs[run] = (benchmark, "done", typical_s * 1e3)
    else:  # and nothing of it is kept
        with pytest.raises(WrongState):
            desk.records.runs.finish(run, summary)


def delete_run(desk, plain, chance):
    if (run := pick(chance, plain.runs)) is None:
        return
    if plain.runs[run][1] in ("queued", "running"):
        with pytest.raises(WrongState):
            desk.records.runs.delete(run)
    else:
        desk.records.runs.delete(run)
        del plain.runs[run]


def delete_benchmark(desk, plain, chance):
    if (number := pick(chance, plain.benchmarks)) is not None:
        gone = {number}
        if attempt(desk.records.benchmarks, number, plain, gone, uses=set(), chance=chance):
            plain.drop_benchmarks(gone)


def delete_model(desk, plain, chance):
    if (number := pick(chance, plain.models)) is not None:
        gone = {b for b, model in plain.benchmarks.items() if model == number}
        if attempt(desk.records.models, number, plain, gone, uses=gone, chance=chance):
            plain.drop_benchmarks(gone)
            del plain.models[number]


def delete_project(desk, plain, chance):
    if (number := pick(chance, plain.projects)) is None or chance.random() < 0.5:
        return
    models = {m for m, project in plain.models.items() if project == number}
    gone = {b for b, model in plain.benchmarks.items() if model in models}
    if attempt(desk.records.projects, number, plain, gone, uses=models, chance=chance):
        plain.drop_benchmarks(gone)
        plain.models = {m: p for m, p in plain.models.items() if p != number}
        plain.projects.remove(number)


def attempt(records, number, plain, gone, uses, chance) -> bool:
    """Whether it is gone now; it is refused when, and only when, the plain model says so."""
    cascade = chance.random() < 0.5
    refusal: type[ModeldynoError] | None = None
    if uses and not cascade:
        refusal = StillUsed
    elif plain.is_at_work(gone):
        refusal = WrongState
    if refusal is None:
        records.delete(number, cascade=cascade)
        return True
    with pytest.raises(refusal):
        records.delete(number, cascade=cascade)
    return False


OPERATIONS = (
    add_project,
    add_model,
    add_benchmark,
    add_run,
    *(move, move, move),  # otherwise most would wait for ever
    finish,
    delete_run,
    delete_benchmark,
    delete_model,
    delete_project,
)


def check(desk, plain) -> None:
    everything = ListQuery(limit=500)
    assert {p.id for p in desk.records.projects.page(everything).items} == plain.projects
    models = desk.records.models.page(everything).items
    assert {m.id: m.project_id for m in models} == plain.models
    rows = desk.records.benchmarks.page(everything).items
    assert {b.id: b.model_id for b in rows} == plain.benchmarks
    assert {b.id: (b.state, values.typical_ms(b.summary)) for b in rows} == {
        b: plain.latest(b) for b in plain.benchmarks
    }
    runs = desk.records.runs.page(everything).items
    assert {r.id: (r.of.id, r.state, values.typical_ms(r.summary)) for r in runs} == plain.runs
    for name in ("done", "failed", "queued"):
        in_state = desk.records.runs.page(ListQuery(state=name, limit=500)).items
        assert len(in_state) == sum(run[1] == name for run in plain.runs.values())
