"""run_tests.py [PYTEST_ARGS]: every test, those that may run beside each other first.

What measures real time has the machine for itself, so it comes afterwards, one test at a time. Both
parts run even when the first one fails (unless -x asks for a stop), and each prints its own end.

A few tests that fail beside others are run once more, by themselves: three servers, a browser and a
database on two cores can starve one of them. They are named, and count as passed only if they pass
then. More than a few are no accident, and stay failed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

# Tests wait for processes more than they compute; of more than eight, each would wait for cores.
PROCESSES = min(8, 1 + len(os.sched_getaffinity(0)))
# Files stay whole, so that a server or a model is made once for the tests of one; their order, and
# which of them stay together, is tests/conftest.py's.
BESIDE_EACH_OTHER = ["-n", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder"]
A_FEW = 8
PASSED, FAILED, NONE_FOUND = 0, 1, 5  # pytest's; all others mean that it could not run


def main(arguments: Sequence[str]) -> int:
    # Tests start thousands of processes, and none should have to compile our sources again.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # In the background of a shell Ctrl-C is ignored, by what tests start, too; and they send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    codes: dict[str, int] = {}
    told: list[str] = []
    stops = bool({"-x", "--exitfirst"} & set(arguments))

    def run(part: str, *options: str) -> int:
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", *options]
        code = _ended(subprocess.Popen(command, env=environment))
        told.append(f"{part} {_word(code)} in {time.monotonic() - began:.0f} s")
        return code

    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "failures"
        parts = {"together": [*BESIDE_EACH_OTHER, *arguments], "alone": [*arguments, "-n0"]}
        for part, options in parts.items():
            print(f"Tests that run {part}:", flush=True)
            codes[part] = run(part, f"--part={part}", f"--note-failures={noted}", *options)
            if codes[part] == FAILED and part == "together" and not stops:
                names = noted.read_text().splitlines() if noted.exists() else []
                if 0 < len(names) <= A_FEW:
                    print("Once more, by themselves:", *names, sep="\n  ", flush=True)
                    codes[part] = run("once more", "-n0", *names)
            if codes[part] not in (PASSED, FAILED, NONE_FOUND):
                break
            if codes[part] == FAILED and stops:
                break
    print(f"Tests: {', '.join(told)}", flush=True)
    return _worst([*codes.values()])


def _ended(pytest: subprocess.Popen[bytes]) -> int:
    while True:
        # Ctrl-C reaches both of us; pytest still has to say how far it came.
        with contextlib.suppress(KeyboardInterrupt):
            return pytest.wait()


def _word(code: int) -> str:
    return {PASSED: "passed", FAILED: "FAILED", NONE_FOUND: "none found"}.get(code, "STOPPED")


def _worst(codes: Sequence[int]) -> int:
    """A part without tests is fine where the other one has some."""
    bad = [code for code in codes if code not in (PASSED, NONE_FOUND)]
    if bad:
        return bad[0]
    return PASSED if PASSED in codes else NONE_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
