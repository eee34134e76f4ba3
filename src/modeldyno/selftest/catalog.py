"""The self-tests by name, and how one is run. A test's module is loaded only when it runs."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from modeldyno.core.errors import BadValue
from modeldyno.selftest.outcome import Outcome

Test = Callable[..., Outcome]

ALL = "all"


@dataclass(frozen=True)
class SelfTest:
    id: str
    name: str
    what: str
    seconds: int  # about, for the full form
    is_timing: bool  # measures real time, so one failure may be the machine's
    # Arguments of the short form.
    short: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def module(self) -> str:
        return f"modeldyno.selftest.{self.name.replace('-', '_')}"


def _timing_test(id_: str, name: str, what: str, seconds: int) -> SelfTest:
    return SelfTest(id_, name, what, seconds, True, {"short": True})


TESTS = (
    _timing_test("T1", "aa", "a model compared with itself is not different", 100),
    _timing_test("T2", "power", "a known small difference is found, at its size", 60),
    _timing_test("T3", "ten-seconds", "ten seconds of `compare` are enough, and are kept", 70),
    SelfTest("T4", "coverage", "intervals cover the truth as often as they say", 5, False,
          {"traces": 300}),
    SelfTest("T5", "tails", "p99 intervals hold under bursts, or are not given", 5, False),
    _timing_test("T6", "calibrate", "an engine of known latency is measured right", 20),
    _timing_test("T7", "linearity", "twice the work takes twice the time", 20),
    _timing_test("T8", "overhead", "the stopwatch adds next to nothing", 30),
    SelfTest("T9", "sample-length", "samples are short, yet long enough for the clock", 1, False),
    _timing_test("T10", "load", "busy neighbours do not move a comparison", 75),
    SelfTest("T11", "warmup", "warm-up stays out, and drift is called by its name", 5, False),
    SelfTest("T13", "stopping", "stopping early keeps the interval's promise", 20, False,
          {"runs": 2000}),
    _timing_test("T14", "long-calls", "calls longer than a time slice compare by CPU time", 60),
    SelfTest("T15", "fairness", "a drifting machine does not choose a sweep's winner", 1, False),
    SelfTest("T16", "instances", "instances count only while all of them work", 12, True,
          {"repetitions": 2}),
    _timing_test("T17", "reproducibility", "the same comparison, repeated, says the same", 70),
    SelfTest("T18", "repeat", "later runs land where earlier ones said they would", 2, False),
    _timing_test("T18b", "repeat-live", "six real runs land where each said a repeat would", 150),
)  # fmt: skip


def find_tests(names: Sequence[str]) -> list[SelfTest]:
    """Entries by id in any case, by name, or all of them for ``all``; each once, in this order."""
    return list(dict.fromkeys(entry for name in names for entry in _find_by_name(name)))


def _find_by_name(name: str) -> tuple[SelfTest, ...]:
    if name.lower() == ALL:
        return TESTS
    for entry in TESTS:
        if name.lower() in (entry.id.lower(), entry.name):
            return (entry,)
    known = [word for entry in TESTS for word in (entry.name, entry.id.lower())]
    close = difflib.get_close_matches(name.lower(), [*known, ALL], n=1)
    raise BadValue(
        f"There is no self-test named {name!r}",
        fix=f"Did you mean {close[0]!r}?" if close else "See `modeldyno selftest` for their names",
    )


def load(entry: SelfTest) -> Test:
    test: Test = importlib.import_module(entry.module).run
    return test


def run(
    entry: SelfTest,
    short: bool = False,
    load: Callable[[SelfTest], Test] = load,
    clock: Callable[[], float] = perf_counter,
) -> Outcome:
    """Run a test; a timing test that fails is run once more, and its outcome says so."""
    test = load(entry)
    first = _run_once(test, entry, short, clock)
    if first.passed or not entry.is_timing:
        return first
    second = _run_once(test, entry, short, clock)
    return replace(
        second,
        retried=True,
        seconds=first.seconds + second.seconds,
        notes=(*second.notes, f"the first try failed: {first.to_json()}"),
    )


def _run_once(test: Test, entry: SelfTest, short: bool, clock: Callable[[], float]) -> Outcome:
    start = clock()
    outcome = test(**(entry.short if short else {}))
    return replace(outcome, id=entry.id, name=entry.name, seconds=clock() - start)
