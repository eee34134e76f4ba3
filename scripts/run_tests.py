"""run_tests.py [PYTEST_ARGS]: every test, in three parts.

Quick tests come first: they start no process, and one that does fails. Then come those that may run
beside each other. What measures real time has the machine for itself, so it comes last, one test at
a time. All parts run even when one fails (unless -x asks for a stop), and each prints its own end.
`--part quick` runs that part alone.

A few tests that fail beside others are run once more, by themselves: three servers, a browser and a
database on two cores can starve one of them. They are named and counted, and count as passed only
if they pass then. More than a few are no accident, and stay failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

CORES = len(os.sched_getaffinity(0))
# Files stay whole, so that a server or a model is made once for the tests of one; their order, and
# which of them stay together, is tests/conftest.py's.
BY_FILE = ["--dist", "loadfile", "--no-loadscope-reorder"]
# Quick tests compute; the next ones wait for processes more than that, but of more than eight, each
# would wait for cores.
PARTS = {
    "quick": ["-n", str(min(8, CORES)), *BY_FILE],
    "together": ["-n", str(min(8, 1 + CORES)), *BY_FILE],
    "alone": [],
}
ONCE_MORE = "once more"
A_FEW = 8
SLOWEST = 30
PASSED, FAILED, NONE_FOUND = 0, 1, 5  # pytest's; all others mean that it could not run


@dataclass(frozen=True)
class Test:
    """One that ran, as tests/conftest.py writes it down."""

    name: str
    outcome: str
    seconds: float
    cpu_s: float
    retried: bool  # by itself, as a timing test may


@dataclass(frozen=True)
class Part:
    name: str
    code: int
    seconds: float
    tests: tuple[Test, ...]

    @property
    def failed(self) -> list[str]:
        return sorted(test.name for test in self.tests if test.outcome == "failed")

    def __str__(self) -> str:
        words = {PASSED: "passed", FAILED: "FAILED", NONE_FOUND: "none found"}
        return f"{self.name} {words.get(self.code, 'STOPPED')} in {self.seconds:.0f} s"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--part", choices=PARTS)
    known, options = parser.parse_known_args(arguments)
    # In the background of a shell Ctrl-C is ignored, by what tests start, too; and they send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parts = run([known.part] if known.part else [*PARTS], options)
    print_slowest([test for part in parts for test in part.tests])
    print_costliest([test for part in parts for test in part.tests])
    print_retries(parts)
    print(f"Tests: {', '.join(map(str, parts))}", flush=True)
    return _worst(parts)


def run(names: Iterable[str], options: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    stops = bool({"-x", "--exitfirst"} & set(options))
    for name in names:
        print("Quick tests:" if name == "quick" else f"Tests that run {name}:", flush=True)
        at_the_end = ["-n0"] if name == "alone" else []
        part = _pytest(name, f"--part={name}", *PARTS[name], *options, *at_the_end)
        parts.append(part)
        may_retry = name == "together" and not stops and len(part.failed) <= A_FEW
        if part.code == FAILED and part.failed and may_retry:
            print("Once more, by themselves:", *part.failed, sep="\n  ", flush=True)
            part = _pytest(ONCE_MORE, "-n0", *part.failed)
            parts.append(part)
        if part.code not in (PASSED, FAILED, NONE_FOUND) or (part.code == FAILED and stops):
            break
    return parts


def print_slowest(tests: Iterable[Test]) -> None:
    print(f"Slowest {SLOWEST}:")
    for test in sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]:
        print(f"  {test.seconds:6.1f} s  {test.name}")


def print_costliest(tests: Iterable[Test]) -> None:
    """On few cores, tests last as long as their files need CPU time."""
    files: Counter[str] = Counter()
    for test in tests:
        files[test.name.partition("::")[0]] += test.cpu_s  # type: ignore[assignment]
    print(f"CPU time: {sum(files.values()):.0f} s, most of it in")
    for name, seconds in files.most_common(SLOWEST):
        print(f"  {seconds:6.1f} s  {name}")


def print_retries(parts: Iterable[Part]) -> None:
    """Tests that failed beside others, and timing tests that measured once more by themselves."""
    retried = [
        test for part in parts for test in part.tests if part.name == ONCE_MORE or test.retried
    ]
    ends = Counter(test.outcome for test in retried)
    said = ", ".join(f"{outcome} {count}" for outcome, count in sorted(ends.items()))
    print(f"Run once more: {said or 'none'}")
    for test in retried:
        print(f"  {test.outcome}  {test.name}")


def _pytest(name: str, *options: str) -> Part:
    # Tests start thousands of processes, and none should have to compile our sources again.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "tests.json"
        # Its plugin takes a second of each process; tests run it as a command.
        command = [sys.executable, "-m", "pytest", "-p", "no:schemathesis"]
        command += [f"--note-tests={notes}", *options]
        began = time.monotonic()
        code = _exit_code(subprocess.Popen(command, env=environment))
        seconds = time.monotonic() - began
        tests = json.loads(notes.read_text()) if notes.exists() else []
    return Part(name, code, seconds, tuple(Test(**test) for test in tests))


def _exit_code(pytest: subprocess.Popen[bytes]) -> int:
    while True:
        # Ctrl-C reaches both of us; pytest still has to say how far it came.
        with contextlib.suppress(KeyboardInterrupt):
            return pytest.wait()


def _worst(parts: Sequence[Part]) -> int:
    """A part without tests is fine where another one has some; a retry stands for its part."""
    retried = {part.name: part.code for part in parts}
    if ONCE_MORE in retried:
        retried["together"] = retried.pop(ONCE_MORE)
    bad = [code for code in retried.values() if code not in (PASSED, NONE_FOUND)]
    if bad:
        return bad[0]
    return PASSED if PASSED in retried.values() else NONE_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
